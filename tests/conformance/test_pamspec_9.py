"""PAMSPEC §9.1 to §9.5: four separate dimensions of state and their transitions.

The tables are written out here from the draft; §9.6 has a file of its own.
"""

from itertools import product
from typing import Any

import pytest

from pamctl.errors import InvalidStateTransition, ObjectDeleted, PamError, PolicyDenied
from tests.conformance.memories import AGENT, DIMENSIONS, Memories, states

STATES = {
    "lifecycle": ("scratch", "candidate", "active", "superseded", "deprecated", "archived"),
    "availability": ("available", "partially_redacted", "redacted", "deleted"),
    "retention": ("retained", "expired", "pending_deletion", "legal_hold"),
    "validation": ("unverified", "corroborated", "disputed", "rejected"),
}

PLAIN = {
    ("lifecycle", "scratch"): ("candidate", "archived"),
    ("lifecycle", "candidate"): ("active", "deprecated", "archived"),
    ("lifecycle", "active"): ("superseded", "deprecated", "archived"),
    ("lifecycle", "superseded"): ("archived", "deprecated"),
    ("lifecycle", "deprecated"): ("archived",),
    ("lifecycle", "archived"): ("deprecated",),
    ("availability", "available"): ("partially_redacted", "redacted", "deleted"),
    ("availability", "partially_redacted"): ("available", "redacted", "deleted"),
    ("availability", "redacted"): ("deleted",),
    ("availability", "deleted"): (),
    ("retention", "retained"): ("expired", "pending_deletion", "legal_hold"),
    ("retention", "expired"): ("retained", "pending_deletion", "legal_hold"),
    ("retention", "pending_deletion"): ("retained", "legal_hold"),
    ("retention", "legal_hold"): (),
    ("validation", "unverified"): ("corroborated", "disputed", "rejected"),
    ("validation", "corroborated"): ("disputed", "rejected"),
    ("validation", "disputed"): ("corroborated", "rejected"),
    ("validation", "rejected"): ("disputed",),
}
"""What is allowed without more."""

CONDITIONAL = {
    ("lifecycle", "deprecated", "active"): "review",
    ("lifecycle", "archived", "active"): "override",
    ("availability", "redacted", "available"): "restoration",
    ("retention", "legal_hold", "retained"): "hold_release",
    ("retention", "legal_hold", "expired"): "hold_release",
    ("retention", "legal_hold", "pending_deletion"): "hold_release",
    ("validation", "corroborated", "unverified"): "provenance_correction",
    ("validation", "rejected", "corroborated"): "review",
}
"""What is allowed to whom a rule of the scope's policy lets do it."""

OVERRIDABLE = {
    ("lifecycle", "scratch"): ("active", "superseded", "deprecated"),
    ("lifecycle", "candidate"): ("superseded",),
    ("lifecycle", "active"): ("scratch",),
    ("lifecycle", "superseded"): ("active",),
    ("lifecycle", "deprecated"): ("scratch",),
    ("lifecycle", "archived"): ("scratch", "candidate"),
    ("validation", "rejected"): ("unverified",),
}
"""What is forbidden unless a rule that is named overrides."""

PAIRS = [
    (dimension, source, target)
    for dimension in DIMENSIONS
    for source, target in product(STATES[dimension], repeat=2)
]
STRICT: dict[str, Any] = {"policy_version": 1, "default_effect": "allow", "rules": []}


def in_state(memories: Memories, dimension: str, state: str) -> dict[str, Any]:
    """A memory in a state: born in it, or whole and then brought there."""
    if dimension == "availability" and state != "available":
        return memories.move(memories.create(), dimension, state)
    return memories.create(**{f"{dimension}_state": state})


def rule(dimension: str, source: str, target: str, condition: str) -> dict[str, Any]:
    return {
        "rule_id": "rule:granted",
        "dimension": dimension,
        "from": [source],
        "to": [target],
        "condition": condition,
    }


def govern(memories: Memories, *overrides: dict[str, Any]) -> None:
    memories.perform("scope_policy", policy={**STRICT, "overrides": list(overrides)})


