"""Every operation by its name: the one table that the bindings and the command line use.

Names are those of PAMSPEC §10 and of the coprocess. Adding an operation is a module with a
function, and a line here. A module is imported when its operation is first asked for: a
command that reads must not pay for those that write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.open_store import OpenStore

Request = Mapping[str, Any]


def _in(module: str, name: str) -> Callable[..., Any]:
    """The function `name` of a module of this folder."""
    found: list[Callable[..., Any]] = []

    def call(*given: Any) -> Any:
        if not found:
            found.append(getattr(import_module(f"pamctl.service.{module}"), name))
        return found[0](*given)

    return call


CHANGES: Mapping[str, Callable[[Desk, Request], Change]] = {
    "create": _in("create", "create"),
    "update": _in("update", "update"),
    "transition": _in("transition", "transition"),
    "relate": _in("relate", "relate"),
    "promote": _in("promote", "promote"),
    "redact": _in("redact", "redact"),
    "delete": _in("delete", "delete"),
    "subscribe": _in("subscriptions", "subscribe"),
    "unsubscribe": _in("subscriptions", "unsubscribe"),
    "grant_delegation": _in("grant", "grant_delegation"),
    "check_delegation": _in("delegations", "check_delegation"),
    "revoke_delegation": _in("delegations", "revoke_delegation"),
    "snapshot_create": _in("snapshots", "snapshot_create"),
    "schema_add": _in("schemas", "schema_add"),
    "space_add": _in("spaces", "space_add"),
    "checkpoint_record": _in("checkpoints", "record_checkpoint"),
    "scope_policy": _in("scopes", "put_policy"),
}
"""What changes one scope. Worked out at a desk while the scope's lock is held; any number
of them commit together, and an idempotency key makes each happen once."""

OTHERS: Mapping[str, Callable[[OpenStore, Request], Any]] = {
    "read": _in("read", "read"),
    "history": _in("history", "history"),
    "log": _in("history", "log"),
    "diff": _in("diff", "diff"),
    "query": _in("query", "query"),
    "poll_subscription": _in("delivery", "poll_subscription"),
    "acknowledge_subscription": _in("delivery", "acknowledge_subscription"),
    "close_subscription": _in("subscriptions", "close_subscription"),
    "list_subscriptions": _in("subscriptions", "list_subscriptions"),
    "list_delegations": _in("delegations", "list_delegations"),
    "expire": _in("expire", "expire"),
    "snapshot_list": _in("snapshots", "snapshot_list"),
    "snapshot_show": _in("snapshots", "snapshot_show"),
    "snapshot_diff": _in("snapshots", "snapshot_diff"),
    "schema_list": _in("schemas", "schema_list"),
    "schema_show": _in("schemas", "schema_show"),
    "space_list": _in("spaces", "space_list"),
    "space_show": _in("spaces", "space_show"),
    "embedding_put": _in("embeddings", "embedding_put"),
    "embedding_delete": _in("embeddings", "embedding_delete"),
    "embedding_status": _in("embeddings", "embedding_status"),
    "embedding_export": _in("embeddings", "embedding_export"),
    "embedding_pending": _in("embedding_texts", "embedding_pending"),
    "embedding_generate": _in("embedding_texts", "embedding_generate"),
    "export": _in("departure", "depart"),
    "import": _in("intake", "admit_import"),
    "scope_create": _in("scopes", "create_scope"),
    "scope_list": _in("scopes", "list_scopes"),
    "scope_show": _in("scopes", "show_scope"),
    "scope_policy_test": _in("scopes", "explain_access"),
    "status": _in("scopes", "show_store"),
}
"""What reads, and what is about a store or a scope as a whole."""
