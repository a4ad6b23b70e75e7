"""What exact search by similarity costs, against one matrix product over the same vectors.

    python -m benchmarks.vectors [VECTORS [DIMENSIONS [ROUNDS]]] [--queries] [--graph]

By default 100,000 vectors of 384 dimensions. numpy's product of the whole matrix, in memory,
with a vector is the peer: it is what cannot be saved when nothing is left out. Ours is the
search over the memory-mapped file: products, lengths, the best ten computed exactly, in order.

- all: every vector is a candidate.
- a tenth: every tenth is, as after a filter.
- whole queries: the ten best through `pamctl.Store`, candidates selected by the index, ids
  looked up, envelopes read, over as many memories; only with `--queries`, because filling a
  store with so many takes minutes.
- by a graph: vectors in groups of about a hundred, the ten best of the forty that the graph
  names, scores computed exactly; only with `--graph`, because making it takes most of a
  minute. How many of the ten are found is printed beside it.

What the environment says of OpenBLAS's kernels and caches holds for both.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

import pamctl
from benchmarks.measure import HEADER, Comparison, in_turn
from pamctl.index.approximate import Graph, near_rows
from pamctl.index.vectors import VectorTable
from pamctl.store.embeddings import HeldVectors

BEST = 10
SEED = 7
SPACE = {
    "embedding_space_id": "space:bench:1",
    "provider": "bench",
    "model": "random",
    "model_revision": "1",
    "distance_metric": "cosine",
    "normalization": "l2",
    "preprocessing_profile": "none",
    "embedding_kind": "text",
    "canonicalization_rules": "none",
}
ACTOR = {"actor_id": "actor:local:bench", "actor_kind": "human"}


def main(count: int, dimensions: int, rounds: int, *, queries: bool, graph: bool) -> None:
    """Prints the table of README.md."""
    chance = numpy.random.default_rng(SEED)
    matrix = chance.standard_normal((count, dimensions), dtype=numpy.float32)
    matrix /= numpy.linalg.norm(matrix, axis=1, keepdims=True)
    query = chance.standard_normal(dimensions, dtype=numpy.float32)
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.f32"
        matrix.tofile(path)
        descriptor = os.open(path, os.O_RDONLY)
        table = VectorTable(HeldVectors("space:bench:1", dimensions, descriptor, count, {}, ""))
        for what, step in (("all", 1), ("a tenth of them", 10)):
            ours = _searching(table, query.tolist(), numpy.arange(0, count, step))
            _show(f"{count:,} x {dimensions}, {what} / numpy product", ours, matrix, query, rounds)
        if graph:
            _by_a_graph(count, dimensions, rounds)
        if queries:
            ours = _asking(Path(folder) / ".pam", matrix, query.tolist())
            _show(f"a whole query over {count:,} / numpy product", ours, matrix, query, rounds)


def _by_a_graph(count: int, dimensions: int, rounds: int) -> None:
    """Searches of grouped vectors: by the graph against all, in processor time."""
    chance = numpy.random.default_rng(SEED)
    middles = chance.standard_normal((max(count // 100, 1), dimensions), dtype=numpy.float32)

    def grouped(number: int) -> Any:
        spread = chance.standard_normal((number, dimensions), dtype=numpy.float32)
        return middles[chance.integers(0, len(middles), number)] + numpy.float32(0.7) * spread

    matrix, queries = grouped(count), grouped(50)
    begun = time.process_time()
    graph = Graph.empty(dimensions, "cosine")
    graph.grow(matrix)
    made = time.process_time() - begun
    found = 0
    for query in queries:
        best = set(near_rows(matrix, query, "cosine", BEST).tolist())
        found += len(best & set(graph.near(query, 4 * BEST).tolist()))
    print(f"  a graph over {count:,}: {made:.0f} s; recall at 10 {found / 10 / len(queries):.3f}")
    taken = in_turn(
        lambda: graph.near(queries[0], 4 * BEST),
        lambda: matrix @ queries[0],
        rounds,
        clock=time.process_time,
    )
    print(Comparison(f"{count:,} x {dimensions}, by a graph / numpy product", *taken, "").row())


def _show(name: str, ours: Any, matrix: Any, query: Any, rounds: int) -> None:
    taken = in_turn(ours, lambda: matrix @ query, rounds)
    target = "<= 1.5" if "all" in name else ""
    print(Comparison(name, *taken, target).row(), flush=True)


def _searching(table: VectorTable, query: list[float], places: Any) -> Any:
    def names(numbers: Sequence[int]) -> list[tuple[str, str]]:
        return [(str(number), "") for number in numbers]

    def search() -> None:
        found = table.nearest(query, "cosine", places, BEST, names=names)
        assert len(found) == BEST

    return search


def _asking(place: Path, matrix: Any, query: list[float]) -> Any:
    """A store with a memory for each vector, and a query to it."""
    store = pamctl.init_store(place)
    base = {"scope_id": "workspace:default", "actor": ACTOR}
    count, dimensions = matrix.shape
    store.spaces.add(**base, space={**SPACE, "dimensions": dimensions}, operation_id="op:space")
    for start in range(0, count, 1000):
        numbers = range(start, min(start + 1000, count))
        with store.group() as group:
            for number in numbers:
                made = {
                    **base,
                    "object_id": f"mem:{number}",
                    "object_type": "claim",
                    "canonical_content": {"text": f"memory {number}"},
                    "provenance": {"activity": "made", "source_ref": "urn:bench"},
                    "operation_id": f"op:{number}",
                }
                group.perform("create", made)
        store.embeddings.put(
            **base,
            embeddings=[
                {
                    "object_id": f"mem:{number}",
                    "embedding_space_id": SPACE["embedding_space_id"],
                    "vector": matrix[number].tolist(),
                }
                for number in numbers
            ],
        )

    def ask() -> None:
        answer = store.query(
            scope_id="workspace:default",
            embedding_space_id=str(SPACE["embedding_space_id"]),
            vector=query,
            any_state=True,
            limit=BEST,
        )
        assert len(answer["items"]) == BEST

    return ask


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    sizes = [int(word) for word in words] + [100_000, 384, 40][len(words) :]
    main(*sizes, queries="--queries" in sys.argv, graph="--graph" in sys.argv)
