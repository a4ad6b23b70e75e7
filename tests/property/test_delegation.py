"""However authority is granted and passed on, it never becomes wider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pamctl.rules.authorization import Action, decide_access, decide_secrecy, decide_sight
from pamctl.rules.delegation import Link, Named, Use, chain_allows, delegated_sight, widening
from tests.authority import policy

TYPES = ("claim", "decision", "task")
OPERATIONS = ("read", "query", "update")
HOURS = [f"2026-01-01T{hour:02}:00:00Z" for hour in range(4)]
ACTORS = [f"actor:{number}" for number in range(4)]


def some(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=len(values), unique=True)


rules = st.fixed_dictionaries(
    {"rule_id": st.sampled_from(["r1", "r2", "r3"]), "effect": st.sampled_from(["allow", "deny"])},
    optional={
        "actors": some(ACTORS),
        "operations": some(OPERATIONS),
        "object_types": some(TYPES),
    },
)
policies = st.builds(
    lambda made, default: policy(*made, default=default),
    st.lists(rules, max_size=4),
    st.sampled_from(["allow", "deny"]),
)
terms = st.fixed_dictionaries(
    {
        "granted_operations": some(OPERATIONS),
        "not_before": st.sampled_from(HOURS),
        "not_after": st.sampled_from(HOURS),
    },
    optional={
        "granted_object_types": some(TYPES),
        "granted_object_ids": some(["mem:1", "mem:2"]),
        "usage_limit": st.integers(1, 3),
    },
)
chains = st.lists(terms, min_size=1, max_size=3).map(
    lambda made: [_delegation(number, bounds) for number, bounds in enumerate(made)]
)
types = st.sampled_from([*TYPES, "observation", None])
operations = st.sampled_from(OPERATIONS)


def _delegation(number: int, bounds: dict[str, Any]) -> dict[str, Any]:
    """The delegation by which actor `number + 1` lets actor `number` act."""
    return {
        **bounds,
        "scope_id": "workspace:a",
        "lifecycle_state": "active",
        "delegated_actor": {"actor_id": ACTORS[number], "actor_kind": "agent"},
        "granting_actor": {"actor_id": ACTORS[number + 1], "actor_kind": "agent"},
    }


@given(policies, types, operations, st.sampled_from(ACTORS))
def test_a_sight_is_the_decision_about_every_type(
    made: Any, object_type: str | None, operation: str, actor_id: str
) -> None:
    action = Action(actor_id, operation, object_type)
    assert decide_sight(made, action).covers(object_type) == decide_access(made, action).allowed


@given(policies, operations, st.sampled_from(ACTORS))
def test_a_refusal_is_explained_by_a_rule_that_refuses(
    made: Any, operation: str, actor_id: str
) -> None:
    sight = decide_sight(made, Action(actor_id, operation))
    decisions = [decide_access(made, Action(actor_id, operation, name)) for name in (*TYPES, None)]
    named = {decision.rule_id for decision in decisions if not decision.allowed}
    assert sight.everything or sight.rule_id in named


@given(policies, types, operations, st.sampled_from(ACTORS))
def test_a_secret_is_refused(
    made: Any, object_type: str | None, operation: str, actor_id: str
) -> None:
    action = Action(actor_id, operation, object_type)
    if not decide_secrecy(made, action).covers(object_type):
        assert not decide_access(made, action).allowed


@given(policies, chains, types, operations)
def test_nobody_sees_under_a_delegation_what_its_first_grantor_does_not(
    made: Any, chain: list[Any], object_type: str | None, operation: str
) -> None:
    sight = delegated_sight(made, chain, Action(ACTORS[0], operation))
    if sight.covers(object_type):
        grantor = chain[-1]["granting_actor"]["actor_id"]
        assert decide_access(made, Action(grantor, operation, object_type)).allowed
        assert all(operation in link["granted_operations"] for link in chain)


@given(policies, chains, types, operations)
def test_nor_what_the_delegation_before_does_not_give(
    made: Any, chain: list[Any], object_type: str | None, operation: str
) -> None:
    action = Action(ACTORS[0], operation)
    for first in range(1, len(chain)):
        if delegated_sight(made, chain, action).covers(object_type):
            assert delegated_sight(made, chain[first:], action).covers(object_type)


uses = st.builds(
    Use,
    actor_id=st.just(ACTORS[0]),
    operation=operations,
    scope_id=st.just("workspace:a"),
    at=st.sampled_from([hour.rstrip("Z") for hour in HOURS]),
    objects=st.lists(
        st.builds(Named, st.sampled_from(["mem:1", "mem:2", "mem:3", None]), types), max_size=2
    ).map(tuple),
)


@given(chains, uses, st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_a_chain_allows_what_each_of_its_links_allows(
    chain: list[Any], use: Use, used: list[int]
) -> None:
    links = [Link(granted, count) for granted, count in zip(chain, used, strict=False)]
    whole = chain_allows(links, use)
    alone = [
        chain_allows([link], Use(ACTORS[n], use.operation, use.scope_id, use.at, use.objects))
        for n, link in enumerate(links)
    ]
    assert whole == all(alone)


@given(terms, terms, uses)
def test_what_is_no_wider_allows_no_more(child: Any, parent: Any, use: Use) -> None:
    made, given_to = _delegation(0, child), _delegation(1, parent)
    if widening(made, given_to) is None and chain_allows([Link(made, 0)], use):
        before = Use(ACTORS[1], use.operation, use.scope_id, use.at, use.objects)
        assert chain_allows([Link(given_to, 0)], before)
