"""Structured queries: deterministic filters and a total order, as SQL. PAMSPEC §11, §18.7.

Everything a caller chose is bound as a parameter; the SQL is put together from the names in
this module alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest
from pamctl.index.rows import VersionRow
from pamctl.index.schema import (
    AVAILABILITY_STATES,
    FAMILIES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)
from pamctl.limits import PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX
from pamctl.named_tuples import NamedTuple

Key = tuple[str | int | float | None, ...]

STATES = {
    "lifecycle_state": LIFECYCLE_STATES,
    "availability_state": AVAILABILITY_STATES,
    "retention_state": RETENTION_STATES,
    "validation_state": VALIDATION_STATES,
}
_MEMBERS = {
    "object_id": "object_id",
    "version_id": "version_id",
    "object_type": "object_type",
    "schema_id": "schema_id",
    "actor_id": "actor_id",
    "provenance_id": "provenance_id",
    "source_ref": "source_ref",
    "activity": "activity",
    "integrity_digest": "digest",
}
TIMES = ("observed_at", "asserted_at", "committed_at", "recorded_at")
NUMBERS = {"sequence": "sequence", "ledger_sequence": "since"}
RANGE_BASES = (*TIMES, "valid_time", *NUMBERS)
"""What a `Range` may be over."""


class Range(NamedTuple):
    """From `start` to `end`, both included, None for an open end.

    basis: one of RANGE_BASES. `sequence` is the version's number in its object's history,
        `ledger_sequence` the event that committed it. `valid_time` takes every version whose
        interval from valid_from to valid_until has an instant in common with the range; an
        end that a version does not state is open.
    start, end: ints for the two sequences, otherwise timestamps with an offset.
    """

    basis: str
    start: str | int | None = None
    end: str | int | None = None


class Look:
    """How a query was answered: filled in by what answers it.

    rows: how many versions were looked at, those among them that did not match.
    steps: what SQLite says that it does. match: the FTS5 expression that the text became.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.steps: list[str] = []
        self.match: str | None = None

    def at(self, _: int) -> int:
        """Counts a row; true, so that it can stand among conditions."""
        self.rows += 1
        return 1


# What else a dataclass can do would take longer to make than the whole query to answer.
@dataclass(kw_only=True, eq=False, repr=False)
class StructuredQuery:
    """A query over the versions of one scope that are current, or were as of a sequence.

    Members that name a filter hold the accepted values, None to accept all; all filters must
    hold. A value that a version lacks is accepted by no filter.

    family: `object`, `relationship` or `delegation`.
    among: object ids that were selected by other means, however many.
    unseen_types: object types that are left out.
    condition: what `pushdown` made of an expression. equal: what it says besides of single
        columns, which never selects but may be looked up.
    text: words to be found in the content; see `lexical`.
    as_of: a ledger sequence; versions that were current just after it. None for now.
    order_by: names of `ordering.ORDER_FIELDS`, each with `:desc` or without; ledger order when
        empty, or best match first where there is `text`. `relevance` puts the best first either
        way. Ties are broken by object_id, then version_id. What a version lacks sorts last
        in both directions.
    after_key: `Page.next_key` of the page before.
    count: whether the page should tell how many versions match in all.
    look: told how the page was found; not how they were counted.
    """

    family: str = "object"
    object_id: Sequence[str] | None = None
    version_id: Sequence[str] | None = None
    object_type: Sequence[str] | None = None
    lifecycle_state: Sequence[str] | None = None
    availability_state: Sequence[str] | None = None
    retention_state: Sequence[str] | None = None
    validation_state: Sequence[str] | None = None
    schema_id: Sequence[str] | None = None
    actor_id: Sequence[str] | None = None
    provenance_id: Sequence[str] | None = None
    source_ref: Sequence[str] | None = None
    activity: Sequence[str] | None = None
    integrity_digest: Sequence[str] | None = None
    among: Collection[str] | None = None
    unseen_types: Sequence[str] = ()
    ranges: Sequence[Range] = ()
    condition: Condition | None = None
    equal: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    text: str | None = None
    as_of: int | None = None
    order_by: Sequence[str] = ()
    limit: int = PAGE_ITEMS_DEFAULT
    after_key: Key | None = None
    count: bool = False
    look: Look | None = None


class Page(NamedTuple):
    """One page of an answer.

    rows: in the query's order.
    relevance: of each row, in billionths; larger is better. Empty without text.
    next_key: where the next page starts, None on the last.
    total: matching versions on all pages, None where not asked for.
    """

    rows: list[VersionRow]
    relevance: list[int]
    next_key: Key | None
    total: int | None


class Match(NamedTuple):
    """A version that matches. key: its ordering values, behind which a page may begin.
    relevance: in billionths, None where the order does not ask for it."""

    row: VersionRow
    key: Key
    relevance: int | None


