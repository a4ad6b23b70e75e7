"""Where the bytes of many versions are: for whoever reads all that a query selects."""

from __future__ import annotations

import sqlite3

from pamctl.index.structured_query import StructuredQuery, filters
from pamctl.named_tuples import NamedTuple
from pamctl.store.reading import Place


class StoredRow(NamedTuple):
    """What it takes to read a version. A named tuple, because there are many of them.

    since: the ledger sequence that committed it, which no other version has.
    until: the ledger sequence at which the next version replaced it; None while current.
    place: where its bytes are, as `store.reading` is told.
    """

    since: int
    object_id: str
    version_id: str
    until: int | None
    place: Place


def stored(
    database: sqlite3.Connection, query: StructuredQuery, after: int, limit: int
) -> list[StoredRow]:
    """The first versions committed after a ledger sequence that the filters of `query` accept
    and that are not erased, whatever its text, its order and its page, in ledger order."""
    where = filters(query)
    # SQLite would walk all rows behind a place in the ledger rather than look ids up.
    way = "" if query.version_id is None else "INDEXED BY version_by_id "
    found = database.execute(
        "SELECT since, object_id, version_id, until, address, pack, offset, length "
        f"FROM version {way}WHERE NOT version.erased AND {where.sql} AND version.since > ? "
        "ORDER BY version.since LIMIT ?",
        [*where.values, after, limit],
    )
    return [StoredRow(row[0], row[1], row[2], row[3], row[4:]) for row in found]
