"""PAMSPEC §8.3: identity of objects and versions."""

import json
from pathlib import Path

import pytest

import pamctl
from pamctl.errors import InvalidRequest, ObjectDeleted, PamError, StoreDamaged, VersionConflict
from tests.conformance.memories import Memories


def test_8_3_an_object_keeps_its_id_and_every_version_has_its_own(memories: Memories) -> None:
    version = made = memories.create(object_id="mem:tea")
    for number in range(4):
        version = memories.update(version, canonical_content=number)
    version = memories.move(version, "lifecycle", "archived")
    memories.delete(version)
    history = memories.versions(made)
    assert {item["object_id"] for item in history} == {"mem:tea"}
    assert len({item["version_id"] for item in history}) == len(history) == 7


def test_8_3_a_version_id_always_names_the_same(memories: Memories) -> None:
    """Vector reused-immutable-version-identifier: nobody can bring a version id to an object,
    so that none is used twice; and what it names is the same after any number of changes."""
    made = memories.create()
    with pytest.raises(InvalidRequest):
        memories.create("coffee", version_id=made["version_id"])
    with pytest.raises(InvalidRequest):
        memories.update(made, canonical_content="coffee", version_id=made["version_id"])
    version = made
    for number in range(3):
        version = memories.update(version, canonical_content=number)
        assert version["version_id"] != made["version_id"]
        assert memories.read(made, version_id=made["version_id"]) == made


def test_8_3_stored_bytes_that_were_replaced_are_refused(memories: Memories) -> None:
    """Vector reused-immutable-version-identifier, behind our back: another content under the
    same version id is damage, whoever put it there."""
    made = memories.create("green tea")
    changed = 0
    for file in Path(memories.store.path).glob("scopes/*/**/*"):
        if file.is_file() and b"green tea" in file.read_bytes():
            file.chmod(0o644)
            file.write_bytes(file.read_bytes().replace(b"green tea", b"black tea"))
            changed += 1
    assert changed == 1
    with pytest.raises(StoreDamaged):
        Memories(pamctl.open_store(memories.store.path)).read(made)


def test_8_3_an_object_id_is_not_used_again(memories: Memories) -> None:
    made = memories.create(object_id="mem:tea")
    with pytest.raises(VersionConflict):
        memories.create("other", object_id="mem:tea")
    memories.delete(made)
    with pytest.raises(ObjectDeleted):
        memories.create("other", object_id="mem:tea")


def test_8_3_scopes_have_their_own_objects(memories: Memories) -> None:
    """The same id in two scopes is two objects."""
    here = memories.create("here", object_id="mem:tea")
    other = Memories(memories.store, "project:other")
    there = other.create("there", object_id="mem:tea")
    assert memories.read("mem:tea") == here
    assert other.read("mem:tea") == there


@pytest.mark.parametrize("object_id", ["", " ", "mem tea", "x" * 600, "mem:\x00", "\ud800"])
def test_8_3_an_id_is_an_identifier(memories: Memories, object_id: str) -> None:
    with pytest.raises(PamError) as caught:
        memories.create(object_id=object_id)
    assert caught.value.code in ("invalid_request", "invalid_object")
    assert json.dumps(caught.value.envelope())
