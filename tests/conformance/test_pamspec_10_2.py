"""PAMSPEC §10.2: read."""

import pytest

from pamctl.errors import ObjectDeleted, ObjectNotFound, ObjectRedacted, ScopeNotFound
from tests.conformance.memories import Memories


def test_10_2_the_current_version_or_the_one_that_is_named(memories: Memories) -> None:
    made = memories.create("tea")
    changed = memories.update(made, canonical_content="coffee")
    assert memories.read(made) == changed
    assert memories.read(made, version_id=made["version_id"]) == made
    assert memories.read(made, version_id=changed["version_id"]) == changed
    assert memories.read(made, at_sequence=1) == made
    assert memories.read(made, at_sequence=2) == changed


def test_10_2_reading_makes_nothing(memories: Memories) -> None:
    made = memories.create()
    head = memories.head()
    memories.read(made)
    memories.versions(made)
    memories.found()
    assert memories.head() == head


def test_10_2_what_is_absent_is_not_found(memories: Memories) -> None:
    made = memories.create()
    other = memories.create()
    with pytest.raises(ObjectNotFound):
        memories.read("mem:nothing")
    with pytest.raises(ObjectNotFound):
        memories.read(made, version_id="ver:nothing")
    with pytest.raises(ObjectNotFound):
        memories.read(made, version_id=other["version_id"])
    with pytest.raises(ObjectNotFound):
        memories.read(other, at_sequence=1)


def test_10_2_another_scope_has_its_own(memories: Memories) -> None:
    made = memories.create()
    memories.store.scope_create(scope_id="project:other")
    elsewhere = Memories(memories.store, "project:other")
    with pytest.raises(ObjectNotFound):
        elsewhere.read(made)
    with pytest.raises(ObjectNotFound):
        elsewhere.read(made, version_id=made["version_id"])


def test_10_2_a_scope_that_is_not_there(memories: Memories) -> None:
    with pytest.raises(ScopeNotFound):
        memories.store.scope_show(scope_id="project:nowhere")
    with pytest.raises(ObjectNotFound):
        Memories(memories.store, "project:nowhere").read("mem:tea")


def test_10_2_deleted_and_redacted_say_so(memories: Memories) -> None:
    gone, hidden = memories.create("tea"), memories.create("coffee")
    memories.delete(gone)
    memories.move(hidden, "availability", "redacted")
    with pytest.raises(ObjectDeleted) as deleted:
        memories.read(gone)
    with pytest.raises(ObjectRedacted) as redacted:
        memories.read(hidden)
    for caught, content in ((deleted, "tea"), (redacted, "coffee")):
        assert not caught.value.retryable
        assert content not in str(caught.value.envelope())


def test_10_2_a_tombstone_can_be_read_by_its_version(memories: Memories) -> None:
    tombstone = memories.delete(memories.create("tea"))
    assert memories.read(tombstone, version_id=tombstone["version_id"]) == tombstone
    assert "tea" not in str(tombstone)
