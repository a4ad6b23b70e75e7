"""What the index decides of an expression, and what envelopes do, together accept exactly what
a plain evaluation over all envelopes accepts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson
from hypothesis import given
from hypothesis import strategies as st

from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest
from pamctl.index.pushdown import push_down
from pamctl.index.scope_index import ScopeIndex
from pamctl.index.structured_query import StructuredQuery
from pamctl.rules.where import holds
from pamctl.rules.where_grammar import parsed
from tests.hand_made_ledger import HandMadeLedger

Judge = Callable[[Mapping[str, Any]], bool]

TIMES = [
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T01:00:00+01:00",
    "2026-01-01T00:00:00.5Z",
    "2025-12-31T23:59:60Z",
]
WORDS = ["", "a", "ab", "b", "B", "é", "\U0001f600", "\ufffd", "active", "archived", "nul\x00l"]
STATES = ["active", "scratch", "archived"]
NUMBERS = [0, 1, 2, 2.0, 2.5, -1, 10**19, 1e30]
PATHS: dict[str, list[Any]] = {
    "lifecycle_state": STATES,
    "validation_state": ["unverified", "corroborated"],
    "object_id": ["mem:0", "mem:1", "mem:2", "mem:3"],
    "object_type": ["claim", "task", "ab"],
    "schema_id": [*WORDS, None],
    "actor.actor_id": WORDS,
    "provenance.source_ref": [*WORDS, None],
    "provenance.activity": WORDS,
    "integrity.digest": [*WORDS, None],
    "observed_at": [*TIMES, None],
    "valid_until": [*TIMES, None],
    "content.word": [*WORDS, None],
    "content.number": [*NUMBERS[:7], None],
    "content.time": [*TIMES, "no time", None],
}
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Asked(NamedTuple):
    """An expression as text, and what it means in plain Python."""

    text: str
    means: Judge


def found(envelope: Mapping[str, Any], path: str) -> Any:
    """The value at a path; None where there is none, for no value here is null."""
    value: Any = envelope
    for name in path.replace("content", "canonical_content").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def spelled(value: Any) -> str:
    return orjson.dumps(value).decode() if not isinstance(value, int) else str(value)


def alike(left: Any, right: Any) -> bool:
    """Whether two values are of one kind, so that they can be compared."""
    return isinstance(left, str) == isinstance(right, str) and left is not None


@st.composite
def conditions(draw: st.DrawFn) -> Asked:
    path = draw(st.sampled_from([*PATHS, "sequence"]))
    kind = draw(st.sampled_from(["compare", "compare", "in", "exists", "text", "instant"]))
    values: st.SearchStrategy[Any] = st.sampled_from([*WORDS, *NUMBERS, *STATES, *TIMES])
    if path in PATHS:
        own = [value for value in PATHS[path] if value is not None]
        values = st.sampled_from(own) | values
    if kind == "exists":
        return Asked(f"{path} exists", lambda env: found(env, path) is not None)
    if kind == "in":
        listed = draw(st.lists(values, min_size=1, max_size=3))
        text = ", ".join(spelled(value) for value in listed)
        return Asked(
            f"{path} in ({text})",
            lambda env: any(
                alike(found(env, path), value) and found(env, path) == value for value in listed
            ),
        )
    if kind == "instant":
        time = draw(st.sampled_from(TIMES))
        sign = draw(st.sampled_from([*ORDERS, "=", "!="]))
        return Asked(f'{path} {sign} instant("{time}")', at_time(path, sign, instant(time)))
    if kind == "text":
        word = draw(st.sampled_from([*WORDS, "2026", "mem"]))
        if draw(st.booleans()):
            return Asked(
                f"{path} contains {spelled(word)}",
                lambda env: isinstance(found(env, path), str) and word in found(env, path),
            )
        return Asked(
            f"{path} starts with {spelled(word)}",
            lambda env: isinstance(found(env, path), str) and found(env, path).startswith(word),
        )
    sign, value = draw(st.sampled_from([*ORDERS, "=", "!="])), draw(values)
    return Asked(f"{path} {sign} {spelled(value)}", compared(path, sign, value))


def at_time(path: str, sign: str, key: str) -> Judge:
    def judge(envelope: Mapping[str, Any]) -> bool:
        value = found(envelope, path)
        if value is None:
            return False
        try:
            mine: str | None = instant(value) if isinstance(value, str) else None
        except ValueError:
            mine = None
        if sign == "!=":
            return mine != key
        return mine is not None and {**ORDERS, "=": operator.eq}[sign](mine, key)

    return judge


def compared(path: str, sign: str, value: Any) -> Judge:
    def judge(envelope: Mapping[str, Any]) -> bool:
        mine = found(envelope, path)
        if mine is None:
            return False
        if sign == "!=":
            return not (alike(mine, value) and mine == value)
        return alike(mine, value) and {**ORDERS, "=": operator.eq}[sign](mine, value)

    return judge


def combined(inner: st.SearchStrategy[Asked]) -> st.SearchStrategy[Asked]:
    several = st.lists(inner, min_size=2, max_size=3)
    return (
        inner.map(lambda one: Asked(f"not ({one.text})", lambda env: not one.means(env)))
        | several.map(
            lambda all_: Asked(
                " and ".join(f"({one.text})" for one in all_),
                lambda env: all(one.means(env) for one in all_),
            )
        )
        | several.map(
            lambda all_: Asked(
                " or ".join(f"({one.text})" for one in all_),
                lambda env: any(one.means(env) for one in all_),
            )
        )
    )


expressions = st.recursive(conditions(), combined, max_leaves=4)


@st.composite
def ledgers(draw: st.DrawFn) -> HandMadeLedger:
    ledger = HandMadeLedger()
    for _ in range(draw(st.integers(1, 8))):
        object_id = draw(st.sampled_from(PATHS["object_id"]))
        chosen = {
            path: None if None in pool and draw(st.booleans()) else draw(st.sampled_from(pool))
            for path, pool in PATHS.items()
        }
        members: dict[str, Any] = {"canonical_content": {}}
        for path, value in chosen.items():
            if path == "object_id":
                continue
            outer, _, inner = path.partition(".")
            if not inner:
                members[path] = value
            elif value is not None:
                name = "canonical_content" if outer == "content" else outer
                members.setdefault(name, {})[inner] = value
        if object_id in ledger.envelopes:
            ledger.revise(object_id, **members)
        else:
            ledger.create(object_id, **members)
    return ledger


def selected(index: ScopeIndex, texts: list[str], envelopes: Mapping[str, Any]) -> set[str]:
    """What the index finds and what envelopes leave of it, as a query does it."""
    pushed = push_down(parsed(texts), "object")
    page = index.search(StructuredQuery(condition=pushed.condition))
    kept = [row.object_id for row in page.rows]
    if pushed.residue is None:
        assert pushed.judged == []
        return set(kept)
    return {name for name in kept if holds(pushed.residue, envelopes[name])}


PIECES = [
    *("content", "$", ".", "..", ".a", ".*", "[*]", "[0]", "[-1]", "[1:2]", "[1e5]", '["a"]'),
    *("[?@.a]", "[?@ > 1]", '[?match(@.b, "(")]', "[?@.a == 1e400]", "[", "]", "(", ")", "?"),
    *(" = ", " != ", " < ", " in ", " exists", " contains ", " starts with ", " matches "),
    *(" and ", " or ", "not ", "instant(", "'", '"', '"x"', "\\", "1", "1e999", "null", ","),
    *("object_type", "sequence", "é", "日", "\ud800", "\x00", " ", "\n", "{", "^", "9" * 25),
]
ANYTHING = {"object_type": "claim", "canonical_content": {"a": [1, {"b": "x"}], "b": {"a": None}}}


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join) | st.text(max_size=30))
def test_no_text_is_worse_than_a_refusal(text: str) -> None:
    for asked in (text, f"content{text}"):
        try:
            expression = parsed([asked])
        except InvalidRequest as refusal:
            position = refusal.details["position"]
            assert 0 <= position <= len(asked)
        else:
            assert holds(expression, ANYTHING) in (True, False)


@given(ledgers(), st.lists(st.lists(expressions, min_size=1, max_size=2), min_size=8, max_size=8))
def test_pushing_down_never_changes_an_answer(
    ledger: HandMadeLedger, queries: list[list[Asked]]
) -> None:
    index, envelopes = ledger.index(), ledger.envelopes
    for query in queries:
        texts = [asked.text for asked in query]
        expected = {
            name
            for name, envelope in envelopes.items()
            if all(asked.means(envelope) for asked in query)
        }
        assert selected(index, texts, envelopes) == expected
        # And without an index at all.
        plain = parsed(texts)
        assert {name for name, one in envelopes.items() if holds(plain, one)} == expected
