"""Whatever bytes a store holds, a check ends with a verdict, changes nothing, and finds it when
what was committed is not what is there."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pamctl.audit import check
from pamctl.audit.disorder import Disorder
from pamctl.audit.finding_kinds import BY_ID
from pamctl.audit.pins import Pin, Pins
from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidObject
from tests.damaged import healthy
from tests.damaged.healthy import Patient


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("healthy") / ".pam"
    healthy.make(root)
    shutil.rmtree(root / "index")
    return root


def _check(root: Path, pins: Pins | None = None) -> dict[str, object]:
    """The answer, which is the same whether it was proven or looked for."""
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as scratch:
        proofs: list[object] = []

        def proven(*arguments: Any, **named: Any) -> object:
            proofs.append(real(*arguments, **named))
            return proofs[0]

        def no_proof(*_: object, **__: object) -> None:
            raise Disorder("not asked for")

        real = check.prove
        patched.setattr(check, "prove", proven)
        answer = check.check_store(root, Path(scratch), pins=pins)
        if proofs:
            patched.setattr(check, "prove", no_proof)
            assert check.check_store(root, Path(scratch), pins=pins) == answer
        return answer


def _files(root: Path) -> list[Path]:
    """What is part of the store's truth: ledgers, versions, packs, and who they belong to."""
    # Of store.json nothing but its form and its store_id is known from elsewhere.
    names = ("ledger.jsonl", "scope.json")
    found = [path for path in root.rglob("*.json*") if path.is_file()]
    return sorted(
        path for path in found if path.name in names or {"versions", "packs"} & set(path.parts)
    )


def _sorted_by_code_point(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_change_of_bytes_is_found(model: Path, data: st.DataObject) -> None:
    seen = _check(model)["scopes"]
    assert isinstance(seen, list)
    pins = Pins({s["scope_id"]: (Pin(s["head"], s["entries"], "was seen"),) for s in seen})
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / ".pam"
        shutil.copytree(model, root)
        path = data.draw(st.sampled_from(_files(root)), label="file")
        before = path.read_bytes()
        at = data.draw(st.integers(0, len(before)), label="at")
        gone = data.draw(st.integers(0, 40), label="bytes that go")
        new = data.draw(
            st.one_of(
                st.binary(max_size=12),
                st.sampled_from(
                    [b"\n", b"\r\n", b"\x00" * 8, b"{", b"}", b'"', b"[" * 2000, b"1e999", b"-0"]
                ),
            ),
            label="bytes that come",
        )
        after = before[:at] + new + before[at + gone :]
        path.write_bytes(after)
        answer = _check(root, pins)
        assert path.read_bytes() == after
        assert set(answer["counts"]) <= set(BY_ID)
        assert answer["clean"] is (after == before)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    member=st.sampled_from(
        ["event_id", "scope_id", "object_id", "version_id", "sequence", "payload", "actor", "key"]
    ),
    value=st.one_of(
        st.none(),
        st.integers(-5, 2**53 - 1),
        st.text("a\u0000:\x1b/.", max_size=6),
        st.just([]),
        st.just({}),
        st.booleans(),
    ),
    number=st.integers(0, 30),
)
def test_entries_that_say_anything_under_a_fitting_chain_get_a_verdict(
    model: Path, member: str, value: object, number: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / ".pam"
        shutil.copytree(model, root)
        patient = Patient(root)
        entries = patient.entries()
        entry = entries[number % len(entries)]
        entry["body"][member] = value
        patient.put(entries)
        assert set(_check(root)["counts"]) <= set(BY_ID)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    member=st.sampled_from(["n", "tx", "i", "of", "kind", "prev", "body", "version", "more"]),
    value=st.one_of(
        st.none(),
        st.integers(-5, 2**53 - 1),
        st.text("a:0", max_size=6),
        st.just([]),
        st.just({}),
        st.booleans(),
        st.floats(0, 1),
    ),
    number=st.integers(0, 30),
)
def test_entries_with_any_members_get_a_verdict(
    model: Path, member: str, value: object, number: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / ".pam"
        shutil.copytree(model, root)
        patient = Patient(root)
        entries = patient.entries()
        entries[number % len(entries)][member] = value
        patient.put(entries)
        assert set(_check(root)["counts"]) <= set(BY_ID)


_NUMBERS = [1.0, 2, -0.0, 1e-7, 1e16, 2**53, 0.5, True]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    place=st.sampled_from(
        ["sequence", "canonical_content", "actor", "recorded_at", "object_id", "validation_state"]
    ),
    value=st.sampled_from([*_NUMBERS, "disputed", {"a": 1.0}, {"\U0001f331": 1, "\ue000": 2}, None])
    | st.dictionaries(st.text(max_size=3), st.sampled_from(_NUMBERS), max_size=3),
    spelled_by=st.sampled_from([canonical, json.dumps, _sorted_by_code_point]),
    stated=st.booleans(),
)
def test_versions_that_say_anything_under_fitting_addresses_get_a_verdict(
    model: Path,
    place: str,
    value: object,
    spelled_by: Callable[[object], bytes | str],
    stated: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / ".pam"
        shutil.copytree(model, root)
        patient = Patient(root)
        envelope = patient.next_version("mem:alone")
        member = envelope["canonical_content"] if place == "canonical_content" else envelope
        member[place] = value
        try:
            spelled = spelled_by({"envelope": envelope, "salt": "A" * 22})
        except InvalidObject:
            return
        data = spelled if isinstance(spelled, bytes) else spelled.encode()
        address = patient.store_bytes(data)
        said = {name: envelope[name] for name in ("actor", "recorded_at") if stated}
        event = patient.event(
            "object_updated", object_id="mem:alone", version_id=envelope["version_id"]
        )
        patient.append(("event", {**event, **said}), version=address)
        answer = _check(root)
        assert set(answer["counts"]) <= set(BY_ID)
        assert not answer["clean"] or data == canonical(json.loads(data))
