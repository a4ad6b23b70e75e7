"""Which conditions of a `--where` expression the index can decide, as SQL. PAMSPEC §11.

The SQL never leaves out what the expression accepts. Where it may accept more, what is left
to be judged on envelopes is told beside it; so an answer is the same whether or not a
condition was pushed down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pamctl.index.schema import (
    AVAILABILITY_STATES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)
from pamctl.index.structured_query import Condition
from pamctl.named_tuples import NamedTuple
from pamctl.rules.where import Every, Expression, Instant, Not, Some, Test, Value

_STATES = {
    ("lifecycle_state",): LIFECYCLE_STATES,
    ("availability_state",): AVAILABILITY_STATES,
    ("retention_state",): RETENTION_STATES,
    ("validation_state",): VALIDATION_STATES,
}
_TEXTS: dict[tuple[str | int, ...], str] = {
    ("version_id",): "version_id",
    ("schema_id",): "schema_id",
    ("actor", "actor_id"): "actor_id",
    ("provenance", "provenance_id"): "provenance_id",
    ("provenance", "source_ref"): "source_ref",
    ("provenance", "activity"): "activity",
    ("integrity", "digest"): "digest",
}
_IDENTITY: dict[str, dict[tuple[str | int, ...], str]] = {
    "object": {("object_id",): "object_id", ("object_type",): "object_type"},
    "relationship": {
        ("relationship_id",): "object_id",
        ("relationship_type",): "object_type",
    },
}
_TIMES = (
    "committed_at",
    "recorded_at",
    "observed_at",
    "asserted_at",
    "valid_from",
    "valid_until",
)
# A digest is withheld with the content that it is of, which the row does not know.
_ONLY_NARROWS = ("digest",)
_ORDERS = ("<", "<=", ">", ">=")
_INTEGER_BITS_MAX = 63

_NEVER = Condition("0", [])


class Pushed(NamedTuple):
    """condition: SQL that every version meets that the expression accepts; None for all.
    equal: by column, the values that it accepts there alone.
    residue: what is left to be judged; None for nothing.
    decided, judged: the conditions that the index decides, and those that envelopes do, as
    they were written."""

    condition: Condition | None
    equal: Mapping[str, Sequence[Value]]
    residue: Expression | None
    decided: list[str]
    judged: list[str]


class _Part(NamedTuple):
    """SQL, or None where the index cannot tell; exact where it says just what is meant."""

    sql: Condition | None
    exact: bool


_UNKNOWN = _Part(None, exact=False)


def push_down(expression: Expression, family: str) -> Pushed:
    """What of an expression over versions of a family the index can decide."""
    parts = expression.parts if isinstance(expression, Every) else (expression,)
    found = [(part, _part(part, family)) for part in parts]
    conditions = [done.sql for _, done in found if done.sql is not None]
    left = tuple(part for part, done in found if not done.exact)
    residue: Expression | None = None
    if left:
        residue = left[0] if len(left) == 1 else Every(left)
    return Pushed(
        _joined(" AND ", conditions) if conditions else None,
        dict(_equal(parts, family)),
        residue,
        [spelled for part, done in found if done.exact for spelled in _spelled(part)],
        [spelled for part in left for spelled in _spelled(part)],
    )


def _equal(parts: Sequence[Expression], family: str) -> Iterator[tuple[str, tuple[Value, ...]]]:
    for part in parts:
        if isinstance(part, Test) and part.relation in ("=", "in") and part.path.steps is not None:
            column = _TEXTS.get(part.path.steps) or _IDENTITY[family].get(part.path.steps)
            if column is not None and all(_is_text(value) for value in part.values):
                yield column, part.values


def _spelled(expression: Expression) -> list[str]:
    if isinstance(expression, Test):
        return [expression.spelled]
    if isinstance(expression, Not):
        return _spelled(expression.part)
    return [spelled for part in expression.parts for spelled in _spelled(part)]


def _part(expression: Expression, family: str) -> _Part:
    if isinstance(expression, Test):
        return _test(expression, family)
    if isinstance(expression, Not):
        inside = _part(expression.part, family)
        if inside.sql is None or not inside.exact:
            return _UNKNOWN
        # What a version lacks is NULL in SQL, and false here.
        return _Part(Condition(f"NOT coalesce({inside.sql.sql}, 0)", inside.sql.values), exact=True)
    parts = [_part(part, family) for part in expression.parts]
    conditions = [part.sql for part in parts if part.sql is not None]
    exact = all(part.exact for part in parts)
    if isinstance(expression, Some):
        if len(conditions) < len(parts):
            return _UNKNOWN
        return _Part(_joined(" OR ", conditions), exact)
    return _Part(_joined(" AND ", conditions) if conditions else None, exact)


def _joined(word: str, conditions: list[Condition]) -> Condition:
    return Condition(
        f"({word.join(condition.sql for condition in conditions)})",
        [value for condition in conditions for value in condition.values],
    )


def _test(test: Test, family: str) -> _Part:
    steps = test.path.steps
    if steps is None:
        return _UNKNOWN
    if steps in _STATES:
        return _on_state(test, str(steps[0]), _STATES[steps])
    column = _TEXTS.get(steps) or _IDENTITY.get(family, {}).get(steps)
    if column is not None:
        found = _on_values(test, f"version.{column}", _is_text, _text_relation)
        return found._replace(exact=found.exact and column not in _ONLY_NARROWS)
    if steps == ("sequence",):
        return _on_values(test, "version.sequence", _is_number, _order)
    if len(steps) == 1 and steps[0] in _TIMES:
        return _on_time(test, f"version.{steps[0]}")
    return _UNKNOWN


def _on_state(test: Test, name: str, states: tuple[str, ...]) -> _Part:
    """Rows hold the places of states; what orders or searches their names asks for those
    whose names are so."""
    wanted = [code for code, state in enumerate(states) if state and _accepts(test, state)]
    marks = ", ".join("?" * len(wanted))
    return _Part(Condition(f"version.{name} IN ({marks})", list(wanted)), exact=True)


def _accepts(test: Test, state: str) -> bool:
    from pamctl.rules.json_paths import Path
    from pamctl.rules.where import holds

    path = Path("$.state", ("state",))
    asked = Test(path, test.relation, test.values, test.spelled, test.pattern)
    return holds(asked, {"state": state})


def _on_values(
    test: Test,
    column: str,
    is_kind: Callable[[Value], bool],
    relate: Callable[[str, str, Any], Condition | None],
) -> _Part:
    """A condition on a column of one kind of values. Those of another kind equal nothing."""
    alike = [value for value in test.values if is_kind(value)]
    if any(isinstance(value, Instant) or _is_too_large(value) for value in test.values):
        return _UNKNOWN  # no column tells of what time a text speaks, or holds such a number
    if test.relation == "exists":
        return _Part(Condition(f"{column} IS NOT NULL", []), exact=True)
    if test.relation in ("=", "in"):
        if not alike:
            return _Part(_NEVER, exact=True)
        marks = ", ".join("?" * len(alike))
        return _Part(Condition(f"{column} IN ({marks})", list(alike)), exact=True)
    if test.relation == "!=":
        if not alike:
            return _Part(Condition(f"{column} IS NOT NULL", []), exact=True)
        return _Part(Condition(f"{column} != ?", list(alike)), exact=True)
    if not alike:
        return _Part(_NEVER, exact=True)
    related = relate(column, test.relation, alike[0])
    return _UNKNOWN if related is None else _Part(related, exact=True)


def _text_relation(column: str, relation: str, value: Any) -> Condition | None:
    if relation == "starts with":
        # The first says no more than the second, in a form that an index can serve.
        return Condition(f"({column} >= ? AND instr({column}, ?) = 1)", [value, value])
    if relation == "contains":
        return Condition(f"instr({column}, ?) > 0", [value])
    return _order(column, relation, value)


def _order(column: str, relation: str, value: Any) -> Condition | None:
    return Condition(f"{column} {relation} ?", [value]) if relation in _ORDERS else None


def _on_time(test: Test, column: str) -> _Part:
    """Rows hold instants. What asks for the text of a timestamp, they cannot tell."""
    keys = [value.key for value in test.values if isinstance(value, Instant)]
    if len(keys) < len(test.values) or not keys:
        return _UNKNOWN
    if test.relation in ("=", "in"):
        return _Part(Condition(f"{column} IN ({', '.join('?' * len(keys))})", list(keys)), True)
    if test.relation in _ORDERS:
        return _Part(Condition(f"{column} {test.relation} ?", list(keys)), exact=True)
    return _UNKNOWN


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_too_large(value: Value) -> bool:
    return isinstance(value, int) and value.bit_length() > _INTEGER_BITS_MAX
