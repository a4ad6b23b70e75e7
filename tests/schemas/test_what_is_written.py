"""What a store writes and answers is what the schemas say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pamctl.errors import PamError
from pamctl.model.documents import check
from pamctl.model.types import Committed
from tests.schemas.instances import ACTOR, AGENT, INVOCATION, POLICY, QUALITY, STATEMENT
from tests.schemas.tables import merged

HERE = {"scope_id": "workspace:default", "actor": ACTOR}
CLAIM = merged(
    HERE, {"object_type": "claim", "canonical_content": {"text": "x"}, "provenance": STATEMENT}
)


def carry_on(store: Any) -> list[dict[str, Any]]:
    """Something of everything; the answers of what changed a scope."""
    first = store.create(**CLAIM, object_id="mem:1", quality_signals=QUALITY, idempotency_key="k")
    at = merged(HERE, {"object_id": "mem:1"})
    patched = store.update(
        **at,
        expected_version_id=first["version_id"],
        provenance=STATEMENT,
        json_patch=[{"op": "add", "path": "/more", "value": [1.5, None]}],
    )
    moved = store.transition(
        **at,
        expected_version_id=patched["version_id"],
        dimension="validation",
        target_state="corroborated",
        policy_basis="policy:review",
    )
    gone = store.delete(
        **at, expected_version_id=moved["version_id"], policy_basis="policy:cleaning"
    )
    with store.group() as group:
        packed = [
            group.perform("create", merged(CLAIM, {"actor": AGENT, "idempotency_key": f"k{n}"}))
            for n in range(3)
        ]
    called = store.create(
        **merged(CLAIM, {"object_type": "tool_invocation", "canonical_content": INVOCATION})
    )
    store.scope_policy(**HERE, policy={**POLICY, "rules": []}, idempotency_key="policy")
    store.scope_create(scope_id="task:1", parent_scope_id="workspace:default", actor=ACTOR)
    return [first, patched, moved, gone, *packed, called]


def test_every_file_is_a_document(store: Any) -> None:
    carry_on(store)
    with pytest.raises(PamError) as refused:
        store.create(**merged(CLAIM, {"object_id": "mem:1", "idempotency_key": "refused"}))
    check("error", refused.value.envelope("op:1"))
    root: Path = store.path
    check("store", json.loads((root / "store.json").read_bytes()))
    kinds = set()
    for ledger in root.glob("scopes/*/ledger.jsonl"):
        for line in ledger.read_bytes().splitlines():
            check("ledger-entry", json.loads(line))
            kinds.add(json.loads(line)["kind"])
    assert kinds >= {"scope", "policy", "event", "idempotency", "pack"}
    versions = [file.read_bytes() for file in root.glob("scopes/*/versions/*/*.json")]
    for pack in root.glob("scopes/*/packs/*.jsonl"):
        versions += pack.read_bytes().splitlines()
    assert len(versions) == 8
    for version in versions:
        check("version-file", json.loads(version))
    for scope in root.glob("scopes/*/scope.json"):
        check("scope", json.loads(scope.read_bytes()))


def test_every_answer_has_the_members_of_its_type(store: Any) -> None:
    for answer in carry_on(store):
        assert set(answer) == set(Committed.__annotations__)
        check("envelope", answer["envelope"])
    check("scope", store.scope_show(scope_id="workspace:default"))
    for event in store.log(scope_id="workspace:default")["items"]:
        check("event", event)
    for envelope in store.query(scope_id="workspace:default", any_state=True)["items"]:
        check("envelope", envelope)
