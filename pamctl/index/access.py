"""By which index a query goes to the versions that it asks for.

A scope of some thousand versions is looked through in the order of its ledger. In a larger one
a query would pass over most of it; so for each member that versions are selected or ordered
by, an index is made when it is first asked for, and kept from then on. Who never asks does
not pay for it at each write.

SQLite chooses among indexes by how selective they are on average. That is wrong where one
value is rare and the next is not, which is what types, states and sources are like; so how
many versions a value has is counted, up to a bound, and the choice is made here. It never
changes an answer.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence

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
    counted = [
        (_count(database, way), way) for way in _ways(query) if _is_there(database, way.name)
    ]
    counted.sort(key=lambda found: found[0])
    if counted and counted[0][0] <= _RARE:
        rare = f"INDEXED BY {counted[0][1].name}"
        return Access(rare, rare)
    return Access(_in_order(database, fields[0], [way for _, way in counted]), _LEDGER_ORDER)


def _in_order(database: sqlite3.Connection, first: OrderField, ways: Sequence[_Way]) -> str:
    """The index that gives versions in their order, where nothing makes them few."""
    if first.name == "ledger_sequence":
        ordered = [way.name for way in ways if way.ordered]
        return f"INDEXED BY {ordered[0]}" if ordered else _LEDGER_ORDER
    index = _ALWAYS_MADE.get(first.name, f"version_by_{first.name}")
    made = index in _ALWAYS_MADE.values() or (index in _COLUMNS and _is_there(database, index))
    return f"INDEXED BY {index}" if made else _LEDGER_ORDER


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


def _count(database: sqlite3.Connection, way: _Way) -> int:
    """How many versions, of any time, meet a condition; no more than are worth counting."""
    ((count,),) = database.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM version INDEXED BY {way.name} "
        f"WHERE {way.condition.sql} LIMIT {_RARE + 1})",
        way.condition.values,
    ).fetchall()
    return int(count)


def _is_there(database: sqlite3.Connection, index: str) -> bool:
    """Whether an index is there, or was made now. It is not where the place cannot be
    written, or somebody else writes at this moment; the query then goes without."""
    known = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?"
    if database.execute(known, (index,)).fetchone() is not None:
        return True
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
