"""Where the bytes of many versions are, in one look: for whoever reads all that a query selects."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from pamctl.index.structured_query import StructuredQuery, filters
from pamctl.store.reading import Place


class StoredRow(NamedTuple):
    """What it takes to read a version. A named tuple, because there are many of them.

    until: the ledger sequence at which the next version replaced it; None while current.
    place: where its bytes are, as `store.reading` is told.
    """

    object_id: str
    version_id: str
    until: int | None
    place: Place


def stored(database: sqlite3.Connection, query: StructuredQuery) -> list[StoredRow]:
    """All versions that the filters of `query` accept and that are not erased, whatever its
    text, its order and its page, in ledger order."""
    where = filters(query)
    found = database.execute(
        "SELECT object_id, version_id, until, address, pack, offset, length FROM version "
        f"WHERE NOT version.erased AND {where.sql} ORDER BY version.since",
        where.values,
    )
    return [StoredRow(row[0], row[1], row[2], row[3:]) for row in found]
