"""One page of an answer: structured filters, lexical ranking, and the order of both."""

from __future__ import annotations

import sqlite3

from pamctl.errors import InvalidRequest
from pamctl.index.lexical import fts_expression
from pamctl.index.rows import ROW_SQL, version_row
from pamctl.index.schema import TEXT_COLUMNS
from pamctl.index.structured_query import (
    Condition,
    Page,
    StructuredQuery,
    behind,
    filters,
    order,
    order_sql,
)
from pamctl.limits import INTEGER_MAX, PAGE_ITEMS_MAX

# What stands in member names says less than what stands in values, but not nothing. And
# relevance is BM25 in whole billionths: the last digits of a float differ between
# processors, and pages are told apart by these numbers.
_RELEVANCE = "CAST(round(bm25({0}, 1.0, 0.1) * -1e9) AS INTEGER)"


def search(database: sqlite3.Connection, query: StructuredQuery) -> Page:
    """The page of `query` that begins behind its `after_key`.

    Raises InvalidRequest for what `StructuredQuery` does not allow. PAMSPEC §11.
    """
    if not 1 <= query.limit <= PAGE_ITEMS_MAX:
        raise InvalidRequest(f"limit is from 1 to {PAGE_ITEMS_MAX} (limits.PAGE_ITEMS_MAX)")
    fields, where = order(query), filters(query)
    names = [field.name for field in fields]
    source, selected = "version", "version.since AS place"
    if query.text is not None:
        expression = fts_expression(query.text)
        if expression is None:
            return Page([], [], None, 0 if query.count else None)
        table = "text"
        if "relevance" in names:
            table = _text_as_of(database, query.as_of)
            scored = _RELEVANCE.format(table)
            fields = [f._replace(expression=scored) if f.name == "relevance" else f for f in fields]
        source = f"{table} CROSS JOIN version ON version.since = {table}.rowid"
        where = Condition(f"{table} MATCH ? AND {where.sql}", [expression, *where.values])
    total = None
    if query.count:
        counting = f"SELECT count(*) FROM {source} WHERE {where.sql}"
        (total,) = database.execute(counting, where.values).fetchone()
    if query.after_key is not None:
        rest = behind(fields, query.after_key)
        where = Condition(f"{where.sql} AND {rest.sql}", [*where.values, *rest.values])
    keys = [f"key_{place}" for place in range(len(fields))]
    for field, key in zip(fields, keys, strict=True):
        selected += f", {field.expression} AS {key}"
    # The rows of a page are fetched once it is known which they are.
    found = database.execute(
        f"SELECT {ROW_SQL}, {', '.join(keys)} FROM ("
        f"SELECT {selected} FROM {source} WHERE {where.sql} "
        f"ORDER BY {order_sql(fields, keys)} LIMIT ?"
        f") JOIN version ON version.since = place ORDER BY {order_sql(fields, keys)}",
        [*where.values, query.limit + 1],
    ).fetchall()
    more = len(found) > query.limit
    del found[query.limit :]
    ends = [columns[-len(fields) :] for columns in found]
    relevance = [end[names.index("relevance")] for end in ends] if "relevance" in names else []
    return Page(
        [version_row(columns) for columns in found], relevance, ends[-1] if more else None, total
    )


def _text_as_of(database: sqlite3.Connection, as_of: int | None) -> str:
    """The table that holds the text as it was at a ledger sequence.

    How well a text matches depends on all the other texts. For pages to stay as they are
    while others write, and for a query to repeat as of an earlier sequence, text that came
    later must not count: where there is any, what there was before is indexed again, in
    memory, and kept until another sequence is asked for or text is withdrawn.
    """
    newest = _newest_text(database, INTEGER_MAX)
    last = newest if as_of is None else _newest_text(database, as_of)
    if last == newest:
        return "text"
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
    found = database.execute(
        "SELECT rowid FROM text WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1", (as_of,)
    ).fetchone()
    return 0 if found is None else int(found[0])
