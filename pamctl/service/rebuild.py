"""Rebuilding a scope's index. PAMSPEC §7.8, §17.3."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import PolicyDenied, ServiceUnavailable

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore


def rebuild(store: OpenStore, scope_id: str, actor: Mapping[str, Any]) -> OpenScope:
    """Make the index of a scope anew from its ledger, let go of vectors whose objects no
    longer show their content, and of graphs over vectors. That it was done is an event, which
    changes no state; where nothing can be written there is none.

    Raises ScopeNotFound.
    """
    scope = store.open_scope(scope_id)
    scope.rebuild_index()
    with contextlib.suppress(ServiceUnavailable, PolicyDenied):
        with store.group() as group:
            group.record({"scope_id": scope_id, "actor": actor}, _rebuilt)
        if scope.layout.embeddings.is_dir():
            from pamctl.service.embeddings import sweep_vectors
            from pamctl.store.vector_graphs import forget_graphs

            sweep_vectors(scope)
            forget_graphs(scope.layout)
    return scope


def _rebuilt(desk: Desk, request: Mapping[str, Any]) -> Change:
    named = {"operation_id": desk.sources.identifier("op"), **request}
    payload = {"index_id": f"index:{desk.scope.layout.root.name}"}
    return desk.commit_event("index_rebuilt", named, payload)
