"""Query: the objects of a scope that filters select, in a total order. PAMSPEC §10.6, §11."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest
from pamctl.index import cursors
from pamctl.index.structured_query import Look, Page, Range, StructuredQuery
from pamctl.limits import PAGE_ITEMS_DEFAULT
from pamctl.model.envelopes import DEFAULT_RETRIEVAL
from pamctl.service.authority import disclosed, disclosed_ids
from pamctl.service.boundary import boundary_of, unknown_snapshot
from pamctl.service.conditions import listed, pushed_down
from pamctl.service.disclosure import narrowed
from pamctl.service.open_scope import OpenScope
from pamctl.service.related import is_about_relationships, select_related
from pamctl.service.scopes import index_state
from pamctl.service.selected import Found, Selection
from pamctl.service.visibility import absent

if TYPE_CHECKING:
    from pamctl.index.pushdown import Pushed
    from pamctl.rules.authorization import Sight
    from pamctl.service.envelope_order import EnvelopeOrder
    from pamctl.service.open_store import OpenStore

_FILTERS = (
    *("object_id", "version_id", "object_type", "schema_id", "actor_id"),
    *("provenance_id", "source_ref", "activity"),
)
# What may differ between the pages of one query.
_NOT_THE_QUERY = ("cursor", "limit", "operation_id", "count", "explain", "snippets")


def query(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """One page of an answer.

    Without states it is what trusted retrieval sees: active, available, retained and
    corroborated. A cursor pins the ledger sequence of its first page, so that pages stay
    the same while others write. Raises InvalidRequest for a cursor of another query.
    """
    found = find(store, request)
    scope, page, selection = found.scope, found.page, found.selection
    if scope is None or selection is None:
        return _nothing(request)
    answer = {
        "items": list(selection.envelopes(page.rows)),
        "next_cursor": found.next_cursor,
        "ledger_sequence": selection.as_of,
        "index": index_state(scope, selection.fresh_to),
        **_scope_of(request),
    }
    if selection.boundary is not None:
        answer["snapshot_id"] = selection.boundary.descriptor["snapshot_id"]
    if found.similarity is not None:
        answer["similarity"] = found.similarity
    if page.total is not None:
        answer["total"] = page.total
    if request.get("snippets") and "text" in request:
        from pamctl.index.snippets import snippet

        answer["snippets"] = [
            snippet(request["text"], item.get("canonical_content")) for item in answer["items"]
        ]
    if request.get("explain"):
        from pamctl.service.explanation import explanation, plan

        answer["explanation"] = explanation(found)
        answer["plan"] = plan(found)
    return answer


def _nothing(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer in a scope that its first write will make."""
    answer = {"items": [], "ledger_sequence": 0, "next_cursor": None, **_scope_of(request)}
    if request.get("count"):
        answer["total"] = 0
    if request.get("snippets") and "text" in request:
        answer["snippets"] = []
    if request.get("explain"):
        answer["explanation"] = []
    return answer


def find(store: OpenStore, request: Mapping[str, Any]) -> Found:
    """The rows of one page, as `query` answers them, without reading what is not judged."""
    pushed = pushed_down(request)
    scope = store.scope_to_read(request["scope_id"])
    if scope is None:
        _require_nothing_named(request)
        return Found(None, Page([], [], None, None))
    sight = disclosed(scope.policy(), request, "query")
    asked = {name: value for name, value in request.items() if name not in _NOT_THE_QUERY}
    digest = sha256_digest(canonical([store.store_id, asked]))
    selection, distances = _selected(store, scope, request, digest, sight, pushed)
    scores: Sequence[Mapping[str, Any]] = ()
    similarity = None
    if "embedding_space_id" in request:
        from pamctl.service.similarity import rank

        ranking = rank(selection, request)
        scores, similarity = ranking.scores, ranking.disclosure
        page = Page(ranking.rows, [], ranking.next_key, ranking.total)
    else:
        page = selection.page()
    next_cursor = None
    if page.next_key is not None:
        next_cursor = cursors.encode(page.next_key, digest, selection.as_of)
    return Found(
        scope,
        page,
        next_cursor,
        selection,
        sight,
        disclosed_ids(request),
        distances,
        scores,
        similarity,
    )


