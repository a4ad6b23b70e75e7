"""The parts of the checker by themselves; what it finds is in tests/damaged."""

from __future__ import annotations

import errno
import os
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pamctl.audit import check, facts, look, orderly
from pamctl.audit.disorder import Disorder
from pamctl.audit.facts import ADDRESS, Facts, gathered
from pamctl.audit.findings import Findings
from pamctl.audit.reading import lines, open_plain, parsed
from pamctl.audit.records import ONCE, Records, records
from pamctl.audit.transitions import illegal_step
from pamctl.encoding.canonical import canonical, is_canonical
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.vocabulary import DIMENSIONS, STATES
from pamctl.rules.transitions import ALLOWED, CONDITIONS, FORBIDDEN_WITHOUT_OVERRIDE, OVERRIDE
from tests.damaged import healthy
from tests.damaged.healthy import Patient

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda number: not 2**53 <= abs(number) < 1e21
    )
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    lambda part: (
        st.lists(part, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=4), part)
    ),
)


@given(st.dictionaries(st.sampled_from(["a", "b", "\U0001f331", "\ue000", "\U0010fffd"]), JSON))
def test_canonical_bytes_are_known_as_such(value: dict[str, object]) -> None:
    data = canonical(value)
    assert is_canonical(parsed(data), data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1.0}',
        b'{"a":[1e22]}',
        b'{"a":9007199254740993}',
        b'{"a":-0}',
        b'{"a":[1,2.50]}',
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a":"\\u0041"}',
        b'{"a": 1}',
        b'{"a":' + b"[" * 200 + b"]" * 200 + b"}",
    ],
)
def test_other_spellings_are_not(data: bytes) -> None:
    assert not is_canonical(parsed(data), data)


def test_lines_are_given_with_their_places_and_long_ones_are_not_held(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    long = DOCUMENT_BYTES_MAX + 5
    path.write_bytes(b"one\n\n" + b"x" * long + b"\nfour\nfive")
    descriptor = open_plain(path)
    assert descriptor is not None
    try:
        found = list(lines(descriptor, path.stat().st_size))
    finally:
        os.close(descriptor)
    assert found == [
        (0, b"one", True),
        (4, b"", True),
        (5, None, True),
        (long + 6, b"four", True),
        (long + 11, b"five", False),
    ]


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link", "", "nothing"):
        assert open_plain(tmp_path / name) is None


def test_what_may_not_be_read_is_not_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / ".pam"
    healthy.make(root)
    patient = Patient(root)
    opened = os.open
    for hidden in (patient.ledger, patient.path(patient.address("mem:alone"))):
        scratch = tmp_path / hidden.stem
        scratch.mkdir()

        def refuse(path: object, *given: int, hidden: Path = hidden, **named: int) -> int:
            if path == hidden:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return opened(path, *given, **named)  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr(os, "open", refuse)
            with pytest.raises(PermissionError):
                check.check_store(root, scratch)


def test_the_checker_and_the_rules_allow_the_same_steps() -> None:
    """Two people's readings of PAMSPEC §9.5: `rules` decides, `audit` checks."""
    for place, dimension in enumerate(DIMENSIONS):
        start = [STATES[one][0] for one in DIMENSIONS]
        for source, target in product(STATES[dimension], repeat=2):
            before, after = list(start), list(start)
            before[place], after[place] = source, target
            for condition in (None, *CONDITIONS):
                table = ALLOWED[dimension][source]
                allowed = source == target or (
                    target in table and table[target] in (None, condition)
                )
                beyond = FORBIDDEN_WITHOUT_OVERRIDE[dimension].get(source, frozenset())
                allowed = allowed or (target in beyond and condition == OVERRIDE)
                step = (dimension, source, target, condition)
                assert (illegal_step(before, after, condition) is None) is allowed, step


def test_facts_about_one_thing_meet_whoever_wrote_them(tmp_path: Path) -> None:
    for reader in ("one", "two"):
        with Facts(tmp_path, 7) as written:
            for number in range(50):
                written.put(ADDRESS, "scope", f"key {number}", reader, number)
    met = {}
    for part in range(7):
        for scope, key, group in gathered(tmp_path, ADDRESS, part):
            assert scope == "scope"
            assert key not in met
            met[key] = group
    assert met == {f"key {n}": {"one": [[n]], "two": [[n]]} for n in range(50)}


def test_many_findings_of_a_kind_are_counted_and_the_first_are_kept() -> None:
    one, other, all_ = Findings(), Findings(), Findings()
    for number in range(150):
        one.add("version-missing", "gone", scope_id="scope:a", offset=number)
        other.add("version-missing", "gone", scope_id="scope:a", offset=1000 + number)
    all_.merge(one)
    all_.merge(other)
    assert [finding.offset for finding in all_.kept] == list(range(100))
    assert all_.counts == {("scope:a", "version-missing"): 300}


@pytest.mark.parametrize(("jobs", "threads"), [(1, 1), (2, 1), (2, 2)])
def test_work_that_is_divided_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, threads: int
) -> None:
    monkeypatch.setattr("threading.active_count", lambda: threads)
    root = tmp_path / ".pam"
    healthy.make(root)
    patient = Patient(root)
    patient.path(patient.address("mem:alone")).unlink()
    patient.commit(patient.next_version("mem:tea", sequence=9))
    answers = []
    for parts_bytes, parallel_bytes in ((facts.PART_LEDGER_BYTES, 1 << 30), (1000, 0)):
        monkeypatch.setattr(check, "PART_LEDGER_BYTES", parts_bytes)
        monkeypatch.setattr(check, "_PARALLEL_LEDGER_BYTES", parallel_bytes)
        scratch = tmp_path / f"scratch-{parts_bytes}"
        scratch.mkdir()
        answer = check.check_store(root, scratch, jobs=jobs)
        answer["findings"].sort(key=str)
        answers.append(answer)
        assert list(scratch.iterdir()) == []
    assert answers[0] == answers[1]
    assert answers[0]["counts"]["version-missing"] == 1
    assert answers[0]["counts"]["version-sequence-gap"] == 1


