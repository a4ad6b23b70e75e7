"""Ranking by similarity, alone or fused with words. PAMSPEC §11, §18.8.

What is ranked was selected before: scope, states, filters, snapshot and authority are settled
(`selection`), so neither a score nor a count depends on what the actor may not see. Of that, a
version has a place in the ranking when the space holds a vector of that very version. The
search is exact, but for large spaces with a graph: see `approximation`.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pamctl import limits
from pamctl.errors import EmbeddingSpaceMismatch, InvalidRequest
from pamctl.index.structured_query import Candidate
from pamctl.index.vectors import Behind, Name, VectorTable, metric_of
from pamctl.limits import PAGE_ITEMS_MAX, TEXT_CHARS_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.rules.fusion import FUSED_DEPTH, fused
from pamctl.rules.spaces import vector_bytes
from pamctl.service.authority import disclosed, disclosed_ids
from pamctl.service.spaces import space_of
from pamctl.service.visibility import absent
from pamctl.store.embeddings import EmbeddingFiles

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.index.structured_query import Key
    from pamctl.service.approximation import Approximation
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.selected import Selection

Json = dict[str, Any]

TIE_BREAK = ("object_id", "version_id")
_NO_SNAPSHOT = "no stable index snapshot was used: vectors may be put and taken away at any time"
_SOME_MAY_BE_MISSED = (
    "a graph over the vectors was searched, which may miss some, and which may be made anew"
)
_FEW_ARE_NEAR = "too few of those that the graph has near are accepted by the filters"
# What of a request is not a filter that was applied before ranking.
_NO_FILTERS = frozenset(
    (
        *("scope_id", "actor", "operation_id", "limit", "cursor", "count", "explain", "snippets"),
        *("embedding_space_id", "vector", "like_object_id", "hybrid", "text", "any_state"),
        "search",
    )
)
_STATES = ("lifecycle_state", "availability_state", "retention_state", "validation_state")


class Ranking(NamedTuple):
    """A page of a ranking.

    rows: best first. scores: of each, what it owes its place to.
    next_key: of the last row, where there is more.
    total: how many have a place in the ranking; None where not asked for.
    disclosure: what an answer by similarity has to say of itself (PAMSPEC §11).
    """

    rows: list[VersionRow]
    scores: list[Json]
    next_key: Key | None
    total: int | None
    disclosure: Json


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The vectors of a space, as they were when they had this mark."""

    mark: tuple[Any, ...]
    table: VectorTable
    places: Mapping[str, int]
    identity: str
    stable: bool


class _Compared(NamedTuple):
    """The candidates that have a vector: their ledger sequences, and the places of their
    vectors. There may be hundreds of thousands, so no more is kept of them."""

    since: array[int]
    places: array[int]


class _Nearest:
    """What of a selection is nearest to a vector: by a graph, or by comparing all of it where
    there is none or it does not do."""

    def __init__(
        self,
        selection: Selection,
        loaded: _Loaded,
        metric: str,
        vector: Sequence[float],
        itself: str | None,
        approximation: Approximation | None,
    ) -> None:
        self._selection = selection
        self._loaded = loaded
        self._metric = metric
        self._vector = vector
        self.itself = itself
        self._approximation = approximation
        self._compared: _Compared | None = None
        self.exact = approximation is None
        self.candidates = 0

    def best(self, limit: int, behind: Behind | None = None) -> list[tuple[Candidate, float]]:
        """The best with their scores, best first."""
        if self._approximation is not None and not self.exact:
            found = self._approximation.nearest(
                self._selection, self._vector, limit, itself=self.itself, behind=behind
            )
            if found is not None:
                return found
            self.exact = True
        compared = self.compared()
        near = self._loaded.table.nearest(
            self._vector, self._metric, compared.places, limit, names=self._names, behind=behind
        )
        since = compared.since
        return [(Candidate(since[one.number], *one.name), one.score) for one in near]

    def compared(self) -> _Compared:
        """All that the filters accept and that has a vector."""
        if self._compared is None:
            self._compared = _Compared(array("q"), array("q"))
            for one in self._selection.candidates():
                if one.object_id == self.itself:
                    continue
                self.candidates += 1
                place = self._loaded.places.get(one.version_id)
                if place is not None:
                    self._compared.since.append(one.since)
                    self._compared.places.append(place)
        return self._compared

    def _names(self, numbers: Sequence[int]) -> list[Name]:
        since = self.compared().since
        return self._selection.scope.index.candidate_names([since[number] for number in numbers])

    def disclosed(self) -> Json:
        """How it was searched, and what was left out."""
        if not self.exact and self._approximation is not None:
            return {"search": "approximate", "graph": dict(self._approximation.facts)}
        without = self.candidates - len(self.compared().since)
        told: Json = {"search": "exact", "candidates": self.candidates, "without_vector": without}
        if self._approximation is not None:
            told["exact_because"] = _FEW_ARE_NEAR
        return told