def _require_nothing_named(request: Mapping[str, Any]) -> None:
    """Raises for what a request says is in a scope that its first write will make."""
    scope_id = request["scope_id"]
    if "related_to" in request:
        raise absent(request["related_to"]["object_id"], scope_id)
    if "embedding_space_id" in request:
        from pamctl.service.spaces import unknown_space

        raise unknown_space(request["embedding_space_id"], scope_id)
    if "snapshot_id" in request:
        raise unknown_snapshot(request["snapshot_id"], scope_id)


def _selected(
    store: OpenStore,
    scope: OpenScope,
    request: Mapping[str, Any],
    digest: str,
    sight: Sight | None,
    pushed: Pushed | None,
) -> tuple[Selection, Mapping[str, int]]:
    """What a request selects, and how many steps each object is from what it is related to."""
    now = scope.position.sequence
    as_of, after_key = _as_of(scope, request.get("as_of")), None
    if "cursor" in request:
        after_key, as_of = cursors.decode(request["cursor"], digest)
    boundary = boundary_of(scope, request)
    if boundary is not None:
        as_of = now = boundary.at(as_of)
    # Somebody may commit between two looks at the index; all of them are as of one moment.
    as_of = now if as_of is None else min(as_of, now)
    first, order_by = _order(request)
    structured = _structured(request, as_of, after_key, order_by)
    distances: Mapping[str, int] = {}
    included = None if boundary is None else boundary.included
    if is_about_relationships(request):
        structured, distances = select_related(store, scope, request, structured, included)
    elif included is not None:
        structured = replace(structured, among=included)
    if structured.family == "object":
        structured = narrowed(structured, sight, disclosed_ids(request))
    if pushed is not None:
        structured = replace(structured, condition=pushed.condition, equal=pushed.equal)
    return Selection(scope, structured, as_of, now, boundary, pushed, first), distances


def _order(request: Mapping[str, Any]) -> tuple[EnvelopeOrder | None, Sequence[str]]:
    """What of an order envelopes decide, and what of it the index does."""
    order_by: Sequence[str] = request.get("order_by", ())
    # By similarity there is one order, which `similarity` sees to.
    if not order_by or "embedding_space_id" in request:
        return None, ()
    from pamctl.service.envelope_order import split

    return split(order_by)


def _structured(
    request: Mapping[str, Any],
    as_of: int | None,
    after_key: tuple[Any, ...] | None,
    order_by: Sequence[str],
) -> StructuredQuery:
    members: dict[str, Any] = {name: listed(request[name]) for name in _FILTERS if name in request}
    states: dict[str, Any] = {name: _states(request, name) for name in DEFAULT_RETRIEVAL}
    similar = "embedding_space_id" in request
    return StructuredQuery(
        **members,
        **states,
        ranges=_ranges(request.get("temporal")),
        text=None if similar else request.get("text"),
        as_of=as_of,
        order_by=order_by,
        limit=request.get("limit", PAGE_ITEMS_DEFAULT),
        after_key=after_key,
        count=request.get("count", False),
        look=Look() if request.get("explain") else None,
    )


def _states(request: Mapping[str, Any], dimension: str) -> list[str] | None:
    if dimension in request:
        return listed(request[dimension])
    return None if request.get("any_state") else [DEFAULT_RETRIEVAL[dimension]]


def _ranges(temporal: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> list[Range]:
    """All of them have to hold."""
    if temporal is None:
        return []
    ranges = []
    for wanted in [temporal] if isinstance(temporal, Mapping) else temporal:
        basis = wanted["basis"]
        # As a basis of time, sequence is the order of the ledger (PAMSPEC §11), which is not
        # the number of a version in its object's history.
        basis = "ledger_sequence" if basis == "sequence" else basis
        ranges.append(Range(basis, wanted.get("from"), wanted.get("until")))
    return ranges


def _as_of(scope: OpenScope, given: int | str | None) -> int | None:
    if given is None or isinstance(given, int):
        return given
    try:
        return scope.index.sequence_at(instant(given))
    except ValueError as cause:
        raise InvalidRequest(f"as_of: {given[:60]!r} is {cause}", pointer="/as_of") from cause


def _scope_of(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"scope_id": request["scope_id"]}
