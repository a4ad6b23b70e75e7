"""Search by similarity through a graph: what it finds, what it must not find, what it says of
itself, and when the search is exact. PAMSPEC §11, §15.8, §18.8."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy", reason="search by similarity needs the extra 'vectors'")
pytest.importorskip("usearch", reason="search by a graph needs the extra 'approximate'")

import numpy

from pamctl import limits
from pamctl.errors import InvalidRequest, ServiceUnavailable
from pamctl.index import approximate
from pamctl.index.approximate import Graph, near_rows
from pamctl.index.vectors import VectorTable
from pamctl.model.documents import is_valid
from pamctl.rules.authorization import default_policy
from pamctl.service import approximation
from pamctl.service.store import Store
from pamctl.store.vector_graphs import GraphFiles
from tests.conformance.memories import AGENT, HUMAN, SCOPE, Memories
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE

COUNT, DIMENSIONS = 400, 12
SPACE_ID = "emb:a"


def gaussian(count: int, dimensions: int = DIMENSIONS, seed: int = 7) -> Any:
    return numpy.random.default_rng(seed).standard_normal((count, dimensions)).astype("<f4")


@pytest.fixture
def memories(store: Store) -> Memories:
    """Memories with random vectors. Three in four are claims, one in a hundred is a decision,
    which the agent may not see."""
    memories, vectors = Memories(store), gaussian(COUNT)
    memories.perform("space_add", space={**SPACE, "dimensions": DIMENSIONS})
    with store.group() as group:
        for number in range(COUNT):
            kind = "decision" if number % 100 == 0 else "task" if number % 4 == 0 else "claim"
            made = {
                "object_id": f"mem:{number:03d}",
                "object_type": kind,
                "canonical_content": {"text": f"memory {number}"},
                "provenance": {"activity": "made"},
            }
            group.perform("create", {"scope_id": SCOPE, "actor": HUMAN, **made})
    put(memories, {f"mem:{number:03d}": row.tolist() for number, row in enumerate(vectors)})
    rule = {"rule_id": "r:1", "effect": "deny", "object_types": ["decision"]}
    policy = {**default_policy(), "rules": [{**rule, "actors": [AGENT["actor_id"]]}]}
    memories.perform("scope_policy", policy=policy)
    return memories


def put(memories: Memories, vectors: dict[str, list[float]]) -> None:
    embeddings = [
        {"object_id": name, "vector": vector, "embedding_space_id": SPACE_ID}
        for name, vector in vectors.items()
    ]
    memories.perform("embedding_put", embeddings=embeddings)


@pytest.fixture
def ask(memories: Memories) -> Callable[..., Any]:
    query = gaussian(1, seed=1)[0].tolist()

    def ask(search: str | None = "approximate", **more: Any) -> Any:
        how = {} if search is None else {"search": search}
        asked = {"embedding_space_id": SPACE_ID, "vector": query, "any_state": True, "limit": 10}
        return memories.perform("query", **{**asked, **how, **more})

    return ask


def names(answer: Any) -> list[str]:
    return [item["object_id"] for item in answer["items"]]


def graph_files(store: Store) -> list[Path]:
    return sorted(store.path.glob("scopes/*/embeddings/*/*.graph*"))


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_the_graph_names_most_of_the_nearest(metric: str) -> None:
    rows, queries = gaussian(3000, 32), gaussian(20, 32, seed=2)
    graph = Graph.empty(32, metric)
    graph.grow(rows)
    found = 0
    for query in queries:
        exact = set(near_rows(rows, query, metric, 10).tolist())
        found += len(exact & set(graph.near(query, 40).tolist()))
    assert found >= 190  # of 200


def test_scores_are_exact_and_the_answer_says_how_it_was_found(ask: Any, store: Store) -> None:
    exact, near = ask("exact", limit=30), ask()
    scores = {one["object_id"]: one["semantic_score"] for one in exact["similarity"]["scores"]}
    for one in near["similarity"]["scores"]:
        assert scores[one["object_id"]] == one["semantic_score"]
    assert len(set(names(exact)[:10]) & set(names(near))) >= 9
    said = near["similarity"]
    assert (said["search"], said["best_effort"]) == ("approximate", True)
    assert "miss" in said["best_effort_because"]
    assert said["graph"]["kind"] == "hnsw"
    assert said["graph"]["vectors"] == COUNT
    assert said["graph"]["digest"].startswith("sha256:")
    assert exact["similarity"]["search"] == "exact"
    assert "graph" not in exact["similarity"]
    assert is_valid("results/query", near)
    assert [path.name for path in graph_files(store)] == ["00000001.graph", "00000001.graph.json"]
    again = ask(explain=True)
    assert again["similarity"]["graph"] == said["graph"]  # it is kept
    assert again["plan"]["search"] == "approximate"
    assert is_valid("results/query", again)


def test_unasked_it_is_used_in_large_spaces_where_it_is_there(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "APPROXIMATE_FROM_VECTORS", COUNT - 1)
    assert ask(None)["similarity"]["search"] == "exact"
    ask("approximate")
    assert ask(None)["similarity"]["search"] == "approximate"
    assert ask("exact")["similarity"]["search"] == "exact"
    monkeypatch.setattr(limits, "APPROXIMATE_FROM_VECTORS", COUNT)
    assert ask(None)["similarity"]["search"] == "exact"


def test_filters_come_first(ask: Any) -> None:
    some = ask(object_type=["task"])
    assert some["similarity"]["search"] == "approximate"
    assert {item["object_type"] for item in some["items"]} == {"task"}
    assert len(set(names(some)) & set(names(ask("exact", object_type=["task"])))) >= 9
    few = ask(object_type=["decision"], limit=2)
    assert names(few) == names(ask("exact", object_type=["decision"], limit=2))
    judged = ask(where=['content.text starts with "memory 1"'])
    assert all(item["canonical_content"]["text"][7] == "1" for item in judged["items"])
    assert len(judged["items"]) == 10


def test_where_filters_accept_little_the_search_is_exact(ask: Any) -> None:
    few = ask(object_type=["decision"])
    assert len(few["items"]) == COUNT // 100
    assert few["similarity"]["search"] == "exact"
    assert "filters" in few["similarity"]["exact_because"]
    assert few["similarity"]["candidates"] == COUNT // 100


def test_what_is_hidden_is_not_found_and_leaves_no_gap(ask: Any, memories: Memories) -> None:
    put(memories, {"mem:100": gaussian(1, seed=1)[0].tolist()})
    mine, theirs = ask(limit=60), ask(limit=60, actor=AGENT)
    assert names(mine)[0] == "mem:100"
    assert len(theirs["items"]) == 60
    assert not any(item["object_type"] == "decision" for item in theirs["items"])


def test_pages_go_on_by_score(ask: Any) -> None:
    found, cursor = [], {}
    for _ in range(4):
        answer = ask(limit=7, **cursor)
        found += [
            (-one["semantic_score"], one["object_id"]) for one in answer["similarity"]["scores"]
        ]
        cursor = {"cursor": answer["next_cursor"]}
    assert found == sorted(set(found))
    assert len(found) == 28
    assert ask(limit=7, count=True)["total"] == COUNT


def test_what_came_later_is_found_and_what_it_replaced_is_not(ask: Any, memories: Memories) -> None:
    ask()
    query = gaussian(1, seed=1)[0]
    best = names(ask())[0]
    put(memories, {"mem:005": query.tolist(), best: (-query).tolist()})
    answer = ask()
    assert answer["similarity"]["search"] == "approximate"
    assert answer["similarity"]["graph"]["vectors"] == COUNT
    assert names(answer)[0] == "mem:005"
    assert best not in names(answer)


def test_a_graph_that_lacks_much_is_brought_up_to_date_by_who_asks_for_it(
    ask: Any, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    more = gaussian(60, seed=3)
    put(memories, {f"mem:{number:03d}": row.tolist() for number, row in enumerate(more)})
    monkeypatch.setattr(limits, "APPROXIMATE_FROM_VECTORS", 1)
    assert ask(None)["similarity"]["search"] == "exact"
    assert ask()["similarity"]["graph"]["vectors"] == COUNT + 60
    assert ask(None)["similarity"]["search"] == "approximate"


@pytest.mark.parametrize("how", ["redact", "delete"])
def test_what_is_withdrawn_leaves_the_graph_with_the_commit(
    ask: Any, memories: Memories, store: Store, how: str
) -> None:
    best = names(ask())[0]
    assert graph_files(store)
    version = store.read(scope_id=SCOPE, actor=HUMAN, object_id=best)["version_id"]
    memories.perform(how, object_id=best, expected_version_id=version, policy_basis="policy:1")
    assert graph_files(store) == []
    assert best not in names(ask(availability_state=["available", "redacted", "deleted"]))


def test_a_graph_of_vectors_that_went_meanwhile_is_not_kept(
    ask: Any, memories: Memories, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow = Graph.grow

    def overtaken(graph: Graph, matrix: Any) -> None:
        grow(graph, matrix)
        memories.perform("embedding_delete", object_id="mem:001")

    monkeypatch.setattr(Graph, "grow", overtaken)
    assert ask()["similarity"]["search"] == "exact"
    assert graph_files(store) == []


def test_where_it_cannot_be_kept_it_serves_all_the_same(
    ask: Any, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise ServiceUnavailable("nothing can be written here")

    monkeypatch.setattr(GraphFiles, "keep", refuse)
    answer = ask()
    assert answer["similarity"]["search"] == "approximate"
    assert "digest" not in answer["similarity"]["graph"]
    assert is_valid("results/query", answer)
    assert graph_files(store) == []


def test_through_a_snapshot_the_search_is_exact(
    ask: Any, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.perform("snapshot_create", snapshot_id="snap:1")
    ask()
    monkeypatch.setattr(limits, "APPROXIMATE_FROM_VECTORS", 1)
    through = ask(None, snapshot_id="snap:1")
    assert (through["similarity"]["search"], through["similarity"]["best_effort"]) == (
        "exact",
        False,
    )
    with pytest.raises(InvalidRequest, match="snapshot"):
        ask(snapshot_id="snap:1")


def test_without_vectors_there_is_nothing_to_make(store: Store) -> None:
    memories = Memories(store)
    memories.perform("space_add", space=SPACE)
    asked = {"embedding_space_id": SPACE_ID, "vector": [1, 0], "search": "approximate"}
    answer = memories.perform("query", **asked)
    assert (answer["items"], answer["similarity"]["search"]) == ([], "exact")
    assert graph_files(store) == []


def test_a_rebuild_of_the_index_removes_it(ask: Any, store: Store) -> None:
    ask()
    store.rebuild_index(scope_id=SCOPE, actor=HUMAN)
    assert graph_files(store) == []


@pytest.mark.parametrize("damage", [b"", b"junk" * 100, None])
def test_what_is_no_graph_is_made_anew(
    ask: Any, store: Store, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    before = names(ask())
    graph, facts = graph_files(store)
    if damage is None:
        graph.write_bytes(graph.read_bytes()[:1000])
        facts.write_text("[]\n")
    else:
        graph.write_bytes(damage)
    approximation._kept.clear()
    monkeypatch.setattr(limits, "APPROXIMATE_FROM_VECTORS", 1)
    assert ask(None)["similarity"]["search"] == "exact"
    assert names(ask()) == before
    approximation._kept.clear()
    assert ask(None)["similarity"]["search"] == "approximate"


def test_without_usearch_it_says_what_to_install(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "find_spec", lambda name: None)
    monkeypatch.setattr(limits, "APPROXIMATE_FROM_VECTORS", 1)
    assert ask(None)["similarity"]["search"] == "exact"
    with pytest.raises(InvalidRequest, match="usearch"):
        ask()


def test_words_and_similarity_together(ask: Any) -> None:
    both = ask(text="memory", hybrid=True, limit=5)
    assert both["similarity"]["kind"] == "hybrid"
    assert both["similarity"]["search"] == "exact"  # five hundred of four hundred
    assert names(both) == names(ask("exact", text="memory", hybrid=True, limit=5))


def test_another_memory_is_like_itself_and_left_out(ask: Any, memories: Memories) -> None:
    asked = {"embedding_space_id": SPACE_ID, "like_object_id": "mem:007", "any_state": True}
    found = names(memories.perform("query", **asked, search="approximate", limit=10))
    assert len(found) == 10
    assert "mem:007" not in found


def test_a_table_gives_its_rows(tmp_path: Path) -> None:
    assert len(near_rows(gaussian(5), gaussian(1)[0], "cosine", 10)) == 5
    assert hasattr(VectorTable, "rows")
