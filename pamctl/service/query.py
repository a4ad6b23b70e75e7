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
from pamctl.index.rows import VersionRow
from pamctl.index.structured_query import Page, Range, StructuredQuery
from pamctl.limits import PAGE_ITEMS_DEFAULT
from pamctl.model.envelopes import DEFAULT_RETRIEVAL
from pamctl.service.authority import disclosed, disclosed_ids
from pamctl.service.boundary import Boundary, boundary_of
from pamctl.service.disclosure import narrowed
from pamctl.service.envelopes import is_withheld, withhold
from pamctl.service.open_scope import OpenScope
from pamctl.service.related import is_about_relationships, select_related
from pamctl.service.scopes import index_state
from pamctl.service.visibility import absent

if TYPE_CHECKING:
    from pamctl.service.open_store import OpenStore

_FILTERS = ("object_type", "schema_id", "provenance_id", "actor_id", "source_ref")
# What may differ between the pages of one query.
_NOT_THE_QUERY = ("cursor", "limit", "operation_id", "count", "explain")


def query(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """One page of an answer.

    Without states it is what trusted retrieval sees: active, available, retained and
    corroborated. A cursor pins the ledger sequence of its first page, so that pages stay
    the same while others write. Raises InvalidRequest for a cursor of another query.
    """
    scope = store.scope_to_read(request["scope_id"])
    if scope is None:
        if "related_to" in request:
            raise absent(request["related_to"]["object_id"], request["scope_id"])
        return {"items": [], "ledger_sequence": 0, "next_cursor": None, **_scope_of(request)}
    sight = disclosed(scope.policy(), request, "query")
    now = scope.index.position().sequence
    asked = {name: value for name, value in request.items() if name not in _NOT_THE_QUERY}
    digest = sha256_digest(canonical([store.store_id, asked]))
    as_of, after_key = _as_of(scope, request.get("as_of")), None
    boundary = boundary_of(scope, request)
    if boundary is not None:
        as_of = now = boundary.at(as_of)
    if "cursor" in request:
        after_key, as_of = cursors.decode(request["cursor"], digest)
    # Somebody may commit between two looks at the index; all of them are as of one moment.
    as_of = now if as_of is None else as_of
    structured = _structured(request, as_of, after_key)
    distances: Mapping[str, int] = {}
    included = None if boundary is None else boundary.included
    if is_about_relationships(request):
        structured, distances = select_related(store, scope, request, structured, included)
    elif included is not None:
        structured = replace(structured, among=included)
    if structured.family == "object":
        structured = narrowed(structured, sight, disclosed_ids(request))
    page = (boundary or scope.index).search(structured)
    next_cursor = None
    if page.next_key is not None:
        next_cursor = cursors.encode(page.next_key, digest, as_of)
    answer = {
        "items": [_shown(scope, row, boundary) for row in page.rows],
        "next_cursor": next_cursor,
        "ledger_sequence": as_of,
        "index": index_state(scope, now),
        **_scope_of(request),
    }
    if boundary is not None:
        answer["snapshot_id"] = boundary.descriptor["snapshot_id"]
    if page.total is not None:
        answer["total"] = page.total
    if request.get("explain"):
        if sight is not None:
            # How well a text matches depends on the texts that are not shown.
            page = page._replace(relevance=[])
        answer["explanation"] = _explanation(page, distances)
    return answer


def _structured(
    request: Mapping[str, Any], as_of: int | None, after_key: tuple[Any, ...] | None
) -> StructuredQuery:
    members: dict[str, Any] = {name: _listed(request[name]) for name in _FILTERS if name in request}
    states: dict[str, Any] = {name: _states(request, name) for name in DEFAULT_RETRIEVAL}
    return StructuredQuery(
        **members,
        **states,
        ranges=_ranges(request.get("temporal")),
        text=request.get("text"),
        as_of=as_of,
        order_by=request.get("order_by", ()),
        limit=request.get("limit", PAGE_ITEMS_DEFAULT),
        after_key=after_key,
        count=request.get("count", False),
    )


def _states(request: Mapping[str, Any], dimension: str) -> list[str] | None:
    if dimension in request:
        return _listed(request[dimension])
    return None if request.get("any_state") else [DEFAULT_RETRIEVAL[dimension]]


def _listed(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _ranges(temporal: Mapping[str, Any] | None) -> list[Range]:
    if temporal is None:
        return []
    basis = temporal["basis"]
    # As a basis of time, sequence is the order of the ledger (PAMSPEC §11), which is not the
    # number of a version in its object's history.
    basis = "ledger_sequence" if basis == "sequence" else basis
    return [Range(basis, temporal.get("from"), temporal.get("until"))]


def _as_of(scope: OpenScope, given: int | str | None) -> int | None:
    if given is None or isinstance(given, int):
        return given
    try:
        return scope.index.sequence_at(instant(given))
    except ValueError as cause:
        raise InvalidRequest(f"as_of: {given[:60]!r} is {cause}", pointer="/as_of") from cause


def _shown(scope: OpenScope, row: VersionRow, boundary: Boundary | None) -> dict[str, Any]:
    envelope = scope.envelope(row)
    if boundary is not None:
        judge = boundary.judge(row).availability_state
        return withhold(envelope) if is_withheld(row.availability_state, judge) else envelope
    if row.until is not None:
        current = scope.index.current(row.object_id)
        if current is not None and is_withheld(row.availability_state, current.availability_state):
            return withhold(envelope)
    return envelope


def _scope_of(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"scope_id": request["scope_id"]}


def _explanation(page: Page, distances: Mapping[str, int]) -> list[dict[str, Any]]:
    """Why each hit stands where it does: its place in the ledger, how well it matched, and
    how many steps it is away from what it is related to."""
    return [
        {
            "object_id": row.object_id,
            "version_id": row.version_id,
            "ledger_sequence": row.since,
            **({"relevance": page.relevance[number]} if page.relevance else {}),
            **({"distance": distances[row.object_id]} if row.object_id in distances else {}),
        }
        for number, row in enumerate(page.rows)
    ]
