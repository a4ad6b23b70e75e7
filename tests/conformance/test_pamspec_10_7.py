"""PAMSPEC §10.7: inspect history."""

import pytest

from pamctl.errors import ObjectNotFound
from tests.conformance.memories import Memories


@pytest.fixture
def lived(memories: Memories) -> Memories:
    """A memory with six versions, the last of them a tombstone, and another beside it."""
    version = memories.create("first", object_id="mem:tea")
    memories.create("beside", object_id="mem:beside")
    version = memories.update(version, canonical_content="second")
    version = memories.move(version, "validation", "corroborated")
    version = memories.update(version, canonical_content="third")
    version = memories.move(version, "lifecycle", "archived")
    memories.delete(version)
    return memories


TEA = {"object_id": "mem:tea"}


def test_10_7_all_versions_oldest_first(lived: Memories) -> None:
    assert [version["sequence"] for version in lived.versions(TEA)] == [1, 2, 3, 4, 5, 6]


def test_10_7_a_range_of_versions(lived: Memories) -> None:
    ranged = lived.versions(TEA, from_sequence=2, to_sequence=4)
    assert [version["sequence"] for version in ranged] == [2, 3, 4]


def test_10_7_events_of_an_object_and_of_the_scope(lived: Memories) -> None:
    events = lived.perform("history", object_id="mem:tea", kind="events")["items"]
    assert [event["event_type"] for event in events] == [
        "object_created",
        "object_updated",
        "validation_transitioned",
        "object_updated",
        "lifecycle_transitioned",
        "object_deleted",
    ]
    assert [event for event in lived.events() if event["object_id"] == "mem:tea"] == events
    assert lived.events(object_id="mem:tea") == events


def test_10_7_classes_and_ranges_of_events(lived: Memories) -> None:
    updated = lived.perform("history", object_id="mem:tea", event_classes=["object_updated"])
    assert [event["sequence"] for event in updated["items"]] == [3, 5]
    ranged = lived.perform(
        "history", object_id="mem:tea", kind="events", from_sequence=3, to_sequence=6
    )
    assert [event["sequence"] for event in ranged["items"]] == [3, 4, 5, 6]
    assert [event["sequence"] for event in lived.events(after=5)] == [6, 7]


def test_10_7_pages_of_versions_and_events(lived: Memories) -> None:
    for kind in ("versions", "events"):
        whole = lived.perform("history", object_id="mem:tea", kind=kind)["items"]
        pieces = []
        cursor: dict[str, str] = {}
        while True:
            page = lived.perform("history", object_id="mem:tea", kind=kind, limit=4, **cursor)
            pieces += page["items"]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert pieces == whole


def test_10_7_what_was_deleted_appears_as_tombstones(lived: Memories) -> None:
    """Who, when and in which states, of every version; of none of them the content."""
    history = lived.versions(TEA)
    assert [version["canonical_content"] for version in history] == [{"tombstone": True}] * 6
    assert not any(word in str(history) for word in ("first", "second", "third"))
    assert [version["validation_state"] for version in history[:3]] == [
        "unverified",
        "unverified",
        "corroborated",
    ]


def test_10_7_events_hold_no_content(lived: Memories) -> None:
    assert not any(word in str(lived.events()) for word in ("first", "second", "third"))


def test_10_7_history_stays_in_its_scope(lived: Memories) -> None:
    other = Memories(lived.store, "project:other")
    other.create("other", object_id="mem:other")
    with pytest.raises(ObjectNotFound):
        other.versions(TEA)
    assert [event["object_id"] for event in other.events()] == ["mem:other"]
