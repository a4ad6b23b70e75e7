"""Reciprocal rank fusion: what is in both lists comes first, and nothing is left out."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.rules.fusion import LEXICAL_WEIGHT, RANK_OFFSET, SEMANTIC_WEIGHT, fused

names = st.lists(st.sampled_from("abcdefgh"), unique=True)


def test_scores_are_what_is_written_down() -> None:
    places = fused(["a", "b"], ["b", "c"], object_of=str.upper)
    assert [(p.object_id, p.version_id, p.lexical, p.semantic) for p in places] == [
        ("B", "b", 2, 1),
        ("A", "a", 1, None),
        ("C", "c", None, 2),
    ]
    billion = 10**9
    assert places[0].score == (
        LEXICAL_WEIGHT * billion // (RANK_OFFSET + 2)
        + SEMANTIC_WEIGHT * billion // (RANK_OFFSET + 1)
    )
    assert places[2].score == SEMANTIC_WEIGHT * billion // (RANK_OFFSET + 2)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(lexical=names, semantic=names)
def test_the_order_is_total_and_each_stands_once(lexical: list[str], semantic: list[str]) -> None:
    places = fused(lexical, semantic, object_of=lambda name: "same")
    assert sorted(place.version_id for place in places) == sorted({*lexical, *semantic})
    keys = [place.key for place in places]
    assert keys == sorted(set(keys))
    both = [p for p in places if p.lexical and p.semantic]
    for place in both:
        # Never behind what stands no better in one list and not at all in the other.
        worse = [
            p
            for p in places
            if (p.lexical or 10**6) >= (place.lexical or 0)
            and (p.semantic or 10**6) >= (place.semantic or 0)
            and p is not place
        ]
        assert all(place.score >= p.score for p in worse)
