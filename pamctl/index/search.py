"""One page of an answer: structured filters, lexical ranking, and the order of both."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import orjson

from pamctl.errors import InvalidRequest
from pamctl.index.access import access
from pamctl.index.ordering import OrderField, Segment, order, order_sql, segments
from pamctl.index.rows import ROW_SQL, version_row
from pamctl.index.schema import TEXT_COLUMNS
from pamctl.index.structured_query import (
    Candidate,
    Condition,
    Key,
    Look,
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
# Of the best matches so many are looked at for each item of a page, and if that is too few, so
# many: a third and more of what matches is usually superseded, or in another state.
_BEST_PER_ITEM = (4, 64)


class _Asked(NamedTuple):
    """A query as SQL: what is looked through, by which conditions, in which order.

    source: what a page comes from. counted: what a count comes from.
    given: parameters of the source.
    scored: of a text, its table, how well a row matches in SQL, and the FTS5 expression.
    whole: whether the source leaves out nothing that is asked for.
    """

    source: str
    counted: str
    where: Condition
    fields: list[OrderField]
    given: Sequence[Any] = ()
    scored: tuple[str, str, str] | None = None
    whole: bool = True

    @property
    def keys(self) -> list[str]:
        return [f"key_{place}" for place in range(len(self.fields))]

    @property
    def selected(self) -> str:
        """The ordering values of a row, each under the name of its key."""
        terms = zip(self.fields, self.keys, strict=True)
        return ", ".join(f"{field.expression} AS {key}" for field, key in terms)

    def ordering(self, segment: Segment) -> str:
        places = segment.places
        return order_sql([self.fields[at] for at in places], [self.keys[at] for at in places])

    def match(self, columns: Sequence[Any]) -> Match:
        """What the columns of ROW_SQL and the ordering values behind them say."""
        key: Key = tuple(columns[-len(self.fields) :])
        names = [field.name for field in self.fields]
        relevance = key[names.index("relevance")] if "relevance" in names else None
        return Match(version_row(columns), key, relevance if isinstance(relevance, int) else None)


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
    found: list[Match] = []
    for tried in chain(_best(database, asked, query), (asked,)):
        found = _page(database, tried, query)
        if len(found) > query.limit or tried.whole:
            break
    kept = found[: query.limit]
    return Page(
        [match.row for match in kept],
        [match.relevance for match in kept if match.relevance is not None],
        kept[-1].key if len(found) > query.limit else None,
        total,
    )


def _page(database: sqlite3.Connection, asked: _Asked, query: StructuredQuery) -> list[Match]:
    """The matches of a page, and one more where there is one."""
    found: list[Match] = []
    for segment in segments(asked.fields, query.after_key):
        where, ordering = _within(database, asked, segment, query.look), asked.ordering(segment)
        # The rows of a page are fetched once it is known which they are.
        statement = (
            f"SELECT {ROW_SQL}, {', '.join(asked.keys)} FROM ("
            f"SELECT version.since AS place, {asked.selected} FROM {asked.source} "
            f"WHERE {where.sql} ORDER BY {ordering} LIMIT ?"
            f") JOIN version ON version.since = place ORDER BY {ordering}"
        )
        values = [*asked.given, *where.values, query.limit + 1 - len(found)]
        found += map(asked.match, _rows(database, statement, values, query.look))
        if len(found) > query.limit:
            break
    return found


def _best(database: sqlite3.Connection, asked: _Asked, query: StructuredQuery) -> Iterator[_Asked]:
    """The same question, asked of the texts that match best alone, then of more of them; none
    where the order is another.

    Much of what matches a text is usually what is asked for. To rank all of it by its text and
    look at the versions of the best takes half of what it takes to look at every version
    first. What ties with the first that is left out is left out too: its order depends on more
    than the match.
    """
    if asked.scored is None or asked.fields[0].name != "relevance":
        return
    table, score, expression = asked.scored
    bound = ""
    values: list[Any] = [expression]
    if query.after_key is not None:
        bound = f"AND {score} <= ?"
        values.append(query.after_key[0])
    most = _BEST_PER_ITEM[-1] * (query.limit + 1)
    hits = database.execute(
        f"SELECT rowid, {score} AS relevance FROM {table} WHERE {table} MATCH ? {bound} "
        "ORDER BY relevance DESC LIMIT ?",
        [*values, most + 1],
    ).fetchall()
    fields = [
        field._replace(expression="hit.value") if field.name == "relevance" else field
        for field in asked.fields
    ]
    for each in _BEST_PER_ITEM:
        best = hits[: each * (query.limit + 1)]
        whole = len(best) == len(hits)
        if not whole:
            first_left_out = hits[len(best)][1]
            best = [hit for hit in best if hit[1] > first_left_out]
        yield asked._replace(
            source="json_each(?) AS hit "
            "CROSS JOIN version ON version.since = CAST(hit.key AS INTEGER)",
            given=[orjson.dumps({str(place): score for place, score in sorted(best)}).decode()],
            where=filters(query),
            fields=fields,
            whole=whole,
        )
        if whole:
            return


def matches(database: sqlite3.Connection, query: StructuredQuery) -> Iterator[Match]:
    """All that match behind `after_key`, in the query's order, as they are asked for: for
    whoever judges them further, and does not know how many it takes to fill a page."""
    asked = _asked(database, query)
    if asked is None:
        return
    for segment in segments(asked.fields, query.after_key):
        where = _within(database, asked, segment, query.look)
        statement = (
            f"SELECT {ROW_SQL}, {asked.selected} FROM {asked.source} WHERE {where.sql} "
            f"ORDER BY {asked.ordering(segment)}"
        )
        found = _rows(database, statement, where.values, query.look)
        while rows := found.fetchmany(_ROWS_A_STEP):
            for columns in rows:
                yield asked.match(columns)


def candidates(database: sqlite3.Connection, query: StructuredQuery) -> list[Candidate]:
    """All that the filters of `query` accept, whatever its text, in ledger order."""
    where = filters(query)
    found = database.execute(
        "SELECT since, object_id, version_id FROM version "
        f"WHERE {where.sql} ORDER BY version.since",
        where.values,
    ).fetchall()
    return [Candidate(*columns) for columns in found]


def _within(
    database: sqlite3.Connection, asked: _Asked, segment: Segment, look: Look | None
) -> Condition:
    """The conditions of a segment; where somebody wants to know, behind one that counts what
    is looked at."""
    sql = f"{asked.where.sql} AND {segment.condition.sql}"
    if look is not None:
        database.create_function("looked_at", 1, look.at)
        sql = f"looked_at(version.since) AND {sql}"
    return Condition(sql, [*asked.where.values, *segment.condition.values])


def _rows(
    database: sqlite3.Connection, statement: str, values: list[Any], look: Look | None
) -> sqlite3.Cursor:
    if look is not None:
        steps = database.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
        look.steps += [step[-1] for step in steps]
    return database.execute(statement, values)


def _asked(database: sqlite3.Connection, query: StructuredQuery) -> _Asked | None:
    """None where the text to search for has no word in it, which nothing matches."""
    fields, where = order(query), filters(query)
    if query.text is None:
        way = access(database, query, fields)
        return _Asked(f"version {way.page}", f"version {way.counted}", where, fields)
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
    return _Asked(source, source, matching, fields, scored=scored)


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
