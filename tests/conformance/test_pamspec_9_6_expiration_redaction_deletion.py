"""PAMSPEC §9.6: what expiring, redacting and deleting make of an object, and a legal hold."""

from typing import Any

import pytest

from pamctl.errors import LegalHold, ObjectDeleted, ObjectRedacted, PamError
from tests.conformance.memories import Memories, states


def redact(memories: Memories, on: dict[str, Any], **more: Any) -> dict[str, Any]:
    envelope: dict[str, Any] = memories.perform(
        "redact",
        object_id=on["object_id"],
        expected_version_id=on["version_id"],
        policy_basis="policy:test",
        **more,
    )["envelope"]
    return envelope


def last_event(memories: Memories) -> dict[str, Any]:
    return memories.events()[-1]


def test_9_6_expiration_changes_the_retention_state_and_no_other(memories: Memories) -> None:
    """An expired object is as mature, as visible and as validated as before."""
    made = memories.create()
    expired = memories.move(made, "retention", "expired")
    assert states(expired) == {**states(made), "retention": "expired"}
    assert memories.read(made)["canonical_content"] == "tea"
    assert last_event(memories)["event_type"] == "retention_transitioned"


def test_9_6_a_redaction_makes_a_version_that_shows_less_and_its_event(memories: Memories) -> None:
    """Whole or in part, the object gets a version of that availability, and an event."""
    made = memories.create({"a": 1, "b": 2})
    for more, state, content in (
        ({"paths": ["/a"]}, "partially_redacted", {"a": "[REDACTED]", "b": 2}),
        ({}, "redacted", {"tombstone": True}),
    ):
        before = states(made)
        made = redact(memories, made, **more)
        assert states(made) == {**before, "availability": state}
        assert made["canonical_content"] == content
        event = last_event(memories)
        assert event["event_type"] == "object_redacted"
        assert event["version_id"] == made["version_id"]
    assert [version["sequence"] for version in memories.versions(made)] == [1, 2, 3]


def test_9_6_a_redaction_need_not_be_the_end(memories: Memories) -> None:
    """Its version is terminal or not: what was only hidden can be shown again."""
    made = memories.create({"a": 1})
    shown = memories.move(redact(memories, made), "availability", "available")
    assert shown["canonical_content"] == {"a": 1}
    gone = redact(memories, shown, erase=True)
    with pytest.raises(PamError) as refused:
        memories.move(gone, "availability", "available")
    assert refused.value.code == "retention_restriction"


def test_9_6_a_deletion_makes_the_final_tombstone_and_its_event(memories: Memories) -> None:
    """Nothing follows it: no update, no transition, no redaction, no second deletion."""
    made = memories.create({"a": 1})
    gone = memories.delete(made)
    assert gone["canonical_content"] == {"tombstone": True}
    assert gone["availability_state"] == "deleted"
    event = last_event(memories)
    assert (event["event_type"], event["version_id"]) == ("object_deleted", gone["version_id"])
    for follow in (
        lambda: memories.update(gone, canonical_content=1),
        lambda: memories.move(gone, "availability", "available"),
        lambda: memories.move(gone, "lifecycle", "archived"),
        lambda: memories.move(gone, "retention", "legal_hold"),
        lambda: redact(memories, gone),
        lambda: redact(memories, gone, erase=True),
        lambda: memories.delete(gone),
        lambda: memories.create(object_id=gone["object_id"]),
    ):
        with pytest.raises(ObjectDeleted):
            follow()
    assert memories.versions(gone)[-1] == gone


@pytest.mark.parametrize("erase", [False, True])
def test_9_6_erased_or_not_a_tombstone_never_changes(memories: Memories, erase: bool) -> None:
    """An erasure after the deletion takes what went before; the tombstone stays as it is."""
    gone = memories.delete(memories.create({"a": 1}))
    if erase:
        memories.delete(gone, erase=True)
    assert memories.versions(gone)[-1] == gone
    assert memories.read(gone, version_id=gone["version_id"]) == gone


def test_9_6_a_legal_hold_is_a_retention_state_and_nothing_else(memories: Memories) -> None:
    """It stops disposal while the retention state says so, and leaves all else as it was."""
    made = memories.create({"a": 1})
    held = memories.move(made, "retention", "legal_hold")
    assert states(held) == {**states(made), "retention": "legal_hold"}
    head = memories.head()
    for dispose in (
        lambda: memories.delete(held),
        lambda: memories.delete(held, erase=True),
        lambda: redact(memories, held),
        lambda: redact(memories, held, paths=["/a"]),
        lambda: redact(memories, held, erase=True),
        lambda: memories.move(held, "availability", "redacted"),
        lambda: memories.move(held, "availability", "partially_redacted"),
        lambda: memories.move(held, "availability", "deleted"),
    ):
        with pytest.raises(LegalHold):
            dispose()
    assert memories.head() == head
    assert memories.perform("expire")["items"] == []
    updated = memories.update(held, canonical_content={"a": 2})
    assert updated["retention_state"] == "legal_hold"
    assert memories.move(updated, "validation", "corroborated")["retention_state"] == "legal_hold"
    released = memories.move(memories.versions(held)[-1], "retention", "retained")
    assert memories.delete(released)["availability_state"] == "deleted"


def test_9_6_redacted_content_is_not_shown_by_any_way_of_reading(memories: Memories) -> None:
    """Not now, not at an earlier version or sequence, not in history, not by a search."""
    made = memories.create({"text": "verbena"})
    redact(memories, made)
    for asked in ({}, {"version_id": made["version_id"]}, {"at_sequence": 1}):
        with pytest.raises(ObjectRedacted):
            memories.read(made, **asked)
    shown = [*memories.versions(made), *memories.found(), *memories.found(as_of=1)]
    assert {str(one["canonical_content"]) for one in shown} == {"{'tombstone': True}"}
    assert memories.found(text="verbena") == []
    assert memories.found(text="verbena", as_of=1) == []
