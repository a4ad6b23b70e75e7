"""Access by a scope's policy: the first rule that matches decides, and the answer names it."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import AccessDenied
from pamctl.rules.authorization import Action, decide_access, default_policy, require_access

SOMEONE = "actor:local:someone"


def policy(*rules: dict[str, Any], default: str = "deny") -> dict[str, Any]:
    return {"policy_version": 1, "default_effect": default, "rules": list(rules)}


def rule(effect: str = "allow", **members: Any) -> dict[str, Any]:
    return {"rule_id": f"rule:{effect}", "effect": effect, **members}


def test_a_new_scope_lets_everyone_do_everything_and_says_so() -> None:
    made = default_policy()
    assert (made["policy_version"], made["default_effect"], made["rules"]) == (1, "allow", [])
    for operation in ("create", "read", "transition", "delete", "set_policy"):
        decision = decide_access(made, Action(SOMEONE, operation))
        assert (decision.allowed, decision.rule_id) == (True, "rule:default")


def test_where_no_rule_matches_the_default_decides() -> None:
    for default, allowed in (("allow", True), ("deny", False)):
        made = policy(rule(actors=["actor:nobody"]), default=default)
        assert decide_access(made, Action(SOMEONE, "read")).allowed is allowed


def test_a_policy_that_states_no_default_denies() -> None:
    assert not decide_access({"policy_version": 1}, Action(SOMEONE, "read")).allowed


ACTION = Action(SOMEONE, "transition", "claim", "lifecycle", "archived")
MATCHING: list[dict[str, Any]] = [
    {},
    {"actors": ["*"]},
    {"actors": ["actor:nobody", "actor:local:*"]},
    {"actors": ["actor:local:some????"[:-1]]},
    {"operations": ["read", "transition"]},
    {"object_types": ["claim"]},
    {"dimensions": ["lifecycle"]},
    {"target_states": ["archived"]},
    {
        "actors": [SOMEONE],
        "operations": ["transition"],
        "object_types": ["claim", "decision"],
        "dimensions": ["lifecycle", "retention"],
        "target_states": ["archived", "active"],
    },
]
MISSING: list[dict[str, Any]] = [
    {"actors": ["actor:agent:*"]},
    {"actors": ["actor:local"]},
    {"actors": []},
    {"actors": ["Actor:local:someone"]},
    {"operations": ["read"]},
    {"operations": []},
    {"object_types": ["decision"]},
    {"dimensions": ["retention"]},
    {"target_states": ["active"]},
    {"actors": [SOMEONE], "operations": ["read"]},
    {"operations": ["transition"], "object_types": ["decision"]},
]


@pytest.mark.parametrize("members", MATCHING, ids=str)
@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_a_rule_that_matches_decides(members: dict[str, Any], effect: str) -> None:
    opposite = "allow" if effect == "deny" else "deny"
    made = policy(rule(effect, **members), rule(opposite), default=opposite)
    decision = decide_access(made, ACTION)
    assert (decision.allowed, decision.rule_id) == (effect == "allow", f"rule:{effect}")


@pytest.mark.parametrize("members", MISSING, ids=str)
@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_a_rule_that_does_not_match_is_passed_over(members: dict[str, Any], effect: str) -> None:
    opposite = "allow" if effect == "deny" else "deny"
    decision = decide_access(policy(rule(effect, **members), default=opposite), ACTION)
    assert (decision.allowed, decision.rule_id) == (opposite == "allow", "rule:default")


def test_the_order_of_rules_is_their_precedence() -> None:
    narrow, wide = rule("deny", object_types=["claim"]), rule("allow", operations=["transition"])
    assert not decide_access(policy(narrow, wide), ACTION).allowed
    assert decide_access(policy(wide, narrow), ACTION).allowed


def test_a_denial_tells_the_rule_and_nothing_of_what_exists() -> None:
    made = policy(rule("deny", operations=["read"]), default="allow")
    with pytest.raises(AccessDenied) as refusal:
        require_access(made, Action(SOMEONE, "read", "claim"))
    envelope = refusal.value.envelope("op:1")
    assert envelope["policy_rule_id"] == "rule:deny"
    assert envelope["details"] == {"operation": "read"}
    assert "claim" not in str(envelope)


def test_what_is_allowed_is_answered_with_its_rule() -> None:
    assert require_access(policy(rule()), ACTION).rule_id == "rule:allow"
