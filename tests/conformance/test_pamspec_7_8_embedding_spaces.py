"""PAMSPEC §7.8, §15.8: Embedding Spaces, and vectors as derived state."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from pamctl.errors import EmbeddingSpaceMismatch, ObjectDeleted, ObjectNotFound, ObjectRedacted
from pamctl.rules.spaces import comparable, require_comparable
from tests.conformance.memories import Memories

SPACE: dict[str, Any] = {
    "embedding_space_id": "emb:a",
    "provider": "local",
    "model": "small",
    "model_revision": "1",
    "dimensions": 2,
    "distance_metric": "cosine",
    "normalization": "l2",
    "preprocessing_profile": "none",
    "embedding_kind": "text",
    "canonicalization_rules": "UTF-8, as it is",
}


@pytest.fixture
def spaced(memories: Memories) -> Memories:
    """A scope with two spaces that only look alike, and an object."""
    memories.perform("space_add", space=SPACE)
    memories.perform("space_add", space={**SPACE, "embedding_space_id": "emb:b"})
    memories.create(object_id="mem:tea")
    return memories


def put(memories: Memories, **embedding: Any) -> Any:
    given = {"object_id": "mem:tea", "vector": [0.5, 1], "embedding_space_id": "emb:a"}
    kept = {name: value for name, value in {**given, **embedding}.items() if value is not None}
    return memories.perform("embedding_put", embeddings=[kept])


def exported(memories: Memories, space_id: str = "emb:a") -> Any:
    return memories.perform("embedding_export", embedding_space_id=space_id)


def standing(memories: Memories, space_id: str = "emb:a") -> Any:
    (item,) = memories.perform("embedding_status", embedding_space_id=space_id)["items"]
    return {name: item[name] for name in ("fresh", "stale", "missing")}


def test_7_8_a_vector_must_name_a_space(spaced: Memories) -> None:
    """Without one, with one that is not there, and with another number of dimensions it is
    refused, and nothing is kept (vector vector-without-embedding-space)."""
    head = spaced.head()
    for wrong in (
        {"embedding_space_id": None},
        {"embedding_space_id": "emb:none"},
        {"vector": [0.1, 0.2, 0.3]},
    ):
        with pytest.raises(EmbeddingSpaceMismatch):
            put(spaced, **wrong)
    good = {"object_id": "mem:tea", "vector": [1, 0], "embedding_space_id": "emb:a"}
    with pytest.raises(EmbeddingSpaceMismatch):
        spaced.perform("embedding_put", embeddings=[good, {**good, "embedding_space_id": "emb:x"}])
    assert exported(spaced)["items"] == []
    assert spaced.head() == head


def test_7_8_vectors_of_different_spaces_must_not_be_compared() -> None:
    """They are refused as a pair (vector comparison-across-incompatible-spaces)."""
    assert comparable("emb:a", "emb:a")
    require_comparable("emb:a", "emb:a")
    with pytest.raises(EmbeddingSpaceMismatch):
        require_comparable("emb:a", "emb:b")


def test_7_8_only_the_id_tells_that_two_spaces_are_one(spaced: Memories) -> None:
    """Two spaces with equal members are two: a vector in one is none in the other."""
    put(spaced)
    assert not comparable("emb:a", "emb:b")
    assert [item["object_id"] for item in exported(spaced)["items"]] == ["mem:tea"]
    assert exported(spaced, "emb:b")["items"] == []


def test_7_8_an_object_may_have_vectors_in_several_spaces(spaced: Memories) -> None:
    """None, one, or one in each; and a later one takes the place of an earlier one."""
    assert exported(spaced)["items"] == []
    put(spaced)
    put(spaced, embedding_space_id="emb:b", vector=[0, 0.25])
    put(spaced, vector=[0.75, 0])
    assert [item["vector"] for item in exported(spaced)["items"]] == [[0.75, 0.0]]
    assert [item["vector"] for item in exported(spaced, "emb:b")["items"]] == [[0.0, 0.25]]


def test_7_8_exported_vectors_bring_the_descriptor(spaced: Memories) -> None:
    """Each names its space, and the answer holds what that is."""
    put(spaced)
    answer = exported(spaced)
    assert SPACE.items() <= answer["space"].items()
    assert answer["items"][0]["embedding_space_id"] == "emb:a"


def test_7_8_a_descriptor_is_authoritative_and_never_changes(spaced: Memories) -> None:
    """It stands in the ledger; the same again changes nothing, another one is refused."""
    head = spaced.head()
    assert not spaced.perform("space_add", space=SPACE)["added"]
    for member, value in (("model_revision", "2"), ("dimensions", 3), ("normalization", "none")):
        with pytest.raises(EmbeddingSpaceMismatch):
            spaced.perform("space_add", space={**SPACE, member: value})
    assert spaced.head() == head
    shutil.rmtree(spaced.store.directory.scope(spaced.scope_id).embeddings, ignore_errors=True)
    spaced.store.rebuild_index(scope_id=spaced.scope_id)
    names = [space["embedding_space_id"] for space in spaced.perform("space_list")["items"]]
    assert names == ["emb:a", "emb:b"]


def test_7_8_deleting_a_vector_does_not_delete_content(spaced: Memories) -> None:
    """§7.2: the object and its versions stay as they are."""
    before = spaced.read("mem:tea")
    put(spaced)
    assert spaced.perform("embedding_delete", object_id="mem:tea")["deleted"] == 1
    assert exported(spaced)["items"] == []
    assert spaced.read("mem:tea") == before


def test_7_8_vectors_may_be_made_again(spaced: Memories) -> None:
    """Losing all of them loses nothing that cannot be put again."""
    put(spaced)
    shutil.rmtree(spaced.store.directory.scope(spaced.scope_id).embeddings)
    assert standing(spaced) == {"fresh": 0, "stale": 0, "missing": 1}
    put(spaced)
    assert standing(spaced) == {"fresh": 1, "stale": 0, "missing": 0}


def test_8_4_events_about_derived_state_commit_no_version(spaced: Memories) -> None:
    """embedding_generated and index_rebuilt are on record, and every object is as before."""
    put(spaced)
    versions = spaced.versions(spaced.read("mem:tea"))
    spaced.store.rebuild_index(scope_id=spaced.scope_id)
    generated, rebuilt = spaced.events(event_classes=["embedding_generated", "index_rebuilt"])
    assert generated["object_id"] == "mem:tea"
    assert generated["payload"]["embedding_space_id"] == "emb:a"
    assert rebuilt["event_type"] == "index_rebuilt"
    assert "version_id" not in generated
    assert "version_id" not in rebuilt
    assert spaced.versions(spaced.read("mem:tea")) == versions


def test_7_8_a_vector_of_an_earlier_version_is_stale(spaced: Memories) -> None:
    """It says so, until a vector of the current version takes its place."""
    put(spaced)
    spaced.update(spaced.read("mem:tea"), canonical_content="more tea")
    assert standing(spaced) == {"fresh": 0, "stale": 1, "missing": 0}
    assert exported(spaced)["items"][0]["stale"]
    put(spaced)
    assert standing(spaced) == {"fresh": 1, "stale": 0, "missing": 0}


@pytest.mark.parametrize("how", ["delete", "redact", "erase", "transition"])
def test_15_8_what_is_hidden_loses_its_vectors(spaced: Memories, how: str) -> None:
    """Deletion, redaction, erasure and a transition that hides reach the vectors: their bytes
    go, and no new ones come."""
    put(spaced)
    put(spaced, embedding_space_id="emb:b")
    spaced.create(object_id="mem:other")
    put(spaced, object_id="mem:other")
    tea = spaced.read("mem:tea")
    about = {
        "object_id": "mem:tea",
        "expected_version_id": tea["version_id"],
        "policy_basis": "policy:test",
    }
    if how == "transition":
        spaced.move(tea, "availability", "redacted")
    else:
        operation = "redact" if how == "erase" else how
        spaced.perform(operation, **about, **({"erase": True} if how == "erase" else {}))
    folder = spaced.store.directory.scope(spaced.scope_id).embeddings
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(b"mem:tea" in data for data in files)
    sizes = sorted(path.stat().st_size for path in folder.rglob("*.f32"))
    assert sizes == [0, 8]
    assert [item["object_id"] for item in exported(spaced)["items"]] == ["mem:other"]
    with pytest.raises((ObjectDeleted, ObjectRedacted)):
        put(spaced)


def test_7_8_a_vector_must_be_of_something(spaced: Memories) -> None:
    """Of an object that is there, in a version that it had."""
    spaced.create(object_id="mem:other")
    for wrong in (
        {"object_id": "mem:none"},
        {"version_id": "ver:none"},
        {"version_id": spaced.read("mem:other")["version_id"]},
    ):
        with pytest.raises(ObjectNotFound):
            put(spaced, **wrong)
