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
from pamctl.service.selected import Found
from pamctl.store.versions import VersionErased

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Request = Mapping[str, Any]

READABLE = ("available", "partially_redacted")
"""Availability of objects whose content can be read."""


class ReadableVersion(NamedTuple):
    """A version of a Memory Object, with its exact stored bytes."""

    object_id: str
    version_id: str
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
    read = []
    for scope, row in _rows(store, request):
        if row.until is not None and _is_withheld_now(scope, row):
            continue
        try:
            data = scope.version_bytes(row)
        except VersionErased:  # since its row was looked up
            continue
        read.append(ReadableVersion(row.object_id, row.version_id, data))
    return read


def _name_all(store: OpenStore, request: Request) -> list[str]:
    return [row.version_id for _, row in _rows(store, request)]


def _rows(store: OpenStore, request: Request) -> Iterator[tuple[OpenScope, VersionRow]]:
    cursor: dict[str, Any] = {}
    while True:
        found: Found = find(store, {**request, **cursor, "limit": PAGE_ITEMS_MAX})
        if found.scope is None:
            return
        for row in found.page.rows:
            yield found.scope, row
        if found.next_cursor is None:
            return
        cursor = {"cursor": found.next_cursor}


def _is_withheld_now(scope: OpenScope, row: VersionRow) -> bool:
    current = scope.index.current(row.object_id)
    return current is not None and is_withheld(row.availability_state, current.availability_state)
