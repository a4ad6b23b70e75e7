"""Faults of snapshots, embedding spaces and vectors."""

from __future__ import annotations

from typing import Any

from pamctl.encoding.canonical import canonical
from tests.damaged.faults.declared import gives
from tests.damaged.healthy import ACTOR, SCOPE, Patient

SPACE_ID = "space:made-up:1"


def _by_actor(patient: Patient, **members: Any) -> dict[str, Any]:
    return {"actor": ACTOR, "recorded_at": patient.event()["recorded_at"], **members}


def _space(patient: Patient, dimensions: int = 2) -> tuple[str, dict[str, Any]]:
    labels = ("provider", "model", "model_revision", "distance_metric", "normalization")
    more = ("preprocessing_profile", "embedding_kind", "canonicalization_rules")
    described: dict[str, Any] = dict.fromkeys((*labels, *more), "made-up")
    described |= {"embedding_space_id": SPACE_ID, "dimensions": dimensions}
    return "space", _by_actor(patient, space=described)


def _snapshot(patient: Patient, *, sealed_at: int, **members: Any) -> tuple[str, dict[str, Any]]:
    snapshot = {
        "snapshot_id": "snap:1",
        "scope_id": SCOPE,
        "sealed": True,
        "created_at": "2027-01-01T00:00:00Z",
        "ledger_sequence_high_watermark": sealed_at,
        **members,
    }
    return "snapshot", _by_actor(patient, snapshot=snapshot, sealed_at_sequence=sealed_at)


def _events(patient: Patient) -> int:
    return sum(entry["kind"] == "event" for entry in patient.entries())


def _vectors(patient: Patient, *rows: dict[str, str], dimensions: int = 2) -> None:
    folder = patient.layout.embeddings / "space"
    folder.mkdir(parents=True)
    space = {"dimensions": dimensions, "embedding_space_id": SPACE_ID}
    (folder / "space.json").write_bytes(canonical(space) + b"\n")
    (folder / "00000001.f32").write_bytes(bytes(4 * dimensions * len(rows)))
    lines = b"".join(canonical(row) + b"\n" for row in rows)
    (folder / "00000001.jsonl").write_bytes(lines)


@gives("descriptor-invalid")
def a_space_described_twice(patient: Patient) -> None:
    patient.append(_space(patient))
    patient.append(_space(patient))


@gives("descriptor-invalid")
def a_snapshot_id_used_twice(patient: Patient) -> None:
    for _ in range(2):
        patient.append(_snapshot(patient, sealed_at=_events(patient)))


@gives("descriptor-invalid")
def a_snapshot_sealed_at_another_event(patient: Patient) -> None:
    patient.append(_snapshot(patient, sealed_at=_events(patient) - 1))


@gives("descriptor-invalid")
def a_snapshot_of_the_future(patient: Patient) -> None:
    now = _events(patient)
    patient.append(_snapshot(patient, sealed_at=now, ledger_sequence_high_watermark=now + 1))


@gives("snapshot-digest-wrong")
def a_snapshot_of_something_else(patient: Patient) -> None:
    sealed = {
        "digest": f"sha256:{'0' * 64}",
        "digest_algorithm": "sha-256",
        "canonicalization_profile": "pamctl-snapshot-1",
    }
    patient.append(_snapshot(patient, sealed_at=_events(patient), **sealed))


@gives("descriptor-invalid")
def a_snapshot_of_a_space_that_came_later(patient: Patient) -> None:
    included = {"included_embedding_space_ids": [SPACE_ID]}
    patient.append(_snapshot(patient, sealed_at=_events(patient), **included))
    patient.append(_space(patient))


@gives("embedding-orphaned")
def vectors_of_no_space(patient: Patient) -> None:
    _vectors(patient)


@gives("embedding-orphaned")
def vectors_of_other_dimensions(patient: Patient) -> None:
    patient.append(_space(patient, dimensions=3))
    _vectors(patient)


@gives("embedding-orphaned")
def a_vector_of_no_version(patient: Patient) -> None:
    patient.append(_space(patient))
    known = patient.current("mem:alone")
    of_none = {"object_id": "mem:alone", "version_id": f"ver:{'9' * 32}"}
    of_one = {"object_id": "mem:alone", "version_id": known["version_id"]}
    _vectors(patient, of_one, of_none)


@gives("embedding-orphaned")
def vectors_under_no_name(patient: Patient) -> None:
    (patient.layout.embeddings / "space").mkdir(parents=True)
