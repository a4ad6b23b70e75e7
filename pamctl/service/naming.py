"""Names for a shell to complete: what is in a scope, as far as an actor may see it.

Nothing is recorded of it and nothing refused: who may not see something is given nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import ScopeNotFound
from pamctl.service.visibility import Visibility

if TYPE_CHECKING:
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

NAMES_MAX = 100
"""Nobody reads more of them, and a shell asks at every key."""


def identifiers(
    store: OpenStore, request: Mapping[str, Any], start: str, family: str
) -> list[tuple[str, str]]:
    """Identifiers of objects or relationships that begin so, each with its type."""
    scope = _scope(store, request)
    if scope is None:
        return []
    visibility = Visibility.of_store(store, scope, request, "read")
    found = scope.index.names.beginning(start, family, NAMES_MAX)
    if family == "object":
        return [
            (one.identifier, one.object_type or "")
            for one in found
            if visibility.may_see(one.identifier, one.object_type or "")
        ]
    seen = []
    for one in found:
        row = scope.index.version(one.version_id)
        if row is not None and visibility.sees_ends(scope.envelope(row)):
            seen.append((one.identifier, one.object_type or ""))
    return seen


def delegations(store: OpenStore, request: Mapping[str, Any], start: str) -> list[tuple[str, str]]:
    """Identifiers of delegations that the actor granted or was granted."""
    scope = _scope(store, request)
    if scope is None:
        return []
    seen = []
    for one in scope.index.names.beginning(start, "delegation", NAMES_MAX):
        row = scope.index.version(one.version_id)
        if row is None:
            continue
        envelope = scope.envelope(row)
        granting, delegated = (
            envelope[f"{side}_actor"]["actor_id"] for side in ("granting", "delegated")
        )
        if request["actor"]["actor_id"] in (granting, delegated):
            seen.append((one.identifier, f"{granting} to {delegated}"))
    return seen


def subscriptions(store: OpenStore, request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Identifiers of the actor's own subscriptions that are open."""
    from pamctl.service.subscriptions import list_subscriptions

    items = list_subscriptions(store, request)["items"]
    return [(one["subscription_id"], f"delivered to {one['delivered_sequence']}") for one in items]


def schemas(store: OpenStore, request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Ids of the schemas that are registered. Raises PolicyDenied where they may not be seen."""
    from pamctl.service.schemas import schema_list

    return [(one["schema_id"], "") for one in schema_list(store, request)["items"]]


def versions(store: OpenStore, request: Mapping[str, Any], object_id: str) -> list[tuple[str, str]]:
    """The versions of an object that the actor may see, the newest first."""
    scope = _scope(store, request)
    row = None if scope is None else scope.index.current(object_id)
    if scope is None or row is None:
        return []
    visibility = Visibility.of_store(store, scope, request, "inspect_history")
    if row.family == "object":
        sees = visibility.may_see(object_id, row.object_type or "")
    else:
        sees = row.family == "relationship" and visibility.sees_ends(scope.envelope(row))
    if not sees:
        return []
    first = max(row.sequence - NAMES_MAX + 1, 1)
    found = scope.index.history(object_id, from_sequence=first)
    return [(one.version_id, f"number {one.sequence}") for one in reversed(found)]


def types(store: OpenStore, request: Mapping[str, Any], family: str) -> list[tuple[str, str]]:
    """Types of objects or relationships that are there and that the actor may see."""
    scope = _scope(store, request)
    if scope is None:
        return []
    visibility = Visibility.of_store(store, scope, request, "read")
    found = scope.index.names.types(family)
    if family == "relationship":
        return [(kind, "") for kind in found if visibility.sees_relationships()]
    return [(kind, "") for kind in found if visibility.may_see("", kind)]


def sealed(store: OpenStore, request: Mapping[str, Any], kind: str) -> list[tuple[str, str]]:
    """Snapshots or Embedding Spaces, by the kind of their ledger entry."""
    scope = _scope(store, request)
    if (
        scope is None
        or not Visibility.of_store(store, scope, request, "inspect_history").sees_relationships()
    ):
        return []
    member = {"snapshot": "snapshot_id", "space": "embedding_space_id"}[kind]
    bodies = (scope.entry(place)["body"] for place in scope.index.boundaries.entries(kind))
    return [(body[kind][member], "") for body in bodies]


def _scope(store: OpenStore, request: Mapping[str, Any]) -> OpenScope | None:
    try:
        return store.open_scope(request["scope_id"], fresh=True)
    except ScopeNotFound:
        return None
