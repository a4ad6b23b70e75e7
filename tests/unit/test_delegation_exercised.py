"""Delegations exercised, alone, in chains and across scopes. PAMSPEC §15.4, §18.2."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl import errors
from pamctl.limits import DELEGATION_CHAIN_MAX
from pamctl.model.documents import check as check_document
from pamctl.rules.delegation import DELEGATION_RULE
from pamctl.service.store import Store
from tests.authority import (
    AGENT,
    EXERCISED,
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
    listed,
    on,
    policy,
    refusal,
    remember,
    rule,
    under,
)

THERE = "project:there"


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

        def full(*_: Any, **__: Any) -> None:
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
