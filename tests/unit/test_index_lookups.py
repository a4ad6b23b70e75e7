"""What the index answers about versions, events and entries."""

from __future__ import annotations

import pytest

from pamctl.encoding.timestamps import instant
from pamctl.index.rows import EntryPlace
from pamctl.index.scope_index import ScopeIndex
from pamctl.store.records import START
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date


@pytest.fixture
def ledger() -> HandMadeLedger:
    return HandMadeLedger()


def test_an_index_in_memory_starts_at_the_beginning() -> None:
    index = ScopeIndex(None)
    assert index.position() == START
    assert index.counts() == {"objects": 0, "versions": 0, "events": 0}
    assert index.current("mem:a") is None
    assert index.version("ver:a") is None
    assert index.history("mem:a") == []
    assert index.events() == []
    assert index.event("evt:1") is None
    assert index.idempotency("key") is None
    assert index.latest("policy") is None
    assert index.packs() == {}


def test_a_row_tells_where_a_version_is_and_what_it_is(ledger: HandMadeLedger) -> None:
    pack = "ab" * 32
    ledger.entry("pack", {"name": pack, "versions": 1})
    envelope = ledger.create("mem:a", {"text": "x"}, pack=pack, schema_id="urn:schema:x")
    index = ledger.index()
    row = index.current("mem:a")
    assert row is not None
    assert row == index.version(envelope["version_id"])
    told = {
        "object_id": "mem:a",
        "version_id": "ver:mem:a:1",
        "family": "object",
        "object_type": "claim",
        "lifecycle_state": "active",
        "availability_state": "available",
        "retention_state": "retained",
        "validation_state": "corroborated",
        "sequence": 1,
        "since": 1,
        "until": None,
        "erased": False,
        "address": next(iter(ledger.transactions[1].versions)),
        "pack": pack,
        "offset": 7,
        "length": 70,
    }
    assert {name: getattr(row, name) for name in told} == told
    digest = bytes.fromhex(row.address.removeprefix("sha256:"))
    assert row.place == (digest, bytes.fromhex(pack), 7, 70)
    assert index.packs() == {pack: 1}