@pytest.mark.parametrize(("dimension", "source", "target"), PAIRS)
def test_9_5_only_what_the_tables_allow_is_allowed(
    memories: Memories, dimension: str, source: str, target: str
) -> None:
    """Every pair of states, in a scope whose policy grants nothing beyond the tables."""
    govern(memories)
    made = in_state(memories, dimension, source)
    before = memories.versions(made)
    if target in PLAIN[dimension, source]:
        moved = memories.move(made, dimension, target)
        assert states(moved) == {**states(made), dimension: target}
        assert memories.versions(made)[-1] == moved
        return
    with pytest.raises(PamError) as caught:
        memories.move(made, dimension, target)
    if (dimension, source) == ("availability", "deleted"):
        assert caught.value.code in ("object_deleted", "invalid_state_transition")
    elif (dimension, source, target) in CONDITIONAL:
        assert caught.value.code == "policy_denied"
    else:
        assert caught.value.code == "invalid_state_transition"
    assert memories.versions(made) == before


@pytest.mark.parametrize(("dimension", "source", "target"), CONDITIONAL)
def test_9_5_a_rule_grants_what_is_conditional(
    memories: Memories, dimension: str, source: str, target: str
) -> None:
    """To the actors that it names, and by its own condition; the event says which rule it was."""
    condition = CONDITIONAL[dimension, source, target]
    granted = {**rule(dimension, source, target, condition), "actors": [AGENT["actor_id"]]}
    govern(memories, granted)
    made = in_state(memories, dimension, source)
    with pytest.raises(PolicyDenied):
        memories.move(made, dimension, target)
    moved = memories.move(made, dimension, target, actor=AGENT)
    assert states(moved) == {**states(made), dimension: target}
    assert memories.events()[-1]["payload"]["policy_rule_id"] == "rule:granted"


@pytest.mark.parametrize(
    ("dimension", "source", "target"),
    [(*pair, target) for pair, targets in OVERRIDABLE.items() for target in targets],
)
def test_9_5_an_override_is_a_rule_that_is_named(
    memories: Memories, dimension: str, source: str, target: str
) -> None:
    govern(memories, rule(dimension, source, target, "override"))
    made = in_state(memories, dimension, source)
    with pytest.raises(InvalidStateTransition):
        memories.move(made, dimension, target)
    with pytest.raises(PolicyDenied):
        memories.move(made, dimension, target, override="rule:other")
    moved = memories.move(made, dimension, target, override="rule:granted")
    assert states(moved) == {**states(made), dimension: target}


@pytest.mark.parametrize(
    ("dimension", "source", "target"),
    [
        (dimension, source, target)
        for dimension, source, target in PAIRS
        if target not in PLAIN[dimension, source]
        and (dimension, source, target) not in CONDITIONAL
        and target not in OVERRIDABLE.get((dimension, source), ())
        and source != "deleted"
    ],
)
def test_9_5_nothing_overrides_the_rest(
    memories: Memories, dimension: str, source: str, target: str
) -> None:
    govern(memories, rule(dimension, source, target, "override"))
    made = in_state(memories, dimension, source)
    with pytest.raises(InvalidStateTransition):
        memories.move(made, dimension, target, override="rule:granted")


@pytest.mark.parametrize(
    ("dimension", "target"),
    [
        (dimension, target)
        for dimension, other in product(DIMENSIONS, repeat=2)
        for target in STATES[other]
        if other != dimension
    ],
)
def test_9_a_state_of_one_dimension_is_none_of_another(
    memories: Memories, dimension: str, target: str
) -> None:
    made = memories.create()
    with pytest.raises(InvalidStateTransition):
        memories.move(made, dimension, target)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_9_a_transition_in_one_dimension_moves_no_other(memories: Memories, dimension: str) -> None:
    for target in PLAIN[dimension, memories.create()[f"{dimension}_state"]]:
        made = memories.create()
        moved = memories.move(made, dimension, target)
        assert states(moved) == {**states(made), dimension: target}


def test_9_5_nothing_leaves_a_tombstone(memories: Memories) -> None:
    made = memories.create()
    tombstone = memories.delete(made)
    for dimension in DIMENSIONS:
        for target in STATES[dimension]:
            with pytest.raises((ObjectDeleted, InvalidStateTransition)):
                memories.move(tombstone, dimension, target)
    with pytest.raises(ObjectDeleted):
        memories.update(tombstone, canonical_content="back")
    with pytest.raises(ObjectDeleted):
        memories.delete(tombstone)
    assert memories.versions(made)[-1] == tombstone


