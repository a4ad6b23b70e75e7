"""Scopes: made, listed, shown, and governed by a policy document. PAMSPEC §7.5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest, ScopeNotFound
from pamctl.model.documents import check
from pamctl.model.vocabulary import OPERATIONS
from pamctl.rules.authorization import Action, decide_access, decide_sight, default_policy
from pamctl.rules.policies import require_coherent
from pamctl.service.authority import require
from pamctl.service.open_scope import OpenScope

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.open_store import OpenStore
    from pamctl.store.commit import NewEntry

OWNER: Mapping[str, Any] = {"actor_id": "actor:local:owner", "actor_kind": "human"}
"""Who made a scope when nobody said."""

_ASKED = ("object_type", "dimension", "target_state")


def make_scope(store: OpenStore, request: Mapping[str, Any]) -> None:
    """Make a scope unless it is there. Its ledger begins with what binds it to this store
    and with its policy, in one transaction."""
    if store.evaluation is not None:
        store.evaluation.require_inside(request["scope_id"])
    scope, beginning = founded(store, request)
    store.directory.create_scope(scope, [beginning])


def founded(store: OpenStore, request: Mapping[str, Any]) -> tuple[dict[str, Any], list[NewEntry]]:
    """A new scope's document, and the first transaction of its ledger."""
    from pamctl.store.commit import NewEntry

    scope_id, now = request["scope_id"], store.sources.now()
    kind = request.get("scope_kind", scope_id.partition(":")[0])
    scope: dict[str, Any] = {"scope_id": scope_id, "scope_kind": kind}
    if "parent_scope_id" in request:
        scope["parent_scope_id"] = request["parent_scope_id"]
    first = NewEntry("scope", {**scope, "store_id": store.store_id, "created_at": now})
    policy = request.get("policy", default_policy())
    governed = {"policy": policy, "actor": request.get("actor", OWNER), "recorded_at": now}
    return scope, [first, NewEntry("policy", governed)]


def create_scope(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """Make a scope, unless it is there, and show it."""
    check("requests/scope_create", request)
    make_scope(store, request)
    return show_scope(store, request)


def list_scopes(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """Every scope of the store, by scope id."""
    return {"items": sorted(store.directory.scopes(), key=lambda scope: str(scope["scope_id"]))}


def show_scope(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """A scope's document with the policy in force."""
    scope_id = request["scope_id"]
    for document in store.directory.scopes():
        if document["scope_id"] == scope_id:
            return {**document, "policy": store.open_scope(scope_id, fresh=True).policy()}
    raise ScopeNotFound(f"there is no scope {scope_id}")


def put_policy(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a policy. It is an entry of the ledger, so every policy that ever was in force
    stays readable, with who set it and when; from here on it decides."""
    from pamctl.service.desk import Change
    from pamctl.store.commit import NewEntry

    policy = request["policy"]
    require(desk.policy, request, "set_policy", object_type=None)
    require_coherent(policy)
    body = {"policy": policy, "actor": request["actor"], "recorded_at": desk.sources.now()}
    desk.policy = policy
    result = {
        "operation_id": request["operation_id"],
        "policy": policy,
        "replayed": False,
        "scope_id": desk.scope_id,
    }
    return Change([NewEntry("policy", body)], result)


def explain_access(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """What a policy decides about an actor and an operation, and by which rule; nothing is
    done and nothing recorded.

    The policy is the scope's own, or one that is given to be tried out. Where it decides by
    the type of the object and the request names none, `allowed` is for objects of every
    type, and `object_types` tells which are and are not.
    """
    policy = request.get("policy")
    if policy is None:
        policy = show_scope(store, request)["policy"]
    actor, operation = request["actor"], request["operation"]
    if "delegation_id" in actor:
        raise InvalidRequest(
            "this explains what an actor may do by its own authority",
            hint="`pamctl delegate list` shows what was delegated, and whether it is in force",
            pointer="/actor/delegation_id",
        )
    asked = {name: request[name] for name in _ASKED if name in request}
    action = Action(actor["actor_id"], operation, actor_kind=actor["actor_kind"], **asked)
    decision = decide_access(policy, action)
    answer = {
        "actor_id": actor["actor_id"],
        "allowed": decision.allowed,
        "operation": operation,
        "policy_rule_id": decision.rule_id,
        "scope_id": request["scope_id"],
        **asked,
    }
    sight = decide_sight(policy, action)
    if "object_type" not in asked and operation in OPERATIONS and sight.by_type:
        names = sight.by_type
        answer |= {
            "allowed": sight.everything,
            "policy_rule_id": sight.rule_id,
            "object_types": {
                "allowed": [name for name in names if names[name]],
                "refused": [name for name in names if not names[name]],
                "others": sight.others,
            },
        }
    return answer


def show_store(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """The store, and each scope's counts, head and index."""
    return {
        "store_id": store.store_id,
        "path": str(store.path),
        "format_version": store.config["format_version"],
        "default_scope": store.default_scope,
        "scopes": [
            scope_status(store.open_scope(scope["scope_id"]), scope)
            for scope in list_scopes(store, request)["items"]
        ],
    }


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
