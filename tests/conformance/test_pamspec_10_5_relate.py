"""PAMSPEC §10.5: Relate, one test a requirement."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl import errors
from pamctl.model.documents import check
from pamctl.service.store import Store
from tests.relationships import AGENT, COMMON, HERE, THERE, Scope, keep_agents_from

FULL: dict[str, Any] = {
    **COMMON,
    "operation_id": "op:relate:1",
    "scope_id": HERE,
    "source_object_id": "mem:a",
    "target_object_id": "mem:b",
    "relationship_type": "supports",
    "directionality": "bidirectional",
    "lifecycle_state": "candidate",
    "availability_state": "available",
    "retention_state": "retained",
    "validation_state": "disputed",
}


@pytest.fixture
def scope(store: Store) -> Scope:
    scope = Scope(store)
    for name in ("mem:a", "mem:b"):
        scope.create(name)
    return scope


def test_10_5_all_required_inputs_are_taken(scope: Scope) -> None:
    """Each input that the section names is a member of what is committed."""
    made = scope.store.relate(**FULL)
    kept = {name for name in FULL if name not in ("operation_id", "provenance")}
    assert {name: made["envelope"][name] for name in kept} == {name: FULL[name] for name in kept}
    assert made["operation_id"] == "op:relate:1"
    assert scope.events()[-1]["operation_id"] == "op:relate:1"


@pytest.mark.parametrize(
    "member", ["source_object_id", "target_object_id", "relationship_type", "actor", "provenance"]
)
def test_10_5_what_has_no_default_has_to_be_given(scope: Scope, member: str) -> None:
    """A request without its ends, type, actor or provenance is no request."""
    with pytest.raises(errors.InvalidRequest):
        scope.store.perform(
            "relate", {name: value for name, value in FULL.items() if name != member}
        )


def test_10_5_it_returns_the_new_version_and_creates(scope: Scope) -> None:
    """The answer is the committed version; its event is relationship_created."""
    made = scope.store.relate(**FULL)
    check("relationship", made["envelope"])
    assert scope.read(made["relationship_id"]) == made["envelope"]
    event = scope.events()[-1]
    assert event["event_type"] == "relationship_created"
    assert event["event_id"] == made["event_id"]


def test_10_5_an_update_names_relationship_and_version(scope: Scope) -> None:
    """It answers the next version; its event is relationship_updated."""
    made = scope.store.relate(**FULL)
    updated = scope.store.relate(
        **{
            **FULL,
            "operation_id": "op:relate:2",
            "relationship_id": made["relationship_id"],
            "expected_version_id": made["version_id"],
            "canonical_content": {"weight": 2},
        }
    )
    assert updated["sequence"] == 2
    assert updated["version_id"] != made["version_id"]
    assert scope.events()[-1]["event_type"] == "relationship_updated"
    with pytest.raises(errors.InvalidRequest):
        scope.store.relate(**FULL, expected_version_id=updated["version_id"])


def test_10_5_a_stale_version_fails_with_version_conflict(scope: Scope) -> None:
    """Nothing is overwritten, and the current version is named (§8.4, §12)."""
    made = scope.store.relate(**FULL)
    updated = scope.update(made, canonical_content=2)
    with pytest.raises(errors.VersionConflict) as conflict:
        scope.update(made, canonical_content=3)
    assert conflict.value.details["current_version_id"] == updated["version_id"]
    assert scope.read(made["relationship_id"])["canonical_content"] == 2


def test_10_5_across_scopes_it_takes_policy_and_authority(scope: Scope) -> None:
    """Denied by policy where no rule grants it, whoever asks."""
    Scope(scope.store, THERE).create("mem:far")
    with pytest.raises(errors.PolicyDenied):
        scope.relate("mem:a", "mem:far", target_scope_id=THERE, policy_basis="policy:x")


def test_10_5_it_takes_authority(scope: Scope) -> None:
    """An actor whom the policy keeps from relating is refused, and the denial says no more."""
    scope.govern(keep_agents_from("relate"))
    for target in ("mem:b", "mem:nowhere"):
        with pytest.raises(errors.AccessDenied) as denied:
            scope.relate("mem:a", target, actor=AGENT)
        assert target not in denied.value.message


def test_10_5_no_object_gets_a_version(scope: Scope) -> None:
    """Neither creating nor updating a relationship touches its ends."""
    before = {name: scope.versions(name) for name in ("mem:a", "mem:b")}
    scope.update(scope.store.relate(**FULL), canonical_content=2)
    assert {name: scope.versions(name) for name in before} == before


def test_10_5_a_repeated_request_is_answered_once(scope: Scope) -> None:
    """A key makes it happen once; with another content it is a duplicate (§12)."""
    made = scope.store.relate(**FULL, idempotency_key="k")
    assert scope.store.relate(**FULL, idempotency_key="k") == {**made, "replayed": True}
    with pytest.raises(errors.DuplicateOperation):
        scope.store.relate(**{**FULL, "directionality": "directed"}, idempotency_key="k")
    assert len(scope.found(relationships=True)) == 1
