"""Inspect History: an object's versions or its events, oldest first. PAMSPEC §10.7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.service.authority import require_disclosed
from pamctl.service.boundary import Boundary, boundary_of
from pamctl.service.disclosure import shown_events
from pamctl.service.envelopes import is_withheld, withhold
from pamctl.service.open_scope import OpenScope
from pamctl.service.visibility import absent, visible

if TYPE_CHECKING:
    from pamctl.service.open_store import OpenStore


def history(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the history of an object or a relationship, tombstones in the place of what
    is withheld."""
    scope = store.scope_of_object(request)
    object_id = request["object_id"]
    current = visible(store, scope, request, "inspect_history")
    require_disclosed(scope.policy(), request, "inspect_history", current)
    if current is None:
        raise absent(object_id, scope.scope_id)
    boundary = boundary_of(scope, request)
    if boundary is not None and not boundary.includes(object_id):
        raise absent(object_id, scope.scope_id)
    if request.get("kind", "versions") == "events" or "event_classes" in request:
        return events_page(scope, _bounded(request, boundary), object_id, None)
    if boundary is not None:
        current = boundary.judge(current)
    limit = request.get("limit", PAGE_ITEMS_MAX)
    rows = scope.index.history(
        object_id,
        from_sequence=_resumed(request, request.get("from_sequence", 1)),
        to_sequence=request.get("to_sequence"),
        limit=limit + 1,
        as_of=None if boundary is None else boundary.as_of,
    )
    items = []
    for row in rows[:limit]:
        envelope = scope.envelope(row)
        if is_withheld(row.availability_state, current.availability_state):
            envelope = withhold(envelope)
        items.append(envelope)
    more = rows[limit].sequence if len(rows) > limit else None
    return _page(items, more)


def log(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the scope's Event Ledger, in ledger order. PAMSPEC §7.7."""
    scope = store.scope_to_read(request["scope_id"])
    if scope is None:
        return _page([], None)
    shown = shown_events(store, scope, request, "inspect_history")
    boundary = boundary_of(scope, request)
    if boundary is not None and boundary.included is not None:
        shown = _of_members(boundary, shown)
    return events_page(scope, _bounded(request, boundary), request.get("object_id"), shown)


def _bounded(request: Mapping[str, Any], boundary: Boundary | None) -> Mapping[str, Any]:
    """A request for events, none of them behind the snapshot's last."""
    if boundary is None:
        return request
    return {**request, "to_sequence": boundary.at(request.get("to_sequence"))}


def _of_members(
    boundary: Boundary, shown: Callable[[Mapping[str, Any]], bool]
) -> Callable[[Mapping[str, Any]], bool]:
    """A judge of whether an event is shown and is about what a snapshot names."""
    members: dict[str, bool] = {}

    def judge(event: Mapping[str, Any]) -> bool:
        named = [event[name] for name in ("object_id", "relationship_id") if name in event]
        for identifier in named:
            if identifier not in members:
                members[identifier] = boundary.includes(identifier)
        return bool(named and all(members[identifier] for identifier in named) and shown(event))

    return judge


def events_page(
    scope: OpenScope,
    request: Mapping[str, Any],
    object_id: str | None,
    shown: Callable[[Mapping[str, Any]], bool] | None,
) -> dict[str, Any]:
    """Events behind a ledger sequence, and where the next page begins. shown: of which
    events; None for all."""
    limit = request.get("limit", PAGE_ITEMS_MAX)
    after = _resumed(request, request.get("after", request.get("from_sequence", 1) - 1) + 1) - 1
    items: list[Any] = []
    while True:
        places = scope.index.events(
            after,
            limit=limit + 1,
            event_classes=request.get("event_classes"),
            object_id=object_id,
            until=request.get("to_sequence"),
        )
        for place in places:
            event = scope.entry(place)["body"]
            if shown is None or shown(event):
                if len(items) == limit:
                    return _page(items, items[-1]["sequence"] + 1)
                items.append(event)
            after = event["sequence"]
        if len(places) <= limit:
            return _page(items, None)


def _resumed(request: Mapping[str, Any], start: int) -> int:
    """Where the page begins: where its cursor says, or else at `start`."""
    cursor = request.get("cursor")
    if cursor is None:
        return start
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 16:
        raise InvalidRequest(f"{cursor[:40]!r} is no cursor of a history", pointer="/cursor")
    return int(cursor)


def _page(items: list[Any], more: int | None) -> dict[str, Any]:
    return {"items": items, "next_cursor": None if more is None else str(more)}
