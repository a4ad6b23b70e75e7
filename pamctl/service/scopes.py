"""Scopes: made, listed, shown, and governed by a policy document. PAMSPEC §7.5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import ScopeNotFound
from pamctl.model.documents import check
from pamctl.rules.authorization import Action, default_policy, require_access
from pamctl.service.open_scope import OpenScope
from pamctl.store.commit import NewEntry, ScopeWriter

if TYPE_CHECKING:
    from pamctl.service.store import Store


def make_scope(store: Store, request: Mapping[str, Any]) -> None:
    """Make a scope unless it is there. Its ledger begins with what binds it to this store
    and with its policy, in one transaction."""
    scope_id, now = request["scope_id"], store.sources.now()
    kind = request.get("scope_kind", scope_id.partition(":")[0])
    scope: dict[str, Any] = {"scope_id": scope_id, "scope_kind": kind}
    if "parent_scope_id" in request:
        scope["parent_scope_id"] = request["parent_scope_id"]
    first = NewEntry("scope", {**scope, "store_id": store.store_id, "created_at": now})
    policy = request.get("policy", default_policy())
    governed = {"policy": policy, "actor": request["actor"], "recorded_at": now}
    store.directory.create_scope(scope, [[first, NewEntry("policy", governed)]])


def show_scope(store: Store, scope_id: str) -> dict[str, Any]:
    """A scope's document with the policy in force."""
    for document in store.directory.scopes():
        if document["scope_id"] == scope_id:
            return {**document, "policy": store.open_scope(scope_id, fresh=True).policy()}
    raise ScopeNotFound(f"there is no scope {scope_id}")


def set_policy(store: Store, request: Mapping[str, Any]) -> dict[str, Any]:
    """Put a policy in force. It is an entry of the ledger, so every policy that ever was in
    force stays readable, with who set it and when."""
    check("policy", request["policy"])
    scope = store.open_scope(request["scope_id"])
    actor_id = request["actor"]["actor_id"]
    with ScopeWriter(scope.layout, store.layout.quarantine) as writer:
        base = scope.refresh()
        store.notices.extend(writer.recover(base))
        require_access(scope.policy(), Action(actor_id, "set_policy"))
        entry = NewEntry(
            "policy",
            {
                "policy": request["policy"],
                "actor": request["actor"],
                "recorded_at": store.sources.now(),
            },
        )
        scope.index.apply(base, writer.commit(base, [[entry]]))
    return show_scope(store, request["scope_id"])


def scope_status(scope: OpenScope, document: Mapping[str, Any]) -> dict[str, Any]:
    """Counts, head and index of one scope."""
    position = scope.refresh()
    return {
        **document,
        **scope.index.counts(),
        "head": position.head,
        "entries": position.entries,
        "ledger_sequence": position.sequence,
        "ledger_bytes": position.offset,
        "index": index_state(scope, position.sequence),
    }


def index_state(scope: OpenScope, sequence: int) -> dict[str, Any]:
    """What an answer owes about the index it came from (PAMSPEC §12)."""
    return {
        "index_id": f"index:{scope.layout.root.name}",
        "fresh": True,
        "ledger_sequence": sequence,
    }
