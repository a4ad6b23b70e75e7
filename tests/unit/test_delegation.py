"""Delegations granted, checked, revoked and listed. PAMSPEC §15.4, §18.2."""

from __future__ import annotations

from typing import Any

import pytest

import pamctl
from pamctl.model.documents import check as check_document
from pamctl.rules.delegation import DELEGATION_RULE
from pamctl.service.store import Store
from tests.authority import (
    AGENT,
    BEGIN,
    END,
    EXERCISED,
    OTHER_AGENT,
    OWNER,
    SCOPE,
    check,
    denial,
    events,
    govern,
    grant,
    listed,
    policy,
    refusal,
    remember,
    rule,
    terms,
    under,
)

LATER = "2029-01-01T00:00:00Z"


class TestGrant:
    def test_answers_a_delegation_object_of_its_own(self, store: Store) -> None:
        result = store.delegations.grant(
            **terms(
                "read",
                "update",
                granted_object_types=["claim"],
                granted_object_ids=["mem:1"],
                usage_limit=3,
                revocable=False,
                not_before="2025-01-01T02:00:00+02:00",
            )
        )
        envelope = result["envelope"]
        check_document("delegation", envelope)
        assert envelope["delegation_id"] == result["delegation_id"]
        assert envelope["not_before"] == BEGIN
        assert (envelope["sequence"], envelope["scope_id"]) == (1, SCOPE)
        assert (envelope["usage_limit"], envelope["revocable"]) == (3, False)
        assert envelope["granting_actor"] == envelope["actor"] == OWNER
        (event,) = events(store)
        assert (event["event_type"], event["object_id"], event["version_id"]) == (
            "delegation_granted",
            result["delegation_id"],
            result["version_id"],
        )
        history = store.history(scope_id=SCOPE, object_id=result["delegation_id"])
        assert history["items"] == [envelope]

    def test_survives_the_process(self, store: Store) -> None:
        made = grant(store, "read", usage_limit=1)
        check(store, made, "read")
        again = pamctl.open_store(store.path, clock=store.sources.clock)
        denial(lambda: check(again, made, "read"))

    def test_begins_at_once_unless_it_says_when(self, store: Store) -> None:
        request = terms("read")
        del request["not_before"]
        envelope = store.delegations.grant(**request)["envelope"]
        assert envelope["not_before"] == envelope["committed_at"]

    def test_with_a_key_happens_once(self, store: Store) -> None:
        first = store.delegations.grant(**terms("read"), idempotency_key="k")
        second = store.delegations.grant(**terms("read"), idempotency_key="k")
        assert second == {**first, "replayed": True}
        assert len(events(store)) == 1

    def test_is_refused_for_a_window_that_ends_before_it_begins(self, store: Store) -> None:
        refused = refusal(lambda: grant(store, "read", not_before=END, not_after=BEGIN))
        assert refused["code"] == "policy_denied"
        assert refused["policy_rule_id"] == "delegation_window_inverted"
        assert events(store) == []

    def test_is_its_grantors_own_act(self, store: Store) -> None:
        denial(lambda: grant(store, "read", actor=AGENT))
        assert [event["event_type"] for event in events(store)] == ["access_denied"]

    def test_cannot_hand_out_authority_itself(self, store: Store) -> None:
        for operation in ("set_policy", "grant_delegation", "everything"):
            refused = refusal(lambda name=operation: grant(store, name))
            assert refused["code"] == "invalid_object"

    @pytest.mark.parametrize(
        ("document", "granted", "allowed"),
        [
            (policy(rule(operations=["delete"])), terms("read", "delete"), False),
            (policy(rule(operations=["delete"])), terms("read"), True),
            (policy(rule(object_types=["decision"])), terms("read"), False),
            (
                policy(rule(object_types=["decision"])),
                terms("read", granted_object_types=["claim", "decision"]),
                False,
            ),
            (
                policy(rule(object_types=["decision"])),
                terms("read", granted_object_types=["claim"]),
                True,
            ),
            (policy(rule(target_states=["archived"])), terms("transition"), False),
            (policy(rule(target_states=["archived"])), terms("read"), True),
            (policy(rule(operations=["grant_delegation"])), terms("read"), False),
        ],
    )
    def test_is_of_what_its_grantor_holds(
        self, store: Store, document: Any, granted: Any, allowed: bool
    ) -> None:
        govern(store, document)
        if allowed:
            assert store.delegations.grant(**granted)
        else:
            refused = denial(lambda: store.delegations.grant(**granted))
            assert refused["policy_rule_id"] == "rule:deny"

    def test_may_be_of_objects_whose_types_he_holds(self, store: Store) -> None:
        claim, decision = remember(store), remember(store, object_type="decision")
        govern(store, policy(rule(object_types=["decision"])))
        assert grant(store, "read", granted_object_ids=[claim["object_id"]])
        for object_id in (decision["object_id"], "mem:never"):
            denial(lambda name=object_id: grant(store, "read", granted_object_ids=[name]))


