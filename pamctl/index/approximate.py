"""Candidates for a search by similarity, from a graph over the vectors: near ones, most of the
nearest among them. PAMSPEC §11, §18.8. `docs/decisions/approximate-search.md`.

The graph (HNSW, by usearch) holds vectors by their places. It tells no scores: whoever asks
computes them from the vectors themselves.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pamctl.errors import InvalidRequest

_METRICS = {"cosine": "cos", "dot": "ip", "l2": "l2sq"}
_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH_MIN = 16, 64, 256
_ROWS_A_STEP = 4096


def is_installed() -> bool:
    """Whether graphs can be made and read here."""
    return find_spec("usearch") is not None


def require_installed() -> None:
    """Raises InvalidRequest where they cannot."""
    if not is_installed():
        raise InvalidRequest(
            "approximate search needs usearch, which is not installed",
            hint="pip install 'pamctl[approximate]', or leave out --approximate",
            pointer="/search",
        )


class Graph:
    """A graph over the first vectors of a matrix.

    metric: `cosine`, `dot` or `l2`.
    """

    def __init__(self, index: Any, metric: str) -> None:
        self._index = index
        self._metric = metric

    @classmethod
    def empty(cls, dimensions: int, metric: str) -> Graph:
        """A graph without vectors."""
        from usearch.index import Index

        index = Index(
            ndim=dimensions,
            metric=_METRICS[metric],
            # A unit vector keeps enough of itself in 16 bits; other numbers may be too large.
            dtype="f16" if metric == "cosine" else "f32",
            connectivity=_CONNECTIVITY,
            expansion_add=_EXPANSION_ADD,
        )
        return cls(index, metric)

    @classmethod
    def of_file(cls, path: Path, dimensions: int, metric: str, *, grows: bool) -> Graph | None:
        """The graph in a file, mapped or, where it `grows`, in memory; None for what is none, or
        one of other vectors."""
        from usearch.index import Index

        try:
            known = Index.metadata(str(path))
            if known is None or known["dimensions"] != dimensions:
                return None
            index = Index.restore(str(path), view=not grows)
        except (RuntimeError, ValueError, KeyError):
            return None
        graph = cls.empty(dimensions, metric)
        if index is None or index.metric_kind != graph._index.metric_kind:
            return None
        return cls(index, metric)

    def __len__(self) -> int:
        return len(self._index)

    def grow(self, matrix: Any) -> None:
        """Take in the rows of a matrix behind those that it holds."""
        import numpy

        count = len(matrix)
        for start in range(len(self), count, _ROWS_A_STEP):
            rows = matrix[start : start + _ROWS_A_STEP]
            self._index.add(numpy.arange(start, start + len(rows)), self._form(rows))

    def near(self, query: Any, count: int) -> Any:
        """Places of about `count` of the nearest vectors."""
        self._index.expansion_search = max(_EXPANSION_SEARCH_MIN, count)
        found = self._index.search(self._form(query.reshape(1, -1))[0], count)
        return found.keys.astype("int64")

    def data(self) -> bytes:
        """What `of_file` reads."""
        return bytes(self._index.save())

    def facts(self) -> dict[str, Any]:
        """What an answer discloses of it: `kind` and `parameters`."""
        import usearch

        return {
            "kind": "hnsw",
            "parameters": {
                "connectivity": _CONNECTIVITY,
                "expansion_add": _EXPANSION_ADD,
                "expansion_search": _EXPANSION_SEARCH_MIN,
                "library": f"usearch {usearch.__version__}",
                "scalars": self._index.dtype.name.lower(),
            },
        }

    def _form(self, rows: Any) -> Any:
        """Rows as the graph compares them: of cosines, with the length 1."""
        import numpy

        if self._metric != "cosine":
            return rows.astype("float32")
        wide = rows.astype("float64")
        lengths = numpy.linalg.norm(wide, axis=1, keepdims=True)
        return (wide / numpy.where(lengths > 0, lengths, 1)).astype("float32")


def near_rows(rows: Any, query: Any, metric: str, count: int) -> Any:
    """The numbers of about the `count` nearest rows of a few, by looking at all of them."""
    import numpy

    wide, query = rows.astype("float64"), query.astype("float64")
    if metric == "l2":
        scores = -((wide - query) ** 2).sum(axis=1)
    else:
        scores = wide @ query
        if metric == "cosine":
            lengths = numpy.linalg.norm(wide, axis=1)
            scores = scores / numpy.where(lengths > 0, lengths, 1)
    if count >= len(scores):
        return numpy.arange(len(scores))
    return numpy.argpartition(-scores, count)[:count]
