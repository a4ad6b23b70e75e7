"""The pure decisions behind authority: by type, across scopes, about erasure and expiry."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import InvalidRequest, PolicyDenied, RetentionRestriction
from pamctl.rules.authorization import (
    DEFAULT_RULE,
    Action,
    Sight,
    decide_access,
    decide_secrecy,
    decide_sight,
)
from pamctl.rules.policies import (
    CROSS_SCOPE_RULE,
    Crossing,
    decide_cross_scope,
    inward_grants,
    require_coherent,
)
from pamctl.rules.retention import decide_erasure, erases_on_delete, expiry, require_erasure
from tests.authority import policy, rule

WHO = "actor:agent:bot"
READ = Action(WHO, "read", actor_kind="agent")


class TestActorKinds:
    def test_a_rule_may_name_kinds(self) -> None:
        made = policy(rule(actor_kinds=["agent", "tool"]))
        assert not decide_access(made, READ).allowed
        assert decide_access(made, Action(WHO, "read", actor_kind="human")).allowed
        assert decide_access(made, Action(WHO, "read")).allowed

    def test_patterns_and_kinds_must_both_match(self) -> None:
        made = policy(rule(actors=["actor:agent:*"], actor_kinds=["tool"]))
        assert decide_access(made, READ).allowed


class TestSight:
    def test_without_rules_that_name_types_all_types_are_alike(self) -> None:
        assert decide_sight(policy(), READ) == Sight({}, True, DEFAULT_RULE)
        sight = decide_sight(policy(rule()), READ)
        assert sight == Sight({}, False, "rule:deny")
        assert (sight.everything, sight.nothing) == (False, True)

    def test_each_named_type_is_decided(self) -> None:
        made = policy(
            rule("deny", "rule:secret", object_types=["decision"]),
            rule("allow", "rule:open", object_types=["claim", "decision"]),
            default="deny",
        )
        sight = decide_sight(made, READ)
        assert sight.by_type == {"claim": True, "decision": False}
        assert not sight.others
        assert (sight.everything, sight.nothing) == (False, False)
        assert sight.covers("claim")
        assert not sight.covers("decision")
        assert not sight.covers("task")
        assert not sight.covers(None)

    def test_the_type_of_the_action_does_not_matter(self) -> None:
        made = policy(rule(object_types=["decision"]))
        typed = Action(WHO, "read", "decision", actor_kind="agent")
        assert decide_sight(made, typed) == decide_sight(made, READ)

    @pytest.mark.parametrize("denied", [("claim", "decision"), ("decision", "claim")])
    def test_one_rule_explains_every_refusal(self, denied: tuple[str, str]) -> None:
        """Were it the rule that decided, a refusal would tell what the object is."""
        rules = [rule("deny", f"rule:{name}", object_types=[name]) for name in denied]
        assert decide_sight(policy(*rules), READ).rule_id == f"rule:{denied[0]}"

    def test_a_rule_that_refuses_nothing_explains_nothing(self) -> None:
        made = policy(
            rule("allow", "rule:first"),
            rule("deny", "rule:never-reached", object_types=["decision"]),
        )
        sight = decide_sight(made, READ)
        assert sight.everything
        assert sight.rule_id == "rule:first"

    def test_the_default_comes_last(self) -> None:
        made = policy(rule("allow", "rule:open", object_types=["claim"]), default="deny")
        assert decide_sight(made, READ).rule_id == DEFAULT_RULE

    def test_both_of_two_sights_must_cover(self) -> None:
        one = Sight({"claim": True, "task": True}, False, "rule:one")
        other = Sight({"claim": True, "decision": False}, True, "rule:other")
        both = one.and_also(other)
        assert both.by_type == {"claim": True, "task": True, "decision": False}
        assert not both.others
        assert both.rule_id == "rule:one"
        everything = Sight({}, True, "rule:all")
        assert everything.and_also(other).rule_id == "rule:other"

    def test_what_only_the_default_denies_is_no_secret(self) -> None:
        made = policy(rule("deny", "rule:secret", object_types=["decision"]), default="deny")
        secrecy = decide_secrecy(made, READ)
        assert secrecy.by_type == {"decision": False}
        assert secrecy.others
        assert secrecy.rule_id == "rule:secret"


HERE, THERE = "workspace:here", "project:there"
OUT = {"rule_id": "out", "direction": "out", "scopes": ["project:*"], "operations": ["relate"]}
IN = {"rule_id": "in", "direction": "in", "scopes": ["workspace:*"], "operations": ["relate"]}


def cross(here: Any, there: Any, actor_id: str = WHO, operation: str = "relate") -> Crossing:
    return decide_cross_scope(
        here,
        there,
        scope_here=HERE,
        scope_there=THERE,
        actor_id=actor_id,
        operation=operation,
    )


class TestCrossScope:
    def test_it_takes_a_grant_of_both(self) -> None:
        both = cross(policy(cross_scope=[OUT]), policy(cross_scope=[IN]))
        assert both == Crossing("out", "in")

    @pytest.mark.parametrize(
        ("here", "there"),
        [
            ([], []),
            ([OUT], []),
            ([], [IN]),
            ([IN], [OUT]),
            ([{**OUT, "scopes": ["project:other"]}], [IN]),
            ([OUT], [{**IN, "scopes": ["workspace:other"]}]),
            ([{**OUT, "operations": ["read"]}], [IN]),
            ([OUT], [{**IN, "operations": ["read"]}]),
            ([{**OUT, "actors": ["actor:human:*"]}], [IN]),
            ([OUT], [{**IN, "actors": ["actor:human:*"]}]),
        ],
    )
    def test_whichever_is_missing_the_refusal_is_the_same(self, here: Any, there: Any) -> None:
        refusals = set()
        for other in (policy(cross_scope=there), None):
            with pytest.raises(PolicyDenied) as refused:
                cross(policy(cross_scope=here), other)
            refusals.add(repr(refused.value.envelope("op:1")))
        with pytest.raises(PolicyDenied) as refused:
            cross(policy(), policy())
        refusals.add(repr(refused.value.envelope("op:1")))
        assert len(refusals) == 1
        assert refused.value.policy_rule_id == CROSS_SCOPE_RULE

    def test_a_grant_may_name_actors(self) -> None:
        named = {**OUT, "actors": ["actor:agent:*"]}
        assert cross(policy(cross_scope=[named]), policy(cross_scope=[IN])).rule_here == "out"

    def test_inward_grants(self) -> None:
        made = policy(cross_scope=[OUT, IN])
        assert inward_grants(made, HERE)
        assert not inward_grants(made, THERE)
        assert not inward_grants(policy(), HERE)


class TestRetention:
    def test_what_no_rule_says_the_default_decides(self) -> None:
        for default, allowed in (("allow", True), ("deny", False)):
            decision = decide_erasure(policy(default=default), actor_id=WHO, object_type="claim")
            assert (decision.allowed, decision.rule_id) == (allowed, DEFAULT_RULE)
        assert expiry(policy(), "claim") is None
        assert erases_on_delete(policy(), actor_id=WHO, object_type="claim") is None

    def test_the_first_rule_that_answers_decides(self) -> None:
        made = policy(
            retention=[
                {"rule_id": "r:expiry", "object_types": ["observation"], "expires_after_sec": 60},
                {"rule_id": "r:agents", "actors": ["actor:agent:*"], "may_erase": False},
                {"rule_id": "r:all", "may_erase": True, "erase_on_delete": True},
                {"rule_id": "r:late", "expires_after_sec": 3600},
            ]
        )
        assert expiry(made, "observation") == (60, "r:expiry")
        assert expiry(made, "claim") == (3600, "r:late")
        refused = decide_erasure(made, actor_id=WHO, object_type="claim")
        assert (refused.allowed, refused.rule_id) == (False, "r:agents")
        allowed = decide_erasure(made, actor_id="actor:human:ada", object_type="claim")
        assert (allowed.allowed, allowed.rule_id) == (True, "r:all")
        assert erases_on_delete(made, actor_id=WHO, object_type="claim") == "r:all"

    def test_a_rule_may_say_that_deleting_does_not_erase(self) -> None:
        made = policy(
            retention=[
                {"rule_id": "r:claims", "object_types": ["claim"], "erase_on_delete": False},
                {"rule_id": "r:all", "erase_on_delete": True},
            ]
        )
        assert erases_on_delete(made, actor_id=WHO, object_type="claim") is None
        assert erases_on_delete(made, actor_id=WHO, object_type="task") == "r:all"

    def test_a_refusal_names_the_rule(self) -> None:
        made = policy(retention=[{"rule_id": "r:never", "may_erase": False}])
        with pytest.raises(RetentionRestriction) as refused:
            require_erasure(made, actor_id=WHO, object_type="claim")
        assert refused.value.policy_rule_id == "r:never"
        assert require_erasure(policy(), actor_id=WHO, object_type="claim").allowed


class TestCoherence:
    def test_two_rules_may_not_bear_one_name(self) -> None:
        made = policy(rule("deny", "r:1"), cross_scope=[{**OUT, "rule_id": "r:1"}])
        with pytest.raises(InvalidRequest, match="r:1") as refused:
            require_coherent(made)
        assert refused.value.details["pointer"] == "/policy/cross_scope/0/rule_id"

    def test_overrides_may(self) -> None:
        override = {"rule_id": "r:1", "dimension": "lifecycle", "from": ["archived"]}
        require_coherent(policy(rule("deny", "r:1"), overrides=[override, override]))
