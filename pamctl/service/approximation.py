"""Search by similarity through a graph: which query takes it, and what it finds.
PAMSPEC §11, §18.8. `docs/decisions/approximate-search.md`.

The graph only says whom to look at. Whatever it names has to be accepted by every filter of
the query, as of its sequence and for its actor, and its score is computed exactly. Where too
few of those that are near are accepted, the search is made without the graph: so nothing is
missing because something else was hidden.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pamctl import limits
from pamctl.errors import InvalidRequest, ServiceUnavailable
from pamctl.index.approximate import Graph, is_installed, near_rows, require_installed
from pamctl.index.vectors import Behind, VectorTable
from pamctl.store.vector_graphs import GraphFiles

if TYPE_CHECKING:
    from pamctl.index.structured_query import Candidate
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.selected import Selection

_LOOKED_AT_FIRST, _GROWTH = 4, 4
"""Of the nearest, as many are looked at for each that is wanted; then so many times more."""
_UNKNOWN_PART = 10
"""Vectors that came behind a graph's are all looked at. One that lacks more than such a part
is not used by itself."""


@dataclass(frozen=True, slots=True)
class Approximation:
    """A graph that can be used for a query.

    facts: what it discloses of itself.
    versions: by place, the version whose vector counts there; None where none does.
    """

    graph: Graph
    facts: Mapping[str, Any]
    table: VectorTable
    metric: str
    versions: Sequence[str | None]

    def nearest(
        self,
        selection: Selection,
        vector: Sequence[float],
        limit: int,
        *,
        itself: str | None,
        behind: Behind | None,
    ) -> list[tuple[Candidate, float]] | None:
        """`limit` of the nearest that the selection accepts, best first, with their scores;
        None where it accepts too few of those that are near."""
        wanted, looked = limit * _LOOKED_AT_FIRST, set[int]()
        accepted: list[tuple[int, Candidate]] = []

        def names(numbers: Sequence[int]) -> list[tuple[str, str]]:
            return [accepted[number][1][1:] for number in numbers]

        while wanted < len(self.versions) and wanted <= limits.APPROXIMATE_LOOKED_AT_MAX:
            new = [place for place in self._near(vector, wanted) if place not in looked]
            looked.update(new)
            known = {version: place for place in new if (version := self.versions[place])}
            accepted += [
                (known[one.version_id], one)
                for one in selection.among(list(known))
                if one.object_id != itself
            ]
            places = [place for place, _ in accepted]
            found = self.table.nearest(
                vector, self.metric, places, limit, names=names, behind=behind
            )
            if len(found) == limit:
                return [(accepted[near.number][1], near.score) for near in found]
            wanted *= _GROWTH
        return None

    def _near(self, vector: Sequence[float], count: int) -> list[int]:
        """Places of near vectors: those that the graph names, and of what came later as many."""
        rows = self.table.rows(len(self.graph))
        query = self.table.as_row(vector)
        places: list[int] = self.graph.near(query, count).tolist()
        later = near_rows(rows, query, self.metric, count) if len(rows) else ()
        return places + [len(self.graph) + int(number) for number in later]


_kept: WeakKeyDictionary[OpenScope, dict[str, Approximation]] = WeakKeyDictionary()


def approximation(
    selection: Selection,
    request: Mapping[str, Any],
    space: Mapping[str, Any],
    metric: str,
    table: VectorTable,
    places: Mapping[str, int],
) -> Approximation | None:
    """The graph to search by; None for an exact search.

    One that is asked for is made where there is none, or brought up to date. Unasked, it is
    used where it is there, and the space has more than limits.APPROXIMATE_FROM_VECTORS.
    Raises InvalidRequest where it is asked for and cannot be: through a snapshot, where the
    answer has to stay the same, or without usearch.
    """
    asked = request.get("search") == "approximate"
    if request.get("search") == "exact" or selection.boundary is not None or not len(table):
        if asked and selection.boundary is not None:
            raise InvalidRequest(
                "through a snapshot the search is exact, so that its answer stays the same",
                pointer="/search",
            )
        return None
    if asked:
        require_installed()
    elif len(table) <= limits.APPROXIMATE_FROM_VECTORS or not is_installed():
        return None
    cache = _kept.setdefault(selection.scope, {})
    known = cache.get(space["embedding_space_id"])
    # A table is of vectors that do not change; others are in another one.
    if known is None or known.table is not table:
        graph = _graph(selection.scope, space, metric, table, make=asked)
        if graph is None:
            return None
        known = Approximation(*graph, table, metric, _versions(table, places))
        cache[space["embedding_space_id"]] = known
    return known


def _graph(
    scope: OpenScope, space: Mapping[str, Any], metric: str, table: VectorTable, *, make: bool
) -> tuple[Graph, Mapping[str, Any]] | None:
    """The graph that is kept, and what it says of itself; where it has to be, a new one."""
    dimensions = space["dimensions"]
    files = GraphFiles(scope.layout, space["embedding_space_id"], dimensions)
    pair = files.pair()
    kept = files.find(pair)
    graph = None
    if kept is not None:
        graph = Graph.of_file(kept.path, dimensions, metric, grows=False)
        if graph is not None and _is_worth_it(graph, table):
            return graph, kept.facts
    if not make:
        return None
    if kept is not None and graph is not None and len(graph) <= len(table):
        graph = Graph.of_file(kept.path, dimensions, metric, grows=True)
    graph = graph or Graph.empty(dimensions, metric)
    graph.grow(table.rows(0))
    facts = {**graph.facts(), "vectors": len(graph)}
    # Where it cannot be kept, it serves this process.
    with contextlib.suppress(ServiceUnavailable):
        saved = files.keep(pair, facts, graph.data())
        # Of vectors that were taken away meanwhile, none is to be found.
        return None if saved is None else (graph, saved.facts)
    return graph, facts


def _versions(table: VectorTable, places: Mapping[str, int]) -> list[str | None]:
    versions: list[str | None] = [None] * len(table)
    for version_id, place in places.items():
        versions[place] = version_id
    return versions


def _is_worth_it(graph: Graph, table: VectorTable) -> bool:
    """Whether a graph holds enough of the vectors, and none that are not there."""
    return 0 <= (len(table) - len(graph)) * _UNKNOWN_PART <= len(table)
