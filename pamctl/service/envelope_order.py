"""Answers in the order of a member that only envelopes tell. PAMSPEC §8.6, §11.

The index keeps no column of these: few versions have them, and every write would pay. So all
that is selected is read, as it is for an expression that envelopes decide, and no more than a
few pages of it are held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pamctl.errors import InvalidRequest
from pamctl.index.structured_query import Match
from pamctl.named_tuples import NamedTuple

_PLACES: Mapping[str, tuple[str, type | tuple[type, ...]]] = {
    "source_confidence": ("source_confidence", (int, float)),
    "transformation_parent": ("transformation_parent", str),
}
"""Members of provenance that answers can be ordered by, and what orders among them."""

Value = str | int | float | None


class EnvelopeOrder(NamedTuple):
    """The first term of an order; the others are the index's."""

    name: str
    descending: bool

    def value(self, envelope: Mapping[str, Any]) -> Value:
        """Of an envelope, what it is ordered by; None for what it lacks."""
        member, kinds = _PLACES[self.name]
        found: Value = envelope.get("provenance", {}).get(member)
        return found if isinstance(found, kinds) and not isinstance(found, bool) else None

    def is_later(self, value: Value, than: Value) -> bool:
        """Whether a value comes behind another. What is missing comes last either way."""
        if value is None or than is None:
            return value is None and than is not None
        # Of one member, all are numbers or all are strings.
        return value < than if self.descending else value > than  # type: ignore[operator]

    def spelled(self) -> str:
        """As a request has it."""
        return f"{self.name}:desc" if self.descending else self.name


class Valued(NamedTuple):
    """A match, and what it is ordered by."""

    match: Match
    value: Value


def split(order_by: Sequence[str]) -> tuple[EnvelopeOrder | None, Sequence[str]]:
    """The term of an order that envelopes decide, if there is one, and the others.

    Raises InvalidRequest where it is not the first: of what comes before it, the index would
    have to give all that tie.
    """
    first = None
    for place, asked in enumerate(order_by):
        name, _, direction = asked.partition(":")
        if name not in _PLACES:
            continue
        if place > 0:
            raise InvalidRequest(
                f"{name} has to be the first that is ordered by", pointer=f"/order_by/{place}"
            )
        if direction not in ("", "asc", "desc"):
            raise InvalidRequest(f"{asked!r} is no order: use {name} or {name}:desc")
        first = EnvelopeOrder(name, direction == "desc")
    return first, order_by if first is None else order_by[1:]


def foremost(order: EnvelopeOrder, found: Iterable[Valued], limit: int) -> list[Valued]:
    """The first `limit`, in order; those with equal values in the order in which they come."""
    kept: list[Valued] = []
    for valued in found:
        kept.append(valued)
        if len(kept) >= 4 * limit:
            kept = _sorted(order, kept)[:limit]
    return _sorted(order, kept)[:limit]


def _sorted(order: EnvelopeOrder, found: list[Valued]) -> list[Valued]:
    def key(valued: Valued) -> Any:
        return ((valued.value is not None) is order.descending, valued.value)

    return sorted(found, key=key, reverse=order.descending)
