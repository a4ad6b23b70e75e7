"""Exact search by similarity over the vectors of one Embedding Space. PAMSPEC §11, §18.8.

Vectors are memory-mapped, a block of them at a time; what is held besides is a few numbers for
each. Matrix arithmetic in 32 bits differs in its last digits between processors; it only narrows
the choice, within a bound on its error, and what remains is computed again exactly: products of
32-bit floats are exact in 64 bits, and `math.fsum` rounds their sum once. So the answer is the
same on every machine, and none is missed.

A score is rounded to nine decimals, larger is better, and equal scores are told apart by
object id, then version id.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from pamctl.errors import EmbeddingSpaceMismatch, InvalidRequest, StoreDamaged
from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

    from pamctl.store.embeddings import HeldVectors

METRICS = {
    "cosine": "cosine",
    "cos": "cosine",
    "dot": "dot",
    "dot_product": "dot",
    "inner_product": "dot",
    "ip": "dot",
    "l2": "l2",
    "euclidean": "l2",
}
"""How descriptors of Embedding Spaces spell the metrics that are known here. The score is the
cosine, the dot product, or the Euclidean distance with a minus sign."""

SCORE_DECIMALS = 9

# So much is mapped at a time. More makes no product faster, and less has its threads wait.
_BLOCK_BYTES = 16 * 1024 * 1024
_ROWS_COPIED = 32
_ROUNDING = 2.0**-24
_SCORE_ERROR = 10.0**-SCORE_DECIMALS
# Squared lengths below this lose digits in 32 bits.
_TINY = 1e-24
# Fetching rows one by one costs about three times what passing over them in order does.
_SCATTER = 3

Name = tuple[str, str]
"""Object id and version id: what equal scores are told apart by."""


class Near(NamedTuple):
    """A vector that was found: its score, its number among the places that were given, and the
    name of what it is of."""

    score: float
    number: int
    name: Name


class Behind(NamedTuple):
    """Where a page begins: behind the vector with this score and these ids."""

    score: float
    name: Name


def metric_of(space: Any) -> str:
    """How vectors of a space are compared. Raises EmbeddingSpaceMismatch for a metric that is
    not known here: another one in its place would rank by something else."""
    spelled = str(space["distance_metric"])
    metric = METRICS.get(spelled.lower().replace("-", "_").replace(" ", "_"))
    if metric is None:
        raise EmbeddingSpaceMismatch(
            f"{space['embedding_space_id']} compares by {spelled!r}, which is not known here",
            hint=f"known are {', '.join(METRICS)}",
            policy_rule_id="embedding_space_metric",
        )
    return metric


class VectorTable:
    """The vectors of a space as they were when `held` was opened, which it closes.

    Raises InvalidRequest where numpy is not installed.
    """

    def __init__(self, held: HeldVectors) -> None:
        self._numpy = _numpy()
        count, dimensions = held.count, held.dimensions
        try:
            size = count * dimensions * 4
            mapped = mmap.mmap(held.descriptor, size, access=mmap.ACCESS_READ) if size else None
        except ValueError as cause:
            raise StoreDamaged(f"the vectors of {held.space_id} are cut short") from cause
        finally:
            held.close()
        self._mapped = mapped
        flat = self._numpy.frombuffer(mapped or b"", dtype="<f4")
        self._matrix = flat.reshape(count, dimensions)
        self._rows = max(1, _BLOCK_BYTES // (dimensions * 4))
        self._squares: Any = None

    def __len__(self) -> int:
        return len(self._matrix)

    def rows(self, start: int) -> Any:
        """The vectors from a place on, as a matrix."""
        return self._matrix[start:]

    def as_row(self, numbers: Sequence[float]) -> Any:
        """Numbers as a row of such a matrix."""
        return self._numpy.asarray(numbers, dtype="<f4")

    def vector(self, place: int) -> list[float]:
        """The numbers at a place."""
        numbers: list[float] = self._matrix[place].tolist()
        return numbers

    def nearest(
        self,
        query: Sequence[float],
        metric: str,
        places: Sequence[int],
        limit: int,
        *,
        names: Callable[[Sequence[int]], Sequence[Name]],
        behind: Behind | None = None,
    ) -> list[Near]:
        """The `limit` best of the vectors at these places, best first, exactly.

        Arguments:
            query: numbers that a 32-bit float holds, as many as the space has dimensions.
            metric: `cosine`, `dot` or `l2`.
            names: of the vectors with some numbers among `places`.
            behind: leaves out what does not come behind it.
        """
        numpy = self._numpy
        if limit < 1 or not len(places):
            return []
        chosen = numpy.asarray(places, dtype=numpy.int64)
        wide = numpy.asarray(query, dtype="<f4").astype(numpy.float64)
        length = math.sqrt(math.fsum((wide * wide).tolist()))
        with numpy.errstate(all="ignore"):
            rough, error = self._rough(wide, length, metric, chosen)
        after = None if behind is None else _as_rough(behind.score, metric)
        promising = _promising(numpy, rough, error, limit, after)
        rows = self._copies(chosen[number] for number in promising)
        scored = [
            (self._exact(row, wide, length, metric), int(number))
            for number, row in zip(promising, rows, strict=True)
        ]
        best = _best(scored, limit, behind)
        named = names([number for _, number in best])
        found = [Near(*one, name) for one, name in zip(best, named, strict=True)]
        if behind is not None:
            found = [near for near in found if _is_behind(near, behind)]
        found.sort(key=lambda near: (-near.score, near.name))
        return found[:limit]

    def _rough(self, wide: Any, length: float, metric: str, chosen: Any) -> tuple[Any, float]:
        """Scores, of l2 their squares, worked out in 32 bits, and how far off they may be.
        What 32 bits cannot hold stands first, so that it is worked out exactly."""
        numpy = self._numpy
        products, squares = self._products(wide.astype("<f4"), chosen)
        largest = math.sqrt(float(squares.max(initial=0.0)))
        bound = (2 * self._matrix.shape[1] + 16) * _ROUNDING
        if metric == "dot":
            rough, error = products, bound * largest * length
        elif metric == "cosine":
            rough = products / (numpy.sqrt(squares) * numpy.float32(length))
            rough[squares < _TINY] = numpy.inf
            error = bound if length * length >= _TINY else math.inf
        else:
            # A root would make the error of small distances large; so squares are compared.
            rough = 2 * products - squares - numpy.float32(length * length)
            farthest = largest + length
            error = 2 * bound * farthest**2 + 2 * _SCORE_ERROR * farthest
        rough = rough.astype(numpy.float64)
        rough[~numpy.isfinite(rough)] = numpy.inf
        error += _SCORE_ERROR
        return rough, error if math.isfinite(error) else math.inf

    def _products(self, query: Any, chosen: Any) -> tuple[Any, Any]:
        """Dot products with the query, and squared lengths, of the chosen rows."""
        numpy, count = self._numpy, len(self._matrix)
        if self._squares is None or len(chosen) * _SCATTER >= count:
            products = self._all_products(query)
            if len(chosen) == count and bool((chosen[1:] > chosen[:-1]).all()):
                return products, self._squares
            return products[chosen], self._squares[chosen]
        products = numpy.empty(len(chosen), dtype=numpy.float32)
        for start in range(0, len(chosen), self._rows):
            part = chosen[start : start + self._rows]
            numpy.dot(self._matrix[part], query, out=products[start : start + len(part)])
            self._let_go(0, count)
        return products, self._squares[chosen]

    def _all_products(self, query: Any) -> Any:
        """Dot products of all rows; and their squared lengths, where these are not known yet."""
        numpy, count = self._numpy, len(self._matrix)
        products = numpy.empty(count, dtype=numpy.float32)
        squares = numpy.empty(count, dtype=numpy.float32) if self._squares is None else None
        for start in range(0, count, self._rows):
            end = min(start + self._rows, count)
            rows = self._matrix[start:end]
            numpy.dot(rows, query, out=products[start:end])
            if squares is not None:
                numpy.einsum("ij,ij->i", rows, rows, out=squares[start:end])
            self._let_go(start, end)
        if squares is not None:
            self._squares = squares
        return products

    def _let_go(self, start: int, end: int) -> None:
        """Have the pages of some rows count as the system's and no longer as this process's;
        they stay in memory where there is room for them."""
        if self._mapped is not None and hasattr(self._mapped, "madvise"):
            row = self._matrix.shape[1] * 4
            first = start * row // mmap.PAGESIZE * mmap.PAGESIZE
            self._mapped.madvise(mmap.MADV_DONTNEED, first, end * row - first)

    def _copies(self, places: Iterable[int]) -> Iterator[Any]:
        """The rows at some places, in 64 bits."""
        places = iter(places)
        while some := list(islice(places, _ROWS_COPIED)):
            rows = self._matrix[some].astype(self._numpy.float64)
            self._let_go(0, len(self._matrix))
            yield from rows

    def _exact(self, row: Any, wide: Any, length: float, metric: str) -> float:
        with self._numpy.errstate(all="ignore"):
            if metric == "l2":
                apart = row - wide
                score = -math.sqrt(math.fsum((apart * apart).tolist()))
            else:
                score = math.fsum((row * wide).tolist())
            if metric == "cosine":
                other = math.sqrt(math.fsum((row * row).tolist()))
                score = score / (length * other) if length and other else 0.0
        if not math.isfinite(score):
            raise StoreDamaged(
                "a vector holds what is no number",
                hint="take them away with `pamctl embed delete --space`, and make new ones",
            )
        return round(score, SCORE_DECIMALS) + 0.0


def _promising(
    numpy: ModuleType, rough: Any, error: float, limit: int, after: float | None
) -> Sequence[int]:
    """The numbers of all that may be among the `limit` best behind a score.

    Of those that are better than needed by more than the error there are `limit`; so
    whatever is worse than the last of them by twice the error cannot be among them.
    """
    if math.isinf(error):
        return range(len(rough))
    numbers = None
    if after is not None:
        (numbers,) = numpy.nonzero((rough <= after + error) | numpy.isinf(rough))
        rough = rough[numbers]
    # Of these it is open where they stand, or whether they come before the page.
    unsure = rough >= (math.inf if after is None else after - error)
    wanted = limit + int(numpy.count_nonzero(unsure))
    if wanted < len(rough):
        least = numpy.partition(rough, len(rough) - wanted)[len(rough) - wanted]
        (best,) = numpy.nonzero(rough >= least - 2 * error)
        numbers = best if numbers is None else numbers[best]
    promising: Sequence[int] = range(len(rough)) if numbers is None else numbers.tolist()
    return promising


def _as_rough(score: float, metric: str) -> float:
    return -score * score if metric == "l2" else score


def _best(
    scored: list[tuple[float, int]], limit: int, behind: Behind | None
) -> list[tuple[float, int]]:
    """What may be among the `limit` best behind a place, best first: names decide the rest."""
    scored.sort(reverse=True)
    if behind is not None:
        scored = [one for one in scored if one[0] <= behind.score]
        limit += sum(score == behind.score for score, _ in scored)
    if limit < len(scored):
        least = scored[limit - 1][0]
        scored = [one for one in scored if one[0] >= least]
    return scored


def _is_behind(near: Near, behind: Behind) -> bool:
    return near.score < behind.score or near.name > behind.name


def _numpy() -> ModuleType:
    try:
        import numpy
    except ImportError as cause:
        raise InvalidRequest(
            "search by similarity needs numpy, which is not installed",
            hint="pip install 'pamctl[vectors]'",
        ) from cause
    return numpy
