"""PAMSPEC §15.8: what is derived keeps no more than it may, and to its scope."""

from typing import Any

import pytest

import pamctl
from tests.conformance.memories import Memories
from tests.remnants import remnants

SECRET = "qzxwvk wvqzkx"


def test_15_8_an_index_must_not_cross_a_scope(memories: Memories) -> None:
    """One file a scope: what is searched in one was never put into another's."""
    scopes = {"qzxwvk": memories, "wvqzkx": Memories(memories.store, "workspace:other")}
    for word, scope in scopes.items():
        scope.create({"text": f"verbena {word}"})
    for word, scope in scopes.items():
        found = scope.found(text="verbena")
        assert [one["canonical_content"] for one in found] == [{"text": f"verbena {word}"}]
        folder = memories.store.layout.scope(scope.scope_id).root.name
        holding = {name for name, _ in remnants(memories.store.layout.index, word)}
        assert holding
        assert {name.split(".")[0] for name in holding} == {folder}


@pytest.mark.parametrize("operation", ["redact", "delete"])
def test_15_8_what_is_hidden_should_leave_what_is_derived(
    memories: Memories, operation: str
) -> None:
    """From the search of every version, in this process and in the next."""
    made = memories.create({"text": SECRET})
    made = memories.update(made, canonical_content={"text": f"{SECRET} again"})
    memories.perform(operation, object_id=made["object_id"], expected_version_id=made["version_id"])
    for store in (memories.store, pamctl.open_store(memories.store.path)):
        for as_of in ({}, {"as_of": 1}, {"as_of": 2}):
            assert Memories(store).found(text="qzxwvk", **as_of) == []


@pytest.mark.parametrize("operation", ["redact", "delete"])
def test_15_8_what_is_erased_must_not_stay_in_pages_that_are_no_longer_used(
    memories: Memories, operation: str
) -> None:
    """Neither in the index nor in its log, although its rows were only deleted."""
    kept = memories.create({"text": "kept"})
    made = memories.create({"text": SECRET})
    assert any(name.startswith("index/") for name, _ in remnants(memories.store.path, SECRET))
    hidden: dict[str, Any] = memories.perform(
        operation, object_id=made["object_id"], expected_version_id=made["version_id"]
    )
    assert any(name.startswith("index/") for name, _ in remnants(memories.store.path, SECRET))
    memories.perform(
        operation,
        object_id=made["object_id"],
        expected_version_id=hidden["version_id"],
        erase=True,
    )
    assert remnants(memories.store.path, SECRET, "qzxwvk", "wvqzkx") == []
    assert memories.found(text="kept") == [kept]


def test_15_8_a_rebuilt_index_must_not_bring_it_back(memories: Memories) -> None:
    """What it is made from no longer has it."""
    made = memories.create({"text": SECRET})
    memories.delete(made, erase=True)
    memories.store.rebuild_index(scope_id=memories.scope_id)
    assert remnants(memories.store.path, "qzxwvk") == []
    assert memories.found(text="qzxwvk", as_of=1) == []
