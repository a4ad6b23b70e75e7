"""Delegations as a scope's ledger has them: found, followed to where they came from, counted
and put on record. PAMSPEC §15.4, §18.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.encoding.timestamps import instant
from pamctl.errors import PolicyDenied
from pamctl.limits import DELEGATION_CHAIN_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.rules.authorization import Action
from pamctl.rules.delegation import Link, Use, chain_allows, delegated_sight
from pamctl.rules.policies import decide_cross_scope, inward_grants

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk

EXERCISED = "delegation_exercised"


class Chain(NamedTuple):
    """A delegation with all that it rests on.

    links: the delegation, the one that its grantor acted under, and so on.
    home: the scope that they are in, which may not be the one they are for.
    """

    links: tuple[Link, ...]
    home: Desk

    @property
    def delegations(self) -> tuple[Mapping[str, Any], ...]:
        """The delegations as envelopes."""
        return tuple(link.delegation for link in self.links)


def find_home(desk: Desk, delegation_id: str) -> Desk | None:
    """Where a delegation is that may be for this scope: in the scope, or in one that the
    scope's policy lets in. None where there is none."""
    if is_delegation(desk.current(delegation_id)):
        return desk
    for scope_id in desk.scope_ids():
        if scope_id != desk.scope_id and inward_grants(desk.policy, scope_id):
            home = desk.neighbour(scope_id)
            if home is not None and is_delegation(home.current(delegation_id)):
                return home
    return None


def chain_of(place: Desk, home: Desk, delegation_id: str | None) -> Chain | None:
    """The chain of a delegation of the scope `home`, used in the scope `place`; None where
    some link of it is not there, or there are more than limits.DELEGATION_CHAIN_MAX."""
    links: list[Link] = []
    while delegation_id is not None:
        envelope = home.current(delegation_id)
        if envelope is None or not is_delegation(envelope) or len(links) == DELEGATION_CHAIN_MAX:
            return None
        links.append(Link(envelope, times_used(place, delegation_id)))
        delegation_id = envelope["granting_actor"].get("delegation_id")
    return Chain(tuple(links), home)


def is_delegation(envelope: Mapping[str, Any] | None) -> bool:
    """Whether this is the envelope of a Delegation Object."""
    return envelope is not None and "delegation_id" in envelope


def times_used(desk: Desk, delegation_id: str) -> int:
    """How often a delegation was exercised in a scope, by its ledger and what is staged."""
    committed = desk.scope.index.count_events(EXERCISED, delegation_id)
    return committed + desk.exercised.get(delegation_id, 0)


def effective_chain(
    desk: Desk,
    delegation_id: str,
    use: Use,
    *,
    dimension: str | None = None,
    target_state: str | None = None,
    counted: bool = False,
) -> Chain | None:
    """The chain of a delegation, where it allows a use at this moment; otherwise None,
    whatever the reason.

    Its first grantor must still hold the operation on everything the use concerns.
    counted: whether this very use is among those on record, and is not to be counted twice.
    """
    home = find_home(desk, delegation_id)
    chain = None if home is None else chain_of(desk, home, delegation_id)
    if chain is None:
        return None
    links = chain.links
    if counted:
        links = tuple(Link(one.delegation, one.used - 1) for one in links)
    if not chain_allows(links, use) or not _may_cross(desk, chain, use):
        return None
    action = Action(use.actor_id, use.operation, None, dimension, target_state)
    sight = delegated_sight(desk.policy, chain.delegations, action)
    if sight.nothing:
        return None
    for named in use.objects:
        if not (sight.everything if named.object_type is None else sight.covers(named.object_type)):
            return None
    return chain


def record_exercise(
    desk: Desk, chain: Chain, request: Mapping[str, Any], payload: Mapping[str, Any]
) -> Change:
    """Stage the events that say a delegation was exercised, one for each link of its chain:
    to pass on what was lent is to spend it too."""
    first, *others = (
        desk.commit_event(EXERCISED, request, payload, object_id=granted["delegation_id"])
        for granted in chain.delegations
    )
    for granted in chain.delegations:
        delegation_id = granted["delegation_id"]
        desk.exercised[delegation_id] = desk.exercised.get(delegation_id, 0) + 1
    return first.joined(*others)


def now_at(desk: Desk) -> str:
    """This moment, as a key of `encoding.timestamps.instant`."""
    return instant(desk.sources.now())


def _may_cross(desk: Desk, chain: Chain, use: Use) -> bool:
    if chain.home.scope_id == desk.scope_id:
        return True
    try:
        decide_cross_scope(
            chain.home.policy,
            desk.policy,
            scope_here=chain.home.scope_id,
            scope_there=desk.scope_id,
            actor_id=use.actor_id,
            operation=use.operation,
        )
    except PolicyDenied:
        return False
    return True