def test_a_version_is_current_until_the_next_is_committed(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    ledger.create("mem:b")
    ledger.revise("mem:a", lifecycle_state="archived")
    index = ledger.index()
    first, second = index.history("mem:a")
    assert (first.sequence, first.since, first.until) == (1, 1, 3)
    assert (second.sequence, second.since, second.until) == (2, 3, None)
    assert index.current("mem:a") == second
    assert [index.current("mem:a", as_of) for as_of in range(4)] == [None, first, first, second]
    assert index.current("mem:b", 1) is None
    assert index.counts() == {"objects": 2, "versions": 3, "events": 3}


def test_versions_that_follow_one_another_in_one_transaction(ledger: HandMadeLedger) -> None:
    with ledger:
        ledger.create("mem:a")
        ledger.revise("mem:a")
        ledger.revise("mem:a")
    index = ledger.index()
    assert [(row.since, row.until) for row in index.history("mem:a")] == [(1, 2), (2, 3), (3, None)]
    assert index.counts()["objects"] == 1


def test_history_keeps_to_its_bounds(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    for _ in range(4):
        ledger.revise("mem:a")
    index = ledger.index()

    def numbers(**bounds: int) -> list[int]:
        return [row.sequence for row in index.history("mem:a", **bounds)]

    assert numbers() == [1, 2, 3, 4, 5]
    assert numbers(from_sequence=2, to_sequence=4) == [2, 3, 4]
    assert numbers(from_sequence=2, limit=2) == [2, 3]
    assert numbers(limit=0) == []
    assert numbers(as_of=3) == [1, 2, 3]


def test_relationships_and_delegations_are_rows_too(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    ledger.create("mem:b")
    ledger.relate("rel:ab", "mem:a", "mem:b")
    ledger.delegate("del:x")
    ledger.revise("rel:ab", "lifecycle_transitioned", lifecycle_state="archived")
    index = ledger.index()
    relationship, delegation = index.current("rel:ab"), index.current("del:x")
    assert relationship is not None
    assert delegation is not None
    assert (relationship.family, relationship.object_type) == ("relationship", "supports")
    assert (relationship.sequence, relationship.lifecycle_state) == (2, "archived")
    assert (delegation.family, delegation.object_type) == ("delegation", None)
    assert not relationship.erased
    assert not delegation.erased
    assert index.counts() == {"objects": 2, "versions": 5, "events": 5}


def test_events_come_in_ledger_order_whether_or_not_they_commit(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a")
    ledger.event("access_denied", object_id="mem:a")
    ledger.entry("policy", {"policy": {}})
    ledger.create("mem:b")
    ledger.event("embedding_generated", object_id="mem:b")
    ledger.relate("rel:ab", "mem:a", "mem:b")
    index = ledger.index()

    def sequences(*arguments: int, **filters: object) -> list[int | None]:
        return [place.sequence for place in index.events(*arguments, **filters)]  # type: ignore[arg-type]

    assert sequences() == [1, 2, 3, 4, 5]
    assert sequences(2) == [3, 4, 5]
    assert sequences(1, until=3) == [2, 3]
    assert sequences(1, limit=2) == [2, 3]
    assert sequences(event_classes=["object_created", "access_denied"]) == [1, 2, 3]
    assert sequences(event_classes=[]) == []
    assert sequences(object_id="mem:a") == [1, 2, 5]
    assert sequences(object_id="rel:ab") == [5]
    assert sequences(object_id="mem:b", event_classes=["embedding_generated"]) == [4]
    assert index.events(2, limit=1) == [EntryPlace(n=4, offset=300, length=99, sequence=3)]
    assert index.event("evt:3") == EntryPlace(4, 300, 99, 3)
    assert index.event("evt:2") == EntryPlace(2, 100, 99, 2)
    assert index.event("evt:9") is None


def test_a_key_leads_to_the_entry_that_recorded_it_first(ledger: HandMadeLedger) -> None:
    first = ledger.entry("idempotency", {"key": "k"})
    ledger.entry("idempotency", {"key": "k"})
    index = ledger.index()
    assert index.idempotency("k") == EntryPlace(first.n, first.offset, first.length, None)
    assert index.idempotency("K") is None


def test_the_latest_entry_of_a_kind(ledger: HandMadeLedger) -> None:
    ledger.entry("scope", {"scope_id": "s"})
    ledger.entry("policy", {"policy": {}})
    last = ledger.entry("policy", {"policy": {}})
    ledger.entry("snapshot", {})
    index = ledger.index()
    assert index.latest("policy") == EntryPlace(last.n, last.offset, last.length, None)
    assert index.latest("space") is None


def test_the_sequence_at_an_instant_is_that_of_the_last_event_up_to_it(
    ledger: HandMadeLedger,
) -> None:
    moments = ["2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T11:00:00.5Z"]
    ledger.create("mem:a", recorded_at=moments[0], body={"recorded_at": moments[0]})
    ledger.event("access_denied", recorded_at=moments[1])
    ledger.create("mem:b", recorded_at="2030-01-01T00:00:00Z", body={"recorded_at": moments[2]})
    index = ledger.index()

    def at(timestamp: str) -> int:
        return index.sequence_at(instant(timestamp))

    assert at("2026-01-01T09:59:59.999Z") == 0
    assert at("2026-01-01T12:00:00+02:00") == 1
    assert at("2026-01-01T11:00:00.4999Z") == 1
    # The clock was set back before the third event.
    assert at("2026-01-01T11:30:00Z") == 3
    assert at("2026-01-01T12:00:00Z") == 3


def test_a_version_that_is_gone_keeps_what_its_event_tells(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a", "x")
    ledger.revise(
        "mem:a", "lifecycle_transitioned", gone=True, body={"payload": {"to": "archived"}}
    )
    ledger.revise("mem:a", "object_deleted", gone=True)
    index = ledger.index()
    first, second, third = index.history("mem:a")
    assert (first.until, second.until, third.until) == (2, 3, None)
    assert [row.sequence for row in (first, second, third)] == [1, 2, 3]
    assert not first.erased
    assert second.erased
    assert (second.lifecycle_state, second.availability_state) == ("archived", None)
    assert (third.lifecycle_state, third.availability_state) == (None, "deleted")
    assert second.object_type is None
    assert index.current("mem:a") == third
    assert index.counts() == {"objects": 1, "versions": 3, "events": 3}


def test_relationships_and_delegations_that_are_gone(ledger: HandMadeLedger) -> None:
    ledger.relate("rel:ab", "mem:a", "mem:b")
    ledger.revise("rel:ab", "relationship_updated", gone=True)
    ledger.delegate("del:x")
    ledger.revise("del:x", "delegation_revoked", gone=True)
    index = ledger.index()
    relationship, delegation = index.current("rel:ab"), index.current("del:x")
    assert relationship is not None
    assert delegation is not None
    assert (relationship.family, relationship.sequence) == ("relationship", 2)
    assert (delegation.family, delegation.sequence) == ("delegation", 2)


def test_a_version_that_is_gone_and_that_nothing_names_leaves_its_event(
    ledger: HandMadeLedger,
) -> None:
    ledger.create("mem:a", gone=True, body={"version_id": None})
    index = ledger.index()
    assert index.counts() == {"objects": 0, "versions": 0, "events": 1}
    assert index.events(object_id="mem:a") == [EntryPlace(1, 0, 99, 1)]


def test_a_stub_with_an_envelope_keeps_its_states(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a", "x", canonical_content=None, integrity={"digest": "d"})
    row = ledger.index().current("mem:a")
    assert row is not None
    assert row.erased
    assert row.lifecycle_state == "active"


def test_unusual_values_are_kept_or_left_out_but_never_refused(ledger: HandMadeLedger) -> None:
    ledger.create("mem:a", observed_at="yesterday", lifecycle_state="dormant", provenance=None)
    ledger.create("mem:ü", actor=None, object_type="com.example.thing")
    index = ledger.index()
    odd, other = index.current("mem:a"), index.current("mem:ü")
    assert odd is not None
    assert other is not None
    assert odd.lifecycle_state is None
    assert other.object_type == "com.example.thing"


def test_an_index_can_be_brought_up_to_date_piece_by_piece(ledger: HandMadeLedger) -> None:
    index = ScopeIndex(None)
    for number in range(5):
        ledger.create(f"mem:{number}")
        bring_up_to_date(index, ledger)
        assert index.position() == ledger.position
        assert index.counts()["objects"] == number + 1
