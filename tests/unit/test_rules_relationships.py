"""What repeats a relationship, what an update leaves alone, and what may be promoted."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import InvalidRequest, InvalidStateTransition, RelationshipConflict
from pamctl.model.vocabulary import LIFECYCLE_STATES
from pamctl.rules.promotion import require_promotable, require_source_type, require_target_type
from pamctl.rules.relationships import repeats, require_unchanged

THERE = {
    "relationship_id": "rel:1",
    "scope_id": "workspace:here",
    "relationship_type": "supports",
    "source_object_id": "mem:a",
    "target_object_id": "mem:b",
    "directionality": "directed",
    "lifecycle_state": "active",
    "availability_state": "available",
    "retention_state": "retained",
    "validation_state": "unverified",
}
REVERSED = {"source_object_id": "mem:b", "target_object_id": "mem:a"}
EITHER_WAY = ("bidirectional", "undirected")


def test_the_same_type_between_the_same_objects_is_said_twice() -> None:
    assert repeats(THERE, THERE)
    assert repeats({**THERE, "directionality": "undirected"}, THERE)
    assert repeats(THERE, {**THERE, "validation_state": "rejected"})


@pytest.mark.parametrize(
    "other",
    [
        {"relationship_type": "refutes"},
        {"source_object_id": "mem:c"},
        {"target_object_id": "mem:c"},
        {"target_scope_id": "workspace:there"},
        {"valid_from": "2026-01-01T00:00:00Z"},
        {"valid_until": "2026-01-01T00:00:00Z"},
        REVERSED,
    ],
)
def test_anything_else_is_another_fact(other: dict[str, Any]) -> None:
    assert not repeats({**THERE, **other}, THERE)
    assert not repeats(THERE, {**THERE, **other})


@pytest.mark.parametrize("state", [s for s in LIFECYCLE_STATES if s != "active"])
def test_what_is_no_longer_in_force_may_be_said_again(state: str) -> None:
    assert not repeats(THERE, {**THERE, "lifecycle_state": state})


def test_what_was_deleted_may_be_said_again() -> None:
    assert not repeats(THERE, {**THERE, "availability_state": "deleted"})


@pytest.mark.parametrize("one", EITHER_WAY)
@pytest.mark.parametrize("other", EITHER_WAY)
def test_without_a_direction_the_ends_may_change_places(one: str, other: str) -> None:
    made, there = {**THERE, "directionality": one}, {**THERE, **REVERSED, "directionality": other}
    assert repeats(made, there)
    assert not repeats({**made, "directionality": "directed"}, there)
    assert not repeats(made, {**there, "directionality": "directed"})
    across = {"target_scope_id": "workspace:there"}
    assert not repeats({**made, **across}, {**there, **across})


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("source_object_id", "mem:c"),
        ("target_object_id", "mem:c"),
        ("target_scope_id", "workspace:there"),
        ("relationship_type", "refutes"),
        ("lifecycle_state", "archived"),
        ("availability_state", "redacted"),
        ("retention_state", "expired"),
        ("validation_state", "corroborated"),
    ],
)
def test_an_update_makes_no_other_relationship_of_one(member: str, value: str) -> None:
    with pytest.raises(RelationshipConflict) as conflict:
        require_unchanged(THERE, {member: value})
    assert conflict.value.details["pointer"] == f"/{member}"


def test_an_update_may_repeat_what_is_so() -> None:
    require_unchanged(THERE, THERE)
    require_unchanged(THERE, {"target_scope_id": "workspace:here"})
    across = {**THERE, "target_scope_id": "workspace:there"}
    require_unchanged(across, across)
    require_unchanged(THERE, {"directionality": "undirected", "canonical_content": 1})


def test_only_working_memory_is_promoted() -> None:
    require_source_type("mem:a", "working_memory")
    with pytest.raises(InvalidRequest) as refused:
        require_source_type("mem:a", "claim")
    assert refused.value.policy_rule_id == "promote_source_must_be_working_memory"


def test_nothing_is_promoted_to_working_memory() -> None:
    require_target_type("claim")
    with pytest.raises(InvalidRequest):
        require_target_type("working_memory")


@pytest.mark.parametrize("state", LIFECYCLE_STATES)
def test_what_was_superseded_or_put_away_is_not_promoted(state: str) -> None:
    if state in ("scratch", "candidate", "active"):
        require_promotable("mem:a", state)
    else:
        with pytest.raises(InvalidStateTransition):
            require_promotable("mem:a", state)