def test_9_5_a_transition_has_an_actor_and_a_policy_basis(memories: Memories) -> None:
    made = memories.create()
    memories.move(made, "validation", "corroborated", policy_basis="policy:review:7")
    event = memories.events()[-1]
    assert event["actor"] == memories.actor
    assert event["payload"]["policy_basis"] == "policy:review:7"
    asked = {
        "scope_id": memories.scope_id,
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "dimension": "validation",
        "target_state": "disputed",
    }
    with pytest.raises(PamError) as caught:
        memories.store.perform("transition", asked)
    assert caught.value.code == "invalid_request"


# §9.1 to §9.4: what each state means for retrieval.
@pytest.mark.parametrize(("dimension", "state"), [(d, s) for d in DIMENSIONS for s in STATES[d]])
def test_9_default_retrieval_finds_the_trusted_states_alone(
    memories: Memories, dimension: str, state: str
) -> None:
    trusted = {"validation_state": "corroborated"}
    made = memories.create(**trusted)
    default = states(made)[dimension]
    if dimension == "availability" and state in ("redacted", "deleted"):
        made = memories.move(made, dimension, state)
    elif state != default:
        made = memories.create(**{**trusted, f"{dimension}_state": state})
    found = memories.perform("query")["items"]
    assert (made["object_id"] in [item["object_id"] for item in found]) == (state == default)
    asked = memories.perform("query", **{f"{dimension}_state": [state]})["items"]
    assert made in asked


def test_9_3_redacted_content_is_shown_nowhere(memories: Memories) -> None:
    made = memories.create("green tea", validation_state="corroborated")
    redacted = memories.move(made, "availability", "redacted")
    shown = [
        *memories.versions(made),
        *memories.found(),
        *memories.found(text="green"),
        memories.read(made, version_id=redacted["version_id"]),
    ]
    assert "green tea" not in str(shown)
    assert memories.found(text="green") == []


def test_9_4_what_is_pending_deletion_is_kept_from_change(memories: Memories) -> None:
    made = memories.move(memories.create(), "retention", "pending_deletion")
    with pytest.raises(PamError) as caught:
        memories.update(made, canonical_content="other")
    assert caught.value.code == "retention_restriction"
    kept = memories.move(made, "retention", "retained")
    memories.update(kept, canonical_content="other")


def test_9_4_a_hold_stops_what_would_lose_or_hide(memories: Memories) -> None:
    """Vector deletion-blocked-by-legal-hold."""
    held = memories.move(memories.create(), "retention", "legal_hold")
    for target in ("partially_redacted", "redacted", "deleted"):
        with pytest.raises(PamError) as caught:
            memories.move(held, "availability", target)
        assert caught.value.code == "legal_hold"
    with pytest.raises(PamError) as caught:
        memories.delete(held)
    assert caught.value.code == "legal_hold"
    assert memories.read(held) == held
    released = memories.move(held, "retention", "retained")
    memories.delete(released)


def test_9_5_unreviewed_memory_becomes_trusted_by_authority_alone(memories: Memories) -> None:
    """Vector unauthorized-lifecycle-promotion: who may not make memories active is refused,
    and the memory stays what it was."""
    deny = {
        "rule_id": "rule:reviewers-only",
        "effect": "deny",
        "actors": [AGENT["actor_id"]],
        "operations": ["transition"],
        "target_states": ["active", "corroborated"],
    }
    memories.perform("scope_policy", policy={**STRICT, "rules": [deny]})
    made = memories.create(lifecycle_state="candidate", actor=AGENT)
    for dimension, target in (("lifecycle", "active"), ("validation", "corroborated")):
        with pytest.raises(PamError) as caught:
            memories.move(made, dimension, target, actor=AGENT)
        assert caught.value.code == "access_denied"
        assert caught.value.policy_rule_id == "rule:reviewers-only"
    assert memories.read(made) == made
    memories.move(made, "lifecycle", "active")
