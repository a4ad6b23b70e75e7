"""Who may do what in a scope: the scope's policy document, evaluated. PAMSPEC §7.5, §15.3.

The first rule that matches decides; where none does, the policy's default effect does. The
answer names the rule, so that a denial can be explained without showing anything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pamctl.errors import AccessDenied
from pamctl.rules.transitions import default_overrides

DEFAULT_RULE = "rule:default"
DEFAULT_POLICY_BASIS = "policy:default"


@dataclass(frozen=True, slots=True)
class Action:
    """What an actor asks for, as far as a policy can see it."""

    actor_id: str
    operation: str
    object_type: str | None = None
    dimension: str | None = None
    target_state: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an action may happen, and the rule that said so."""

    allowed: bool
    rule_id: str


def default_policy() -> dict[str, Any]:
    """The policy of a new scope: whoever can use the files may do everything the draft allows.

    A tool over files cannot hold back a person who may write those files, and does not
    pretend to; a scope that several actors share states its own rules.
    """
    return {
        "policy_version": 1,
        "default_effect": "allow",
        "default_policy_basis": DEFAULT_POLICY_BASIS,
        "rules": [],
        "overrides": default_overrides(),
    }


def decide_access(policy: Mapping[str, Any], action: Action) -> Decision:
    """Evaluate a policy over one action."""
    for rule in policy.get("rules", ()):
        if _matches(rule, action):
            return Decision(rule["effect"] == "allow", str(rule["rule_id"]))
    return Decision(policy.get("default_effect") == "allow", DEFAULT_RULE)


def require_access(policy: Mapping[str, Any], action: Action) -> Decision:
    """As `decide_access`. Raises AccessDenied, which tells the rule and nothing of what exists."""
    decision = decide_access(policy, action)
    if not decision.allowed:
        raise AccessDenied(
            f"{action.actor_id} may not {action.operation} here",
            policy_rule_id=decision.rule_id,
            operation=action.operation,
        )
    return decision


def _matches(rule: Mapping[str, Any], action: Action) -> bool:
    return (
        any(fnmatchcase(action.actor_id, pattern) for pattern in rule.get("actors", ("*",)))
        and _names(rule, "operations", action.operation)
        and _names(rule, "object_types", action.object_type)
        and _names(rule, "dimensions", action.dimension)
        and _names(rule, "target_states", action.target_state)
    )


def _names(rule: Mapping[str, Any], member: str, value: str | None) -> bool:
    """A rule without the member matches all; one with it, only the values it names."""
    return member not in rule or value in rule[member]
