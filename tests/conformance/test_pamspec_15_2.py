"""PAMSPEC §15.2: scope enforcement."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import ObjectNotFound
from pamctl.service.store import Store
from tests.conformance.memories import Memories

ELSEWHERE = "project:elsewhere"


@pytest.fixture
def elsewhere(store: Store) -> Memories:
    return Memories(store, ELSEWHERE)


def test_15_2_reads_keep_to_their_scope(memories: Memories, elsewhere: Memories) -> None:
    made = elsewhere.create("there")
    with pytest.raises(ObjectNotFound):
        memories.read(made)
    with pytest.raises(ObjectNotFound):
        memories.versions(made)
    assert memories.events() == []


def test_15_2_writes_keep_to_their_scope(memories: Memories, elsewhere: Memories) -> None:
    made = elsewhere.create("there")
    before = elsewhere.head()
    for write in (
        lambda: memories.update(made, canonical_content="here"),
        lambda: memories.move(made, "retention", "expired"),
    ):
        with pytest.raises(ObjectNotFound):
            write()
    assert elsewhere.head() == before


def test_15_2_queries_keep_to_their_scope(memories: Memories, elsewhere: Memories) -> None:
    elsewhere.create("there")
    answer = memories.perform("query", any_state=True, count=True)
    assert (answer["items"], answer["total"], answer["scope_id"]) == ([], 0, memories.scope_id)


def test_15_2_the_index_keeps_to_its_scope(memories: Memories, elsewhere: Memories) -> None:
    """Rebuilt, it holds what its own ledger tells and nothing else."""
    elsewhere.create("there")
    made = memories.create("here")
    memories.store.rebuild_index(scope_id=memories.scope_id)
    assert [item["object_id"] for item in memories.found()] == [made["object_id"]]
    assert memories.found(text="there") == []


def test_15_2_deletion_keeps_to_its_scope(memories: Memories, elsewhere: Memories) -> None:
    one = memories.create("here", object_id="mem:same")
    other = elsewhere.create("there", object_id="mem:same")
    with pytest.raises(ObjectNotFound):
        memories.delete(elsewhere.create("another"))
    memories.delete(one)
    assert elsewhere.read(other) == other


def test_15_2_no_search_is_over_all_scopes(memories: Memories, elsewhere: Memories) -> None:
    """A query names its scope; without a name it is the one default scope, never all."""
    from pamctl.model.documents import schema

    elsewhere.create("rare tea")
    assert "scope_id" in schema("requests/query")["required"]
    assert "scope_id" in schema("query")["required"]
    assert memories.found(text="rare") == []


def test_15_2_the_default_scope_of_a_command_is_one_scope(
    run: Any, memories: Memories, elsewhere: Memories
) -> None:
    elsewhere.create("rare tea")
    found = run("query", "--any-state", "--text", "rare", "--format", "jsonl")
    assert (found.returncode, found.stdout) == (0, b"")
