"""What tests of authority share: actors, policies, and a scope that some of them work in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pamctl.errors import AccessDenied, PamError
from pamctl.service.store import Store

Json = dict[str, Any]

SCOPE = "workspace:default"
OWNER: Mapping[str, Any] = {"actor_id": "actor:human:ada", "actor_kind": "human"}
AGENT: Mapping[str, Any] = {"actor_id": "actor:agent:bot", "actor_kind": "agent"}
OTHER_AGENT: Mapping[str, Any] = {"actor_id": "actor:agent:other", "actor_kind": "agent"}
SEEN: Mapping[str, Any] = {"activity": "observed"}
EXERCISED = "delegation_exercised"
BEGIN, END = "2025-01-01T00:00:00Z", "2030-01-01T00:00:00Z"
"""A window that the fixed clock of the tests is within."""


def rule(effect: str = "deny", rule_id: str | None = None, **members: Any) -> Json:
    return {"rule_id": rule_id or f"rule:{effect}", "effect": effect, **members}


def policy(*rules: Mapping[str, Any], default: str = "allow", **members: Any) -> Json:
    return {"policy_version": 1, "default_effect": default, "rules": list(rules), **members}


NO_AGENTS = policy(rule(rule_id="rule:no-agents", actors=["actor:agent:*"]))
"""Agents may do nothing, everybody else everything."""


def govern(store: Store, document: Mapping[str, Any], scope_id: str = SCOPE) -> None:
    """Put a policy in force, as the owner."""
    store.scope_policy(scope_id=scope_id, actor=OWNER, policy=document)


def remember(store: Store, content: Any = "tea", **more: Any) -> Json:
    """Create a claim as the owner; the envelope."""
    given = {"scope_id": SCOPE, "object_type": "claim", "actor": OWNER, "provenance": SEEN}
    envelope: Json = store.create(**{**given, "canonical_content": content, **more})["envelope"]
    return envelope


def on(envelope: Mapping[str, Any], actor: Mapping[str, Any], **more: Any) -> Json:
    """Arguments of a change of the version that an envelope is."""
    return {
        "scope_id": envelope["scope_id"],
        "object_id": envelope["object_id"],
        "expected_version_id": envelope["version_id"],
        "actor": actor,
        **more,
    }


def grant(store: Store, *operations: str, **more: Any) -> str:
    """Delegate from the owner to the agent; the delegation's id."""
    result = store.delegations.grant(**{**terms(*operations), **more})
    return str(result["delegation_id"])


def terms(*operations: str, **more: Any) -> Json:
    """Arguments of a grant from the owner to the agent."""
    return {
        "scope_id": SCOPE,
        "granting_actor": OWNER,
        "delegated_actor": AGENT,
        "granted_operations": list(operations),
        "policy_basis": "policy:test",
        "not_before": BEGIN,
        "not_after": END,
        **more,
    }


def listed(store: Store, **more: Any) -> list[Json]:
    """The delegations that the owner is shown."""
    asked = {"scope_id": SCOPE, "actor": OWNER, **more}
    items: list[Json] = store.delegations.list(**asked)["items"]
    return items


def under(delegation_id: str, actor: Mapping[str, Any] = AGENT) -> Json:
    """An actor who acts under a delegation."""
    return {**actor, "delegation_id": delegation_id}


def check(store: Store, delegation_id: str, operation: str, **more: Any) -> Json:
    """Check a delegation for the agent; the delegation."""
    asked = {
        "scope_id": SCOPE,
        "delegation_id": delegation_id,
        "delegated_actor_id": AGENT["actor_id"],
        "operation": operation,
        **more,
    }
    envelope: Json = store.delegations.check(**asked)["envelope"]
    return envelope


def events(store: Store, *classes: str, scope_id: str = SCOPE) -> list[Json]:
    """The events of a scope, of some classes."""
    found: list[Json] = store.log(scope_id=scope_id)["items"]
    return [event for event in found if not classes or event["event_type"] in classes]


def refusal(act: Callable[[], Any]) -> Json:
    """The error envelope that something ends with."""
    try:
        answer = act()
    except PamError as error:
        return error.envelope("op:test")
    raise AssertionError(f"it was not refused: {answer}")


def denial(act: Callable[[], Any]) -> Json:
    """As `refusal`, for what is denied."""
    envelope = refusal(act)
    assert envelope["code"] == AccessDenied.code, envelope
    return envelope