class Candidate(NamedTuple):
    """A version that filters accept, for whoever ranks by other means."""

    since: int
    object_id: str
    version_id: str


class Condition(NamedTuple):
    """A piece of SQL and the values of its parameters."""

    sql: str
    values: list[Any]


def filters(query: StructuredQuery) -> Condition:
    """Everything about `query` but its text and its place in the order.

    Raises InvalidRequest for an unknown state, family or basis, a bad timestamp, and more
    than limits.PAGE_ITEMS_MAX values for one filter.
    """
    if query.as_of is None:
        parts: list[str] = ["version.until IS NULL"]
        values: list[Any] = []
    else:
        parts = ["version.since <= ?", "(version.until IS NULL OR version.until > ?)"]
        values = [query.as_of, query.as_of]
    parts.append("version.family = ?")
    values += _codes("family", [query.family], FAMILIES)
    for name in STATES:
        chosen = getattr(query, name)
        if chosen is not None:
            parts.append(f"version.{name} IN ({_marks(name, chosen)})")
            values += state_codes(name, chosen)
    for name, column in _MEMBERS.items():
        chosen = getattr(query, name)
        if chosen is not None:
            parts.append(f"version.{column} IN ({_marks(name, chosen)})")
            values += chosen
    if query.among is not None:
        parts.append("version.object_id IN (SELECT value FROM json_each(?))")
        values.append(id_list(query.among))
    if query.unseen_types:
        parts.append(f"version.object_type NOT IN ({_marks('unseen_types', query.unseen_types)})")
        values += query.unseen_types
    for wanted in query.ranges:
        condition = range_condition(wanted)
        parts.append(condition.sql)
        values += condition.values
    if query.condition is not None:
        parts.append(query.condition.sql)
        values += query.condition.values
    return Condition(" AND ".join(parts), values)


def is_narrow(query: StructuredQuery) -> bool:
    """Whether a query asks for less than everything of its family at its time."""
    chosen = (getattr(query, name) for name in (*STATES, *_MEMBERS, "among", "condition"))
    return any(values is not None for values in chosen) or bool(query.unseen_types or query.ranges)


def id_list(ids: Collection[str]) -> str:
    """Ids as the parameter of `json_each`, which has room for more than SQLite's parameters."""
    return orjson.dumps(list(ids)).decode()


def _marks(name: str, chosen: Sequence[str]) -> str:
    if len(chosen) > PAGE_ITEMS_MAX:
        raise InvalidRequest(
            f"{name} has more than {PAGE_ITEMS_MAX} values (limits.PAGE_ITEMS_MAX)"
        )
    return ", ".join("?" * len(chosen))


def _codes(name: str, chosen: Sequence[str], known: Sequence[str]) -> list[int]:
    for value in chosen:
        if value not in known[1:]:
            raise InvalidRequest(f"{name} {value!r} is none of {', '.join(known[1:])}")
    return [known.index(value) for value in chosen]


def state_codes(dimension: str, states: Sequence[str]) -> list[int]:
    """How rows hold some states. Raises InvalidRequest for what is none."""
    return _codes(dimension, states, STATES[dimension])


def range_condition(wanted: Range) -> Condition:
    """What a range says. Raises InvalidRequest for an unknown basis and for a bad end."""
    basis = wanted.basis
    if basis not in RANGE_BASES:
        raise InvalidRequest(f"{basis!r} is no basis of time: use one of {', '.join(RANGE_BASES)}")
    start, end = _bound(basis, wanted.start), _bound(basis, wanted.end)
    if start is not None and end is not None and start > end:
        return Condition("0", [])
    parts, values = [], []
    if basis == "valid_time":
        # A validity that ends before it begins holds no instant, so it has none in common.
        parts.append("coalesce(version.valid_from <= version.valid_until, 1)")
        lower, upper = (
            "coalesce(version.valid_until >= ?, 1)",
            "coalesce(version.valid_from <= ?, 1)",
        )
    else:
        column = f"version.{NUMBERS.get(basis, basis)}"
        parts.append(f"{column} IS NOT NULL")
        lower, upper = f"{column} >= ?", f"{column} <= ?"
    for bound, condition in ((start, lower), (end, upper)):
        if bound is not None:
            parts.append(condition)
            values.append(bound)
    return Condition(" AND ".join(parts), values)


def _bound(basis: str, bound: str | int | None) -> Any:
    if bound is None:
        return None
    if basis in NUMBERS:
        if isinstance(bound, int):
            return bound
        raise InvalidRequest(f"{basis} is counted: {bound!r} is no integer")
    try:
        return instant(str(bound))
    except ValueError as cause:
        raise InvalidRequest(f"{basis}: {str(bound)[:60]!r} is {cause}") from cause
