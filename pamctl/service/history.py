"""Inspect History: an object's versions or its events, oldest first. PAMSPEC §10.7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest, ObjectNotFound
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.service.authority import require
from pamctl.service.envelopes import is_withheld, withhold
from pamctl.service.open_scope import OpenScope

if TYPE_CHECKING:
    from pamctl.service.store import Store


def history(store: Store, request: Mapping[str, Any]) -> dict[str, Any]:
    """A page of an object's history, tombstones in the place of what is withheld."""
    scope = store.scope_of_object(request)
    object_id = request["object_id"]
    current = scope.index.current(object_id)
    object_type = None if current is None else current.object_type
    require(scope.policy(), request, "inspect_history", object_type=object_type)
    if current is None:
        raise ObjectNotFound(f"there is no object {object_id} in {scope.scope_id}")
    if request.get("kind", "versions") == "events" or "event_classes" in request:
        return events_page(scope, request, object_id)
    limit = request.get("limit", PAGE_ITEMS_MAX)
    rows = scope.index.history(
        object_id,
        from_sequence=_resumed(request, request.get("from_sequence", 1)),
        to_sequence=request.get("to_sequence"),
        limit=limit + 1,
    )
    items = []
    for row in rows[:limit]:
        envelope = scope.envelope(row)
        if is_withheld(row.availability_state, current.availability_state):
            envelope = withhold(envelope)
        items.append(envelope)
    more = rows[limit].sequence if len(rows) > limit else None
    return _page(items, more)


def log(store: Store, request: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the scope's Event Ledger, in ledger order. PAMSPEC §7.7."""
    scope = store.scope_to_read(request["scope_id"])
    if scope is None:
        return _page([], None)
    require(scope.policy(), request, "inspect_history")
    return events_page(scope, request, request.get("object_id"))


def events_page(
    scope: OpenScope, request: Mapping[str, Any], object_id: str | None
) -> dict[str, Any]:
    """Events behind a ledger sequence, and where the next page begins."""
    limit = request.get("limit", PAGE_ITEMS_MAX)
    after = request.get("after", request.get("from_sequence", 1) - 1)
    places = scope.index.events(
        _resumed(request, after + 1) - 1,
        limit=limit + 1,
        event_classes=request.get("event_classes"),
        object_id=object_id,
        until=request.get("to_sequence"),
    )
    items = [scope.entry(place)["body"] for place in places[:limit]]
    more = items[-1]["sequence"] + 1 if len(places) > limit else None
    return _page(items, more)


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
