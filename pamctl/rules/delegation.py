"""What a Delegation Object allows, and what may be granted with one. PAMSPEC §15.4, §18.2.

A delegation holds for a use when every link of its chain does, from the one that the actor
names back to the one that was granted by somebody's own authority, and when that somebody
still holds the operation. So nothing is ever wider than what it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pamctl.encoding.timestamps import instant
from pamctl.named_tuples import NamedTuple
from pamctl.rules.authorization import Action, Sight, decide_secrecy, decide_sight

DELEGATION_RULE = "rule:delegation"
"""What everything is refused by that a delegation does not allow, for whatever reason."""

EFFECTIVE_STATE, REVOKED_STATE = "active", "archived"
"""Lifecycle of a delegation: a revocation puts it away, and nothing brings it back."""

UNAIMED = frozenset(("query", "inspect_history", "subscribe", "unsubscribe"))
"""Operations that may concern no object in particular. What a delegation restricts, it then
restricts in their answers."""

_RESTRICTIONS = ("granted_operations", "granted_object_types", "granted_object_ids")


class Named(NamedTuple):
    """An object that a use concerns, as far as it is known."""

    object_id: str | None
    object_type: str | None


class Use(NamedTuple):
    """What somebody wants to do under a delegation.

    at: a key of `encoding.timestamps.instant`.
    scope_id: where it is done.
    objects: what it concerns; empty for what concerns no object in particular.
    """

    actor_id: str
    operation: str
    scope_id: str
    at: str
    objects: tuple[Named, ...] = ()


class Link(NamedTuple):
    """A delegation of a chain, and how often it was exercised."""

    delegation: Mapping[str, Any]
    used: int


def weakness(link: Link, use: Use) -> str | None:
    """Why a delegation does not allow a use, in one word; None where it does. For those who
    may look at the delegation; the actor of a use is told nothing but that it is refused."""
    granted = link.delegation
    return lapse(link, use.at) or _overreach(granted, use)


def lapse(link: Link, at: str) -> str | None:
    """Why a delegation allows nothing at some instant; None where it is in force."""
    granted = link.delegation
    if granted["lifecycle_state"] != EFFECTIVE_STATE:
        return "revoked"
    if at < instant(granted["not_before"]):
        return "not_yet"
    if at > instant(granted["not_after"]):
        return "expired"
    if "usage_limit" in granted and link.used >= granted["usage_limit"]:
        return "exhausted"
    return None


def _overreach(granted: Mapping[str, Any], use: Use) -> str | None:
    if use.scope_id != granted.get("target_scope_id", granted["scope_id"]):
        return "scope"
    if use.operation not in granted["granted_operations"]:
        return "operation"
    types, ids = granted.get("granted_object_types"), granted.get("granted_object_ids")
    if (types is not None or ids is not None) and not use.objects and use.operation not in UNAIMED:
        return "object"
    for named in use.objects:
        if ids is not None and named.object_id not in ids:
            return "object"
        if types is not None and named.object_type not in types:
            return "object_type"
    return None


def chain_allows(chain: Sequence[Link], use: Use) -> bool:
    """Whether a delegation allows a use, as far as the delegations of its chain say.

    chain: the delegation that the actor names first, then the one that its grantor acted
        under, and so on.
    """
    actors = [use.actor_id, *(link.delegation["granting_actor"]["actor_id"] for link in chain)]
    return bool(chain) and all(
        link.delegation["delegated_actor"]["actor_id"] == actor and weakness(link, use) is None
        for link, actor in zip(chain, actors, strict=False)
    )


def delegated_sight(
    policy: Mapping[str, Any],
    chain: Sequence[Mapping[str, Any]],
    action: Action,
    *,
    secrecy: bool = False,
) -> Sight:
    """On objects of which types an action may happen under a delegation: those that every
    delegation of the chain names and its first grantor holds.

    action: the actor in it does not matter.
    secrecy: only what is kept secret from the first grantor is refused; the operations that
        were granted do not matter then.
    """
    grantor = chain[-1]["granting_actor"]
    holding = Action(
        grantor["actor_id"],
        action.operation,
        None,
        action.dimension,
        action.target_state,
        grantor["actor_kind"],
    )
    sight = (decide_secrecy if secrecy else decide_sight)(policy, holding)
    for granted in chain:
        operations, types = granted["granted_operations"], granted.get("granted_object_types")
        if not secrecy and action.operation not in operations:
            sight = Sight({}, False, DELEGATION_RULE)
        if types is not None:
            by_type = dict.fromkeys(types, True)
            sight = sight.and_also(Sight(by_type, False, DELEGATION_RULE))
    return Sight(sight.by_type, sight.others, DELEGATION_RULE)


def granted_ids(chain: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """The objects that a chain of delegations is restricted to; None for no such restriction."""
    restrictions = [
        frozenset(granted["granted_object_ids"])
        for granted in chain
        if "granted_object_ids" in granted
    ]
    return frozenset.intersection(*restrictions) if restrictions else None


def widening(child: Mapping[str, Any], parent: Mapping[str, Any]) -> str | None:
    """The member by which one grant reaches further than the grant it is made under; None
    where it does not. A usage limit cannot: a use of the child is one of the parent too."""
    for member in _RESTRICTIONS:
        if member in parent and not (member in child and set(child[member]) <= set(parent[member])):
            return member
    if child.get("target_scope_id") != parent.get("target_scope_id"):
        return "target_scope_id"
    if instant(child["not_before"]) < instant(parent["not_before"]):
        return "not_before"
    if instant(child["not_after"]) > instant(parent["not_after"]):
        return "not_after"
    return None
