"""Delegations: granted, exercised, passed on, checked, revoked, listed. PAMSPEC §15.4, §18.2."""

from __future__ import annotations

from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.limits import DELEGATION_CHAIN_MAX
from pamctl.model.documents import check as check_document
from pamctl.rules.delegation import DELEGATION_RULE
from pamctl.service.store import Store
from tests.authority import (
    AGENT,
    BEGIN,
    END,
    NO_AGENTS,
    OTHER_AGENT,
    OWNER,
    SCOPE,
    SEEN,
    check,
    denial,
    events,
    govern,
    grant,
    on,
    policy,
    refusal,
    remember,
    rule,
    terms,
    under,
)

THERE = "project:there"
EXERCISED = "delegation_exercised"
LATER = "2029-01-01T00:00:00Z"


def listed(store: Store, **more: Any) -> list[Any]:
    items: list[Any] = store.delegations.list(**{"scope_id": SCOPE, "actor": OWNER, **more})[
        "items"
    ]
    return items


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


class TestExercise:
    @pytest.fixture
    def made(self, store: Store) -> Any:
        """A claim in a scope where agents may do nothing by themselves."""
        made = remember(store)
        govern(store, NO_AGENTS)
        return made

    def test_of_a_change_is_in_its_transaction_and_its_provenance(
        self, store: Store, made: Any
    ) -> None:
        delegation = grant(store, "create", "update", "transition", "delete")
        actor = under(delegation)
        created = remember(store, "new", actor=actor)
        assert created["provenance"]["actor"] == actor
        change = on(made, actor, provenance=SEEN, canonical_content="more")
        updated = store.update(**change)
        assert updated["envelope"]["provenance"]["actor"] == actor
        happened = events(store)[-4:]
        assert [event["event_type"] for event in happened] == [
            "object_created",
            EXERCISED,
            "object_updated",
            EXERCISED,
        ]
        assert happened[2]["operation_id"] == happened[3]["operation_id"]
        assert happened[3]["object_id"] == delegation
        assert happened[3]["payload"] == {"operation": "update", "object_id": made["object_id"]}
        for event in happened:
            check_document("event", event)
        scope = store.open_scope(SCOPE, fresh=True)
        places = scope.index.events(happened[1]["sequence"])
        assert len({scope.entry(place)["tx"] for place in places}) == 1

    def test_is_named_by_provenance_that_is_somebody_elses(self, store: Store, made: Any) -> None:
        """Whoever is quoted did not act under it."""
        delegation = grant(store, "create")
        created = remember(
            store, actor=under(delegation), provenance={**SEEN, "actor": dict(OWNER)}
        )
        assert created["provenance"]["actor"] == OWNER
        assert created["provenance"]["evidence_refs"] == [delegation]

    def test_is_named_by_provenance_that_is_carried_over(self, store: Store, made: Any) -> None:
        delegation = grant(store, "transition")
        move = {"dimension": "validation", "target_state": "corroborated"}
        first = store.transition(**on(made, under(delegation), **move))["envelope"]
        move["target_state"] = "disputed"
        second = store.transition(**on(first, under(delegation), **move))["envelope"]
        for envelope in (first, second):
            assert envelope["actor"]["delegation_id"] == delegation
            assert envelope["provenance"]["evidence_refs"] == [delegation]
            origin = {**envelope["provenance"]}
            del origin["evidence_refs"]
            assert origin == made["provenance"]

    def test_of_a_read_and_a_query(self, store: Store, made: Any) -> None:
        delegation = grant(store, "read", "query", "inspect_history")
        asked = {"scope_id": SCOPE, "actor": under(delegation)}
        assert store.read(**asked, object_id=made["object_id"]) == made
        assert len(store.query(**asked, any_state=True)["items"]) == 1
        assert len(store.history(**asked, object_id=made["object_id"])["items"]) == 1
        assert store.log(**asked)["items"]
        assert [event["payload"]["operation"] for event in events(store, EXERCISED)] == [
            "read",
            "query",
            "inspect_history",
            "inspect_history",
        ]

    def test_shows_nothing_before_it_is_on_record(
        self, store: Store, made: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pamctl.store import commit

        delegation = grant(store, "read")

        def full(*given: Any) -> None:
            raise errors.ServiceUnavailable("the disk is full")

        monkeypatch.setattr(commit.files, "append_durably", full)
        refused = refusal(
            lambda: store.read(scope_id=SCOPE, object_id=made["object_id"], actor=under(delegation))
        )
        assert refused["code"] == "service_unavailable"

    def test_is_limited_to_what_was_granted(self, store: Store, made: Any) -> None:
        other = remember(store, object_type="decision")
        delegation = grant(store, "read", "query", "create", granted_object_types=["claim"])
        actor = under(delegation)
        asked = {"scope_id": SCOPE, "actor": actor}
        assert store.read(**asked, object_id=made["object_id"])
        found = store.query(**asked, any_state=True, count=True)
        assert [item["object_id"] for item in found["items"]] == [made["object_id"]]
        assert found["total"] == 1
        refusals = [
            denial(lambda: store.read(**asked, object_id=other["object_id"])),
            denial(lambda: store.read(**asked, object_id="mem:never")),
        ]
        assert refusals[0] == refusals[1]
        assert refusals[0]["policy_rule_id"] == DELEGATION_RULE
        denial(lambda: store.history(**asked, object_id=made["object_id"]))
        denial(lambda: store.delete(**on(made, actor)))
        denial(lambda: remember(store, actor=actor, object_type="decision"))
        assert remember(store, actor=actor)

    def test_is_limited_to_objects(self, store: Store, made: Any) -> None:
        other = remember(store)
        delegation = grant(
            *(store, "read", "query", "create", "inspect_history"),
            granted_object_ids=[made["object_id"], "mem:new"],
        )
        asked = {"scope_id": SCOPE, "actor": under(delegation)}
        assert store.read(**asked, object_id=made["object_id"])
        denial(lambda: store.read(**asked, object_id=other["object_id"]))
        found = store.query(**asked, any_state=True)["items"]
        assert [item["object_id"] for item in found] == [made["object_id"]]
        shown = store.log(**asked)["items"]
        assert {event["object_id"] for event in shown} == {made["object_id"]}
        denial(lambda: remember(store, actor=under(delegation)))
        assert remember(store, actor=under(delegation), object_id="mem:new")

    def test_binds_whoever_names_it(self, store: Store, made: Any) -> None:
        """Who acts for another does so with the other's authority, not with his own too."""
        govern(store, policy())
        delegation = grant(store, "read", usage_limit=1)
        actor = under(delegation)
        assert store.read(scope_id=SCOPE, object_id=made["object_id"], actor=actor)
        denial(lambda: store.read(scope_id=SCOPE, object_id=made["object_id"], actor=actor))
        denial(lambda: store.delete(**on(made, actor)))
        assert store.read(scope_id=SCOPE, object_id=made["object_id"], actor=AGENT)

    def test_a_delegation_of_elsewhere_gives_nothing_and_takes_nothing(
        self, store: Store, made: Any
    ) -> None:
        stranger = under("del:from:elsewhere")
        denial(lambda: store.read(scope_id=SCOPE, object_id=made["object_id"], actor=stranger))
        govern(store, policy())
        assert store.read(scope_id=SCOPE, object_id=made["object_id"], actor=stranger)
        assert remember(store, actor=stranger)["actor"] == stranger
        assert events(store, EXERCISED) == []

    def test_is_its_holders_alone(self, store: Store, made: Any) -> None:
        delegation = grant(store, "read")
        asked = {"scope_id": SCOPE, "object_id": made["object_id"]}
        answers = [
            denial(lambda actor=actor: store.read(**asked, actor=actor))["policy_rule_id"]
            for actor in (under(delegation, OTHER_AGENT), under("del:never"))
        ]
        assert answers == [DELEGATION_RULE] * 2

    def test_ends_when_its_grantor_loses_what_he_granted(self, store: Store, made: Any) -> None:
        delegation = grant(store, "read")
        asked = {"scope_id": SCOPE, "object_id": made["object_id"], "actor": under(delegation)}
        assert store.read(**asked)
        nobody = policy(rule(operations=["read"]))
        govern(store, nobody)
        denial(lambda: store.read(**asked))
        denial(lambda: check(store, delegation, "read"))
        govern(store, NO_AGENTS)
        assert store.read(**asked)

    def test_sets_no_policy(self, store: Store, made: Any) -> None:
        delegation = grant(store, "read", "update")
        denial(lambda: store.scope_policy(scope_id=SCOPE, actor=under(delegation), policy=policy()))

    def test_that_fails_is_no_use(self, store: Store, made: Any) -> None:
        delegation = grant(store, "delete", usage_limit=1)
        actor = under(delegation)
        stale = {**on(made, actor), "expected_version_id": "ver:stale"}
        assert refusal(lambda: store.delete(**stale))["code"] == "version_conflict"
        assert store.delete(**on(made, actor))

    def test_again_with_the_same_key_is_the_same_use(self, store: Store, made: Any) -> None:
        delegation = grant(store, "create", usage_limit=1)
        request = {"actor": under(delegation), "idempotency_key": "k", "object_id": "mem:new"}
        first = remember(store, "new", **request)
        assert remember(store, "new", **request) == first
        assert len(events(store, EXERCISED)) == 1
        denial(lambda: remember(store, "other", **{**request, "object_id": "mem:other"}))

    def test_counts_in_a_group(self, store: Store, made: Any) -> None:
        delegation = grant(store, "create", usage_limit=2)
        request = {
            "scope_id": SCOPE,
            "object_type": "claim",
            "canonical_content": 1,
            "actor": under(delegation),
            "provenance": SEEN,
        }
        with store.group() as group:
            group.perform("create", request)
            group.perform("create", request)
            denial(lambda: group.perform("create", request))
        assert len(events(store, EXERCISED)) == 2
        assert len(events(store, "access_denied")) == 1

    def test_shows_no_content_that_was_not_granted(self, store: Store, made: Any) -> None:
        delegation = grant(store, "transition")
        move = {"dimension": "validation", "target_state": "corroborated"}
        answer = store.transition(**on(made, under(delegation), **move))
        assert answer["envelope"]["canonical_content"] == {"tombstone": True}


class TestChains:
    @pytest.fixture
    def first(self, store: Store) -> str:
        """The agent holds reading and searching of claims, and may pass them on."""
        remember(store, object_id="mem:claim")
        remember(store, object_type="decision", object_id="mem:decision")
        govern(
            store,
            policy(
                rule("allow", "rule:owner", actors=[OWNER["actor_id"]]),
                rule("allow", "rule:pass-on", operations=["grant_delegation"]),
                default="deny",
            ),
        )
        return grant(store, "read", "query", granted_object_types=["claim"], usage_limit=3)

    def passed_on(self, store: Store, first: str, *operations: str, **more: Any) -> str:
        given = {
            "granting_actor": under(first),
            "delegated_actor": OTHER_AGENT,
            "granted_object_types": ["claim"],
        }
        return grant(store, *operations, **{**given, **more})

    def test_what_was_given_may_be_passed_on(self, store: Store, first: str) -> None:
        second = self.passed_on(store, first, "read")
        asked = {"scope_id": SCOPE, "actor": under(second, OTHER_AGENT)}
        assert store.read(**asked, object_id="mem:claim")
        denial(lambda: store.read(**asked, object_id="mem:decision"))
        exercised = events(store, EXERCISED)
        assert [event["object_id"] for event in exercised] == [second, first]

    @pytest.mark.parametrize(
        "wider",
        [
            {"granted_object_types": ["claim", "decision"]},
            {"granted_object_types": None},
            {"not_before": "2024-12-31T23:59:59Z"},
            {"not_after": "2030-01-01T00:00:00.000001Z"},
            {"operations": ["read", "delete"]},
        ],
        ids=str,
    )
    def test_but_no_more_of_it(self, store: Store, first: str, wider: dict[str, Any]) -> None:
        operations = wider.pop("operations", ["read"])
        denial(lambda: self.passed_on(store, first, *operations, **wider))

    def test_nor_by_one_who_was_not_given_it(self, store: Store, first: str) -> None:
        denial(
            lambda: self.passed_on(store, first, "read", granting_actor=under(first, OTHER_AGENT))
        )
        denial(lambda: self.passed_on(store, "del:never", "read", granting_actor=under("del:n")))

    def test_nor_without_naming_where_it_comes_from(self, store: Store, first: str) -> None:
        denial(lambda: self.passed_on(store, first, "read", granting_actor=AGENT))

    def test_a_use_is_a_use_of_all_that_it_rests_on(self, store: Store, first: str) -> None:
        second = self.passed_on(store, first, "read", usage_limit=100)
        asked = {"scope_id": SCOPE, "object_id": "mem:claim"}
        for _ in range(3):
            store.read(**asked, actor=under(second, OTHER_AGENT))
        denial(lambda: store.read(**asked, actor=under(second, OTHER_AGENT)))
        denial(lambda: store.read(**asked, actor=under(first)))
        (item,) = listed(store, delegated_actor_id=OTHER_AGENT["actor_id"])
        assert (item["effective"], item["reason"], item["used"]) == (False, "chain", 3)

    def test_it_ends_with_what_it_rests_on(self, store: Store, first: str) -> None:
        second = self.passed_on(store, first, "read")
        store.delegations.revoke(scope_id=SCOPE, delegation_id=first, actor=OWNER)
        asked = {"scope_id": SCOPE, "object_id": "mem:claim"}
        denial(lambda: store.read(**asked, actor=under(second, OTHER_AGENT)))
        denial(lambda: self.passed_on(store, first, "read"))

    def test_it_passes_through_few_hands(self, store: Store, first: str) -> None:
        actor, last = AGENT, first
        for number in range(2, DELEGATION_CHAIN_MAX + 1):
            following = {"actor_id": f"actor:agent:{number}", "actor_kind": "agent"}
            last = self.passed_on(
                *(store, last, "read"),
                granting_actor=under(last, actor),
                delegated_actor=following,
            )
            actor = following
        denial(lambda: self.passed_on(store, last, "read", granting_actor=under(last, actor)))
        assert store.read(scope_id=SCOPE, object_id="mem:claim", actor=under(last, actor))


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


class TestAcrossScopes:
    def crossing(self, *operations: str) -> tuple[Any, Any]:
        """The two policies that open the way for agents, who may do nothing by themselves."""
        both = {"operations": list(operations), "actors": ["actor:agent:*"]}
        closed = rule("deny", "rule:no-agents", actors=["actor:agent:*"])
        out = {"rule_id": "rule:out", "direction": "out", "scopes": [THERE], **both}
        into = {"rule_id": "rule:in", "direction": "in", "scopes": [SCOPE], **both}
        return policy(closed, cross_scope=[out]), policy(closed, cross_scope=[into])

    @pytest.fixture
    def there(self, store: Store) -> Any:
        remember(store, "here", object_id="mem:here")
        there = remember(store, "there", scope_id=THERE)
        here_policy, there_policy = self.crossing("read", "query")
        govern(store, here_policy)
        govern(store, there_policy, THERE)
        return there

    def test_it_takes_both_policies_to_grant(self, store: Store) -> None:
        remember(store, scope_id=THERE)
        here_policy, there_policy = self.crossing("read")
        granted = {"target_scope_id": THERE}
        refusals = [refusal(lambda: grant(store, "read", **granted))]
        govern(store, here_policy)
        refusals.append(refusal(lambda: grant(store, "read", **granted)))
        refusals.append(refusal(lambda: grant(store, "read", target_scope_id="project:never")))
        govern(store, there_policy, THERE)
        assert grant(store, "read", **granted)
        refusals.append(refusal(lambda: grant(store, "delete", **granted)))
        assert {refused["code"] for refused in refusals} == {"policy_denied"}

    def test_it_holds_there_and_not_here(self, store: Store, there: Any) -> None:
        delegation = grant(store, "read", "query", target_scope_id=THERE)
        actor = under(delegation)
        asked = {"object_id": there["object_id"], "actor": actor}
        assert store.read(scope_id=THERE, **asked) == there
        assert len(store.query(scope_id=THERE, actor=actor, any_state=True)["items"]) == 1
        denial(lambda: store.read(scope_id=SCOPE, object_id="mem:here", actor=actor))
        assert [e["object_id"] for e in events(store, EXERCISED, scope_id=THERE)] == [
            delegation
        ] * 2
        assert events(store, EXERCISED) == []
        assert check(store, delegation, "read", scope_id=THERE)
        denial(lambda: check(store, delegation, "read"))
        (item,) = listed(store)
        assert (item["effective"], item["used"]) == (True, 3)

    def test_it_ends_when_either_policy_closes(self, store: Store, there: Any) -> None:
        delegation = grant(store, "read", target_scope_id=THERE, usage_limit=9)
        asked = {"scope_id": THERE, "object_id": there["object_id"], "actor": under(delegation)}
        here_policy, there_policy = self.crossing("read")
        for scope_id, opened in ((SCOPE, here_policy), (THERE, there_policy)):
            assert store.read(**asked)
            govern(store, NO_AGENTS, scope_id)
            denial(lambda: store.read(**asked))
            govern(store, opened, scope_id)
        assert store.read(**asked)

    def test_its_grantor_must_hold_it_there(self, store: Store, there: Any) -> None:
        _, there_policy = self.crossing("read")
        no_owner = rule("deny", "rule:no-owner", actors=[OWNER["actor_id"]], operations=["read"])
        delegation = grant(store, "read", target_scope_id=THERE)
        govern(store, {**there_policy, "rules": [*there_policy["rules"], no_owner]}, THERE)
        denial(lambda: grant(store, "read", target_scope_id=THERE))
        denial(
            lambda: store.read(
                scope_id=THERE, object_id=there["object_id"], actor=under(delegation)
            )
        )

    def test_one_of_another_scope_is_worth_nothing(self, store: Store, there: Any) -> None:
        delegation = grant(store, "read")
        asked = {"object_id": there["object_id"], "actor": under(delegation)}
        denial(lambda: store.read(scope_id=THERE, **asked))
        denial(lambda: check(store, delegation, "read", scope_id=THERE))
