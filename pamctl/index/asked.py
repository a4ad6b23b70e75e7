"""A query as SQL: what is looked through, by which conditions, in which order."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from pamctl.index.ordering import OrderField, Segment, order_sql
from pamctl.index.rows import ROW_COLUMNS, version_row
from pamctl.index.structured_query import Condition, Key, Look, Match, Page
from pamctl.named_tuples import NamedTuple

Columns = Sequence[Any]
"""A row as SQLite gives it: the columns of ROW_SQL, and behind them the ordering values."""


_USUAL = [("relevance", True), ("object_id", False), ("version_id", False)]


class Asked(NamedTuple):
    """A query as SQL.

    source: what a page comes from. counted: what a count comes from.
    filters: all conditions but that of a text; `where` has that too.
    scored: of a text, its table, how well a row matches in SQL, and the FTS5 expression.
    """

    source: str
    counted: str
    where: Condition
    filters: Condition
    fields: list[OrderField]
    scored: tuple[str, str, str] | None = None

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

    def scored_by(self, expression: str) -> Asked:
        """The same without its text, where it is known already how well each row matches."""
        fields = [
            field._replace(expression=expression) if field.name == "relevance" else field
            for field in self.fields
        ]
        return self._replace(fields=fields, where=self.filters, scored=None)

    @property
    def is_usual(self) -> bool:
        """Whether the best match comes first, and ties are broken by their names alone."""
        return [(field.name, field.descending) for field in self.fields] == _USUAL

    @property
    def relevance_at(self) -> int | None:
        """Which of the ordering values says how well a text matches; None for none of them."""
        return next((at for at, field in enumerate(self.fields) if field.name == "relevance"), None)

    def match(self, columns: Columns) -> Match:
        """What a row says."""
        at, key = self.relevance_at, key_of(columns)
        return Match(version_row(columns), key, None if at is None else _whole(key[at]))

    def page(self, found: Sequence[Columns], limit: int, total: int | None) -> Page:
        """The page that some rows make; one more than `limit` says that there is a next."""
        kept, at = found[:limit], self.relevance_at
        return Page(
            [version_row(columns) for columns in kept],
            [] if at is None else [_whole(columns[ROW_COLUMNS + at]) for columns in kept],
            key_of(kept[-1]) if len(found) > limit else None,
            total,
        )

    def rows(
        self, database: sqlite3.Connection, statement: str, values: list[Any], look: Look | None
    ) -> sqlite3.Cursor:
        """The rows of a statement; who wants to know is told how SQLite comes by them."""
        if look is not None:
            steps = database.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
            look.steps += [step[-1] for step in steps]
        return database.execute(statement, values)


def key_of(columns: Columns) -> Key:
    """The ordering values of a row."""
    return tuple(columns[ROW_COLUMNS:])


def _whole(relevance: Any) -> int:
    assert isinstance(relevance, int)
    return relevance


def within(
    database: sqlite3.Connection, asked: Asked, segment: Segment, look: Look | None
) -> Condition:
    """The conditions of a segment; where somebody wants to know, behind one that counts what
    is looked at."""
    sql = f"{asked.where.sql} AND {segment.condition.sql}"
    if look is not None:
        database.create_function("looked_at", 1, look.at)
        sql = f"looked_at(version.since) AND {sql}"
    return Condition(sql, [*asked.where.values, *segment.condition.values])
