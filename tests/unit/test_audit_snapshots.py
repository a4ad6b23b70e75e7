"""The check of what snapshots are sealed with, on stores that hold something of everything."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.audit import check, snapshots
from pamctl.audit.disorder import Disorder
from tests.damaged import healthy
from tests.damaged.healthy import ACTOR, SCOPE, Patient
from tests.schemas.instances import SPACE

DIGEST = "snapshot-digest-wrong"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sealed") / ".pam"
    healthy.make(root)
    store = pamctl.open_store(root)
    asked = {"scope_id": SCOPE, "actor": ACTOR}
    store.perform("space_add", {**asked, "space": dict(SPACE)})
    store.perform(
        "grant_delegation",
        {
            **asked,
            "granting_actor": ACTOR,
            "delegated_actor": {"actor_id": "actor:agent:helper", "actor_kind": "agent"},
            "granted_operations": ["read"],
            "policy_basis": "policy:help",
            "not_after": "2099-01-01T00:00:00Z",
        },
    )
    for sealed in (
        {},
        {"at_sequence": 7},
        {"at_sequence": 0},
        {"included_object_ids": ["mem:tea", "mem:alone"]},
        {"included_object_ids": ["mem:tea", "mem:bed-1"]},
        {"included_embedding_space_ids": []},
    ):
        store.snapshots.create(**asked, **sealed)
    current = store.read(scope_id=SCOPE, object_id="mem:bed-1")["version_id"]
    store.perform(
        "delete",
        {
            **asked,
            "object_id": "mem:bed-1",
            "expected_version_id": current,
            "provenance": {"activity": "withdrawn"},
            "erase": True,
        },
    )
    store.snapshots.create(**asked)
    store.close()
    return root


def checked(root: Path, scratch: Path) -> dict[str, Any]:
    scratch.mkdir()
    return check.check_store(root, scratch)


@pytest.mark.parametrize(("rows", "packed"), [(2, False), (50_000, True)])
def test_what_was_sealed_has_the_digest_that_was_sealed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, packed: bool
) -> None:
    root = tmp_path / ".pam"
    shutil.copytree(model, root)
    if packed:
        with closing(pamctl.open_store(root)) as store:
            store.pack(scope_id=SCOPE)
    monkeypatch.setattr(snapshots, "_RUN_ROWS", rows)
    monkeypatch.setattr(snapshots, "_SNAPSHOTS_AT_ONCE", 3)
    looked = []
    real = snapshots._digests
    monkeypatch.setattr(
        snapshots, "_digests", lambda some, *rest: looked.extend(some) or real(some, *rest)
    )
    assert set(checked(root, tmp_path / "scratch")["counts"]) == {"ledger-tail-unpinned"}
    assert len(looked) == 7


@pytest.mark.parametrize("with_proof", [True, False])
def test_each_wrong_digest_is_named(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_proof: bool
) -> None:
    def no_proof(*_: object, **__: object) -> None:
        raise Disorder("not asked for")

    if not with_proof:
        monkeypatch.setattr(check, "prove", no_proof)
    shutil.copytree(model, tmp_path / ".pam")
    patient = Patient(tmp_path / ".pam")
    entries = patient.entries()
    changed = [e["body"]["snapshot"] for e in entries if e["kind"] == "snapshot"][1:3]
    for snapshot in changed:
        snapshot["ledger_sequence_high_watermark"] += 1
    patient.put(entries)
    answer = checked(patient.root, tmp_path / "scratch")
    found = [one["subject"] for one in answer["findings"] if one["id"] == DIGEST]
    assert found == [snapshot["snapshot_id"] for snapshot in changed]
    assert set(answer["counts"]) == {DIGEST, "ledger-tail-unpinned"}
