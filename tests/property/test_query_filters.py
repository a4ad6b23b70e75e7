"""Filters and orders agree with a plain evaluation of the same over all envelopes, and the
pages of an answer, put together, are the answer."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.encoding.timestamps import instant
from pamctl.index import access
from pamctl.index.ordering import ORDER_FIELDS
from pamctl.index.schema import (
    AVAILABILITY_STATES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)
from pamctl.index.scope_index import ScopeIndex
from pamctl.index.structured_query import RANGE_BASES, Range, StructuredQuery
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date, table_rows

OBJECTS = ["mem:a", "mem:b", "mem:c", "mem:d", "mem:e", "mem:f"]
TIMES = [
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T01:00:00+01:00",
    "2026-01-01T00:00:00.5Z",
    "2026-01-01T00:00:00.25+00:00",
    "2026-01-01T00:00:03Z",
    "2025-12-31T23:59:60Z",
    "2026-01-01T00:00:10-00:30",
]
times = st.sampled_from(TIMES)
POOLS: dict[str, list[Any]] = {
    "lifecycle_state": ["scratch", "active", "archived"],
    "availability_state": ["available", "partially_redacted", "redacted"],
    "retention_state": ["retained", "legal_hold"],
    "validation_state": ["unverified", "corroborated", "rejected"],
    "object_type": ["claim", "task", "com.example.x"],
    "schema_id": ["urn:a", "urn:b"],
}
NESTED = {
    "actor_id": ("actor", "actor_id", ["actor:x", "actor:y"]),
    "provenance_id": ("provenance", "provenance_id", ["prov:1", "prov:2"]),
    "source_ref": ("provenance", "source_ref", ["chat", "Chat", ""]),
    "activity": ("provenance", "activity", ["heard", "read"]),
    "integrity_digest": ("integrity", "digest", ["d1", "d2"]),
}
ASSERTED = ("observed_at", "asserted_at", "valid_from", "valid_until")


@st.composite
def members(draw: st.DrawFn) -> dict[str, Any]:
    """Members of an envelope, any of them missing."""
    made: dict[str, Any] = {name: draw(st.sampled_from(pool)) for name, pool in POOLS.items()}
    made["schema_id"] = draw(st.sampled_from([*POOLS["schema_id"], None]))
    for outer in ("actor", "provenance", "integrity"):
        inner = {
            member: draw(st.sampled_from(pool))
            for name, (where, member, pool) in NESTED.items()
            if where == outer and draw(st.booleans())
        }
        made[outer] = inner or None
    for name in ASSERTED:
        made[name] = draw(times | st.none())
    return made


@st.composite
def ledgers(draw: st.DrawFn) -> HandMadeLedger:
    ledger = HandMadeLedger()
    for object_id in draw(st.lists(st.sampled_from(OBJECTS), max_size=14)):
        chosen = draw(members())
        if object_id in ledger.envelopes:
            ledger.revise(object_id, **chosen)
        else:
            ledger.create(object_id, **chosen)
        if draw(st.booleans()):
            ledger.event("access_denied")
    return ledger


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    basis = draw(st.sampled_from(RANGE_BASES))
    ends = st.integers(0, 20) if basis in ("sequence", "ledger_sequence") else times
    return Range(basis, draw(ends | st.none()), draw(ends | st.none()))


@st.composite
def queries(draw: st.DrawFn) -> StructuredQuery:
    filters: dict[str, Any] = {}
    for name, pool in {**POOLS, **{name: pool for name, (_, _, pool) in NESTED.items()}}.items():
        if draw(st.integers(0, 3)) == 0:
            filters[name] = draw(st.lists(st.sampled_from(pool), max_size=3))
    if draw(st.integers(0, 3)) == 0:
        filters["object_id"] = draw(st.lists(st.sampled_from(OBJECTS), max_size=3))
    fields = [name for name in ORDER_FIELDS if name != "relevance"]
    directions = st.sampled_from(["", ":desc"])
    order_by = [
        name + draw(directions) for name in draw(st.lists(st.sampled_from(fields), max_size=3))
    ]
    return StructuredQuery(
        **filters,
        ranges=draw(st.lists(ranges(), max_size=2)),
        as_of=draw(st.integers(0, 20) | st.none()),
        order_by=order_by,
        limit=draw(st.integers(1, 5)),
        count=draw(st.booleans()),
    )


def committed(ledger: HandMadeLedger) -> list[dict[str, Any]]:
    """All envelopes ever, each with `ledger_sequence`, in ledger order."""
    found = []
    for transaction in ledger.transactions:
        for entry in transaction.entries:
            if entry.version is not None:
                envelope = transaction.versions[entry.version].envelope
                assert envelope is not None
                found.append({**envelope, "ledger_sequence": entry.body["sequence"]})
    return found


def current(envelopes: Sequence[Mapping[str, Any]], as_of: int | None) -> list[Mapping[str, Any]]:
    latest = {}
    for envelope in envelopes:
        if as_of is None or envelope["ledger_sequence"] <= as_of:
            latest[envelope["object_id"]] = envelope
    return list(latest.values())


def value(envelope: Mapping[str, Any], name: str) -> Any:
    """A member as it is compared: instants for timestamps, None where it is missing."""
    if name in NESTED:
        outer, inner, _ = NESTED[name]
        return envelope.get(outer, {}).get(inner)
    found = envelope.get(name)
    return instant(found) if name.endswith("_at") and found is not None else found


def accepts(query: StructuredQuery, envelope: Mapping[str, Any]) -> bool:
    for name in (*POOLS, *NESTED, "object_id"):
        chosen = getattr(query, name)
        if chosen is not None and value(envelope, name) not in chosen:
            return False
    return all(lies_within(envelope, wanted) for wanted in query.ranges)


def lies_within(envelope: Mapping[str, Any], wanted: Range) -> bool:
    start, end = wanted.start, wanted.end
    if isinstance(start, str):
        start = instant(start)
    if isinstance(end, str):
        end = instant(end)
    if wanted.basis == "valid_time":
        first = [instant(envelope["valid_from"])] if "valid_from" in envelope else []
        last = [instant(envelope["valid_until"])] if "valid_until" in envelope else []
        begins = max([*first, *([start] if start is not None else [])], default=None)
        ends = min([*last, *([end] if end is not None else [])], default=None)
        return begins is None or ends is None or begins <= ends
    found = value(envelope, wanted.basis)
    return found is not None and (start is None or start <= found) and (end is None or found <= end)


def in_order(
    query: StructuredQuery, envelopes: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    fields = [*(query.order_by or ["ledger_sequence"]), "object_id", "version_id"]

    def compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
        for field in fields:
            name, _, direction = field.partition(":")
            left, right = sort_value(one, name), sort_value(other, name)
            if left == right:
                continue
            if left is None or right is None:
                return 1 if left is None else -1
            smaller = -1 if left < right else 1
            return -smaller if direction == "desc" else smaller
        return 0

    return sorted(envelopes, key=cmp_to_key(compare))


STATES = {
    "lifecycle_state": LIFECYCLE_STATES,
    "availability_state": AVAILABILITY_STATES,
    "retention_state": RETENTION_STATES,
    "validation_state": VALIDATION_STATES,
}


def sort_value(envelope: Mapping[str, Any], name: str) -> Any:
    if name in STATES:
        return STATES[name].index(envelope[name])
    if name in NESTED:
        return value(envelope, name)
    found = envelope.get(name)
    timed = name.endswith("_at") or name.startswith("valid_")
    return instant(found) if timed and found is not None else found


def all_pages(index: ScopeIndex, query: StructuredQuery) -> list[str]:
    found: list[str] = []
    key = None
    while True:
        page = index.search(dataclasses.replace(query, after_key=key))
        assert len(page.rows) <= query.limit
        found += [row.version_id for row in page.rows]
        key = page.next_key
        if key is None:
            return found


@given(ledger=ledgers(), queries=st.lists(queries(), min_size=1, max_size=8))
def test_filters_orders_and_pages(ledger: HandMadeLedger, queries: list[StructuredQuery]) -> None:
    index = ledger.index()
    envelopes = committed(ledger)
    for query in queries:
        expected = [
            envelope for envelope in current(envelopes, query.as_of) if accepts(query, envelope)
        ]
        assert all_pages(index, query) == [
            envelope["version_id"] for envelope in in_order(query, expected)
        ]
        if query.count:
            assert index.search(query).total == len(expected)


@st.composite
def orders(draw: st.DrawFn) -> StructuredQuery:
    """Queries for everything, in any order, in small pages."""
    fields = [name for name in ORDER_FIELDS if name not in ("relevance", "integrity_digest")]
    names = draw(st.lists(st.sampled_from(fields), min_size=1, max_size=3, unique=True))
    order_by = [name + draw(st.sampled_from(["", ":desc", ":asc"])) for name in names]
    chosen = draw(st.sampled_from([None, ["claim"], ["claim", "task"]]))
    return StructuredQuery(order_by=order_by, limit=draw(st.integers(1, 3)), object_type=chosen)


@st.composite
def full_ledgers(draw: st.DrawFn) -> HandMadeLedger:
    ledger = HandMadeLedger()
    for number in range(draw(st.integers(4, 9))):
        ledger.create(f"mem:{number}", **draw(members()))
    return ledger


@pytest.mark.parametrize("rare", [None, 0, 1000])
@settings(max_examples=40)
@given(ledger=full_ledgers(), asked=st.lists(orders(), min_size=6, max_size=6))
def test_pages_in_any_order_are_the_whole(
    rare: int | None, ledger: HandMadeLedger, asked: list[StructuredQuery]
) -> None:
    """rare: how few versions are worth an index of their own, in a scope large enough to have
    indexes; None for a small scope."""
    with pytest.MonkeyPatch.context() as patched:
        if rare is not None:
            patched.setattr(access, "INDEXED_FROM_VERSIONS", 1)
            patched.setattr(access, "_RARE", rare)
        index = ledger.index()
        for query in asked:
            expected = [one for one in committed(ledger) if accepts(query, one)]
            assert all_pages(index, query) == [
                one["version_id"] for one in in_order(query, expected)
            ]


@given(ledger=full_ledgers(), asked=orders(), later=st.lists(members(), max_size=6))
def test_pages_stay_while_others_write(
    ledger: HandMadeLedger, asked: StructuredQuery, later: list[dict[str, Any]]
) -> None:
    index = ledger.index()
    query = dataclasses.replace(asked, as_of=ledger.sequence)
    whole = index.search(dataclasses.replace(query, limit=1000)).rows
    found, key, writes = [], None, iter(later)
    while True:
        page = index.search(dataclasses.replace(query, after_key=key))
        found += [row.version_id for row in page.rows]
        key = page.next_key
        if key is None:
            break
        for number, changed in enumerate(itertools.islice(writes, 2)):
            ledger.revise(f"mem:{number}", **changed)
            ledger.create(f"mem:later:{ledger.sequence}", **changed)
        bring_up_to_date(index, ledger)
    assert found == [row.version_id for row in whole]


@given(ledger=ledgers(), queries=st.lists(queries(), min_size=2, max_size=8))
def test_indexes_that_queries_make_change_no_answer(
    ledger: HandMadeLedger, queries: list[StructuredQuery]
) -> None:
    plain, indexed = ledger.index(), ledger.index()
    for query in queries:
        expected = all_pages(plain, query), plain.search(query).total
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(access, "INDEXED_FROM_VERSIONS", 0)
            assert (all_pages(indexed, query), indexed.search(query).total) == expected


@given(ledger=ledgers(), cuts=st.lists(st.integers(1, 4), max_size=30))
def test_an_index_is_the_same_however_the_ledger_was_cut(
    ledger: HandMadeLedger, cuts: list[int]
) -> None:
    index = ScopeIndex(None)
    done = 0
    for size in [*cuts, len(ledger.transactions)]:
        piece = ledger.transactions[done : done + size]
        assert index.apply(index.position(), piece)
        done += len(piece)
    assert table_rows(index) == table_rows(ledger.index())
