"""PAMSPEC §7.8, §11, §18.8: what an answer by similarity says of itself, and when it repeats."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("numpy", reason="search by similarity needs the extra 'vectors'")

from pamctl.encoding.canonical import canonical
from pamctl.errors import EmbeddingSpaceMismatch
from tests.conformance.memories import AGENT, Memories
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE

VECTORS = {"mem:tea": [1, 0], "mem:coffee": [4, 3], "mem:rain": [0, 1]}


@pytest.fixture
def embedded(memories: Memories) -> Memories:
    """Three objects with vectors in a space that compares by cosine."""
    memories.perform("space_add", space=SPACE)
    for name in VECTORS:
        memories.create({"text": name[4:]}, object_id=name)
    put(memories, VECTORS)
    return memories


def put(memories: Memories, vectors: dict[str, list[float]]) -> None:
    memories.perform(
        "embedding_put",
        embeddings=[
            {"object_id": name, "vector": vector, "embedding_space_id": "emb:a"}
            for name, vector in vectors.items()
        ],
    )


def ask(memories: Memories, **more: Any) -> Any:
    asked = {"embedding_space_id": "emb:a", "vector": [1, 0], "any_state": True, **more}
    return memories.perform("query", **{n: m for n, m in asked.items() if m is not None})


def ids(answer: Any) -> list[str]:
    return [item["object_id"] for item in answer["items"]]


def test_7_8_an_answer_by_similarity_must_identify_the_space(embedded: Memories) -> None:
    """Semantic and hybrid, also when nothing is found."""
    for more in ({}, {"hybrid": True, "text": "tea"}, {"object_type": ["task"]}):
        assert ask(embedded, **more)["similarity"]["embedding_space_id"] == "emb:a"


def test_7_8_another_space_must_not_be_searched(embedded: Memories) -> None:
    """One that looks alike has vectors of its own; one that is not there, and a vector of other
    dimensions, are refused."""
    embedded.perform("space_add", space={**SPACE, "embedding_space_id": "emb:b"})
    assert ids(ask(embedded, embedding_space_id="emb:b")) == []
    for wrong in ({"embedding_space_id": "emb:none"}, {"vector": [1, 0, 0]}):
        with pytest.raises(EmbeddingSpaceMismatch):
            ask(embedded, **wrong)
    with pytest.raises(EmbeddingSpaceMismatch):
        # pamctl has no embedder for the space of somebody's model.
        ask(embedded, vector=None, text="tea")


def test_18_8_an_answer_says_how_it_came_about(embedded: Memories) -> None:
    """§11: score, applied filters, tie-break and metric; best first."""
    answer = ask(embedded, object_type=["claim"], explain=True)
    assert ids(answer) == ["mem:tea", "mem:coffee", "mem:rain"]
    said = answer["similarity"]
    assert [place["semantic_score"] for place in said["scores"]] == [1.0, 0.8, 0.0]
    assert said["distance_metric"] == "cosine"
    assert {"object_type", "scope_id"} <= set(said["filters"])
    assert said["tie_break"] == ["object_id", "version_id"]
    assert [place["semantic_score"] for place in answer["explanation"]] == [1.0, 0.8, 0.0]


def test_18_8_a_hybrid_answer_shows_the_parts_of_its_scores(embedded: Memories) -> None:
    said = ask(embedded, vector=[0, 1], hybrid=True, text="tea")["similarity"]
    assert said["kind"] == "hybrid"
    first = said["scores"][0]
    assert (first["object_id"], first["lexical_rank"], first["semantic_rank"]) == ("mem:tea", 1, 3)
    assert "lexical_rank" not in said["scores"][1]


def test_18_8_retrieval_without_a_stable_index_is_disclosed_as_best_effort(
    embedded: Memories,
) -> None:
    """§11: and how it searched, which is exactly."""
    said = ask(embedded)["similarity"]
    assert said["best_effort"]
    assert "no stable index snapshot" in said["best_effort_because"]
    assert not said["index"]["stable_snapshot"]
    assert said["search"] == "exact"


def test_18_8_the_index_is_identified_and_its_identity_changes_with_it(
    embedded: Memories,
) -> None:
    before = ask(embedded)["similarity"]["index"]["identity"]
    assert ask(embedded)["similarity"]["index"]["identity"] == before
    put(embedded, {"mem:rain": [0.6, 0.8]})
    assert ask(embedded)["similarity"]["index"]["identity"] != before


def test_11_under_a_snapshot_a_similarity_query_repeats_byte_for_byte(
    embedded: Memories,
) -> None:
    """Whatever is written, embedded anew, compacted, or redacted of what came later."""
    embedded.perform("snapshot_create", snapshot_id="snap:1")
    through: dict[str, Any] = {"snapshot_id": "snap:1", "limit": 2}

    def pages() -> list[bytes]:
        first = ask(embedded, **through)
        rest = ask(embedded, **through, cursor=first["next_cursor"])
        fused = ask(embedded, **through, hybrid=True, text="tea")
        return [canonical({**page, "index": None}) for page in (first, rest, fused)]

    before = pages()
    said = ask(embedded, **through)["similarity"]
    assert (said["best_effort"], said["index"]["stable_snapshot"]) == (False, True)
    embedded.update(embedded.read("mem:tea"), canonical_content={"text": "no tea"})
    put(embedded, {"mem:tea": [0, 1], "mem:rain": [1, 0]})
    assert pages() == before
    embedded.create({"text": "tea, later"}, object_id="mem:later")
    put(embedded, {"mem:later": [1, 0]})
    assert pages() == before
    embedded.delete(embedded.read("mem:later"))
    assert pages() == before
    assert ids(ask(embedded)) == ["mem:rain", "mem:coffee", "mem:tea"]


def test_11_what_is_taken_away_from_a_snapshot_is_said(embedded: Memories) -> None:
    """§15.8 comes before repeating: an answer through the snapshot is best effort then, and so
    it is where a snapshot was sealed without vectors."""
    embedded.perform("snapshot_create", snapshot_id="snap:1")
    embedded.delete(embedded.read("mem:coffee"))
    answer = ask(embedded, snapshot_id="snap:1")
    assert ids(answer) == ["mem:tea", "mem:rain"]
    assert answer["similarity"]["best_effort"]


def test_18_11_a_snapshot_without_a_space_has_none(embedded: Memories) -> None:
    embedded.perform("snapshot_create", snapshot_id="snap:1", included_embedding_space_ids=[])
    with pytest.raises(EmbeddingSpaceMismatch):
        ask(embedded, snapshot_id="snap:1")


def test_11_filters_come_before_ranking_and_nothing_hidden_counts(embedded: Memories) -> None:
    """§15.2: another type is not shown, not scored and not counted to whom policy hides it,
    even where it would be nearest; nor is an object in a state that was not asked for."""
    embedded.create({"text": "secret"}, object_id="mem:secret", object_type="decision")
    put(embedded, {"mem:secret": [1, 0]})
    embedded.perform(
        "scope_policy",
        policy={
            "policy_version": 1,
            "default_effect": "allow",
            "rules": [
                {
                    "rule_id": "no-decisions",
                    "effect": "deny",
                    "actors": [AGENT["actor_id"]],
                    "object_types": ["decision"],
                }
            ],
            "overrides": [],
        },
    )
    agent = Memories(embedded.store, embedded.scope_id, AGENT)
    answer = ask(agent, limit=1, count=True)
    assert ids(answer) == ["mem:tea"]
    assert answer["total"] == answer["similarity"]["candidates"] == 3
    assert ask(embedded, count=True)["total"] == 4
    assert ids(ask(embedded, any_state=None)) == []
    with pytest.raises(Exception, match="no object mem:secret"):
        ask(agent, vector=None, like_object_id="mem:secret")


def test_7_8_only_the_version_that_a_vector_is_of_is_ranked(embedded: Memories) -> None:
    """A stale vector says nothing of what is shown; that there is none is counted."""
    embedded.update(embedded.read("mem:tea"), canonical_content={"text": "rain"})
    answer = ask(embedded)
    assert ids(answer) == ["mem:coffee", "mem:rain"]
    assert answer["similarity"]["without_vector"] == 1
    # What it was then is found as it was then.
    assert ids(ask(embedded, as_of=answer["ledger_sequence"] - 1)) == list(VECTORS)
