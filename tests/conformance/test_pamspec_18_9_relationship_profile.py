"""PAMSPEC §18.9, §11 and §15.7: what the Relationship profile asks for, one test each."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pamctl import errors
from pamctl.service.store import Store
from tests.relationships import AGENT, HERE, HUMAN, THERE, Scope, grant, keep_agents_from

SECRET = keep_agents_from("read", "query", "inspect_history", object_types=["decision"])


@pytest.fixture
def scope(store: Store) -> Scope:
    scope = Scope(store)
    for name in ("mem:a", "mem:b", "mem:c"):
        scope.create(name)
    return scope


@pytest.fixture
def far(scope: Scope) -> Scope:
    """Another scope, both policies of which let relationships through."""
    far = Scope(scope.store, THERE)
    far.create("mem:far")
    scope.govern(cross_scope=[grant("out", THERE)])
    far.govern(cross_scope=[grant("in", HERE)])
    return far


def across(scope: Scope, **more: Any) -> dict[str, Any]:
    return scope.relate(
        "mem:a", "mem:far", target_scope_id=THERE, policy_basis="policy:shared", **more
    )


def outcome(attempt: Any, *names: str) -> tuple[Any, ...]:
    """How an attempt fails, with the names that differ between attempts taken out."""
    with pytest.raises(errors.PamError) as refused:
        attempt()
    error = refused.value
    message = error.message
    for name in names:
        message = message.replace(name, "?")
    return error.code, message, error.policy_rule_id, error.details


def test_18_9_relationships_are_identified_and_versioned_by_themselves(scope: Scope) -> None:
    """An id of their own, versions numbered from 1, each of which can be read."""
    made = scope.relate("mem:a", "mem:b", relationship_id="rel:ab")
    updated = scope.update(made, canonical_content={"weight": 2})
    assert [each["sequence"] for each in scope.versions("rel:ab")] == [1, 2]
    assert scope.read("rel:ab", version_id=made["version_id"]) == made["envelope"]
    assert scope.read("rel:ab") == updated["envelope"]


def test_18_9_cross_scope_policy_is_of_both_scopes_and_recorded(scope: Scope, far: Scope) -> None:
    """The version states the basis, the event the rule of either policy."""
    made = across(scope)
    assert made["envelope"]["policy_basis"] == "policy:shared"
    payload = scope.events()[-1]["payload"]
    assert payload["policy_rule_id"] == "rule:out"
    assert payload["target_policy_rule_id"] == "rule:in"
    far.govern()
    with pytest.raises(errors.PolicyDenied):
        across(scope, relationship_type="refutes")


@pytest.mark.parametrize("end", ["source_object_id", "target_object_id"])
def test_18_9_source_and_target_are_authorized(scope: Scope, end: str) -> None:
    """An end that the actor may not read is refused as if it were not there."""
    scope.create("mem:secret", object_type="decision")
    scope.govern(keep_agents_from("read", object_types=["decision"]))

    names = ("mem:secret", "mem:absent")
    hidden, absent = (
        outcome(partial(scope.relate, "mem:a", "mem:b", actor=AGENT, **{end: name}), *names)
        for name in names
    )
    assert hidden == absent


def test_18_9_the_target_is_authorized_under_its_own_scopes_policy(
    scope: Scope, far: Scope
) -> None:
    """A grant between scopes is not the right to read: §15.7."""
    far.govern(keep_agents_from("read"), cross_scope=[grant("in", HERE)])
    with pytest.raises(errors.ObjectNotFound):
        across(scope, actor=AGENT)
    across(scope)


def test_18_9_every_step_is_checked(scope: Scope) -> None:
    """Objects behind one that the actor may not see are not reached, nor are relationships
    to it listed or counted."""
    scope.create("mem:secret", object_type="decision")
    scope.relate("mem:a", "mem:b", relationship_id="rel:ab")
    scope.relate("mem:a", "mem:secret")
    scope.relate("mem:secret", "mem:c")
    scope.govern(SECRET)
    assert scope.near("mem:a", actor=AGENT) == ["mem:b"]
    assert scope.near("mem:a", actor=AGENT, relationships=True) == ["rel:ab"]
    answer = scope.store.query(
        scope_id=HERE,
        actor=AGENT,
        any_state=True,
        count=True,
        related_to={"object_id": "mem:a", "depth": 9},
    )
    assert answer["total"] == 1
    assert scope.near("mem:a", actor=HUMAN) == ["mem:b", "mem:c", "mem:secret"]


def test_18_9_a_relationship_between_what_may_not_be_seen_is_not_there(scope: Scope) -> None:
    """Read, inspected, moved, deleted or walked from: every answer is that of an absent one."""
    scope.create("mem:secret", object_type="decision")
    made = scope.relate("mem:a", "mem:secret", relationship_id="rel:secret")
    scope.govern(SECRET)
    names = ("rel:secret", "rel:absent")
    at = {**scope.at(made), "actor": AGENT}
    for attempt in (
        lambda name: scope.store.read(scope_id=HERE, object_id=name, actor=AGENT),
        lambda name: scope.store.history(scope_id=HERE, object_id=name, actor=AGENT),
        lambda name: scope.store.delete(**{**at, "relationship_id": name}),
        lambda name: scope.store.transition(
            **{**at, "relationship_id": name}, dimension="lifecycle", target_state="archived"
        ),
    ):
        hidden, absent = (outcome(partial(attempt, name), *names) for name in names)
        assert hidden == absent


def test_18_9_traversal_does_not_leave_the_scope(scope: Scope, far: Scope) -> None:
    """Cross-scope traversal takes policy (§11); pamctl does none: the target is named by the
    relationship, and read in its own scope under that scope's policy."""
    made = across(scope)
    assert scope.near("mem:a") == []
    assert scope.near("mem:a", relationships=True) == [made["relationship_id"]]
    assert far.near("mem:far") == []


def test_11_relationships_are_a_filter_of_structured_retrieval(scope: Scope) -> None:
    """Objects can be selected by the types of the relationships that they take part in."""
    scope.relate("mem:a", "mem:b", relationship_type="refutes")
    assert scope.found(relationship_type=["refutes"]) == ["mem:a", "mem:b"]


def test_11_a_walk_is_repeatable(scope: Scope) -> None:
    """The same walk as of the same sequence has the same answer, whatever was written since."""
    scope.relate("mem:a", "mem:b")
    then = scope.store.head(HERE)["sequence"]
    before = scope.near("mem:a", as_of=then)
    scope.relate("mem:b", "mem:c")
    assert scope.near("mem:a", as_of=then) == before == ["mem:b"]
    assert scope.near("mem:a") == ["mem:b", "mem:c"]
