"""Policies at work: who is refused, what a refusal tells, and what it leaves. PAMSPEC §15."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.model.documents import check as check_document
from pamctl.service.store import Store
from tests.authority import (
    AGENT,
    NO_AGENTS,
    OWNER,
    SCOPE,
    SEEN,
    denial,
    events,
    govern,
    on,
    policy,
    refusal,
    remember,
    rule,
)

NO_DECISIONS = policy(
    rule("deny", "rule:no-decisions", actors=["actor:agent:*"], object_types=["decision"]),
    rule("deny", "rule:no-tasks", actors=["actor:agent:*"], object_types=["task"]),
)
"""Agents may do nothing about decisions and tasks."""

Act = Callable[[Store, Any], Any]


def _changed(object_id: str, **more: Any) -> Any:
    return {
        "scope_id": SCOPE,
        "object_id": object_id,
        "expected_version_id": "ver:guess",
        "actor": AGENT,
        **more,
    }


BY_ID: dict[str, Act] = {
    "read": lambda store, object_id: store.read(scope_id=SCOPE, object_id=object_id, actor=AGENT),
    "read a version": lambda store, object_id: store.read(
        scope_id=SCOPE, object_id=object_id, version_id="ver:guess", actor=AGENT
    ),
    "read as of": lambda store, object_id: store.read(
        scope_id=SCOPE, object_id=object_id, at_sequence=1, actor=AGENT
    ),
    "history": lambda store, object_id: store.history(
        scope_id=SCOPE, object_id=object_id, actor=AGENT
    ),
    "events": lambda store, object_id: store.history(
        scope_id=SCOPE, object_id=object_id, kind="events", actor=AGENT
    ),
    "update": lambda store, object_id: store.update(
        **_changed(object_id, provenance=SEEN, canonical_content=1)
    ),
    "transition": lambda store, object_id: store.transition(
        **_changed(object_id, dimension="validation", target_state="rejected")
    ),
    "delete": lambda store, object_id: store.delete(**_changed(object_id)),
    "delete with a key": lambda store, object_id: store.delete(
        **_changed(object_id, idempotency_key="k")
    ),
}
"""Operations that name an object."""


class TestWhatARefusalTells:
    @pytest.mark.parametrize("operation", BY_ID)
    @pytest.mark.parametrize("rules", [NO_AGENTS, NO_DECISIONS], ids=["all", "some types"])
    def test_nothing_of_what_exists(self, store: Store, operation: str, rules: Any) -> None:
        """There, gone, never there, somewhere else, a relationship: one answer."""
        decision = remember(store, object_type="decision", object_id="mem:there")
        gone = remember(store, object_type="task", object_id="mem:gone")
        store.delete(**on(gone, OWNER))
        remember(store, object_type="decision", scope_id="workspace:b", object_id="mem:elsewhere")
        task = remember(store, object_type="task")
        store.relate(
            scope_id=SCOPE,
            relationship_id="rel:hidden",
            source_object_id=decision["object_id"],
            target_object_id=task["object_id"],
            relationship_type="claim",
            actor=OWNER,
            provenance=SEEN,
        )
        govern(store, rules)
        asked = ["mem:there", "mem:gone", "mem:never", "mem:elsewhere", "rel:hidden"]
        answers = [denial(lambda name=name: BY_ID[operation](store, name)) for name in asked]
        assert [answer for answer in answers if answer != answers[0]] == []

    def test_a_key_that_was_used_is_not_confirmed(self, store: Store) -> None:
        request = {"object_id": "mem:1", "idempotency_key": "turn 1"}
        remember(store, **request)
        govern(store, NO_AGENTS)
        used = denial(lambda: remember(store, actor=AGENT, idempotency_key="turn 1"))
        unused = denial(lambda: remember(store, actor=AGENT, idempotency_key="turn 2"))
        assert used == unused

    def test_who_may_not_read_learns_no_version_from_a_conflict(self, store: Store) -> None:
        made = remember(store)
        other = remember(store)
        govern(store, policy(rule(actors=["actor:agent:*"], operations=["read", "query"])))
        told = refusal(lambda: store.delete(**{**on(made, AGENT), "expected_version_id": "ver:x"}))
        assert told["code"] == "version_conflict"
        assert made["version_id"] not in str(told)
        assert OWNER["actor_id"] not in str(told)
        taken = refusal(lambda: remember(store, actor=AGENT, object_id=other["object_id"]))
        assert taken["code"] == "version_conflict"
        assert other["version_id"] not in str(taken)

    def test_who_may_change_and_not_read_is_shown_no_content(self, store: Store) -> None:
        made = remember(store, "a secret")
        govern(store, policy(rule(actors=["actor:agent:*"], operations=["read", "query"])))
        move = on(made, AGENT, dimension="validation", target_state="rejected")
        answer = store.transition(**move, idempotency_key="k")
        replay = store.transition(**move, idempotency_key="k")
        assert replay["replayed"]
        assert "secret" not in str(answer) + str(replay)
        assert store.read(scope_id=SCOPE, object_id=made["object_id"])["canonical_content"] == (
            "a secret"
        )

    def test_a_policy_reads_types_only_where_there_is_one(self, store: Store) -> None:
        """A rule that names types does not open what is no memory object."""
        govern(store, policy(rule("allow", object_types=["claim"]), default="deny"))
        refused = denial(lambda: store.scope_policy(scope_id=SCOPE, actor=OWNER, policy=policy()))
        assert refused["policy_rule_id"] == "rule:default"

    def test_a_type_that_the_caller_states_is_explained_by_its_rule(self, store: Store) -> None:
        govern(store, NO_DECISIONS)
        refused = denial(lambda: remember(store, actor=AGENT, object_type="task"))
        assert refused["policy_rule_id"] == "rule:no-tasks"


class TestRulesByType:
    @pytest.fixture
    def reader(self, store: Store) -> Any:
        """A scope where agents may read, search and change claims alone."""
        made = {
            name: remember(store, f"{name} of gold", object_type=name)
            for name in ("claim", "decision", "task")
        }
        store.delete(**on(made["task"], OWNER))
        govern(
            store,
            policy(
                rule("allow", "rule:owner", actors=["actor:human:*"]),
                rule("allow", "rule:claims", object_types=["claim"]),
                default="deny",
            ),
        )
        return made

    def test_opens_what_it_names(self, store: Store, reader: Any) -> None:
        claim = reader["claim"]
        read = store.read(scope_id=SCOPE, object_id=claim["object_id"], actor=AGENT)
        assert read == claim
        moved = store.transition(
            **on(claim, AGENT, dimension="validation", target_state="corroborated")
        )
        assert moved["envelope"]["canonical_content"] == "claim of gold"
        history = store.history(scope_id=SCOPE, object_id=claim["object_id"], actor=AGENT)
        assert len(history["items"]) == 2

    def test_and_a_query_finds_that_alone(self, store: Store, reader: Any) -> None:
        everything = {"scope_id": SCOPE, "any_state": True, "actor": AGENT, "count": True}
        answer = store.query(**everything)
        assert [item["object_type"] for item in answer["items"]] == ["claim"]
        assert answer["total"] == 1
        answer = store.query(**everything, object_type=["claim", "decision", "observation"])
        assert [item["object_type"] for item in answer["items"]] == ["claim"]
        assert store.query(**everything, object_type=["decision"])["items"] == []
        assert len(store.query(**{**everything, "actor": OWNER})["items"]) == 3

    def test_nor_is_it_ranked_by_what_he_may_not_see(self, store: Store, reader: Any) -> None:
        asked = {"scope_id": SCOPE, "any_state": True, "text": "gold", "explain": True}
        answer = store.query(**asked, actor=AGENT)
        assert len(answer["items"]) == 1
        assert "relevance" not in answer["explanation"][0]
        assert "relevance" in store.query(**asked, actor=OWNER)["explanation"][0]

    def test_and_a_log_shows_that_alone(self, store: Store, reader: Any) -> None:
        shown = store.log(scope_id=SCOPE, actor=AGENT)["items"]
        assert {event["object_id"] for event in shown} == {reader["claim"]["object_id"]}
        assert len(store.log(scope_id=SCOPE, actor=OWNER)["items"]) == 4
        asked = {"scope_id": SCOPE, "object_id": reader["decision"]["object_id"]}
        assert store.log(**asked, actor=AGENT)["items"] == []

    def test_pages_of_a_log_are_full(self, store: Store) -> None:
        for number in range(12):
            remember(store, number, object_type="claim" if number % 4 == 0 else "decision")
        govern(store, policy(rule(actors=["actor:agent:*"], object_types=["decision"])))
        page = store.log(scope_id=SCOPE, actor=AGENT, limit=2)
        assert [event["sequence"] for event in page["items"]] == [1, 5]
        page = store.log(scope_id=SCOPE, actor=AGENT, limit=2, cursor=page["next_cursor"])
        assert [event["sequence"] for event in page["items"]] == [9]
        assert page["next_cursor"] is None

    def test_what_a_rule_hides_from_reading_a_query_hides_too(self, store: Store) -> None:
        claim, decision = remember(store), remember(store, object_type="decision")
        reading = ["read"]
        govern(store, policy(rule(operations=reading, object_types=["decision"])))
        found = store.query(scope_id=SCOPE, any_state=True, actor=AGENT)["items"]
        assert [item["object_id"] for item in found] == [claim["object_id"]]
        denial(lambda: store.history(scope_id=SCOPE, object_id=decision["object_id"], actor=AGENT))
        govern(store, policy(rule(operations=reading)))
        denial(lambda: store.query(scope_id=SCOPE, any_state=True, actor=AGENT))

    def test_to_grant_a_query_is_to_grant_what_it_shows(self, store: Store) -> None:
        remember(store)
        govern(store, policy(rule("allow", operations=["query"]), default="deny"))
        assert len(store.query(scope_id=SCOPE, any_state=True, actor=AGENT)["items"]) == 1
        denial(lambda: store.read(scope_id=SCOPE, object_id="mem:any", actor=AGENT))

    def test_transitions_by_dimension_and_state(self, store: Store) -> None:
        made = remember(store, lifecycle_state="candidate")
        govern(
            store,
            policy(
                rule(
                    "deny",
                    "rule:promotion",
                    actor_kinds=["agent"],
                    operations=["transition"],
                    dimensions=["lifecycle"],
                    target_states=["active"],
                )
            ),
        )
        move = {"dimension": "lifecycle", "target_state": "active"}
        refused = denial(lambda: store.transition(**on(made, AGENT, **move)))
        assert refused["policy_rule_id"] == "rule:promotion"
        move["target_state"] = "archived"
        assert store.transition(**on(made, AGENT, **move))["sequence"] == 2


class TestNoWayAround:
    @pytest.mark.parametrize(
        ("refused", "target"),
        [("delete", "deleted"), ("redact", "redacted"), ("redact", "partially_redacted")],
    )
    def test_a_rule_about_an_operation(self, store: Store, refused: str, target: str) -> None:
        """A transition has the effect of deleting and of redacting."""
        made = remember(store)
        govern(store, policy(rule("deny", "rule:keep", operations=[refused])))
        move = on(made, AGENT, dimension="availability", target_state=target)
        answer = denial(lambda: store.transition(**move))
        assert answer["policy_rule_id"] == "rule:keep"
        other = on(made, AGENT, dimension="retention", target_state="expired")
        assert store.transition(**other)["sequence"] == 2

    def test_to_promote_is_to_create(self, store: Store) -> None:
        made = remember(store, {"task_ref": "task:1", "content": []}, object_type="working_memory")
        govern(store, policy(rule(operations=["create"], object_types=["decision"])))
        promotion = {
            "scope_id": SCOPE,
            "source_object_id": made["object_id"],
            "expected_version_id": made["version_id"],
            "target_canonical_content": "It works.",
            "actor": AGENT,
            "provenance": SEEN,
        }
        denial(lambda: store.promote(**promotion, target_object_type="decision"))
        assert store.promote(**promotion, target_object_type="claim")["envelope"]

    def test_nobody_widens_the_policy_that_binds_him(self, store: Store) -> None:
        govern(store, NO_AGENTS)
        denial(lambda: store.scope_policy(scope_id=SCOPE, actor=AGENT, policy=policy()))
        assert store.scope_show(scope_id=SCOPE)["policy"] == NO_AGENTS
        shown = store.scope_create(scope_id=SCOPE, actor=AGENT, policy=policy())
        assert shown["policy"] == NO_AGENTS

    def test_a_policy_that_cannot_explain_itself_is_refused(self, store: Store) -> None:
        with pytest.raises(errors.InvalidRequest, match="two rules"):
            govern(store, policy(rule("deny", "r"), rule("allow", "r")))


class TestTheRecordOfARefusal:
    def test_names_who_what_and_the_rule(self, store: Store) -> None:
        made = remember(store, "a secret")
        govern(store, NO_AGENTS)
        denial(lambda: BY_ID["read"](store, made["object_id"]))
        denial(lambda: BY_ID["update"](store, made["object_id"]))
        denial(lambda: store.query(scope_id=SCOPE, actor=AGENT, operation_id="op:mine"))
        denial(lambda: store.log(scope_id=SCOPE, actor=AGENT))
        recorded = events(store, "access_denied")
        assert [event["payload"] for event in recorded] == [
            {"operation": operation, "policy_rule_id": "rule:no-agents"}
            for operation in ("read", "update", "query", "inspect_history")
        ]
        assert recorded[2]["operation_id"] == "op:mine"
        for event in recorded:
            check_document("event", event)
            assert event["actor"] == AGENT
            assert not {"object_id", "version_id", "relationship_id"} & event.keys()

    def test_is_an_event_and_no_version(self, store: Store) -> None:
        made = remember(store)
        govern(store, NO_AGENTS)
        before = store.status()["scopes"][0]
        denial(lambda: BY_ID["delete"](store, made["object_id"]))
        after = store.status()["scopes"][0]
        assert after["versions"] == before["versions"]
        assert after["events"] == before["events"] + 1

    def test_stands_although_the_group_fails(self, store: Store) -> None:
        govern(store, policy(rule(actors=["actor:agent:*"], operations=["create"])))
        request = {"scope_id": SCOPE, "object_type": "claim", "canonical_content": 1}

        def create_both() -> None:
            with store.group(atomic=True) as group:
                group.perform("create", {**request, "actor": OWNER, "provenance": SEEN})
                group.perform("create", {**request, "actor": AGENT, "provenance": SEEN})

        denial(create_both)
        assert [event["event_type"] for event in events(store)] == ["access_denied"]

    def test_takes_no_key(self, store: Store) -> None:
        """Or whoever is refused could use up the keys of those who are not, and would be
        refused for ever."""
        govern(store, NO_AGENTS)
        denial(lambda: remember(store, actor=AGENT, idempotency_key="turn 1"))
        govern(store, policy())
        assert remember(store, actor=AGENT, idempotency_key="turn 1")

    def test_of_a_reader_who_is_badly_described_is_not_made(self, store: Store) -> None:
        """Reading takes its arguments on trust; the ledger does not."""
        govern(store, NO_AGENTS)
        before = store.head(SCOPE)
        with pytest.raises(errors.InvalidObject):
            store.read(scope_id=SCOPE, object_id="mem:1", actor={"actor_id": AGENT["actor_id"]})
        assert store.head(SCOPE) == before

    def test_cannot_be_made_where_nothing_is_written_and_he_is_refused_still(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = remember(store)
        govern(store, NO_AGENTS)
        before = store.head(SCOPE)
        opened = pamctl.open_store(store.path)
        really = os.open

        def refuse(path: Any, flags: int, *rest: Any, **more: Any) -> int:
            if str(path).endswith("lock"):
                raise PermissionError(13, "read-only")
            return really(path, flags, *rest, **more)

        monkeypatch.setattr(os, "open", refuse)
        denial(lambda: BY_ID["read"](opened, made["object_id"]))
        denial(lambda: BY_ID["read"](opened, "mem:never"))
        monkeypatch.undo()
        assert store.head(SCOPE) == before


class TestReplays:
    def test_who_lost_his_authority_is_shown_no_answer_again(self, store: Store) -> None:
        request = {"actor": AGENT, "idempotency_key": "k", "object_id": "mem:1"}
        remember(store, "mine", **request)
        assert remember(store, "mine", **request)["canonical_content"] == "mine"
        govern(store, NO_AGENTS)
        denial(lambda: remember(store, "mine", **request))


class TestReadAudit:
    def test_puts_granted_reads_on_record(self, store: Store) -> None:
        made = remember(store)
        govern(store, policy(read_audit=True))
        store.read(scope_id=SCOPE, object_id=made["object_id"], actor=AGENT)
        store.history(scope_id=SCOPE, object_id=made["object_id"], actor=AGENT)
        store.query(scope_id=SCOPE, actor=AGENT)
        store.log(scope_id=SCOPE, actor=AGENT)
        store.read(scope_id=SCOPE, object_id=made["object_id"])
        with pytest.raises(errors.ObjectNotFound):
            store.read(scope_id=SCOPE, object_id="mem:never", actor=AGENT)
        recorded = events(store, "tool_invoked")
        assert [event["payload"]["tool_name"] for event in recorded] == [
            "pamspec.read",
            "pamspec.inspect_history",
            "pamspec.query",
        ]
        assert [event.get("object_id") for event in recorded] == [made["object_id"]] * 2 + [None]
        for event in recorded:
            check_document("event", event)

    def test_unless_asked_for_reading_leaves_nothing(self, store: Store) -> None:
        made = remember(store)
        before = store.head(SCOPE)
        store.read(scope_id=SCOPE, object_id=made["object_id"], actor=AGENT)
        store.query(scope_id=SCOPE, actor=AGENT)
        assert store.head(SCOPE) == before


class TestTheExplanation:
    def ask(self, store: Store, **more: Any) -> Any:
        asked = {"scope_id": SCOPE, "actor": AGENT, "operation": "read"}
        return store.scope_policy_test(**{**asked, **more})

    def test_says_what_would_be_decided_and_does_nothing(self, store: Store) -> None:
        govern(store, NO_DECISIONS)
        before = store.head(SCOPE)
        answer = self.ask(store, object_type="task")
        assert (answer["allowed"], answer["policy_rule_id"]) == (False, "rule:no-tasks")
        answer = self.ask(store, object_type="claim")
        assert (answer["allowed"], answer["policy_rule_id"]) == (True, "rule:default")
        assert store.head(SCOPE) == before

    def test_says_for_which_types(self, store: Store) -> None:
        govern(store, NO_DECISIONS)
        answer = self.ask(store)
        assert (answer["allowed"], answer["policy_rule_id"]) == (False, "rule:no-decisions")
        assert answer["object_types"] == {
            "allowed": [],
            "refused": ["decision", "task"],
            "others": True,
        }
        assert "object_types" not in self.ask(store, operation="set_policy")

    def test_tries_a_policy_that_is_not_in_force(self, store: Store) -> None:
        assert self.ask(store)["allowed"]
        assert not self.ask(store, policy=NO_AGENTS)["allowed"]

    def test_and_a_transition(self, store: Store) -> None:
        made = policy(rule(operations=["transition"], target_states=["archived"]))
        asked = {"operation": "transition", "dimension": "lifecycle", "policy": made}
        assert not self.ask(store, **asked, target_state="archived")["allowed"]
        assert self.ask(store, **asked, target_state="deprecated")["allowed"]

    def test_is_not_about_delegations(self, store: Store) -> None:
        with pytest.raises(errors.InvalidRequest, match="own authority"):
            self.ask(store, actor={**AGENT, "delegation_id": "del:1"})