class TestCheck:
    def test_answers_the_delegation_and_counts(self, store: Store) -> None:
        delegation = grant(store, "read", usage_limit=2)
        assert check(store, delegation, "read")["delegation_id"] == delegation
        assert check(store, delegation, "read", object_id="mem:any")
        refused = denial(lambda: check(store, delegation, "read"))
        assert refused["policy_rule_id"] == DELEGATION_RULE
        assert len(events(store, EXERCISED)) == 2
        assert events(store, EXERCISED)[0]["actor"] == AGENT

    def test_with_a_key_counts_once(self, store: Store) -> None:
        delegation = grant(store, "read", usage_limit=1)
        request = {
            "scope_id": SCOPE,
            "delegation_id": delegation,
            "delegated_actor_id": AGENT["actor_id"],
            "operation": "read",
            "idempotency_key": "k",
        }
        first = store.delegations.check(**request)
        assert store.delegations.check(**request) == {**first, "replayed": True}
        assert len(events(store, EXERCISED)) == 1

    def test_refuses_in_the_same_words_whatever_the_reason(self, store: Store) -> None:
        remember(store, object_id="mem:decision", object_type="decision")
        limits = {"granted_object_ids": ["mem:1"], "granted_object_types": ["claim"]}
        working = grant(store, "read", **limits)
        revoked = grant(store, "read")
        store.delegations.revoke(scope_id=SCOPE, delegation_id=revoked, actor=OWNER)
        exhausted = grant(store, "read", usage_limit=1)
        check(store, exhausted, "read")
        aimed = {"object_id": "mem:1", "object_type": "claim"}
        assert check(store, working, "read", **aimed)
        answers = [
            denial(lambda asked=asked: check(store, *asked[0], "read", **asked[1]))
            for asked in (
                (("del:never",), {}),
                ((revoked,), {}),
                ((exhausted,), {}),
                ((grant(store, "read", not_before="2029-01-01T00:00:00Z"),), {}),
                ((grant(store, "read", not_after="2025-06-01T00:00:00Z"),), {}),
                ((grant(store, "query"),), {}),
                ((grant(store, "read", delegated_actor=OTHER_AGENT),), {}),
                ((working,), {}),
                ((working,), {"object_id": "mem:2", "object_type": "claim"}),
                ((working,), {"object_id": "mem:1", "object_type": "decision"}),
                ((working,), {"object_id": "mem:1"}),
                ((working,), {"object_type": "claim"}),
                ((working,), {"object_id": "mem:decision", "object_type": "claim"}),
                ((working,), {**aimed, "scope_id": "workspace:never"}),
            )
        ]
        assert [answer for answer in answers if answer != answers[0]] == []
        assert answers[0]["details"] == {"operation": "read"}

    def test_makes_no_scope(self, store: Store) -> None:
        denial(lambda: check(store, "del:1", "read", scope_id="workspace:never"))
        assert len(store.scope_list()["items"]) == 1

    def test_by_somebody_else_takes_the_policys_leave(self, store: Store) -> None:
        delegation = grant(store, "read")
        assert check(store, delegation, "read", actor=OTHER_AGENT)
        govern(store, policy(rule("deny", "rule:no-spies", operations=["check_delegation"])))
        refused = denial(lambda: check(store, delegation, "read", actor=OTHER_AGENT))
        assert refused["policy_rule_id"] == "rule:no-spies"
        assert check(store, delegation, "read")

    def test_a_search_under_restrictions_is_allowed(self, store: Store) -> None:
        """Its answer is restricted."""
        delegation = grant(store, "query", granted_object_ids=["mem:1"])
        assert check(store, delegation, "query")


