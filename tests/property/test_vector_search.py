"""Search by similarity finds what a plain Python ranking finds, to the last bit and in the same
order: for any numbers that 32-bit floats hold, any choice of vectors, any page."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="search by similarity needs the extra 'vectors'")

from pamctl.index.vectors import Behind, VectorTable
from pamctl.store.embeddings import EmbeddingFiles, NewEmbedding, lock
from pamctl.store.layout import ScopeLayout

NUMBERS = {
    "few": st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0]),
    "any": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "near one": st.floats(min_value=0.9990234375, max_value=1.0009765625, width=32),
}


@st.composite
def searches(draw: Any) -> tuple[list[list[float]], list[int], int]:
    """A query with vectors behind it, the places to look at, and the size of a page."""
    number = NUMBERS[draw(st.sampled_from(sorted(NUMBERS)))]
    dimensions = draw(st.integers(1, 5))
    vector = st.lists(number, min_size=dimensions, max_size=dimensions)
    rows = draw(st.lists(vector, min_size=2, max_size=24))
    places = draw(st.permutations(range(len(rows) - 1)))
    return rows, places[: draw(st.integers(1, len(places)))], draw(st.integers(1, 7))


def plain_score(one: list[float], other: list[float], metric: str) -> float:
    """What the documentation says a score is, over exact sums."""
    if metric == "l2":
        score = -math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
    else:
        score = math.fsum(a * b for a, b in zip(one, other, strict=True))
    if metric == "cosine":
        lengths = [math.sqrt(math.fsum(a * a for a in vector)) for vector in (one, other)]
        score = score / (lengths[0] * lengths[1]) if all(lengths) else 0.0
    return round(score, 9) + 0.0


def table_of(folder: Path, vectors: list[list[float]]) -> VectorTable:
    layout = ScopeLayout(folder)
    space = EmbeddingFiles(layout, "emb:a", len(vectors[0]))
    new = [
        NewEmbedding(f"mem:{n}", f"ver:{n}", struct.pack(f"<{len(vector)}f", *vector))
        for n, vector in enumerate(vectors)
    ]
    with lock(layout):
        space.keep(())
        space.put(new)
    return VectorTable(space.hold())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(search=searches(), metric=st.sampled_from(["cosine", "dot", "l2"]))
def test_exact_search_equals_a_plain_ranking(
    tmp_path_factory: pytest.TempPathFactory, search: Any, metric: str
) -> None:
    (query, *vectors), places, size = search
    table = table_of(tmp_path_factory.mktemp("vectors"), vectors)
    # Names in another order than places, and some of them shared by two objects' versions.
    names = {number: (f"mem:{place % 3}", f"ver:{place}") for number, place in enumerate(places)}
    expected = sorted(
        (plain_score(vectors[place], query, metric), names[number])
        for number, place in enumerate(places)
    )
    expected.sort(key=lambda item: (-item[0], item[1]))

    def named(numbers: Sequence[int]) -> list[tuple[str, str]]:
        return [names[number] for number in numbers]

    found: list[tuple[float, tuple[str, str]]] = []
    behind = None
    while True:
        page = table.nearest(query, metric, places, size, names=named, behind=behind)
        assert all(near.name == names[near.number] for near in page)
        found += [(near.score, near.name) for near in page]
        if len(page) < size:
            break
        behind = Behind(found[-1][0], found[-1][1])
    assert found == expected


def numbered(numbers: Sequence[int]) -> list[tuple[str, str]]:
    return [(str(number), "") for number in numbers]


def test_many_rows_are_passed_over_in_blocks(tmp_path: Path, monkeypatch: Any) -> None:
    """The answer does not depend on where a block ends, nor on whether rows are gathered."""
    from pamctl.index import vectors as module

    monkeypatch.setattr(module, "_BLOCK_BYTES", 24)
    rows = [[math.sin(n), math.cos(n * 7), math.sin(n * 3)] for n in range(100)]
    table = table_of(tmp_path, rows)
    for places in (list(range(100)), list(range(0, 100, 2)), [97, 3, 50]):
        page = table.nearest(rows[3], "cosine", places, 3, names=numbered)
        best = sorted(places, key=lambda place: -plain_score(rows[place], rows[3], "cosine"))[:3]
        assert [places[near.number] for near in page] == best
