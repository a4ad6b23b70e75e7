"""What a `--where` expression says, and whether an envelope meets it; `where_grammar` reads
one. PAMSPEC §11.

A condition holds when it holds for one of the values at its path; where there are none, none
holds, and `not` makes that true. Values are never converted: a number compares with numbers,
a string with strings, an instant with timestamps; `!=` is the opposite of `=` for a value
that is there. Strings order by the code points of their characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any

from pamctl.encoding.timestamps import instant
from pamctl.named_tuples import NamedTuple
from pamctl.rules.iregexp import Pattern
from pamctl.rules.json_paths import Path

ORDERS = {"<": lt, "<=": le, ">": gt, ">=": ge}


_OF_EVERY_FAMILY = (
    *("spec_version", "version_id", "scope_id", "canonical_content", "lifecycle_state"),
    *("availability_state", "retention_state", "validation_state", "observed_at", "asserted_at"),
    *("valid_from", "valid_until", "committed_at", "recorded_at", "sequence", "actor"),
    *("provenance", "integrity"),
)
MEMBERS = {
    "object": frozenset(
        (
            *(*_OF_EVERY_FAMILY, "object_id", "object_type", "schema_id", "quality_signals"),
            "relationship_refs",
        )
    ),
    "relationship": frozenset(
        (
            *(*_OF_EVERY_FAMILY, "relationship_id", "relationship_type", "directionality"),
            *("source_object_id", "target_object_id", "target_scope_id", "policy_basis"),
        )
    ),
}
"""What an envelope may have at its top, by family: any other name there is a slip of the pen."""


class Instant(NamedTuple):
    """A point in time, by its key of `encoding.timestamps.instant`."""

    key: str


Value = str | int | float | bool | None | Instant


@dataclass(frozen=True, slots=True)
class Test:
    """One condition. relation: a sign, or `in`, `exists`, `contains`, `starts with`,
    `matches`. values: what it compares with, several for `in`, none for `exists`.
    spelled: as it was written."""

    path: Path
    relation: str
    values: tuple[Value, ...]
    spelled: str
    pattern: Pattern | None = None


@dataclass(frozen=True, slots=True)
class Not:
    part: Expression


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One part or more holds."""

    parts: tuple[Expression, ...]


Expression = Test | Not | Every | Some


def any_of(steps: tuple[str, ...], values: Sequence[str]) -> Test:
    """The condition that one of some texts stands at a place."""
    return Test(Path("$." + ".".join(steps), steps), "in", tuple(values), ".".join(steps))


def at(steps: tuple[str, ...], relation: str, value: str | float) -> Test:
    """The condition that what stands at a place has a relation to a value."""
    name = ".".join(steps)
    said = f'"{value}"' if isinstance(value, str) else value
    return Test(Path(f"$.{name}", steps), relation, (value,), f"{name} {relation} {said}")


def holds(expression: Expression, envelope: Mapping[str, Any]) -> bool:
    """Whether an envelope meets an expression."""
    if isinstance(expression, Test):
        return any(_is_met(expression, found) for found in expression.path.find(envelope))
    if isinstance(expression, Not):
        return not holds(expression.part, envelope)
    if isinstance(expression, Every):
        return all(holds(part, envelope) for part in expression.parts)
    return any(holds(part, envelope) for part in expression.parts)


def _is_met(test: Test, found: Any) -> bool:
    relation, values = test.relation, test.values
    if relation == "exists":
        return True
    if relation == "in":
        return any(_is_equal(found, value) for value in values)
    if relation == "=":
        return _is_equal(found, values[0])
    if relation == "!=":
        return not _is_equal(found, values[0])
    if relation == "contains":
        return _contains(found, values[0])
    if relation in ORDERS:
        left, right = _comparable(found, values[0])
        return left is not None and bool(ORDERS[relation](left, right))
    if not isinstance(found, str):
        return False
    if test.pattern is not None:
        return test.pattern.matches(found)
    return found.startswith(str(values[0]))


def _is_equal(found: Any, value: Value) -> bool:
    if value is None or isinstance(value, bool):
        return found is value
    left, right = _comparable(found, value)
    return left is not None and bool(left == right)


def _contains(found: Any, value: Value) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    return isinstance(found, list) and any(_is_equal(member, value) for member in found)


def _comparable(found: Any, value: Value) -> tuple[Any, Any]:
    """Both sides as what can be compared; (None, None) where their types do not agree."""
    if isinstance(value, Instant):
        return _instant(found), value.key
    if isinstance(value, str):
        return (found, value) if isinstance(found, str) else (None, None)
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return found, value
    return None, None


def _instant(found: Any) -> str | None:
    if not isinstance(found, str):
        return None
    try:
        return instant(found)
    except ValueError:
        return None