class TestRevoke:
    def revoke(self, store: Store, delegation_id: str, **more: Any) -> Any:
        return store.delegations.revoke(
            **{"scope_id": SCOPE, "delegation_id": delegation_id, "actor": OWNER, **more}
        )

    def test_ends_it_at_once_and_keeps_its_history(self, store: Store) -> None:
        delegation = grant(store, "read")
        result = self.revoke(store, delegation, policy_basis="policy:done")
        check_document("delegation", result["envelope"])
        assert result["sequence"] == 2
        assert result["envelope"]["lifecycle_state"] == "archived"
        denial(lambda: check(store, delegation, "read"))
        history = store.history(scope_id=SCOPE, object_id=delegation)["items"]
        assert [version["sequence"] for version in history] == [1, 2]
        event = events(store, "delegation_revoked")[0]
        assert event["version_id"] == result["version_id"]
        assert event["payload"]["policy_basis"] == "policy:done"

    def test_twice_is_told(self, store: Store) -> None:
        delegation = grant(store, "read")
        self.revoke(store, delegation)
        again = refusal(lambda: self.revoke(store, delegation))
        assert again["code"] == "invalid_state_transition"

    def test_is_refused_for_one_that_is_not_revocable(self, store: Store) -> None:
        delegation = grant(store, "read", revocable=False)
        refused = refusal(lambda: self.revoke(store, delegation))
        assert (refused["code"], refused["policy_rule_id"]) == (
            "policy_denied",
            "delegation_not_revocable",
        )
        assert check(store, delegation, "read")

    def test_of_a_version_that_is_gone_is_a_conflict(self, store: Store) -> None:
        delegation = grant(store, "read")
        refused = refusal(lambda: self.revoke(store, delegation, expected_version_id="ver:1"))
        assert refused["code"] == "version_conflict"

    def test_is_for_the_grantor_and_whom_the_policy_lets(self, store: Store) -> None:
        govern(store, policy(rule("deny", "rule:mine", operations=["revoke_delegation"])))
        delegation = grant(store, "read")
        refusals = [
            denial(lambda: self.revoke(store, delegation, actor=OTHER_AGENT)),
            denial(lambda: self.revoke(store, "del:never", actor=OTHER_AGENT)),
        ]
        assert refusals[0] == refusals[1]
        assert refusals[0]["policy_rule_id"] == "rule:mine"
        denial(lambda: self.revoke(store, delegation, actor=under("del:1", OWNER)))
        assert self.revoke(store, delegation)

    def test_of_what_is_not_there(self, store: Store) -> None:
        remember(store, object_id="mem:1")
        for name in ("del:never", "mem:1"):
            refused = refusal(lambda name=name: self.revoke(store, name))
            assert refused["code"] == "object_not_found"
        denial(lambda: self.revoke(store, "del:1", scope_id="workspace:never"))

    def test_takes_its_actor_by_either_name(self, store: Store) -> None:
        delegation = grant(store, "read")
        request = {"scope_id": SCOPE, "delegation_id": delegation}
        missing = refusal(lambda: store.delegations.revoke(**request))
        assert missing["code"] == "invalid_request"
        assert store.delegations.revoke(**request, revoking_actor=OWNER)


class TestList:
    def test_says_what_became_of_each_and_counts_nothing(self, store: Store) -> None:
        limited = grant(store, "read", usage_limit=1)
        check(store, limited, "read")
        revoked = grant(store, "read")
        store.delegations.revoke(scope_id=SCOPE, delegation_id=revoked, actor=OWNER)
        grant(store, "read", not_before=LATER)
        grant(store, "read", not_after="2025-06-01T00:00:00Z")
        grant(store, "read")
        before = store.head(SCOPE)
        items = {item["delegation"]["delegation_id"]: item for item in listed(store)}
        assert [item["reason"] for item in items.values()] == [
            "exhausted",
            "revoked",
            "not_yet",
            "expired",
            None,
        ]
        assert items[limited]["used"] == 1
        assert [item["effective"] for item in items.values()] == [False] * 4 + [True]
        assert len(listed(store, effective=True)) == 1
        assert len(listed(store, effective=False)) == 4
        assert store.head(SCOPE) == before

    def test_in_pages(self, store: Store) -> None:
        made = [grant(store, "read") for _ in range(5)]
        cursor: dict[str, str] = {}
        seen = []
        while True:
            page = store.delegations.list(scope_id=SCOPE, actor=OWNER, limit=2, **cursor)
            seen += [item["delegation"]["delegation_id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert seen == made
        refused = refusal(lambda: listed(store, cursor="x"))
        assert refused["code"] == "invalid_request"

    def test_shows_an_actor_his_own_unless_the_policy_lets_him_see_all(self, store: Store) -> None:
        grant(store, "read")
        grant(store, "read", delegated_actor=OTHER_AGENT)
        assert len(listed(store)) == len(listed(store, actor=AGENT)) == 2
        govern(store, policy(rule(operations=["list_delegations"])))
        assert len(listed(store)) == 2
        (item,) = listed(store, actor=AGENT)
        assert item["delegation"]["delegated_actor"] == AGENT
        assert listed(store, actor={"actor_id": "actor:agent:x", "actor_kind": "agent"}) == []

    def test_by_its_parties(self, store: Store) -> None:
        grant(store, "read")
        assert len(listed(store, granting_actor_id=OWNER["actor_id"])) == 1
        assert listed(store, granting_actor_id=AGENT["actor_id"]) == []
        assert listed(store, delegated_actor_id=OWNER["actor_id"]) == []
        assert listed(store, scope_id="workspace:never") == []
