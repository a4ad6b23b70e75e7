"""Structured queries: deterministic filters and a total order, as SQL. PAMSPEC §11, §18.7.

Everything a caller chose is bound as a parameter; the SQL is put together from the names in
this module alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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

Key = tuple[str | int | None, ...]

_STATES = {
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
_TIMES = ("observed_at", "asserted_at", "committed_at", "recorded_at")
_NUMBERS = {"sequence": "sequence", "ledger_sequence": "since"}
RANGE_BASES = (*_TIMES, "valid_time", *_NUMBERS)
"""What a `Range` may be over."""

_UNIQUE = ("ledger_sequence", "version_id")
_ORDER_COLUMNS = {
    **_NUMBERS,
    **{name: name for name in (*_TIMES, "valid_from", "valid_until")},
    **{name: name for name in ("object_id", "object_type", "version_id")},
}
ORDER_FIELDS = (*_ORDER_COLUMNS, "relevance")
"""What a query may be ordered by; each also with `:desc`."""

_ALWAYS_THERE = ("ledger_sequence", "object_id", "version_id", "relevance")


@dataclass(frozen=True, slots=True)
class Range:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredQuery:
    """A query over the versions of one scope that are current, or were as of a sequence.

    Members that name a filter hold the accepted values, None to accept all; all filters must
    hold. A value that a version lacks is accepted by no filter.

    family: `object`, `relationship` or `delegation`.
    among: object ids that were selected by other means, however many.
    unseen_types: object types that are left out.
    text: words to be found in the content; see `lexical`.
    as_of: a ledger sequence; versions that were current just after it. None for now.
    order_by: names of ORDER_FIELDS, each with `:desc` or without; ledger order when empty,
        or best match first where there is `text`. `relevance` puts the best first either
        way. Ties are broken by object_id, then version_id. What a version lacks sorts last
        in both directions.
    after_key: `Page.next_key` of the page before.
    count: whether the page should tell how many versions match in all.
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
    text: str | None = None
    as_of: int | None = None
    order_by: Sequence[str] = ()
    limit: int = PAGE_ITEMS_DEFAULT
    after_key: Key | None = None
    count: bool = False


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


class Condition(NamedTuple):
    """A piece of SQL and the values of its parameters."""

    sql: str
    values: list[Any]


class OrderField(NamedTuple):
    """One term of an order.

    expression: SQL over the table `version`; of relevance, for the search to fill in.
    """

    name: str
    expression: str
    descending: bool


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
    for name, states in _STATES.items():
        chosen = getattr(query, name)
        if chosen is not None:
            parts.append(f"version.{name} IN ({_marks(name, chosen)})")
            values += _codes(name, chosen, states)
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
        condition = _within(wanted)
        parts.append(condition.sql)
        values += condition.values
    return Condition(" AND ".join(parts), values)


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


def _within(wanted: Range) -> Condition:
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
        column = f"version.{_NUMBERS.get(basis, basis)}"
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
    if basis in _NUMBERS:
        if isinstance(bound, int):
            return bound
        raise InvalidRequest(f"{basis} is counted: {bound!r} is no integer")
    try:
        return instant(str(bound))
    except ValueError as cause:
        raise InvalidRequest(f"{basis}: {str(bound)[:60]!r} is {cause}") from cause


def order(query: StructuredQuery) -> list[OrderField]:
    """The total order of `query`: what was asked for, then the tie-break.

    Raises InvalidRequest for an unknown field, and for relevance without text.
    """
    default = "ledger_sequence" if query.text is None else "relevance"
    fields: dict[str, OrderField] = {}
    for asked in (*(query.order_by or (default,)), "object_id", "version_id"):
        name, _, direction = asked.partition(":")
        if name not in ORDER_FIELDS or direction not in ("", "asc", "desc"):
            raise InvalidRequest(
                f"{asked!r} is no order: use {', '.join(ORDER_FIELDS)}, each also with `:desc`"
            )
        if name != "relevance":
            column = f"version.{_ORDER_COLUMNS[name]}"
            fields.setdefault(name, OrderField(name, column, direction == "desc"))
        elif query.text is not None:
            fields.setdefault(name, OrderField(name, "", True))
        else:
            raise InvalidRequest("without text to search for there is no relevance to order by")
    names = list(fields)
    # Nothing can tie behind a field that no two versions share.
    end = min(names.index(name) + 1 for name in _UNIQUE if name in names)
    return list(fields.values())[:end]


def order_sql(fields: Sequence[OrderField], expressions: Sequence[str]) -> str:
    """An ORDER BY list; `expressions` stand for the fields, in their order."""
    terms = []
    for field, expression in zip(fields, expressions, strict=True):
        last = "" if field.name in _ALWAYS_THERE else " NULLS LAST"
        terms.append(f"{expression}{' DESC' if field.descending else ''}{last}")
    return ", ".join(terms)


def behind(fields: Sequence[OrderField], key: Key) -> Condition:
    """Whatever comes behind the row whose ordering values are `key`.

    Raises InvalidRequest for a key of another order.
    """
    if len(key) != len(fields):
        raise InvalidRequest("the cursor belongs to a query of another order")
    condition = Condition("0", [])
    for field, value in zip(reversed(fields), reversed(key), strict=True):
        later = _later(field, value)
        same = f"{field.expression} IS ?"
        condition = Condition(
            f"({later.sql} OR ({same} AND {condition.sql}))",
            [*later.values, value, *condition.values],
        )
    first, value = fields[0], key[0]
    if value is None or first.name not in _ALWAYS_THERE:
        return condition
    # Says no more than the rest, in a form that lets SQLite begin where the page begins.
    bound = "<=" if first.descending else ">="
    return Condition(
        f"{first.expression} {bound} ? AND {condition.sql}", [value, *condition.values]
    )


def _later(field: OrderField, value: str | int | None) -> Condition:
    if value is None:
        return Condition("0", [])  # what is missing sorts last: nothing follows but its equals
    sign = "<" if field.descending else ">"
    if field.name in _ALWAYS_THERE:
        return Condition(f"{field.expression} {sign} ?", [value])
    return Condition(f"({field.expression} {sign} ? OR {field.expression} IS NULL)", [value])
