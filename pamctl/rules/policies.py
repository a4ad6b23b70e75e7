"""The policy document beyond its access rules: whether it is coherent, and what it grants
between scopes. PAMSPEC §7.5, §15.3, §15.7."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from pamctl.errors import InvalidRequest, PolicyDenied
from pamctl.named_tuples import NamedTuple

CROSS_SCOPE_RULE = "cross_scope_policy_required"
"""What an operation across scopes is refused by, where no rule of a policy grants it."""

_RULE_LISTS = ("rules", "cross_scope", "retention")


class Crossing(NamedTuple):
    """The rules that let an operation cross from one scope into another."""

    rule_here: str
    rule_there: str


def decide_cross_scope(
    policy_here: Mapping[str, Any],
    policy_there: Mapping[str, Any] | None,
    *,
    scope_here: str,
    scope_there: str,
    actor_id: str,
    operation: str,
) -> Crossing:
    """Whether an operation of a scope may reach into another. PAMSPEC §7.5, §15.7.

    Both policies must grant it in `cross_scope`: this scope's outwards to that one, that
    scope's inwards from this one. policy_there: None for a scope that is not there. This is
    besides the authority over what is there, never instead of it.

    Raises PolicyDenied in the same words whichever grant is missing, so that nobody learns
    what the other scope's policy says, or that it is there.
    """
    asked = (actor_id, operation)
    rule_here = _granting(policy_here, "out", scope_there, *asked)
    rule_there = _granting(policy_there or {}, "in", scope_here, *asked)
    if rule_here is None or rule_there is None:
        raise PolicyDenied(
            f"no policy permits {actor_id} to {operation} from {scope_here} to {scope_there}",
            hint="both scopes have to grant it, under cross_scope in their policies",
            policy_rule_id=CROSS_SCOPE_RULE,
        )
    return Crossing(rule_here, rule_there)


def inward_grants(policy: Mapping[str, Any], scope_id: str) -> bool:
    """Whether a policy lets anything at all in from a scope."""
    return any(
        rule["direction"] == "in" and _any_matches(rule["scopes"], scope_id)
        for rule in policy.get("cross_scope", ())
    )


def require_coherent(policy: Mapping[str, Any]) -> None:
    """Refuse a well-formed policy in which a rule id names two rules: a decision could then
    not be explained. Raises InvalidRequest.

    `overrides` may share ids: a grant of several transitions is several entries.
    """
    seen: set[str] = set()
    for member in _RULE_LISTS:
        for place, rule in enumerate(policy.get(member, ())):
            rule_id = rule["rule_id"]
            if rule_id in seen:
                raise InvalidRequest(
                    f"the policy has two rules called {rule_id}",
                    hint="a decision names its rule, so each needs a name of its own",
                    pointer=f"/policy/{member}/{place}/rule_id",
                )
            seen.add(rule_id)


def _granting(
    policy: Mapping[str, Any], direction: str, scope_id: str, actor_id: str, operation: str
) -> str | None:
    for rule in policy.get("cross_scope", ()):
        if (
            rule["direction"] == direction
            and operation in rule["operations"]
            and _any_matches(rule["scopes"], scope_id)
            and _any_matches(rule.get("actors", ("*",)), actor_id)
        ):
            return str(rule["rule_id"])
    return None


def _any_matches(patterns: Any, identifier: str) -> bool:
    return any(fnmatchcase(identifier, pattern) for pattern in patterns)
