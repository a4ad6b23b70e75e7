"""PAMSPEC §7.7 and §15.6: the Event Ledger."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.errors import StoreDamaged
from tests.conformance.memories import Memories


def every_change(memories: Memories) -> list[tuple[Callable[[], Any], str]]:
    """Each operation that changes something, with the event that it owes."""
    made: dict[str, Any] = {}

    def keep(change: Callable[[], Any]) -> Callable[[], Any]:
        def do() -> Any:
            made["now"] = change()
            return made["now"]

        return do

    return [
        (keep(lambda: memories.create()), "object_created"),
        (keep(lambda: memories.update(made["now"], canonical_content="more")), "object_updated"),
        (keep(lambda: memories.update(made["now"])), "provenance_updated"),
        (
            keep(lambda: memories.move(made["now"], "lifecycle", "archived")),
            "lifecycle_transitioned",
        ),
        (
            keep(lambda: memories.move(made["now"], "validation", "disputed")),
            "validation_transitioned",
        ),
        (
            keep(lambda: memories.move(made["now"], "retention", "expired")),
            "retention_transitioned",
        ),
        (
            keep(lambda: memories.move(made["now"], "availability", "redacted")),
            "availability_transitioned",
        ),
        (keep(lambda: memories.delete(made["now"])), "object_deleted"),
    ]


def test_7_7_every_change_leaves_an_event(memories: Memories) -> None:
    for change, event_type in every_change(memories):
        before = memories.head()["sequence"]
        version = change()
        (event,) = memories.events(after=before)
        assert event["event_type"] == event_type
        assert (event["object_id"], event["version_id"]) == (
            version["object_id"],
            version["version_id"],
        )


def test_7_7_events_stay_as_they_were_written(memories: Memories) -> None:
    """What was written once is a prefix of the ledger for ever, byte for byte."""
    (ledger,) = Path(memories.store.path).glob("scopes/*/ledger*")
    written = ledger.read_bytes()
    events: list[Any] = []
    for change, _ in every_change(memories):
        change()
        now = ledger.read_bytes()
        assert now.startswith(written)
        assert len(now) > len(written)
        listed = memories.events()
        assert listed[: len(events)] == events
        written, events = now, listed


@pytest.mark.parametrize("rewritten", [0, 2, 4])
def test_7_7_a_rewritten_event_is_noticed(memories: Memories, rewritten: int) -> None:
    """A ledger whose past was edited is refused, and not read as if nothing had happened."""
    for number in range(6):
        memories.create(f"text {number}")
    (ledger,) = Path(memories.store.path).glob("scopes/*/ledger*")
    parts = ledger.read_bytes().split(b"object_created")
    before, after = parts[: rewritten + 1], parts[rewritten + 1 :]
    ledger.write_bytes(
        b"object_created".join(before) + b"object_deleted" + b"object_created".join(after)
    )
    for file in Path(memories.store.path).glob("index/*"):
        file.unlink()
    with pytest.raises(StoreDamaged):
        Memories(pamctl.open_store(memories.store.path)).events()


def test_15_6_events_are_chained_by_their_digests(memories: Memories) -> None:
    """Every line names the digest of the line before it; the head is that of the last."""
    memories.update(memories.create(), canonical_content="more")
    (ledger,) = Path(memories.store.path).glob("scopes/*/ledger*")
    lines = ledger.read_bytes().splitlines()
    previous = "0" * 64
    for line in lines:
        assert json.loads(line)["prev"] == previous
        previous = hashlib.sha256(line).hexdigest()
    assert memories.head()["head"] == previous


def test_7_7_events_of_an_object_keep_their_order(memories: Memories) -> None:
    tea, milk = memories.create("tea"), memories.create("milk")
    for number in range(4):
        tea = memories.update(tea, canonical_content=number)
        milk = memories.update(milk, canonical_content=number)
    memories.delete(tea)
    for made in (tea, milk):
        events = memories.perform("history", object_id=made["object_id"], kind="events")["items"]
        sequences = [event["sequence"] for event in events]
        assert sequences == sorted(set(sequences))
        numbers = [version["sequence"] for version in memories.versions(made)]
        assert numbers == list(range(1, len(events) + 1))
        assert [event["version_id"] for event in events] == [
            version["version_id"] for version in memories.versions(made)
        ]
    everything = [event["sequence"] for event in memories.events()]
    assert everything == list(range(1, len(everything) + 1))


def test_7_6_rebuilding_an_index_makes_no_version(memories: Memories) -> None:
    made = memories.create()
    before = memories.versions(made)
    memories.store.rebuild_index(scope_id=memories.scope_id)
    assert memories.versions(made) == before


def test_7_6_an_index_is_derived_and_may_be_lost(memories: Memories) -> None:
    """Without its index a scope answers the same."""
    made = memories.update(memories.create("green tea"), canonical_content="black tea")
    before = (memories.versions(made), memories.found(text="black"), memories.events())
    memories.store.close()
    for file in Path(memories.store.path).glob("index/*"):
        file.unlink()
    anew = Memories(pamctl.open_store(memories.store.path))
    assert (anew.versions(made), anew.found(text="black"), anew.events()) == before
