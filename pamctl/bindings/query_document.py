"""The draft's query document (PAMSPEC §10.6, §11) as arguments of `query`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import InvalidRequest

# Nothing is scored by similarity in a structured query, so a score cannot break its ties.
_SCORES = ("semantic_score",)
_BY_SIMILARITY = ("semantic", "hybrid")
_TIE_BREAK = ["object_id", "version_id"]


def is_query_document(arguments: Mapping[str, Any]) -> bool:
    """Whether arguments of `query` are the document; the flat form has no member `query`."""
    return "query" in arguments


def query_arguments(document: Mapping[str, Any]) -> dict[str, Any]:
    """The flat arguments that ask for what `document` asks for.

    Raises InvalidRequest for what is no query document.
    """
    from pamctl.model.documents import check

    check("query", document)
    query = document["query"]
    arguments = {**query.get("filters", {}), **document["pagination"]}
    for name in ("scope_id", "operation_id", "actor", "snapshot_id"):
        if name in document:
            arguments[name] = document[name]
    for name in ("text", "vector", "like_object_id"):
        if name in query:
            arguments[name] = query[name]
    if document.get("explain_ranking"):
        arguments["explain"] = True
    if query["kind"] in _BY_SIMILARITY:
        _require_its_order(document.get("ordering", {}))
        arguments["embedding_space_id"] = document["embedding_space_id"]
        if query["kind"] == "hybrid":
            arguments["hybrid"] = True
        return arguments
    order = _order(document.get("ordering", {}), query)
    if order:
        arguments["order_by"] = order
    return arguments


def _require_its_order(ordering: Mapping[str, Any]) -> None:
    """Raises InvalidRequest for another order than a ranking by similarity has."""
    asked = [*ordering.get("order_by", ()), *ordering.get("tie_break", ())]
    rest = [name for name in asked if name not in (*_SCORES, "relevance")]
    if rest != _TIE_BREAK[: len(rest)]:
        raise InvalidRequest(
            "a query by similarity is in the order of its scores, then of object_id and version_id",
            pointer="/ordering",
        )


def _order(ordering: Mapping[str, Any], query: Mapping[str, Any]) -> list[str]:
    """The order that was asked for; a temporal query is in the order of its time."""
    order = list(ordering.get("order_by", ()))
    if not order and "temporal_basis" in query:
        basis = query["temporal_basis"]
        # As a basis of time, sequence is the order of the ledger (PAMSPEC §11).
        order.append({"valid_time": "valid_from", "sequence": "ledger_sequence"}.get(basis, basis))
    if not order and "text" in query:
        order.append("relevance")
    return order + [name for name in ordering.get("tie_break", ()) if name not in _SCORES]
