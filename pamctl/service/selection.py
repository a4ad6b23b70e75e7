"""What a projection chooses from, and which of it a query finds: versions, some at a time.

Both are queries to whoever governs the scope: the actor needs the right to query, a denial
and a use of a delegation go on record, and so does the read where the policy wants that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pamctl.index.database import IndexDamaged
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.service.envelopes import is_withheld
from pamctl.service.looking import look
from pamctl.service.query import find
from pamctl.service.selected import Found, Selection

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.index.stored import StoredRow
    from pamctl.index.structured_query import Candidate, StructuredQuery
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

    Row = TypeVar("Row", StoredRow, Candidate)

Request = Mapping[str, Any]

READABLE = ("available", "partially_redacted")
"""Availability of objects whose content can be read."""

_ROWS_LOOKED_UP = 4096
_TOGETHER = 1024
_BYTES_TOGETHER = 4 * 1024 * 1024
"""Versions that are read at a time, at most so many of at most so many bytes together."""


class ReadableVersion(NamedTuple):
    """A version of a Memory Object, with its exact stored bytes. address: `sha256:` and the
    digest of these bytes, which was compared with them."""

    object_id: str
    version_id: str
    address: str
    data: bytes


class ReadableVersions:
    """Versions that an actor was granted to read, as they were at a ledger sequence, without
    what was withheld or erased by the time they are read. They are read in groups, of which
    nothing is kept. Raises StoreDamaged for bytes that differ from their address."""

    def __init__(self, selection: Selection | None) -> None:
        self._selection = selection

    def groups(self) -> Iterator[list[ReadableVersion]]:
        """All of them, each once, in ledger order."""
        if self._selection is not None:
            yield from self._read(self._selection.structured)

    def among(self, version_ids: Sequence[str]) -> Iterator[list[ReadableVersion]]:
        """Those of some versions, each once, in no order."""
        if self._selection is not None:
            for start in range(0, len(version_ids), PAGE_ITEMS_MAX):
                chunk = version_ids[start : start + PAGE_ITEMS_MAX]
                yield from self._read(replace(self._selection.structured, version_id=chunk))

    def _read(self, query: StructuredQuery) -> Iterator[list[ReadableVersion]]:
        assert self._selection is not None
        scope = self._selection.scope
        for rows in _in_steps(scope, partial(_stored, scope, query)):
            for some in _groups(rows):
                yield _versions(scope, some)


def readable_versions(
    store: OpenStore, *, scope_id: str, actor: Request, as_of: int
) -> ReadableVersions:
    """Every Memory Object that the actor may be shown and whose content can be read, as it
    was at a ledger sequence. Raises what a query raises."""
    request = {
        "scope_id": scope_id,
        "actor": dict(actor),
        "any_state": True,
        "availability_state": list(READABLE),
        "as_of": as_of,
    }
    selection: Selection | None = look(store, "query", request, _selection)
    return ReadableVersions(selection)


def selected_versions(store: OpenStore, request: Request) -> list[str]:
    """The version ids that a query finds, on all of its pages, in its order."""
    names: list[str] = look(store, "query", dict(request), _name_all)
    return names


def _in_steps(scope: OpenScope, rows_behind: Callable[[int], list[Row]]) -> Iterator[list[Row]]:
    """All rows that are found, some at a time, in ledger order. rows_behind: looks up the next
    ones after a ledger sequence."""
    after, more = 0, True
    while more:
        try:
            rows = rows_behind(after)
            scope.require_whole()
        except IndexDamaged:
            # It has been emptied, and is filled from the ledger.
            scope.refresh()
            rows = rows_behind(after)
        more = len(rows) == _ROWS_LOOKED_UP
        if rows:
            after = rows[-1].since
            yield rows


def _stored(scope: OpenScope, query: StructuredQuery, after: int) -> list[StoredRow]:
    return scope.index.stored(query, after=after, limit=_ROWS_LOOKED_UP)


def _selected(scope: OpenScope, query: StructuredQuery, after: int) -> list[Candidate]:
    return list(scope.index.candidates(query, after=after, limit=_ROWS_LOOKED_UP))


def _groups(rows: Sequence[StoredRow]) -> Iterator[Sequence[StoredRow]]:
    if len(rows) <= _TOGETHER and sum(row.place[3] for row in rows) <= _BYTES_TOGETHER:
        yield rows
        return
    start = size = 0
    for number, row in enumerate(rows):
        length = row.place[3]
        full = number - start == _TOGETHER or size + length > _BYTES_TOGETHER
        if full and number > start:
            yield rows[start:number]
            start, size = number, 0
        size += length
    yield rows[start:]


def _versions(scope: OpenScope, rows: Sequence[StoredRow]) -> list[ReadableVersion]:
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
    if selection is None:
        return []
    if not selection.is_decided():
        return [one.version_id for one in selection.candidates()]
    scope = selection.scope
    steps = _in_steps(scope, partial(_selected, scope, selection.structured))
    return [one.version_id for some in steps for one in some]


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
