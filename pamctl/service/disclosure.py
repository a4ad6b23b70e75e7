"""What an answer of many things may hold for its actor: which objects a query finds, and which
events a log shows. PAMSPEC §15.2, §15.3, §15.8.

What an actor may not see is not returned, not counted and not ranked: the answer is what it
would be if that were not there. Only the numbers of a ledger betray that there is more of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pamctl.rules.authorization import Sight
from pamctl.service.authority import disclosed, disclosed_ids, governed_type
from pamctl.service.visibility import Visibility

if TYPE_CHECKING:
    from pamctl.index.structured_query import StructuredQuery
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Event = Mapping[str, Any]


def narrowed(
    query: StructuredQuery, sight: Sight | None, object_ids: frozenset[str] | None
) -> StructuredQuery:
    """A query over memory objects, kept to those that its actor may be shown."""
    if object_ids is not None:
        asked_for = object_ids if query.object_id is None else object_ids & set(query.object_id)
        query = replace(query, object_id=sorted(asked_for))
    if sight is None:
        return query
    if sight.others:
        unseen = [name for name, seen in sight.by_type.items() if not seen]
        return replace(query, unseen_types=unseen)
    asked = sight.by_type if query.object_type is None else query.object_type
    return replace(query, object_type=[name for name in asked if sight.covers(name)])


def shown_events(
    store: OpenStore, scope: OpenScope, request: Mapping[str, Any], operation: str
) -> Callable[[Event], bool]:
    """A judge of whether the actor of a request may be shown an event. Who may see all of a
    scope may still not see what a relationship of it names in another.

    To be asked anew for each look: policies change, and so does what a delegation allows.
    Raises AccessDenied for an actor who may be shown none.
    """
    sight = disclosed(scope.policy(), request, operation)
    object_ids = disclosed_ids(request)
    visibility = Visibility.of_store(store, scope, request, operation)
    decided: dict[str, bool] = {}
    unrestricted = sight is None and object_ids is None

    def is_shown(identifier: str) -> bool:
        if object_ids is not None and identifier not in object_ids:
            return False
        row = scope.index.current(identifier)
        if row is None or (row.family == "relationship" and row.erased):
            return unrestricted
        if row.family == "relationship" and not visibility.sees_ends(scope.envelope(row)):
            return False
        return sight is None or sight.covers(governed_type(row))

    def judge(event: Event) -> bool:
        members = ("relationship_id",) if unrestricted else ("object_id", "relationship_id")
        named = [event[name] for name in members if name in event]
        if event["event_type"] == "working_memory_promoted" and not unrestricted:
            named.append(event["payload"]["target_object_id"])
        if not named:
            return object_ids is None
        for identifier in named:
            if identifier not in decided:
                decided[identifier] = is_shown(identifier)
        return all(decided[identifier] for identifier in named)

    return judge
