"""What a projection chooses from, and which of it a query finds: versions, read once.

Both are queries to whoever governs the scope: the actor needs the right to query, a denial
and a use of a delegation go on record, and so does the read where the policy wants that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.service.envelopes import is_withheld
from pamctl.service.looking import look
from pamctl.service.query import find
from pamctl.service.selected import Found, Selection

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.index.stored import StoredRow
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Request = Mapping[str, Any]

READABLE = ("available", "partially_redacted")
"""Availability of objects whose content can be read."""


class ReadableVersion(NamedTuple):
    """A version of a Memory Object, with its exact stored bytes. address: `sha256:` and the
    digest of these bytes, which was compared with them."""

    object_id: str
    version_id: str
    address: str
    data: bytes


def readable_versions(
    store: OpenStore, *, scope_id: str, actor: Request, as_of: int
) -> list[ReadableVersion]:
    """Every Memory Object that the actor may be shown and whose content can be read, in
    ledger order: as it was at a ledger sequence, without what was withheld or erased since.

    Raises what a query raises, and StoreDamaged for bytes that differ from their address.
    """
    request = {
        "scope_id": scope_id,
        "actor": dict(actor),
        "any_state": True,
        "availability_state": list(READABLE),
        "as_of": as_of,
    }
    read: list[ReadableVersion] = look(store, "query", request, _read_all)
    return read


def selected_versions(store: OpenStore, request: Request) -> list[str]:
    """The version ids that a query finds, on all of its pages, in its order."""
    names: list[str] = look(store, "query", dict(request), _name_all)
    return names


def _read_all(store: OpenStore, request: Request) -> list[ReadableVersion]:
    selection = _selection(store, request)
    if selection is None:
        return []
    scope = selection.scope
    rows = scope.index.stored(selection.structured)
    if any(row.until is not None for row in rows):
        rows = [row for row in rows if row.until is None or not _is_withheld_now(scope, row)]
    return [
        ReadableVersion(row.object_id, row.version_id, f"sha256:{row.place[0].hex()}", data)
        for row, data in zip(rows, scope.all_version_bytes(rows), strict=True)
        if data is not None
    ]


def _name_all(store: OpenStore, request: Request) -> list[str]:
    if "text" in request or "order_by" in request:
        return [row.version_id for row in _rows(store, request)]
    # In ledger order, which a query has by itself, no page needs to be made.
    selection = _selection(store, request)
    return [] if selection is None else [one.version_id for one in selection.candidates()]


def _selection(store: OpenStore, request: Request) -> Selection | None:
    """What a request selects, not yet looked up; None in a scope that is not there yet."""
    return find(store, {**request, "limit": 1}).selection


def _rows(store: OpenStore, request: Request) -> Iterator[VersionRow]:
    cursor: dict[str, Any] = {}
    while True:
        found: Found = find(store, {**request, **cursor, "limit": PAGE_ITEMS_MAX})
        yield from found.page.rows
        if found.next_cursor is None:
            return
        cursor = {"cursor": found.next_cursor}


def _is_withheld_now(scope: OpenScope, row: StoredRow) -> bool:
    """Whether a version that is no longer current may not be shown now."""
    current, then = scope.index.current(row.object_id), scope.index.version(row.version_id)
    return (
        current is not None
        and then is not None
        and is_withheld(then.availability_state, current.availability_state)
    )
