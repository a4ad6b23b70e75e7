"""Structured search: filters, ranges, order and pages."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pamctl.errors import InvalidRequest
from pamctl.index.ordering import ORDER_FIELDS
from pamctl.index.scope_index import ScopeIndex
from pamctl.index.structured_query import Range, StructuredQuery
from pamctl.limits import PAGE_ITEMS_MAX
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date


@pytest.fixture
def ledger() -> HandMadeLedger:
    """Five objects, a to e, of which b and d have a second version, and a relationship."""
    made = HandMadeLedger()
    made.create("mem:a", "apple", object_type="claim", observed_at="2026-03-01T12:00:00Z")
    made.create(
        "mem:b",
        "banana",
        object_type="task",
        validation_state="unverified",
        provenance={"provenance_id": "prov:1", "source_ref": "chat:7", "activity": "heard"},
        valid_from="2026-01-01T00:00:00Z",
        valid_until="2026-02-01T00:00:00Z",
    )
    made.create(
        "mem:c",
        "cherry",
        schema_id="urn:schema:c",
        actor={"actor_id": "actor:x"},
        observed_at="2026-03-01T12:00:00.5+02:00",
        asserted_at="2026-03-05T00:00:00Z",
        integrity={"digest": "d-c"},
    )
    made.create(
        "mem:d", "apple tart", lifecycle_state="candidate", valid_from="2026-06-01T00:00:00Z"
    )
    made.create("mem:e", "apple apple", retention_state="legal_hold")
    made.revise("mem:b", validation_state="corroborated")
    made.revise("mem:d", lifecycle_state="active", canonical_content="plum")
    made.relate("rel:ab", "mem:a", "mem:b")
    return made


@pytest.fixture
def index(ledger: HandMadeLedger) -> ScopeIndex:
    return ledger.index()


def letters(index: ScopeIndex, **query: Any) -> str:
    """The last letters of the objects found, in order."""
    return "".join(row.object_id[-1] for row in index.search(StructuredQuery(**query)).rows)


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({}, "acebd"),
    ({"object_id": ["mem:a", "mem:d", "mem:zzz"]}, "ad"),
    ({"object_id": []}, ""),
    ({"version_id": ["ver:mem:b:2", "ver:mem:d:1"]}, "b"),
    ({"object_type": ["task"]}, "b"),
    ({"object_type": ["task", "claim"]}, "acebd"),
    ({"lifecycle_state": ["candidate"]}, ""),
    ({"lifecycle_state": ["active", "candidate"]}, "acebd"),
    ({"retention_state": ["legal_hold"]}, "e"),
    ({"validation_state": ["unverified"]}, ""),
    ({"availability_state": ["redacted", "deleted"]}, ""),
    ({"schema_id": ["urn:schema:c"]}, "c"),
    ({"actor_id": ["actor:x"]}, "c"),
    ({"provenance_id": ["prov:1"]}, "b"),
    ({"source_ref": ["chat:7"]}, "b"),
    ({"activity": ["noted"]}, "aced"),
    ({"integrity_digest": ["d-c"]}, "c"),
    ({"family": "relationship"}, "b"),
    ({"family": "delegation"}, ""),
    ({"object_type": ["task"], "lifecycle_state": ["archived"]}, ""),
    ({"as_of": 5}, "abcde"),
    ({"as_of": 5, "lifecycle_state": ["candidate"]}, "d"),
    ({"as_of": 5, "validation_state": ["unverified"]}, "b"),
    ({"as_of": 2}, "ab"),
    ({"as_of": 0}, ""),
    ({"as_of": 6}, "acdeb"),
]


@pytest.mark.parametrize(("query", "expected"), FILTERS)
def test_filters(index: ScopeIndex, query: dict[str, Any], expected: str) -> None:
    assert letters(index, **query) == expected
    assert index.search(StructuredQuery(**query, count=True)).total == len(expected)


RANGES = [
    (Range("observed_at"), "ac"),
    (Range("observed_at", "2026-03-01T12:00:00Z"), "a"),
    (Range("observed_at", None, "2026-03-01T10:00:00.50Z"), "c"),
    (Range("observed_at", "2026-03-01T10:00:00.5Z", "2026-03-01T12:00:00Z"), "ac"),
    (Range("observed_at", "2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z"), ""),
    (Range("asserted_at", "2026-03-05T01:00:00+01:00"), "c"),
    (Range("committed_at", None, "2026-01-01T00:00:02Z"), "ac"),
    (Range("recorded_at", "2026-01-01T00:00:05Z"), "bd"),
    (Range("sequence", 2), "bd"),
    (Range("sequence", None, 1), "ace"),
    (Range("ledger_sequence", 3, 5), "ce"),
    (Range("ledger_sequence", 4, 3), ""),
    # Where a version states no end of its validity, that end is open.
    (Range("valid_time"), "acebd"),
    (Range("valid_time", "2026-01-15T00:00:00Z", "2026-01-16T00:00:00Z"), "aceb"),
    (Range("valid_time", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"), "aceb"),
    (Range("valid_time", "2026-02-01T00:00:00.001Z"), "aced"),
    (Range("valid_time", None, "2025-01-01T00:00:00Z"), "ace"),
    (Range("valid_time", "2027-01-01T00:00:00Z", "2025-01-01T00:00:00Z"), ""),
]


@pytest.mark.parametrize(("wanted", "expected"), RANGES)
def test_ranges(index: ScopeIndex, wanted: Range, expected: str) -> None:
    assert letters(index, ranges=[wanted]) == expected


def test_a_validity_that_ends_before_it_begins_holds_no_instant(ledger: HandMadeLedger) -> None:
    ledger.create("mem:z", valid_from="2026-09-01T00:00:00Z", valid_until="2026-08-01T00:00:00Z")
    wanted = Range("valid_time", "2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z")
    assert letters(ledger.index(), ranges=[wanted]) == "acebd"


ORDERS = [
    ([], "acebd"),
    (["ledger_sequence:desc"], "dbeca"),
    (["object_id:desc"], "edcba"),
    (["object_type", "object_id:desc"], "edcab"),
    (["version_id"], "abcde"),
    (["sequence:desc", "ledger_sequence"], "bdace"),
    (["committed_at:desc"], "dbeca"),
    (["observed_at"], "cabde"),
    (["observed_at:desc"], "acbde"),
    (["valid_from:desc", "object_id:desc"], "dbeca"),
    (["valid_until"], "bacde"),
    (["object_id", "object_id:desc"], "abcde"),
]


@pytest.mark.parametrize(("order_by", "expected"), ORDERS)
def test_order(index: ScopeIndex, order_by: list[str], expected: str) -> None:
    assert letters(index, order_by=order_by) == expected


@pytest.mark.parametrize("field", ORDER_FIELDS)
@pytest.mark.parametrize("direction", ["", ":asc", ":desc"])
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_pages_are_the_whole_cut_up(
    index: ScopeIndex, field: str, direction: str, limit: int
) -> None:
    query = {"order_by": [field + direction], "text": "apple banana cherry plum"}
    whole = index.search(StructuredQuery(**query))
    assert len(whole.rows) == 5
    assert whole.next_key is None
    rows, key = [], None
    while True:
        page = index.search(StructuredQuery(**query, limit=limit, after_key=key))
        rows += page.rows
        key = page.next_key
        if key is None:
            break
        assert len(page.rows) == limit
    assert rows == whole.rows


def test_pages_as_of_a_sequence_stay_while_others_write(ledger: HandMadeLedger) -> None:
    index = ledger.index()
    query = {"text": "apple plum cherry", "as_of": ledger.sequence, "limit": 1}
    whole = index.search(StructuredQuery(**{**query, "limit": 10}))
    rows, relevance, key = [], [], None
    for number in itertools.count():
        page = index.search(StructuredQuery(**query, after_key=key))
        rows += page.rows
        relevance += page.relevance
        key = page.next_key
        if key is None:
            break
        ledger.create(f"mem:new:{number}", "apple plum plum " * number)
        ledger.revise("mem:c", canonical_content="cherry cherry")
        bring_up_to_date(index, ledger)
    ids = [row.version_id for row in rows]
    assert ids == [row.version_id for row in whole.rows]
    assert relevance == whole.relevance
    assert len(rows) == 4
    now = index.search(StructuredQuery(text="cherry")).rows
    assert [row.version_id for row in now] == [ledger.envelopes["mem:c"]["version_id"]]


def test_relevance_as_of_a_sequence_is_what_it_was_then(ledger: HandMadeLedger) -> None:
    index = ScopeIndex(None)
    then = {}
    for transaction in ledger.transactions:
        index.apply(index.position(), [transaction])
        sequence = index.position().sequence
        page = index.search(StructuredQuery(text="apple plum"))
        then[sequence] = [
            (row.version_id, score) for row, score in zip(page.rows, page.relevance, strict=True)
        ]
    for sequence in (*then, *reversed(then)):
        page = index.search(StructuredQuery(text="apple plum", as_of=sequence))
        again = [
            (row.version_id, score) for row, score in zip(page.rows, page.relevance, strict=True)
        ]
        assert again == then[sequence]


def test_a_search_as_of_a_sequence_does_not_bring_back_withdrawn_text(
    ledger: HandMadeLedger,
) -> None:
    index = ledger.index()
    ledger.create("mem:f", "apple pie")
    bring_up_to_date(index, ledger)
    assert letters(index, text="apple", as_of=8, order_by=["object_id"]) == "ae"
    assert letters(index, text="apple", as_of=8) == "ea"
    ledger.revise("mem:e", "object_deleted", availability_state="deleted", canonical_content={})
    bring_up_to_date(index, ledger)
    assert letters(index, text="apple", as_of=8) == "a"


def test_best_match_first_and_ties_by_object(index: ScopeIndex) -> None:
    ledger = HandMadeLedger()
    for object_id in ("mem:c", "mem:a", "mem:b"):
        ledger.create(object_id, "same words")
    ledger.create("mem:d", "words words words and more")
    ledger.create("mem:e", "nothing of the kind")
    ledger.create("mem:f", "nothing of the kind at all")
    page = ledger.index().search(StructuredQuery(text="same"))
    assert [row.object_id for row in page.rows] == ["mem:a", "mem:b", "mem:c"]
    assert len(set(page.relevance)) == 1
    found = letters(index, text="apple")
    assert found == "ea"
    assert letters(index, text="apple", order_by=["relevance"]) == found
    assert letters(index, text="apple", order_by=["relevance:desc"]) == found
    assert letters(index, text="apple", order_by=["object_id"]) == "ae"


def test_relevance_is_told_where_it_orders(index: ScopeIndex) -> None:
    assert index.search(StructuredQuery()).relevance == []
    assert index.search(StructuredQuery(text="apple", order_by=["object_id"])).relevance == []
    page = index.search(StructuredQuery(text="apple", order_by=["object_type", "relevance"]))
    assert [type(score) for score in page.relevance] == [int, int]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"limit": 0}, "PAGE_ITEMS_MAX"),
    ({"limit": PAGE_ITEMS_MAX + 1}, "PAGE_ITEMS_MAX"),
    ({"lifecycle_state": ["dormant"]}, "lifecycle_state 'dormant' is none of scratch"),
    ({"availability_state": [""]}, "availability_state '' is none of available"),
    ({"family": "event"}, "family 'event' is none of object, relationship, delegation"),
    ({"object_type": ["x"] * (PAGE_ITEMS_MAX + 1)}, "object_type has more than"),
    ({"order_by": ["size"]}, "'size' is no order: use sequence"),
    ({"order_by": ["object_id:up"]}, "'object_id:up' is no order"),
    ({"order_by": ["object_id; DROP TABLE version"]}, "is no order"),
    ({"order_by": ["relevance"]}, "there is no relevance"),
    ({"ranges": [Range("created_at")]}, "'created_at' is no basis of time"),
    ({"ranges": [Range("observed_at", "yesterday")]}, "observed_at: 'yesterday' is not an RFC"),
    ({"ranges": [Range("sequence", "2026-01-01T00:00:00Z")]}, "is no integer"),
    ({"after_key": (1, 2)}, "another order"),
    ({"text": "a" * 5000}, "TEXT_CHARS_MAX"),
]


@pytest.mark.parametrize(("query", "message"), REFUSED)
def test_refusals_say_what_is_accepted(
    index: ScopeIndex, query: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        index.search(StructuredQuery(**query))


def test_values_are_data(index: ScopeIndex) -> None:
    for name in ("object_id", "object_type", "source_ref", "integrity_digest"):
        assert letters(index, **{name: ["' OR 1=1 --", '"; DROP TABLE version; --']}) == ""
    assert letters(index) == "acebd"
