"""PAMSPEC §10.11: Delete. And §16.3: the erasure that may go with it."""

from typing import Any

import pytest

from pamctl.errors import InvalidRequest, LegalHold, ObjectDeleted, VersionConflict
from tests.conformance.memories import HUMAN, SEEN, Memories
from tests.remnants import remnants

SECRET = "qzxwvk wvqzkx"


@pytest.mark.parametrize("missing", ["scope_id", "object_id", "expected_version_id", "actor"])
def test_10_11_its_required_inputs(memories: Memories, missing: str) -> None:
    """Scope, object, expected version and actor; the policy basis as with every operation."""
    made = memories.create()
    request = {
        "scope_id": memories.scope_id,
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "actor": HUMAN,
    }
    del request[missing]
    with pytest.raises(InvalidRequest):
        memories.store.perform("delete", request)
    assert memories.versions(made) == [made]


def test_10_11_a_deleted_object_is_no_longer_available(memories: Memories) -> None:
    """Not to reading, not to queries, default or not, beyond its tombstone."""
    made = memories.create({"text": SECRET}, validation_state="corroborated")
    assert memories.perform("query")["items"] == [made]
    gone = memories.delete(made)
    with pytest.raises(ObjectDeleted):
        memories.read(made)
    assert memories.perform("query")["items"] == []
    assert memories.found() == [gone]
    assert memories.found(text=SECRET) == []
    assert SECRET not in str(memories.versions(made))


def test_10_11_delete_produces_object_deleted(memories: Memories) -> None:
    """With the tombstone's version and the basis of the deletion."""
    made = memories.create()
    gone = memories.delete(made, policy_basis="policy:subject")
    event = memories.events()[-1]
    assert event["event_type"] == "object_deleted"
    assert event["version_id"] == gone["version_id"]
    assert event["payload"]["policy_basis"] == "policy:subject"


def test_10_11_relationships_of_a_deleted_object_stay_what_they_were(memories: Memories) -> None:
    """They are objects of their own, and are deleted on their own (§8.5)."""
    one, two = memories.create("one"), memories.create("two")
    related: dict[str, Any] = memories.perform(
        "relate",
        provenance=SEEN,
        source_object_id=one["object_id"],
        target_object_id=two["object_id"],
        relationship_type="supports",
        directionality="directed",
        canonical_content={},
    )["envelope"]
    memories.delete(one, erase=True)
    assert memories.read(related["relationship_id"]) == related


def test_10_11_deletion_under_legal_hold_answers_legal_hold(memories: Memories) -> None:
    """The shared vector deletion-blocked-by-legal-hold, as a whole operation."""
    held = memories.create(retention_state="legal_hold")
    for erase in (False, True):
        with pytest.raises(LegalHold) as refused:
            memories.delete(held, erase=erase)
        assert refused.value.code == "legal_hold"
        assert refused.value.retryable is False
    assert memories.read(held) == held


def test_10_11_a_stale_expected_version_fails(memories: Memories) -> None:
    """With version_conflict, and nothing is deleted or erased."""
    made = memories.create()
    updated = memories.update(made, canonical_content="coffee")
    for erase in (False, True):
        with pytest.raises(VersionConflict):
            memories.delete(made, erase=erase)
    assert memories.read(made) == updated


@pytest.mark.parametrize("when", ["at once", "later"])
def test_16_3_content_goes_and_a_content_free_tombstone_stays(
    memories: Memories, when: str
) -> None:
    """History goes on without what was erased from it, at once or after the deletion."""
    made = memories.create({"text": SECRET}, quality_signals={"staleness_score": 0.5})
    made = memories.update(made, canonical_content=[SECRET])
    if when == "at once":
        gone = memories.delete(made, erase=True)
    else:
        gone = memories.delete(made)
        memories.delete(gone, erase=True)
    assert remnants(memories.store.path, SECRET) == []
    versions = memories.versions(made)
    assert [version["version_id"] for version in versions][1:] == [
        made["version_id"],
        gone["version_id"],
    ]
    for version in versions:
        assert version["canonical_content"] == {"tombstone": True}
        assert "quality_signals" not in version
        assert "integrity" not in version
    assert len(memories.events()) == 3


def test_16_3_a_legal_hold_delays_erasure(memories: Memories) -> None:
    """Until it is released."""
    made = memories.create({"text": SECRET}, retention_state="legal_hold")
    with pytest.raises(LegalHold):
        memories.delete(made, erase=True)
    assert remnants(memories.store.path, SECRET) != []
    memories.delete(memories.move(made, "retention", "pending_deletion"), erase=True)
    assert remnants(memories.store.path, SECRET) == []
