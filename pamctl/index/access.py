"""By which index a query goes to the versions that it asks for.

A scope of some thousand versions is looked through in the order of its ledger. In a larger one
a query would pass over most of it; so for each member that versions are selected or ordered
by, an index is made when it is first asked for, and kept from then on. Who never asks does
not pay for it at each write.

SQLite chooses among indexes by how selective they are on average. That is wrong where one
value is rare and the next is not, which is what types, states and sources are like; so how
many versions a value has is counted, up to a bound, and the choice is made here. Of an index
that gives a value's versions in the order that is asked for it is enough to know how far the
first of them reach. The choice never changes an answer.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Container, Iterator, Sequence
from operator import itemgetter

from pamctl.index.ordering import OrderField
from pamctl.index.structured_query import (
    TIMES,
    Condition,
    StructuredQuery,
    range_condition,
    state_codes,
)
from pamctl.limits import INDEXED_FROM_VERSIONS
from pamctl.named_tuples import NamedTuple

_TIMES = (*TIMES, "valid_from", "valid_until")
_MEMBERS = ("object_type", "actor_id", "schema_id", "provenance_id", "source_ref", "activity")
_STATES = ("validation_state", "lifecycle_state", "retention_state", "availability_state")
_COLUMNS = {
    **{f"version_by_{name}": (name,) for name in (*_TIMES, *_MEMBERS)},
    "version_by_states": _STATES,
}
_ALWAYS_MADE = {"object_id": "version_by_object", "version_id": "version_by_id"}
_LEDGER_ORDER = "NOT INDEXED"
# So many are sorted in a millisecond or two, whatever their order.
_RARE = 1000
# A look at so many tells how dense versions lie.
_FIRST = 64
# A writer holds the index for milliseconds. Whoever only wants to read does not wait longer.
_MAKING_WAIT_MS = 250


class Access(NamedTuple):
    """How to come by the rows of a page in their order, and how to count all of them: what
    follows the name of the table `version` in SQL."""

    page: str
    counted: str


class _Way(NamedTuple):
    """name: of the index. condition: of the query, which it serves. ordered: whether it gives
    versions in ledger order."""

    name: str
    condition: Condition
    ordered: bool


def access(
    database: sqlite3.Connection, query: StructuredQuery, fields: Sequence[OrderField]
) -> Access:
    """The way to take for a query without text, in the order of `fields`."""
    by_name = query.object_id, query.version_id, query.among
    if any(named is not None for named in by_name) or not _is_large(database):
        return Access("", "")
    by_ledger = fields[0].name == "ledger_sequence"
    there = _indexes(database)
    measured = [
        (_measure(database, way, by_ledger=by_ledger), way)
        for way in _ways(query)
        if way.name in there or _is_made(database, way.name)
    ]
    measured.sort(key=itemgetter(0))
    if measured and measured[0][0][0] <= _RARE:
        rare = f"INDEXED BY {measured[0][1].name}"
        return Access(rare, rare)
    ways = [way for _, way in measured]
    return Access(_in_order(database, fields[0], ways, there), _LEDGER_ORDER)


def _in_order(
    database: sqlite3.Connection, first: OrderField, ways: Sequence[_Way], there: Container[str]
) -> str:
    """The index that gives versions in their order, where nothing makes them few."""
    if first.name == "ledger_sequence":
        ordered = [way.name for way in ways if way.ordered]
        return f"INDEXED BY {ordered[0]}" if ordered else _LEDGER_ORDER
    index = _ALWAYS_MADE.get(first.name, f"version_by_{first.name}")
    found = index in there or (index in _COLUMNS and _is_made(database, index))
    return f"INDEXED BY {index}" if found else _LEDGER_ORDER


def _ways(query: StructuredQuery) -> Iterator[_Way]:
    """The conditions of a query that an index serves."""
    for name in _MEMBERS:
        for chosen in (getattr(query, name), query.equal.get(name)):
            if chosen:
                marks = ", ".join("?" * len(chosen))
                condition = Condition(f"version.{name} IN ({marks})", list(chosen))
                yield _Way(f"version_by_{name}", condition, len(chosen) == 1)
    states = {name: getattr(query, name) for name in _STATES}
    if all(chosen is not None and len(chosen) == 1 for chosen in states.values()):
        yield _Way(
            "version_by_states",
            Condition(
                " AND ".join(f"version.{name} = ?" for name in states),
                [code for name, chosen in states.items() for code in state_codes(name, chosen)],
            ),
            ordered=True,
        )
    for wanted in query.ranges:
        if wanted.basis in _TIMES:
            yield _Way(f"version_by_{wanted.basis}", range_condition(wanted), ordered=False)


def _is_large(database: sqlite3.Connection) -> bool:
    ((versions,),) = database.execute("SELECT versions FROM position").fetchall()
    return int(versions) >= INDEXED_FROM_VERSIONS


def _measure(database: sqlite3.Connection, way: _Way, *, by_ledger: bool) -> tuple[int, int]:
    """Less for a condition that fewer versions meet: how many, of any time and no more than are
    worth counting, and how far the first of them do not reach into the ledger. by_ledger:
    whether they are wanted in its order."""
    if by_ledger and way.ordered:
        reached = database.execute(
            f"SELECT since FROM version INDEXED BY {way.name} WHERE {way.condition.sql} "
            f"ORDER BY since LIMIT 1 OFFSET {_FIRST - 1}",
            way.condition.values,
        ).fetchone()
        return (0, 0) if reached is None else (_RARE + 1, -int(reached[0]))
    ((count,),) = database.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM version INDEXED BY {way.name} "
        f"WHERE {way.condition.sql} LIMIT {_RARE + 1})",
        way.condition.values,
    ).fetchall()
    return int(count), 0


def _indexes(database: sqlite3.Connection) -> frozenset[str]:
    """The indexes that are there, of whatever table."""
    found = database.execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall()
    return frozenset(name for (name,) in found)


def _is_made(database: sqlite3.Connection, index: str) -> bool:
    """Whether an index was made now. It was not where the place cannot be written, or somebody
    else writes at this moment; the query then goes without."""
    ((wait,),) = database.execute("PRAGMA busy_timeout").fetchall()
    with contextlib.suppress(sqlite3.OperationalError):
        database.execute(f"PRAGMA busy_timeout = {_MAKING_WAIT_MS}")
        try:
            columns = ", ".join(_COLUMNS[index])
            database.execute(f"CREATE INDEX IF NOT EXISTS {index} ON version ({columns})")
        finally:
            database.execute(f"PRAGMA busy_timeout = {wait}")
        return True
    return False
