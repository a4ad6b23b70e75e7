"""The built-in embedder: what its space says is what it does."""

from __future__ import annotations

import math
import struct
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.index.hashed_text import DIMENSIONS, SPACE, embed
from pamctl.model.documents import check


def near(one: str, other: str) -> float:
    a, b = embed(one), embed(other)
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(
        sum(x * x for x in a) * sum(y * y for y in b)
    )


def test_vectors_never_change_under_one_revision() -> None:
    """Whoever changes how they are made gives the space another revision and another id."""
    vector = embed("Melanie painted a sunrise; Mélanie, PAINTING. 東京の夏")
    rounded = struct.pack(f"<{DIMENSIONS}f", *(round(number, 4) for number in vector))
    assert SPACE["model_revision"] == "1"
    assert sha256(rounded).hexdigest() == (
        "3f30b4f2053f2cb7820a4c241b7bb9420bb986921ccffcee22c0d0085b3d0f63"
    )


def test_its_space_is_a_descriptor() -> None:
    check("requests/space_add", {"scope_id": "s:1", "actor": ACTOR, "space": dict(SPACE)})
    assert SPACE["dimensions"] == DIMENSIONS == len(embed("tea"))


ACTOR = {"actor_id": "actor:a", "actor_kind": "human"}


def test_shared_parts_of_words_bring_texts_together() -> None:
    assert near("painted", "painting") > near("painted", "planted") > near("painted", "coffee")
    assert near("grandmother's garden", "mother") > near("grandmother's garden", "uncle")
    assert near("Carolyne", "Caroline") > 0.3
    assert near("Übergröße", "ubergrosse") == pytest.approx(1)
    assert near("東京の夏", "京都の東") > near("東京の夏", "北海道")


def test_function_words_say_little() -> None:
    assert near("what did he do in the garden", "garden") > 0.7
    assert near("what did he do in the garden", "what did he do in the office") < 0.5


def test_a_text_without_a_word_is_nothing() -> None:
    assert embed("") == embed(" …—! ") == [0.0] * DIMENSIONS


def test_what_is_endless_is_cut() -> None:
    assert embed("x" * 1_000_000) == embed("x" * 64)
    assert embed("tea " * 20_000 + "coffee") == embed("tea " * 20_000)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(max_size=80))
def test_any_text_has_a_finite_vector(text: str) -> None:
    vector = embed(text)
    assert len(vector) == DIMENSIONS
    assert all(map(math.isfinite, vector))
    assert embed(text) == vector
