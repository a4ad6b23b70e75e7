"""Reciprocal rank fusion of what words find and what similarity finds.

A version gets, from each list that it stands in, the list's weight divided by RANK_OFFSET and
its rank there, counted from 1; the sum is its score. Ranks are all that is compared, so scores
of two kinds never are. Only the first FUSED_DEPTH of each list take part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pamctl.named_tuples import NamedTuple

RANK_OFFSET = 60
"""As in Cormack, Clarke and Büttcher's paper of 2009, which named the method."""

LEXICAL_WEIGHT, SEMANTIC_WEIGHT = 3, 1
"""A word that was said is the better witness; benchmarks/README.md has what that is worth."""

FUSED_DEPTH = 500
"""What stands further down in a list adds nothing to the first pages."""

_WHOLE = 10**9


class Fused(NamedTuple):
    """A place in the fused list.

    score: in billionths. lexical, semantic: the ranks that it comes from; None for none.
    """

    object_id: str
    version_id: str
    score: int
    lexical: int | None
    semantic: int | None

    @property
    def key(self) -> tuple[int, str, str]:
        """What the list is in order of: the score with a minus sign, then the ids."""
        return -self.score, self.object_id, self.version_id


def fused(
    lexical: Sequence[str], semantic: Sequence[str], *, object_of: Callable[[str], str]
) -> list[Fused]:
    """Two lists of version ids as one, best first; equal scores by object id, then by version
    id. object_of: the object of each version."""
    by_words = {version_id: rank for rank, version_id in enumerate(lexical, 1)}
    by_likeness = {version_id: rank for rank, version_id in enumerate(semantic, 1)}
    places = []
    for version_id in by_words | by_likeness:
        ranks = by_words.get(version_id), by_likeness.get(version_id)
        weighted = zip((LEXICAL_WEIGHT, SEMANTIC_WEIGHT), ranks, strict=True)
        score = sum(
            weight * _WHOLE // (RANK_OFFSET + rank) for weight, rank in weighted if rank is not None
        )
        places.append(Fused(object_of(version_id), version_id, score, *ranks))
    places.sort(key=lambda place: place.key)
    return places
