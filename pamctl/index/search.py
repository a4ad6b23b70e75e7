"""One page of an answer: structured filters, lexical ranking, and the order of both."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from pamctl.errors import InvalidRequest
from pamctl.index.access import access
from pamctl.index.asked import Asked, Columns, within
from pamctl.index.ordering import order, segments
from pamctl.index.rows import ROW_SQL
from pamctl.index.schema import TEXT_COLUMNS
from pamctl.index.structured_query import (
    Candidate,
    Condition,
    Match,
    Page,
    StructuredQuery,
    filters,
)
from pamctl.limits import INTEGER_MAX, PAGE_ITEMS_MAX

# What stands in member names says less than what stands in values, but not nothing. And
# relevance is BM25 in whole billionths: the last digits of a float differ between
# processors, and pages are told apart by these numbers.
_RELEVANCE = "CAST(round(bm25({0}, 1.0, 0.1) * -1e9) AS INTEGER)"
_ROWS_A_STEP = 128
_NAMES_A_STEP = 500


def search(database: sqlite3.Connection, query: StructuredQuery) -> Page:
    """The page of `query` that begins behind its `after_key`.

    Raises InvalidRequest for what `StructuredQuery` does not allow. PAMSPEC §11.
    """
    if not 1 <= query.limit <= PAGE_ITEMS_MAX:
        raise InvalidRequest(f"limit is from 1 to {PAGE_ITEMS_MAX} (limits.PAGE_ITEMS_MAX)")
    asked = _asked(database, query)
    if asked is None:
        return Page([], [], None, 0 if query.count else None)
    total = None
    if query.count:
        counting = f"SELECT count(*) FROM {asked.counted} WHERE {asked.where.sql}"
        (total,) = database.execute(counting, asked.where.values).fetchone()
    if asked.scored is not None and asked.fields[0].name == "relevance":
        from pamctl.index.best_matches import best_matches

        found = best_matches(database, asked, query)
    else:
        found = _page(database, asked, query)
    return asked.page(found, query.limit, total)


def _page(database: sqlite3.Connection, asked: Asked, query: StructuredQuery) -> list[Columns]:
    """The matches of a page, and one more where there is one."""
    found: list[Columns] = []
    for segment in segments(asked.fields, query.after_key):
        where, ordering = within(database, asked, segment, query.look), asked.ordering(segment)
        # The rows of a page are fetched once it is known which they are.
        statement = (
            f"SELECT {ROW_SQL}, {', '.join(asked.keys)} FROM ("
            f"SELECT version.since AS place, {asked.selected} FROM {asked.source} "
            f"WHERE {where.sql} ORDER BY {ordering} LIMIT ?"
            f") JOIN version ON version.since = place ORDER BY {ordering}"
        )
        values = [*where.values, query.limit + 1 - len(found)]
        found += asked.rows(database, statement, values, query.look)
        if len(found) > query.limit:
            break
    return found


def matches(database: sqlite3.Connection, query: StructuredQuery) -> Iterator[Match]:
    """All that match behind `after_key`, in the query's order, as they are asked for: for
    whoever judges them further, and does not know how many it takes to fill a page."""
    asked = _asked(database, query)
    if asked is None:
        return
    for segment in segments(asked.fields, query.after_key):
        where = within(database, asked, segment, query.look)
        statement = (
            f"SELECT {ROW_SQL}, {asked.selected} FROM {asked.source} WHERE {where.sql} "
            f"ORDER BY {asked.ordering(segment)}"
        )
        found = asked.rows(database, statement, where.values, query.look)
        while rows := found.fetchmany(_ROWS_A_STEP):
            for columns in rows:
                yield asked.match(columns)


def candidates(
    database: sqlite3.Connection, query: StructuredQuery, after: int, limit: int
) -> Iterator[Candidate]:
    """The first versions committed after a ledger sequence that the filters of `query` accept,
    whatever its text, in ledger order, as they are asked for."""
    where = filters(query)
    # SQLite would take another index, of a state for instance, for the better one.
    way = "" if query.version_id is None else "INDEXED BY version_by_id "
    found = database.execute(
        f"SELECT since, object_id, version_id FROM version {way}"
        f"WHERE {where.sql} AND version.since > ? ORDER BY version.since LIMIT ?",
        [*where.values, after, limit],
    )
    return map(Candidate._make, found)


def names(database: sqlite3.Connection, sequences: Sequence[int]) -> list[tuple[str, str]]:
    """The object and version ids of versions, by the sequences at which they were committed."""
    found: dict[int, tuple[str, str]] = {}
    for start in range(0, len(sequences), _NAMES_A_STEP):
        asked = sequences[start : start + _NAMES_A_STEP]
        marks = ", ".join("?" * len(asked))
        statement = f"SELECT since, object_id, version_id FROM version WHERE since IN ({marks})"
        rows = database.execute(statement, asked)
        found.update((since, (object_id, version_id)) for since, object_id, version_id in rows)
    return [found[since] for since in sequences]


def _asked(database: sqlite3.Connection, query: StructuredQuery) -> Asked | None:
    """None where the text to search for has no word in it, which nothing matches."""
    fields, where = order(query), filters(query)
    if query.text is None:
        way = access(database, query, fields)
        return Asked(f"version {way.page}", f"version {way.counted}", where, where, fields)
    from pamctl.index.lexical import fts_expression

    expression = fts_expression(query.text)
    if expression is None:
        return None
    if query.look is not None:
        query.look.match = expression
    table, scored = "text", None
    if any(field.name == "relevance" for field in fields):
        table = _text_as_of(database, query.as_of)
        score = _RELEVANCE.format(table)
        scored = (table, score, expression)
        fields = [f._replace(expression=score) if f.name == "relevance" else f for f in fields]
    source = f"{table} CROSS JOIN version ON version.since = {table}.rowid"
    matching = Condition(f"{table} MATCH ? AND {where.sql}", [expression, *where.values])
    return Asked(source, source, matching, where, fields, scored)


def _text_as_of(database: sqlite3.Connection, as_of: int | None) -> str:
    """The table that holds the text as it was at a ledger sequence.

    How well a text matches depends on all the other texts. For pages to stay as they are
    while others write, and for a query to repeat as of an earlier sequence, text that came
    later must not count: where there is any, what there was before is indexed again, in
    memory, and kept until another sequence is asked for or text is withdrawn.
    """
    if as_of is None or _newest_text(database, INTEGER_MAX) <= as_of:
        return "text"
    last = _newest_text(database, as_of)
    (withdrawals,) = database.execute("SELECT withdrawals FROM position").fetchone()
    name = f"text_until_{last:d}_{withdrawals:d}"
    held = database.execute(
        "SELECT name FROM temp.sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE %'"
    ).fetchall()
    if held == [(name,)]:
        return name
    database.execute("PRAGMA temp_store = MEMORY")
    for (table,) in held:
        database.execute(f"DROP TABLE temp.{table}")
    database.execute(f"CREATE VIRTUAL TABLE temp.{name} USING fts5 ({TEXT_COLUMNS})")
    database.execute(
        f"INSERT INTO temp.{name} (rowid, strings, names) "
        "SELECT rowid, strings, names FROM main.text WHERE rowid <= ?",
        (last,),
    )
    return name


def _newest_text(database: sqlite3.Connection, as_of: int) -> int:
    """The last ledger sequence, up to `as_of`, whose version has text in the index; or 0."""
    # Of FTS5's own tables the one with a row for each text, which is quicker to ask than FTS5.
    found = database.execute("SELECT max(id) FROM text_docsize WHERE id <= ?", (as_of,)).fetchone()
    return int(found[0] or 0)
