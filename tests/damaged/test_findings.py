"""Every finding of the table has a fault that gives it, and that fault gives nothing else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import pamctl
from pamctl.audit.finding_kinds import BY_ID, KINDS
from pamctl.audit.pins import Pin, Pins
from pamctl.cli.checking import checked
from pamctl.encoding.digests import sha256_hex
from tests.damaged import healthy
from tests.damaged.faults import FAULTS, Fault
from tests.damaged.healthy import ACTOR, PROVENANCE, SCOPE, Patient
from tests.schemas.instances import SPACE

ROOT = Path(__file__).resolve().parents[2]
CASES = [(id_, fault) for id_, faults in FAULTS.items() for fault in faults]

UNPINNED = "ledger-tail-unpinned"
# A fault in the ledger leaves an index behind that had read it as it was. Faults of other
# kinds are checked with the index there.
LEDGER_CHANGED = "index-out-of-step"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("healthy") / ".pam"
    healthy.make(root)
    return root


@pytest.fixture
def patient(model: Path, tmp_path: Path) -> Patient:
    shutil.copytree(model, tmp_path / ".pam")
    return Patient(tmp_path / ".pam")


def test_a_healthy_store_is_clean(patient: Patient) -> None:
    answer = checked(patient.root)
    assert answer["clean"]
    assert answer["counts"] == {UNPINNED: 2}


def test_a_healthy_store_whose_heads_are_pinned_gives_nothing(patient: Patient) -> None:
    seen = checked(patient.root)["scopes"]
    pins = {s["scope_id"]: (Pin(s["head"], s["entries"], "was seen"),) for s in seen}
    answer = checked(patient.root, pins=Pins(pins))
    assert answer["findings"] == []
    assert [scope["tail"] for scope in answer["scopes"]] == ["pinned", "pinned"]


@pytest.mark.parametrize(("finding", "fault"), CASES, ids=[f"{i}-{f.__name__}" for i, f in CASES])
def test_a_fault_gives_its_finding_and_no_other(
    patient: Patient, finding: str, fault: Fault
) -> None:
    before = sha256_hex(patient.ledger.read_bytes())
    pin = fault(patient)
    changed = not patient.ledger.is_file() or sha256_hex(patient.ledger.read_bytes()) != before
    if changed and finding != LEDGER_CHANGED:
        shutil.rmtree(patient.store.index)
    pins = None if pin is None else Pins({SCOPE: (pin,)})
    answer = checked(patient.root, pins=pins)
    expected = {finding} if finding == UNPINNED else {finding, UNPINNED}
    assert set(answer["counts"]) - {UNPINNED} == expected - {UNPINNED}
    assert finding in answer["counts"]
    assert answer["clean"] is (BY_ID[finding].severity == "notice")
    assert all(found["severity"] == BY_ID[found["id"]].severity for found in answer["findings"])


def test_every_finding_has_a_fault() -> None:
    assert set(FAULTS) == set(BY_ID)


def test_findings_are_the_invariants_of_the_format() -> None:
    page = (ROOT / "store-format" / "invariants.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (must|should|notice) \|", page, flags=re.MULTILINE)
    assert {kind.id: kind.severity for kind in KINDS} == dict(rows)


def test_spaces_vectors_and_snapshots_are_no_findings(tmp_path: Path) -> None:
    store = pamctl.init_store(tmp_path / ".pam")
    given = {"scope_id": SCOPE, "actor": ACTOR}
    space = {**SPACE, "dimensions": 2}
    store.perform("space_add", {**given, "space": space})
    for name in ("tea", "plan"):
        made = store.create(
            **given,
            object_id=f"mem:{name}",
            object_type="claim",
            canonical_content=name,
            provenance=PROVENANCE,
        )
        vector = {
            "embedding_space_id": space["embedding_space_id"],
            "object_id": made["object_id"],
            "version_id": made["version_id"],
            "vector": [0.5, 1.0],
        }
        store.perform("embedding_put", {**given, "embeddings": [vector]})
    included = {"included_embedding_space_ids": [space["embedding_space_id"]]}
    store.perform("snapshot_create", {**given, **included})
    store.close()
    answer = checked(tmp_path / ".pam")
    assert answer["clean"], answer["findings"]


def test_a_check_changes_nothing(patient: Patient) -> None:
    def seen() -> dict[str, tuple[int, int, int]]:
        found = {}
        for path in [patient.root, *patient.root.rglob("*")]:
            # SQLite keeps its shared memory beside an index, also for those who only look.
            if path.suffix.endswith(("-shm", "-wal")) or path == patient.store.index:
                continue
            status = path.lstat()
            found[str(path)] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size)
        return found

    before = seen()
    checked(patient.root)
    assert seen() == before