_loaded: WeakKeyDictionary[OpenScope, dict[tuple[str, str], _Loaded]] = WeakKeyDictionary()


def rank(selection: Selection, request: Mapping[str, Any]) -> Ranking:
    """One page of what was selected, the most similar first; with `hybrid`, of what words and
    similarity find together.

    Raises EmbeddingSpaceMismatch for a space that is not there, that the snapshot leaves out,
    or whose vectors cannot be compared with the one that is given; InvalidRequest for a
    request that does not say what to be similar to, or where numpy is missing.
    """
    _require_one_question(request)
    space = _space(selection, request["embedding_space_id"])
    metric = metric_of(space)
    loaded = _load(selection, space)
    vector, itself = _question(selection, request, space, loaded)
    graph = None
    if "search" in request or len(loaded.table) > limits.APPROXIMATE_FROM_VECTORS:
        from pamctl.service.approximation import approximation

        graph = approximation(selection, request, space, metric, loaded.table, loaded.places)
    nearest = _Nearest(selection, loaded, metric, vector, itself, graph)
    if request.get("hybrid"):
        places_of, next_key, total = _hybrid(selection, request["text"], nearest)
    else:
        places_of, next_key, total = _semantic(selection, nearest)
    disclosure = {
        **_disclosed(selection, request, space, loaded),
        **nearest.disclosed(),
        "scores": places_of,
    }
    if not nearest.exact:
        disclosure |= {"best_effort": True, "best_effort_because": _SOME_MAY_BE_MISSED}
    return Ranking(
        selection.rows([place["version_id"] for place in places_of]),
        places_of,
        next_key,
        total,
        disclosure,
    )


def _semantic(selection: Selection, nearest: _Nearest) -> tuple[list[Json], Key | None, int | None]:
    structured = selection.structured
    behind = None
    if structured.after_key is not None:
        score, object_id, version_id = structured.after_key
        behind = Behind(float(str(score)), (str(object_id), str(version_id)))
    near = nearest.best(structured.limit + 1, behind)
    page = near[: structured.limit]
    next_key: Key | None = None
    if len(near) > structured.limit:
        last, least = page[-1]
        next_key = (repr(least), last.object_id, last.version_id)
    scored = [
        {"object_id": one.object_id, "version_id": one.version_id, "semantic_score": score}
        for one, score in page
    ]
    return scored, next_key, len(nearest.compared().since) if structured.count else None


def _hybrid(
    selection: Selection, text: str, nearest: _Nearest
) -> tuple[list[Json], Key | None, int | None]:
    structured = selection.structured
    near = nearest.best(FUSED_DEPTH)
    similar = {one.version_id: score for one, score in near}
    objects = {one.version_id: one.object_id for one, _ in near}
    worded = [version_id for version_id, _ in selection.lexical(text, FUSED_DEPTH)]
    unknown = [version_id for version_id in worded if version_id not in objects]
    objects.update((row.version_id, row.object_id) for row in selection.rows(unknown))
    worded = [version_id for version_id in worded if objects[version_id] != nearest.itself]
    places = fused(worded, list(similar), object_of=objects.__getitem__)
    after = structured.after_key
    rest = places if after is None else [place for place in places if place.key > after]
    page = rest[: structured.limit]
    scored: list[Json] = []
    for place in page:
        score: Json = {
            "object_id": place.object_id,
            "version_id": place.version_id,
            "score": place.score,
            "lexical_rank": place.lexical,
            "semantic_rank": place.semantic,
            "semantic_score": similar.get(place.version_id),
        }
        scored.append({name: value for name, value in score.items() if value is not None})
    next_key = page[-1].key if len(rest) > len(page) else None
    return scored, next_key, len(places) if structured.count else None


def _require_one_question(request: Mapping[str, Any]) -> None:
    if not 1 <= request.get("limit", 1) <= PAGE_ITEMS_MAX:
        raise InvalidRequest(f"limit is from 1 to {PAGE_ITEMS_MAX} (limits.PAGE_ITEMS_MAX)")
    if len(request.get("text", "")) > TEXT_CHARS_MAX:
        raise InvalidRequest(
            f"the text is longer than {TEXT_CHARS_MAX} characters (limits.TEXT_CHARS_MAX)",
            pointer="/text",
        )
    given = [name for name in ("vector", "like_object_id") if name in request]
    if request.get("hybrid") and "text" not in request:
        raise InvalidRequest("a hybrid query needs words too", pointer="/text")
    if len(given) == 2:
        raise InvalidRequest("vector and like_object_id exclude each other", pointer="/vector")
    if given and "text" in request and not request.get("hybrid"):
        raise InvalidRequest(
            "words and a vector are two questions",
            hint="ask for a hybrid of both, or leave one out",
            pointer="/text",
        )
    if not given and "text" not in request:
        raise InvalidRequest(
            "a query by similarity says what to be similar to",
            hint="give a vector, an object to be like, or a text",
            pointer="/vector",
        )
    for name in ("order_by", "relationships"):
        if request.get(name):
            raise InvalidRequest(f"{name} has no place in a ranking by similarity")


