"""PAMSPEC §8.5: Relationship Objects, one test a requirement."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl import errors
from pamctl.model.documents import check
from pamctl.service.store import Store
from tests.relationships import AGENT, HERE, THERE, Scope, grant, keep_agents_from


@pytest.fixture
def scope(store: Store) -> Scope:
    scope = Scope(store)
    for name in ("mem:a", "mem:b", "mem:c"):
        scope.create(name)
    return scope


def test_8_5_a_relationship_has_an_identity_of_its_own(scope: Scope) -> None:
    """It is no member of an object: it has its own id, which no object may take."""
    made = scope.relate("mem:a", "mem:b")
    assert made["relationship_id"] not in ("mem:a", "mem:b")
    with pytest.raises(errors.VersionConflict):
        scope.create(made["relationship_id"])


def test_8_5_it_contains_what_the_section_lists(scope: Scope) -> None:
    """Type, ends, direction, content, provenance, four states, times and integrity."""
    made = scope.relate(
        "mem:a",
        "mem:b",
        canonical_content={"weight": 1},
        observed_at="2026-01-01T00:00:00Z",
        valid_until="2027-01-01T00:00:00Z",
        integrity={"digest": "sha256:x", "algorithm": "sha-256"},
    )
    check("relationship", made["envelope"])
    assert set(made["envelope"]) >= {
        "relationship_id",
        "version_id",
        "scope_id",
        "relationship_type",
        "source_object_id",
        "target_object_id",
        "directionality",
        "canonical_content",
        "provenance",
        "lifecycle_state",
        "validation_state",
        "availability_state",
        "retention_state",
        "observed_at",
        "valid_until",
        "committed_at",
        "recorded_at",
        "integrity",
    }


def test_8_5_it_is_bound_to_one_scope(scope: Scope) -> None:
    """In another scope there is no such relationship."""
    made = scope.relate("mem:a", "mem:b")
    assert made["envelope"]["scope_id"] == HERE
    other = Scope(scope.store, THERE)
    other.create("mem:a")
    with pytest.raises(errors.ObjectNotFound):
        other.read(made["relationship_id"])
    assert other.found(relationships=True) == []


@pytest.mark.parametrize("change", ["update", "transition", "delete"])
def test_8_5_a_change_makes_a_version_and_an_event(scope: Scope, change: str) -> None:
    """Every change of it is a new version, committed by an event that names both."""
    made = scope.relate("mem:a", "mem:b")
    if change == "update":
        changed = scope.update(made, canonical_content={"weight": 2})
    elif change == "transition":
        changed = scope.store.transition(
            **scope.at(made), dimension="validation", target_state="corroborated"
        )
    else:
        changed = scope.delete(made)
    versions = scope.versions(made["relationship_id"])
    assert [each["version_id"] for each in versions] == [made["version_id"], changed["version_id"]]
    event = scope.events()[-1]
    assert event["relationship_id"] == made["relationship_id"]
    assert event["version_id"] == changed["version_id"]


def test_8_5_no_change_of_it_is_a_version_of_an_object(scope: Scope) -> None:
    """Source and target stay at the versions that they had."""
    before = [scope.read(name) for name in ("mem:a", "mem:b")]
    scope.delete(scope.update(scope.relate("mem:a", "mem:b"), canonical_content=2))
    assert [scope.read(name) for name in ("mem:a", "mem:b")] == before


@pytest.mark.parametrize("end", ["mem:a", "mem:b"])
def test_8_5_deleting_an_object_deletes_no_relationship(scope: Scope, end: str) -> None:
    """What related a deleted object stays as it was, and can still be found from it."""
    made = scope.relate("mem:a", "mem:b")
    scope.store.delete(
        scope_id=HERE,
        object_id=end,
        expected_version_id=scope.read(end)["version_id"],
        actor=made["envelope"]["actor"],
    )
    assert scope.read(made["relationship_id"]) == made["envelope"]
    assert scope.near(end, relationships=True) == [made["relationship_id"]]


def test_8_5_across_scopes_it_takes_explicit_policy(scope: Scope) -> None:
    """Without a grant of both scopes it is refused by name, with one of each it is made."""
    far = Scope(scope.store, THERE)
    far.create("mem:far")
    across: dict[str, Any] = {"target_scope_id": THERE, "policy_basis": "policy:shared"}
    with pytest.raises(errors.PolicyDenied):
        scope.relate("mem:a", "mem:far", **across)
    scope.govern(cross_scope=[grant("out", THERE)])
    with pytest.raises(errors.PolicyDenied):
        scope.relate("mem:a", "mem:far", **across)
    far.govern(cross_scope=[grant("in", HERE)])
    made = scope.relate("mem:a", "mem:far", **across)
    assert made["envelope"]["policy_basis"] == "policy:shared"


def test_8_5_a_reference_grants_no_access(scope: Scope) -> None:
    """Who may not read an object may not read it through a relationship either, in the same
    scope or into another."""
    scope.create("mem:secret", object_type="decision")
    scope.relate("mem:a", "mem:secret")
    scope.govern(keep_agents_from("read", "query", object_types=["decision"]))
    with pytest.raises(errors.AccessDenied):
        scope.read("mem:secret", actor=AGENT)
    assert scope.near("mem:a", actor=AGENT) == []

    far = Scope(scope.store, THERE)
    far.create("mem:far")
    scope.govern(cross_scope=[grant("out", THERE)])
    far.govern(keep_agents_from("read", "query"), cross_scope=[grant("in", HERE)])
    scope.relate("mem:a", "mem:far", target_scope_id=THERE, policy_basis="policy:shared")
    with pytest.raises(errors.AccessDenied):
        far.read("mem:far", actor=AGENT)
    with pytest.raises(errors.ObjectNotFound):
        scope.read("mem:far", actor=AGENT)
    assert "mem:far" not in scope.near("mem:a", actor=AGENT)


def test_8_5_traversal_checks_every_step(scope: Scope) -> None:
    """What lies behind an object that the actor may not see is not reached through it."""
    scope.create("mem:secret", object_type="decision")
    scope.relate("mem:a", "mem:secret")
    scope.relate("mem:secret", "mem:b")
    assert scope.near("mem:a") == ["mem:b", "mem:secret"]
    scope.govern(keep_agents_from("read", "query", object_types=["decision"]))
    assert scope.near("mem:a", actor=AGENT) == []
    scope.relate("mem:a", "mem:b")
    assert scope.near("mem:a", actor=AGENT) == ["mem:b"]


@pytest.mark.parametrize(
    "name",
    [
        "supports",
        "contradicts",
        "derives_from",
        "com.example.mentors",
        "https://example.com/types#mentors",
        "a word of one's own",
    ],
)
def test_8_5_unknown_types_must_be_kept(scope: Scope, name: str) -> None:
    """Every label that a caller chooses comes back as it was, also after updates."""
    made = scope.update(scope.relate("mem:a", "mem:b", relationship_type=name))
    assert scope.read(made["relationship_id"])["relationship_type"] == name
    data = scope.store.version_bytes(HERE, made["version_id"])
    assert name.encode() in data
    assert scope.found(relationships=True, relationship_type=[name]) == [made["relationship_id"]]


def test_8_5_a_type_that_pamctl_gives_should_be_a_known_label(scope: Scope) -> None:
    """The one relationship that pamctl makes by itself, by promotion, bears the draft's label."""
    source = scope.create(
        "mem:plan",
        object_type="working_memory",
        canonical_content={"task_ref": "task:1", "content": None},
    )
    made = scope.store.promote(
        scope_id=HERE,
        actor=source["envelope"]["actor"],
        provenance={"activity": "promoted"},
        source_object_id="mem:plan",
        expected_version_id=source["version_id"],
        target_object_type="task",
        target_canonical_content={},
    )
    assert scope.read(made["relationship_id"])["relationship_type"] == "derived_from"