def test_a_healthy_store_is_proven_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way that takes three times as long is not gone; it gives the same answer."""

    def checked(scratch: str, jobs: int = 1) -> dict[str, object]:
        (tmp_path / scratch).mkdir()
        return check.check_store(root, tmp_path / scratch, jobs=jobs)

    def not_needed(*_: object) -> None:
        raise AssertionError("there was no proof")

    def no_proof(*_: object, **__: object) -> None:
        raise Disorder("not asked for")

    root = tmp_path / ".pam"
    healthy.make(root)
    Patient(root).append(
        ("event", {**Patient(root).event(), "recorded_at": "2020-01-01T00:00:00Z"})
    )
    with monkeypatch.context() as patched:
        patched.setattr(look, "look", not_needed)
        proven = checked("proven")
        patched.setattr(check, "_PARALLEL_LEDGER_BYTES", 0)
        patched.setattr(orderly, "PART_LEDGER_BYTES", 1000)
        assert checked("proven in parts", jobs=2) == proven
    assert proven["counts"] == {"ledger-tail-unpinned": 2, "clock-backwards": 1}
    monkeypatch.setattr(check, "prove", no_proof)
    assert checked("looked for") == proven


def test_records_meet_in_their_order_whoever_wrote_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid in (1, 2):
        monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
        with Records(tmp_path, 3) as written:
            for number in range(50):
                written.put(ONCE, f"about {number}", (number, pid))
                written.settle()
    parts = [[one for batch in records(tmp_path, ONCE, part) for one in batch] for part in range(3)]
    assert sorted(one for part in parts for one in part) == [
        (number, pid) for number in range(50) for pid in (1, 2)
    ]
    for part in parts:
        for pid in (1, 2):
            mine = [number for number, writer in part if writer == pid]
            assert mine == sorted(mine)
        assert {number for number, writer in part if writer == 1} == {
            number for number, writer in part if writer == 2
        }


def test_a_time_of_record_that_is_none_is_no_time(tmp_path: Path) -> None:
    healthy.make(tmp_path / ".pam")
    patient = Patient(tmp_path / ".pam")
    patient.append(("merge", {"recorded_at": "yesterday"}))
    patient.append(("event", patient.event()))
    (tmp_path / "scratch").mkdir()
    answer = check.check_store(patient.root, tmp_path / "scratch")
    assert answer["counts"] == {"ledger-tail-unpinned": 2}