def _space(selection: Selection, space_id: str) -> Mapping[str, Any]:
    space = space_of(selection.scope, space_id)
    if selection.boundary is not None:
        included = selection.boundary.descriptor.get("included_embedding_space_ids", [])
        if space_id not in included:
            raise EmbeddingSpaceMismatch(
                f"the snapshot leaves {space_id} out",
                policy_rule_id="embedding_space_required",
                embedding_space_id=space_id,
            )
    return space


def _load(selection: Selection, space: Mapping[str, Any]) -> _Loaded:
    """The vectors of a space: those that the snapshot pinned, or those that there are now.
    Loaded once for as long as they do not change."""
    scope, boundary, space_id = selection.scope, selection.boundary, space["embedding_space_id"]
    files = EmbeddingFiles(scope.layout, space_id, space["dimensions"])
    cache = _loaded.setdefault(scope, {})
    if boundary is not None:
        snapshot_id = str(boundary.descriptor["snapshot_id"])
        pin = files.pinned(snapshot_id)
        if pin is not None:
            key = (space_id, snapshot_id)
            if key in cache and cache[key].mark == pin:
                return cache[key]
            held = files.hold_pinned(pin)
            if held is not None:
                cache[key] = _Loaded(pin, VectorTable(held), held.places, held.identity, True)
                return cache[key]
    key, mark = (space_id, ""), files.mark()
    if key not in cache or cache[key].mark != mark:
        held = files.hold()
        cache[key] = _Loaded(mark, VectorTable(held), held.places, held.identity, False)
    return cache[key]


def _question(
    selection: Selection, request: Mapping[str, Any], space: Mapping[str, Any], loaded: _Loaded
) -> tuple[Sequence[float], str | None]:
    """The vector to be similar to, and the object that it is of, where it is of one."""
    if "vector" in request:
        vector_bytes(request["vector"], space, "")
        return request["vector"], None
    if "like_object_id" in request:
        object_id = request["like_object_id"]
        place = loaded.places.get(_visible(selection, request, object_id).version_id)
        if place is None:
            raise InvalidRequest(
                f"{object_id} has no vector of its current version in "
                f"{space['embedding_space_id']}",
                hint="`pamctl embed run` makes those that are missing or stale",
                pointer="/like_object_id",
            )
        return loaded.table.vector(place), object_id
    from pamctl.index.hashed_text import SPACE, embed
    from pamctl.rules.spaces import same_space

    if not same_space(space, SPACE):
        raise EmbeddingSpaceMismatch(
            f"the words cannot be embedded: pamctl has no embedder for "
            f"{space['embedding_space_id']}",
            hint="embed them as the space's vectors were, and give the vector",
            policy_rule_id="embedding_space_comparison",
            embedding_space_id=space["embedding_space_id"],
        )
    return embed(request["text"]), None


def _visible(selection: Selection, request: Mapping[str, Any], object_id: str) -> VersionRow:
    """The version of an object at the sequence of the answer, if the actor may see it."""
    scope, boundary = selection.scope, selection.boundary
    row = scope.index.current(object_id, selection.as_of)
    sight, ids = disclosed(scope.policy(), request, "query"), disclosed_ids(request)
    hidden = (
        row is None
        or row.family != "object"
        or (sight is not None and not sight.covers(row.object_type))
        or (ids is not None and object_id not in ids)
        or (boundary is not None and not boundary.includes(object_id))
    )
    if hidden or row is None:
        raise absent(object_id, scope.scope_id)
    return row


def _disclosed(
    selection: Selection, request: Mapping[str, Any], space: Mapping[str, Any], loaded: _Loaded
) -> Json:
    applied = sorted(name for name in request if name not in _NO_FILTERS)
    states = [name for name in _STATES if getattr(selection.structured, name) is not None]
    disclosure: Json = {
        "kind": "hybrid" if request.get("hybrid") else "semantic",
        "embedding_space_id": space["embedding_space_id"],
        "distance_metric": space["distance_metric"],
        "index": {"identity": loaded.identity, "stable_snapshot": loaded.stable},
        "filters": sorted({*applied, *states, "scope_id"}),
        "tie_break": list(TIE_BREAK),
        "best_effort": not loaded.stable,
    }
    if not loaded.stable:
        disclosure["best_effort_because"] = _NO_SNAPSHOT
    return disclosure
