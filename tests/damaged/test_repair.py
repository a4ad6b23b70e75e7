"""What repair puts right, what it leaves, and that it loses nothing either way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pamctl
from pamctl.cli.commands.repair import repaired
from pamctl.encoding.digests import sha256_hex
from pamctl.errors import InvalidRequest
from tests.damaged import healthy
from tests.damaged.faults import FAULTS, Fault
from tests.damaged.healthy import SCOPE, Patient

BY_ITSELF = {
    "leftover-file",
    "git-files-missing",
    "ledger-torn-tail",
    "ledger-transaction-incomplete",
    "version-orphaned",
    "custody-unfinished",
    "pack-misnamed",
}
"""Findings that repair puts right with nothing but the store."""

FROM_A_COPY = {
    "store-file-invalid",
    "scope-file-invalid",
    "key-record-invalid",
    "ledger-missing",
    "ledger-wrong-scope",
    "ledger-line-too-long",
    "ledger-line-mangled",
    "ledger-line-not-json",
    "ledger-member-repeated",
    "ledger-line-not-canonical",
    "ledger-entry-invalid",
    "ledger-chain-broken",
    "ledger-forked",
    "ledger-reordered",
    "ledger-counters-wrong",
    "ledger-bytes-lost",
    "event-sequence-gap",
    "event-sequence-reused",
    "event-id-reused",
    "event-wrong-scope",
    "event-without-version",
    "version-missing",
    "version-altered",
    "version-too-long",
    "erasure-without-authority",
    "stub-mismatch",
    "idempotency-key-reused",
    "idempotency-mismatch",
}
"""Findings that it puts right with a second copy of the store beside."""

# The pin that shows this fault is not part of the store.
_ONLY_BY_A_PIN = ("rewritten_with_a_fitting_chain",)


def _cases(ids: set[str]) -> list[tuple[str, Fault]]:
    return [
        (id_, fault)
        for id_ in sorted(ids)
        for fault in FAULTS[id_]
        if fault.__name__ not in _ONLY_BY_A_PIN
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("healthy") / ".pam"
    healthy.make(root)
    return root


@pytest.fixture
def patient(model: Path, tmp_path: Path) -> Patient:
    shutil.copytree(model, tmp_path / ".pam")
    return Patient(tmp_path / ".pam")


def _bytes_of(root: Path) -> set[str]:
    """Digests of the files in the store, index and locks aside."""
    found = set()
    for path in root.rglob("*"):
        derived = path.parent.name == "index" or path.name == "lock"
        if path.is_file() and not path.is_symlink() and not derived:
            found.add(sha256_hex(path.read_bytes()))
    return found


def _stamps(root: Path) -> dict[str, tuple[int, int, int]]:
    stats = {str(path): path.lstat() for path in [root, *root.rglob("*")]}
    return {name: (s.st_mtime_ns, s.st_ctime_ns, s.st_size) for name, s in stats.items()}


def _judge(patient: Patient, other: Path | None) -> None:
    before, stamps = _bytes_of(patient.root), _stamps(patient.root)
    plan = repaired(patient.root, other=other)
    assert plan["actions"] != []
    assert not plan["clean"]
    assert _stamps(patient.root) == stamps
    done = repaired(patient.root, other=other, apply=True)
    assert done["findings"] == []
    assert done["clean"]
    torn = [action for action in done["actions"] if action["action"] == "cut"]
    if not torn:  # a cut leaves two files where one was
        assert before <= _bytes_of(patient.root)
    assert repaired(patient.root, other=other)["actions"] == []
    _still_works(patient.root)


def _still_works(root: Path) -> None:
    store = pamctl.open_store(root)
    envelope = store.read(scope_id=SCOPE, object_id="mem:alone", actor=healthy.ACTOR)
    assert envelope["canonical_content"] == {"text": "alone"}
    made = store.create(
        scope_id=SCOPE,
        object_type="claim",
        canonical_content={"text": "after the repair"},
        actor=healthy.ACTOR,
        provenance=healthy.PROVENANCE,
    )
    assert made["envelope"]["sequence"] == 1
    store.close()


def _ids(cases: list[tuple[str, Fault]]) -> list[str]:
    return [f"{id_}-{fault.__name__}" for id_, fault in cases]


@pytest.mark.parametrize(("finding", "fault"), _cases(BY_ITSELF), ids=_ids(_cases(BY_ITSELF)))
def test_a_store_by_itself(patient: Patient, finding: str, fault: Fault) -> None:
    fault(patient)
    _judge(patient, None)


@pytest.mark.parametrize(("finding", "fault"), _cases(FROM_A_COPY), ids=_ids(_cases(FROM_A_COPY)))
def test_with_a_second_copy(patient: Patient, model: Path, finding: str, fault: Fault) -> None:
    fault(patient)
    _judge(patient, model)


@pytest.mark.parametrize("finding", sorted(set(FAULTS) - BY_ITSELF))
def test_what_it_cannot_do_it_leaves_alone(patient: Patient, finding: str) -> None:
    fault = FAULTS[finding][-1]
    fault(patient)
    stamps = _stamps(patient.root)
    answer = repaired(patient.root)
    if not answer["actions"]:
        repaired(patient.root, apply=True)
        assert _stamps(patient.root) == stamps


def test_line_endings_are_put_right_without_a_copy(patient: Patient) -> None:
    before = patient.ledger.read_bytes()
    patient.put_lines([line.replace(b"\n", b"\r\n") for line in patient.lines()])
    _judge_ledger(patient, before)


def _judge_ledger(patient: Patient, before: bytes) -> None:
    assert repaired(patient.root, apply=True)["clean"]
    assert patient.ledger.read_bytes() == before


def test_a_version_comes_back_out_of_a_pack_and_out_of_quarantine(patient: Patient) -> None:
    path = patient.path(patient.address("mem:alone"))
    data = path.read_bytes()
    folder = patient.store.quarantine / patient.layout.root.name
    folder.mkdir(parents=True)
    (folder / "kept.jsonl").write_bytes(b"something\n" + data + b"\nelse\n")
    path.unlink()
    assert repaired(patient.root, apply=True)["clean"]
    assert path.read_bytes() == data


def test_a_lost_pack_comes_back_from_a_copy(patient: Patient, model: Path) -> None:
    patient.pack().unlink()
    _judge(patient, model)


def test_a_link_in_the_place_of_a_version_is_moved_and_not_followed(
    patient: Patient, model: Path, tmp_path: Path
) -> None:
    path = patient.path(patient.address("mem:alone"))
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_bytes(b"not to be read")
    assert repaired(patient.root, other=model, apply=True)["clean"]
    assert path.is_file()
    assert not path.is_symlink()
    (moved,) = [found for found in patient.store.quarantine.rglob("*") if found.is_symlink()]
    assert moved.readlink() == tmp_path / "secret"


def test_another_store_is_no_copy(patient: Patient, tmp_path: Path) -> None:
    pamctl.init_store(tmp_path / "other" / ".pam").close()
    with pytest.raises(InvalidRequest, match="no copy of this store"):
        repaired(patient.root, other=tmp_path / "other" / ".pam", apply=True)


def test_a_copy_that_is_damaged_too_gives_no_ledger(
    patient: Patient, model: Path, tmp_path: Path
) -> None:
    shutil.copytree(model, tmp_path / "copy")
    other = Patient(tmp_path / "copy")
    for one in (patient, other):
        lines = one.lines()
        del lines[3]
        one.put_lines(lines)
    assert repaired(patient.root, other=other.root)["actions"] == []
