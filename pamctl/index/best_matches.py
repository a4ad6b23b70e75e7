"""The page of a text search whose best match comes first, without a look at every match.

How well a text matches is known from the text alone; whether its version is asked for, from the
table of versions, which takes as long again. So there are two ways. Where few of what matches is
asked for, the text's matches are looked through as they come, each with its version, and what is
found is put in order. Otherwise matches are ranked by their text, and the versions of the best
are looked at, then those of the next, until the page is full.

Where there are filters, it shows after the first that are asked for which of them it is: whether
they stand close together or far apart. It never changes an answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import orjson

from pamctl.index.asked import Asked, Columns, within
from pamctl.index.ordering import segments
from pamctl.index.rows import ROW_COLUMNS, ROW_SQL, version_row
from pamctl.index.structured_query import Condition, StructuredQuery, is_narrow

# So many that are asked for are gathered before there is a choice. If it took more than one in
# sixteen of the scope's versions to find them, what is left is gathered too, up to so many more.
_FIRST = 64
_FAR_APART = 16
_GATHERED_MAX = 4096
# Of the best matches, as many are looked at first for each item of a page, and each time it is
# not full twice as many: a third and more of what matches is usually superseded, or in another
# state.
_BEST_PER_ITEM = 2
# And without filters, so many at most before all are ranked.
_BEST_MAX_PER_ITEM = 64


def best_matches(
    database: sqlite3.Connection, asked: Asked, query: StructuredQuery
) -> list[Columns]:
    """The matches of a page, and one more where there is one.

    asked: ordered by relevance first, from a text.
    """
    if is_narrow(query):
        found = _gathered(database, asked, query)
    else:
        # Most of what matches is asked for, and to keep the best is less than to sort them all.
        found = _ranked(database, asked, query, most=_BEST_MAX_PER_ITEM * (query.limit + 1))
    if found is None:
        found = _ranked(database, asked, query)
    assert found is not None
    return found


def _gathered(
    database: sqlite3.Connection, asked: Asked, query: StructuredQuery
) -> list[Columns] | None:
    """All that is asked for, in order, as far as the page goes; None where it is a lot."""
    (segment,) = segments(asked.fields, query.after_key)
    where = within(database, asked, segment, query.look)
    statement = f"SELECT {ROW_SQL}, {asked.selected} FROM {asked.source} WHERE {where.sql}"
    with closing(asked.rows(database, statement, where.values, query.look)) as cursor:
        rows = cursor.fetchmany(_FIRST)
        if len(rows) == _FIRST:
            if version_row(rows[-1]).since * _FAR_APART < _newest(database):
                return None
            rows += cursor.fetchmany(_GATHERED_MAX)
            if len(rows) == _FIRST + _GATHERED_MAX:
                return None
    _sort(rows, asked)
    return rows[: query.limit + 1]


def _newest(database: sqlite3.Connection) -> int:
    """The last ledger sequence whose version has text, of which there are some."""
    ((newest,),) = database.execute("SELECT rowid FROM text ORDER BY rowid DESC LIMIT 1").fetchall()
    return int(newest)


def _sort(rows: list[Any], asked: Asked) -> None:
    """Put rows in the order of their last columns, the ordering values; None comes last."""
    if asked.is_usual:
        rows.sort(key=_usual)
        return
    for place in range(len(asked.fields) - 1, -1, -1):
        descending = asked.fields[place].descending

        def value(columns: Columns, at: int = ROW_COLUMNS + place, there: bool = descending) -> Any:
            return ((columns[at] is not None) is there, columns[at])

        rows.sort(key=value, reverse=descending)


def _usual(columns: Columns) -> tuple[int, str, str]:
    relevance, object_id, version_id = columns[ROW_COLUMNS:]
    return -relevance, object_id, version_id


def _ranked(
    database: sqlite3.Connection, asked: Asked, query: StructuredQuery, *, most: int = -1
) -> list[Columns] | None:
    """The page, from the versions of the best matches; None where it takes more of them than
    `most`, which is not negative."""
    assert asked.scored is not None
    table, score, expression = asked.scored
    bound = ""
    values: list[Any] = [expression]
    if query.after_key is not None:
        bound = f"AND {score} <= ?"
        values.append(query.after_key[0])
    statement = (
        f"SELECT rowid, {score} AS relevance FROM {table} WHERE {table} MATCH ? {bound} "
        "ORDER BY relevance DESC LIMIT ?"
    )
    by_value = asked.scored_by("hit.value")
    (segment,) = segments(by_value.fields, query.after_key)
    # Before anything runs: what counts rows cannot be put in its place while something does.
    where = within(database, by_value, segment, query.look)
    found: list[Columns] = []
    with closing(database.execute(statement, [*values, most])) as hits:
        size, looked_at = _BEST_PER_ITEM * (query.limit + 1), 0
        rest: list[tuple[int, int]] = []
        while len(found) <= query.limit:
            best = rest + hits.fetchmany(size)
            if not best:
                break
            # What ties with the last of them belongs with it: the order depends on more.
            rest = []
            while (following := hits.fetchone()) is not None:
                if following[1] != best[-1][1]:
                    rest = [following]
                    break
                best.append(following)
            looked_at += len(best)
            if looked_at == most:
                return None  # what ties with the last may be missing
            wanted = query.limit + 1 - len(found)
            statement, values = _of_hits(by_value, where, best)
            if len(best) > wanted:
                statement += f" ORDER BY {by_value.ordering(segment)} LIMIT ?"
                values.append(wanted)
            rows = asked.rows(database, statement, values, query.look).fetchall()
            if len(best) <= wanted:
                _sort(rows, by_value)  # which takes SQLite longer, where all are wanted
            found += rows
            size *= 2
    return found


def _of_hits(
    asked: Asked, where: Condition, hits: Sequence[tuple[int, int]]
) -> tuple[str, list[Any]]:
    """What selects those of some texts whose versions are asked for, and its values."""
    statement = (
        f"SELECT {ROW_SQL}, {asked.selected} FROM json_each(?) AS hit "
        "CROSS JOIN version ON version.since = CAST(hit.key AS INTEGER) "
        f"WHERE {where.sql}"
    )
    # In the order of the table, which is that of their places.
    scores = orjson.dumps(dict(sorted(hits)), option=orjson.OPT_NON_STR_KEYS).decode()
    return statement, [scores, *where.values]
