"""The order of an answer: total, and such that a page can begin anywhere in it. PAMSPEC §11."""

from __future__ import annotations

from collections.abc import Sequence

from pamctl.errors import InvalidRequest
from pamctl.index.structured_query import (
    NUMBERS,
    STATES,
    TIMES,
    Condition,
    Key,
    StructuredQuery,
)
from pamctl.model import vocabulary
from pamctl.named_tuples import NamedTuple

_UNIQUE = ("ledger_sequence", "version_id")
_ORDER_COLUMNS = {
    **NUMBERS,
    **{name: name for name in (*TIMES, "valid_from", "valid_until")},
    **{name: name for name in ("object_id", "object_type", "version_id", "schema_id")},
    **{name: name for name in ("actor_id", "provenance_id", "source_ref", "activity")},
    **{name: name for name in STATES},
}
# A digest is withheld together with the content that it is of: when a later version hides that.
_SHOWN_DIGEST = """
    CASE WHEN version.until IS NULL OR NOT EXISTS (
        SELECT 1 FROM version AS later WHERE later.object_id = version.object_id
            AND later.since > version.since AND later.availability_state IS NOT 1
    ) THEN version.digest END
"""
ORDER_FIELDS = (*_ORDER_COLUMNS, "integrity_digest", "relevance")
"""What the index can order by; each also with `:desc`. States are in the order of the drafts.
What envelopes order by is `service.envelope_order`'s."""

_ALWAYS_THERE = ("ledger_sequence", "object_id", "version_id", "relevance")


class OrderField(NamedTuple):
    """One term of an order.

    expression: SQL over the table `version`; of relevance, for the search to fill in.
    """

    name: str
    expression: str
    descending: bool


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
                f"{asked!r} is no order: use {', '.join(vocabulary.ORDER_FIELDS)}, "
                "each also with `:desc`"
            )
        if name != "relevance":
            column = (
                _SHOWN_DIGEST if name == "integrity_digest" else f"version.{_ORDER_COLUMNS[name]}"
            )
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
    """The ORDER BY list of a segment; `expressions` stand for the fields, in their order."""
    terms = []
    for place, (term, expression) in enumerate(zip(fields, expressions, strict=True)):
        last = "" if place == 0 or term.name in _ALWAYS_THERE else " NULLS LAST"
        terms.append(f"{expression}{' DESC' if term.descending else ''}{last}")
    return ", ".join(terms)


class Segment(NamedTuple):
    """A stretch of an order, all of whose rows come before those of the next.

    condition: which rows are in it, and behind where a page begins.
    places: of the fields that order it.
    """

    condition: Condition
    places: Sequence[int]


def segments(fields: Sequence[OrderField], key: Key | None) -> list[Segment]:
    """An order in stretches, each of which an index can give from any place on.

    What lacks the first field comes last, in stretches of its own: SQLite keeps it at the
    other end of an index. Raises InvalidRequest for a key of another order.
    """
    if key is not None and len(key) != len(fields):
        raise InvalidRequest("the cursor belongs to a query of another order")
    first, places = fields[0], range(len(fields))
    if first.name in _ALWAYS_THERE:
        return [Segment(_ALL if key is None else _behind(fields, key), places)]
    found = Condition(f"{first.expression} IS NOT NULL", [])
    missing = Condition(f"{first.expression} IS NULL", [])
    stretches = []
    if key is None or key[0] is not None:
        behind = _ALL if key is None else _behind(fields, key)
        stretches.append(Segment(_both(found, behind), places))
        key = None
    stretches += [
        Segment(_both(missing, rest.condition), [place + 1 for place in rest.places])
        for rest in segments(fields[1:], None if key is None else key[1:])
    ]
    return stretches


_ALL = Condition("1", [])


def _both(one: Condition, other: Condition) -> Condition:
    return Condition(f"{one.sql} AND {other.sql}", [*one.values, *other.values])


def _behind(fields: Sequence[OrderField], key: Key) -> Condition:
    """Whatever comes behind the row whose ordering values are `key`, of those that have the
    first of the fields."""
    condition = Condition("0", [])
    for place in range(len(fields) - 1, -1, -1):
        term, value = fields[place], key[place]
        later = _later(term, value, always_there=place == 0)
        condition = Condition(
            f"({later.sql} OR ({term.expression} IS ? AND {condition.sql}))",
            [*later.values, value, *condition.values],
        )
    first, value = fields[0], key[0]
    if value is None:
        return condition
    # Says no more than the rest, in a form that lets SQLite begin where the page begins.
    bound = "<=" if first.descending else ">="
    return _both(Condition(f"{first.expression} {bound} ?", [value]), condition)


def _later(term: OrderField, value: str | int | float | None, *, always_there: bool) -> Condition:
    if value is None:
        return Condition("0", [])  # what is missing sorts last: nothing follows but its equals
    sign = "<" if term.descending else ">"
    if always_there or term.name in _ALWAYS_THERE:
        return Condition(f"{term.expression} {sign} ?", [value])
    return Condition(f"({term.expression} {sign} ? OR {term.expression} IS NULL)", [value])
