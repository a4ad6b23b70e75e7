"""Subscriptions through the Python API. PAMSPEC §10.8, §18.3."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl import limits
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidRequest,
    ObjectNotFound,
    PolicyDenied,
    ServiceUnavailable,
    SubscriptionClosed,
)
from pamctl.model.documents import check as check_document
from pamctl.rules import subscriptions as rules
from pamctl.service import evaluation
from pamctl.service.store import Store
from pamctl.store.lock import exclusive
from tests.authority import (
    AGENT,
    NO_AGENTS,
    OTHER_AGENT,
    OWNER,
    SCOPE,
    events,
    govern,
    grant,
    on,
    policy,
    remember,
    rule,
    under,
)
from tests.subscriptions import Subscriber

CREATED = ("object_created",)


def files(store: Store, pattern: str) -> list[Path]:
    return sorted(store.path.glob(f"scopes/*/subscriptions/{pattern}"))


def remember_many(store: Store, count: int, **more: Any) -> None:
    with store.group() as group:
        for number in range(count):
            given = {"scope_id": SCOPE, "object_type": "claim", "actor": OWNER, **more}
            given |= {"canonical_content": number, "provenance": {"activity": "observed"}}
            group.perform("create", given)


class TestOpening:
    def test_answers_what_was_resolved_and_leaves_an_event(self, store: Store) -> None:
        chosen = {"event_classes": ["object_created"], "object_type": "claim"}
        opened = Subscriber(store, filter=chosen, delivery={"batching_max_events": 3}).opened
        assert opened["filter"] == chosen
        assert opened["start_sequence"] == 0
        assert opened["acknowledgement"] == "automatic"
        assert opened["channel_ref"]
        assert opened["delivery"] == {"batching_max_events": 3}
        (event,) = events(store, "subscription_opened")
        assert event["event_id"] == opened["event_id"]
        assert event["sequence"] == opened["ledger_sequence"]
        assert event["payload"]["subscription_id"] == opened["subscription_id"]
        check_document("event", event)

    def test_what_it_is_for_is_not_told_to_those_who_read_the_log(self, store: Store) -> None:
        Subscriber(store, filter={"object_id": "mem:secret"})
        assert "mem:secret" not in json.dumps(events(store))

    def test_makes_no_version(self, store: Store) -> None:
        subscriber = Subscriber(store)
        subscriber.close()
        assert all("version_id" not in event for event in events(store))
        assert store.status()["scopes"][0]["versions"] == 0

    def test_its_files_are_as_their_schemas_say(self, store: Store) -> None:
        subscriber = Subscriber(store, acknowledgement="explicit")
        subscriber.poll()
        (cursor,) = files(store, "*.cursor.json")
        (kept,) = set(files(store, "*.json")) - {cursor}
        check_document("subscription", json.loads(kept.read_bytes()))
        check_document("subscription-cursor", json.loads(cursor.read_bytes()))

    def test_both_names_of_an_argument_are_one(self, store: Store) -> None:
        remember(store)
        given = {"event_classes": ["object_deleted"]}
        opened = Subscriber(store, filter_spec=given, start_sequence=1).opened
        assert (opened["filter"], opened["start_sequence"]) == (given, 1)
        assert Subscriber(store, filter={}, filter_spec={}).opened["filter"] == {}
        with pytest.raises(InvalidRequest, match="two names"):
            Subscriber(store, filter={}, filter_spec=given)
        with pytest.raises(InvalidRequest, match="two names"):
            Subscriber(store, after_sequence=0, start_sequence=1)

    def test_a_start_that_would_pass_over_events_is_refused(self, store: Store) -> None:
        remember(store)
        with pytest.raises(InvalidRequest, match="ends at sequence 1"):
            Subscriber(store, after_sequence=2)
        assert files(store, "*.json") == []

    @pytest.mark.parametrize(
        "given",
        [
            {"filter": {"predicate": {"to": "x"}}},
            {"delivery": {"backpressure_policy": "drop_oldest"}},
            {"delivery": {"keepalive_interval_ms": 5}},
            {"delivery": {"colour": "blue"}},
            {"acknowledgement": "never"},
            {"filter": {"event_types": ["object_created"]}},
        ],
        ids=str,
    )
    def test_what_could_not_be_kept_is_refused(self, store: Store, given: Any) -> None:
        with pytest.raises(InvalidRequest):
            Subscriber(store, **given)
        assert events(store) == []

    def test_a_key_makes_it_happen_once(self, store: Store) -> None:
        first = Subscriber(store, idempotency_key="k").opened
        again = Subscriber(store, idempotency_key="k").opened
        assert again["replayed"]
        assert again["subscription_id"] == first["subscription_id"]
        assert again["filter"] == first["filter"]
        assert len(store.subscriptions.list(scope_id=SCOPE)["items"]) == 1
        with pytest.raises(DuplicateOperation):
            Subscriber(store, idempotency_key="k", acknowledgement="explicit")

    def test_a_descriptor_without_its_event_is_none(self, store: Store) -> None:
        """As a writer leaves it that died between the two."""
        with pytest.raises(RuntimeError), store.group() as group:
            opened = group.perform("subscribe", {"scope_id": SCOPE, "actor": OWNER})
            raise RuntimeError
        assert len(files(store, "*.json")) == 1
        assert store.subscriptions.list(scope_id=SCOPE, closed=True)["items"] == []
        with pytest.raises(ObjectNotFound):
            store.subscriptions.poll(subscription_id=opened["subscription_id"])

    def test_it_survives_the_process(self, store: Store) -> None:
        subscriber = Subscriber(store, classes=CREATED)
        remember(store)
        assert len(subscriber.got()) == 1
        remember(store)
        reopened = pamctl.open_store(store.path)
        found = reopened.subscriptions.poll(subscription_id=subscriber.subscription_id)
        assert [event["sequence"] for event in found["events"]] == [3]


class TestDelivery:
    def test_in_the_order_of_the_ledger_and_once(self, store: Store) -> None:
        subscriber = Subscriber(store)
        for content in "abc":
            remember(store, content)
        assert subscriber.got() == [1, 2, 3, 4]
        assert subscriber.got() == []
        remember(store)
        assert subscriber.got() == [5]

    def test_what_was_there_before_is_caught_up_with(self, store: Store) -> None:
        remember_many(store, 5)
        assert Subscriber(store, classes=CREATED).got() == [1, 2, 3, 4, 5]
        assert Subscriber(store, classes=CREATED, after_sequence=3).got() == [4, 5]

    def test_pages_say_that_there_is_more(self, store: Store) -> None:
        remember_many(store, 5)
        subscriber = Subscriber(store, classes=CREATED)
        page = subscriber.poll(max_events=2)
        assert (len(page["events"]), page["more"]) == (2, True)
        assert subscriber.got(max_events=2) == [3, 4]
        page = subscriber.poll(max_events=2)
        assert (len(page["events"]), page["more"]) == (1, False)

    def test_the_subscriber_s_batch_bounds_a_poll(self, store: Store) -> None:
        remember_many(store, 5)
        subscriber = Subscriber(store, delivery={"batching_max_events": 2})
        assert subscriber.got(max_events=4) == [1, 2]
        assert subscriber.got(max_events=1) == [3]

    def test_an_event_is_what_the_log_shows(self, store: Store) -> None:
        remember(store)
        subscriber = Subscriber(store)
        assert subscriber.poll()["events"] == events(store)

    def test_by_object_type(self, store: Store) -> None:
        subscriber = Subscriber(store, filter={"object_type": "decision"})
        remember(store)
        decision = remember(store, object_type="decision")
        moved = store.transition(
            **on(decision, OWNER, dimension="lifecycle", target_state="archived")
        )
        store.delete(
            **on(moved["envelope"], OWNER),
        )
        assert subscriber.got() == [3, 4, 5]

    def test_by_object_and_predicate(self, store: Store) -> None:
        tea = remember(store, object_id="mem:tea")
        remember(store, object_id="mem:jam")
        of_tea = Subscriber(store, filter={"object_id": "mem:tea"})
        archived = Subscriber(store, filter={"predicate": {"/payload/to": ["archived"]}})
        store.transition(**on(tea, OWNER, dimension="lifecycle", target_state="archived"))
        assert of_tea.got() == [1, 5]
        assert archived.got() == [5]

    def test_of_a_relationship(self, store: Store) -> None:
        remember(store, object_id="mem:a")
        remember(store, object_id="mem:b")
        made = store.relate(
            scope_id=SCOPE,
            actor=OWNER,
            source_object_id="mem:a",
            target_object_id="mem:b",
            relationship_type="supports",
            directionality="directed",
            provenance={"activity": "observed"},
        )
        by_id = Subscriber(store, filter={"object_id": made["relationship_id"]})
        assert by_id.got() == [3]
        assert Subscriber(store, filter={"object_type": "claim"}).got() == [1, 2]

    def test_long_stretches_for_others_are_looked_at_piece_by_piece(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "SUBSCRIPTION_SCAN_EVENTS_MAX", 7)
        remember_many(store, 30)
        remember(store, object_type="decision")
        subscriber = Subscriber(store, filter={"object_type": "decision"})
        assert subscriber.got() == [31]
        assert subscriber.got() == []

    def test_what_was_for_others_is_passed_over_now_and_then(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rules, "WORTH_PASSING_OVER", 10)
        subscriber = Subscriber(store, filter={"object_type": "decision"})
        remember_many(store, 5)
        assert subscriber.poll()["events"] == []
        assert files(store, "*.cursor.json") == []
        remember_many(store, 5)
        assert subscriber.poll()["acknowledged_sequence"] == 11
        assert subscriber.poll()["through_sequence"] == 11
        remember(store, object_type="decision")
        assert subscriber.got() == [12]

    def test_a_poll_that_finds_nothing_writes_nothing(self, store: Store) -> None:
        subscriber = Subscriber(store, classes=CREATED)
        subscriber.poll()
        assert files(store, "*.cursor.json") == []

    def test_once_more_from_an_earlier_event_if_asked(self, store: Store) -> None:
        remember_many(store, 4)
        subscriber = Subscriber(store, classes=CREATED, after_sequence=1)
        assert subscriber.got() == [2, 3, 4]
        assert subscriber.got(after_sequence=2) == [3, 4]
        assert subscriber.got() == []
        with pytest.raises(InvalidRequest, match="begins behind sequence 1"):
            subscriber.poll(after_sequence=0)

    def test_a_look_ahead_passes_over_nothing(self, store: Store) -> None:
        remember_many(store, 4)
        subscriber = Subscriber(store, classes=CREATED)
        assert subscriber.got(after_sequence=2) == [3, 4]
        assert subscriber.got() == [1, 2, 3, 4]

    def test_held_the_cursor_stays(self, store: Store) -> None:
        remember_many(store, 3)
        subscriber = Subscriber(store, classes=CREATED)
        assert subscriber.got(hold=True) == subscriber.got(hold=True) == [1, 2, 3]
        assert subscriber.acknowledge(2) == 2
        assert subscriber.got() == [3]

    def test_a_held_poll_only_looks(self, store: Store) -> None:
        remember(store)
        subscriber = Subscriber(store, classes=CREATED)
        lock = files(store, "*.json")[0].parent / "lock"
        with exclusive(lock):
            assert subscriber.got(hold=True) == [1]
        assert files(store, "*.cursor.json") == []

    def test_a_restored_ledger_does_not_swallow_what_comes(self, store: Store) -> None:
        """A cursor that got further than this ledger goes is worth nothing in it."""
        subscriber = Subscriber(store, classes=CREATED)
        ledger = next(store.path.glob("scopes/*/ledger.jsonl"))
        backup = ledger.read_bytes()
        remember_many(store, 5)
        assert len(subscriber.got()) == 5
        ledger.write_bytes(backup)
        store.close()
        shutil.rmtree(store.path / "index")
        remember_many(store, 7)
        assert subscriber.got() == [2, 3, 4, 5, 6, 7, 8]
        assert subscriber.got() == []


class TestExplicitAcknowledgement:
    @pytest.fixture
    def subscriber(self, store: Store) -> Subscriber:
        remember_many(store, 4)
        return Subscriber(store, classes=CREATED, acknowledgement="explicit")

    def test_events_come_again_until_they_are_acknowledged(self, subscriber: Subscriber) -> None:
        assert subscriber.got() == subscriber.got() == [1, 2, 3, 4]
        assert subscriber.acknowledge(2) == 2
        assert subscriber.got() == [3, 4]
        assert subscriber.acknowledge(4) == 4
        assert subscriber.got() == []

    def test_acknowledging_again_or_less_changes_nothing(self, subscriber: Subscriber) -> None:
        subscriber.poll()
        assert subscriber.acknowledge(3) == 3
        assert subscriber.acknowledge(3) == 3
        assert subscriber.acknowledge(1) == 3
        assert subscriber.got() == [4]

    def test_what_was_not_delivered_cannot_be(self, subscriber: Subscriber) -> None:
        assert subscriber.got(max_events=2) == [1, 2]
        with pytest.raises(InvalidRequest, match="behind sequence 2"):
            subscriber.acknowledge(3)
        assert subscriber.got(max_events=2) == [1, 2]

    def test_holding_makes_no_difference(self, subscriber: Subscriber) -> None:
        assert subscriber.got(hold=True) == [1, 2, 3, 4]
        assert subscriber.acknowledge(4) == 4

    def test_paging_goes_on_behind_what_is_not_acknowledged(self, subscriber: Subscriber) -> None:
        assert subscriber.got(max_events=2) == [1, 2]
        assert subscriber.got(max_events=2, after_sequence=2) == [3, 4]
        assert subscriber.acknowledge(4) == 4

    def test_the_end_of_the_ledger_bounds_what_acknowledges_by_itself(self, store: Store) -> None:
        subscriber = Subscriber(store)
        with pytest.raises(InvalidRequest):
            subscriber.acknowledge(2)


class TestClosing:
    def test_says_how_far_delivery_got(self, store: Store) -> None:
        remember_many(store, 3)
        subscriber = Subscriber(store, classes=CREATED, acknowledgement="explicit")
        subscriber.poll()
        subscriber.acknowledge(2)
        closed = subscriber.close()
        (event,) = events(store, "subscription_closed")
        assert event["actor"] == OWNER
        assert event["sequence"] == closed["ledger_sequence"]
        assert event["payload"] == {
            "subscription_id": subscriber.subscription_id,
            "reason": "unsubscribed",
            "last_delivered_sequence": 3,
            "last_acknowledged_sequence": 2,
        }
        check_document("event", event)
        again = Subscriber(
            store, classes=CREATED, after_sequence=event["payload"]["last_acknowledged_sequence"]
        )
        assert again.got() == [3]

    @pytest.mark.parametrize("act", ["poll", "close"])
    def test_afterwards_everything_answers_that(self, store: Store, act: str) -> None:
        subscriber = Subscriber(store)
        subscriber.poll()
        subscriber.close()
        remember(store)
        with pytest.raises(SubscriptionClosed) as refused:
            getattr(subscriber, act)()
        assert refused.value.details["reason"] == "unsubscribed"
        assert refused.value.details["last_delivered_sequence"] == 1
        with pytest.raises(SubscriptionClosed):
            subscriber.acknowledge(1)
        assert len(events(store, "subscription_closed")) == 1

    def test_in_a_group_each_sees_what_was_staged(self, store: Store) -> None:
        with store.group() as group:
            here = {"scope_id": SCOPE, "actor": OWNER}
            opened = group.perform("subscribe", here)
            named = {**here, "subscription_id": opened["subscription_id"]}
            group.perform("unsubscribe", named)
            with pytest.raises(SubscriptionClosed):
                group.perform("unsubscribe", named)
        assert [event["event_type"] for event in events(store)] == [
            "subscription_opened",
            "subscription_closed",
        ]

    def test_with_a_key_it_happens_once(self, store: Store) -> None:
        subscriber = Subscriber(store)
        first = subscriber.close(idempotency_key="k")
        again = subscriber.close(idempotency_key="k")
        assert again["replayed"]
        assert again["event_id"] == first["event_id"]

    def test_a_lagging_subscriber_who_wants_it_so_is_closed(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "SUBSCRIPTION_LAG_EVENTS_MAX", 5)
        remember_many(store, 20)
        preference = {"backpressure_policy": "close_on_lag"}
        quick = Subscriber(store, classes=CREATED, delivery=preference)
        waits = Subscriber(store, classes=CREATED, delivery={"backpressure_policy": "block"})
        assert len(quick.got()) == 20, "what was there before is no lag"
        remember_many(store, 5)
        assert len(quick.got()) == 5
        remember_many(store, 6)
        with pytest.raises(SubscriptionClosed) as closed:
            quick.poll()
        assert closed.value.details["reason"] == "lag"
        assert closed.value.details["last_delivered_sequence"] == 27
        (event,) = events(store, "subscription_closed")
        assert event["actor"]["actor_kind"] == "service"
        assert len(waits.got()) == 31

    def test_events_for_others_are_no_lag(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "SUBSCRIPTION_LAG_EVENTS_MAX", 5)
        preference = {"backpressure_policy": "close_on_lag"}
        subscriber = Subscriber(store, filter={"object_type": "decision"}, delivery=preference)
        remember_many(store, 20)
        remember(store, object_type="decision")
        assert len(subscriber.got()) == 1


class TestAuthority:
    def test_who_may_see_nothing_may_not_subscribe(self, store: Store) -> None:
        govern(store, NO_AGENTS)
        with pytest.raises(AccessDenied) as denied:
            Subscriber(store, AGENT)
        assert denied.value.policy_rule_id == "rule:no-agents"
        (event,) = events(store)
        assert (event["event_type"], event["payload"]["operation"]) == (
            "access_denied",
            "subscribe",
        )
        assert files(store, "*.json") == []

    def test_to_a_type_that_is_kept_secret_neither(self, store: Store) -> None:
        secret = rule(actors=["actor:agent:*"], operations=["read"], object_types=["decision"])
        govern(store, policy(secret))
        with pytest.raises(AccessDenied):
            Subscriber(store, AGENT, filter={"object_type": "decision"})
        Subscriber(store, AGENT, filter={"object_type": "claim"})

    @pytest.mark.parametrize("operation", ["subscribe", "read"])
    def test_each_event_is_judged_by_the_policy_of_the_moment(
        self, store: Store, operation: str
    ) -> None:
        subscriber = Subscriber(store, AGENT, classes=CREATED)
        remember(store, object_type="decision")
        remember(store)
        assert subscriber.got() == [2, 3]
        remember(store, object_type="decision")
        remember(store)
        secret = rule(actors=["actor:agent:*"], operations=[operation], object_types=["decision"])
        govern(store, policy(secret))
        assert subscriber.got() == [5]

    def test_a_relationship_is_delivered_to_those_who_see_its_ends(self, store: Store) -> None:
        secret = rule(actors=["actor:agent:*"], object_types=["decision"])
        govern(store, policy(secret))
        subscriber = Subscriber(store, AGENT, classes=("relationship_created",))
        for name, kind in (("a", "claim"), ("b", "claim"), ("c", "decision")):
            remember(store, object_id=f"mem:{name}", object_type=kind)
        for source, target in (("mem:a", "mem:b"), ("mem:a", "mem:c")):
            store.relate(
                scope_id=SCOPE,
                actor=OWNER,
                source_object_id=source,
                target_object_id=target,
                relationship_type="supports",
                directionality="directed",
                provenance={"activity": "observed"},
            )
        assert len(subscriber.got()) == 1

    def test_whoever_loses_it_all_is_closed_by_the_service(self, store: Store) -> None:
        subscriber = Subscriber(store, AGENT, classes=CREATED)
        remember(store)
        assert subscriber.got() == [2]
        remember(store)
        govern(store, NO_AGENTS)
        with pytest.raises(AccessDenied) as denied:
            subscriber.poll()
        assert denied.value.details["last_delivered_sequence"] == 2
        (event,) = events(store, "subscription_closed")
        assert event["payload"]["reason"] == "authorization_revoked"
        assert event["payload"]["last_delivered_sequence"] == 2
        assert event["actor"]["actor_kind"] == "service"
        govern(store, policy())
        with pytest.raises(SubscriptionClosed):
            subscriber.poll()

    def test_others_see_nothing_of_it(self, store: Store) -> None:
        subscriber = Subscriber(store, AGENT)
        absent = "there is no subscription "
        for actor in (OWNER, OTHER_AGENT):
            for act in (
                subscriber.poll,
                subscriber.close,
                lambda **a: subscriber.acknowledge(1, **a),
            ):
                with pytest.raises(ObjectNotFound, match=absent + subscriber.subscription_id):
                    act(actor=actor)
            assert store.subscriptions.list(scope_id=SCOPE, actor=actor)["items"] == []
        assert len(store.subscriptions.list(scope_id=SCOPE, actor=AGENT)["items"]) == 1
        assert subscriber.got(actor=AGENT) == [1]

    def test_nor_does_another_scope(self, store: Store) -> None:
        remember(store, scope_id="project:a")
        subscriber = Subscriber(store, scope_id="project:a")
        remember(store)
        with pytest.raises(ObjectNotFound):
            subscriber.poll(scope_id=SCOPE)
        with pytest.raises(ObjectNotFound):
            subscriber.poll(scope_id="project:never")
        assert store.subscriptions.list(scope_id=SCOPE, actor=OWNER)["items"] == []
        assert {event["scope_id"] for event in subscriber.poll()["events"]} == {"project:a"}

    def test_an_id_that_was_never_given_out(self, store: Store) -> None:
        with pytest.raises(ObjectNotFound):
            store.subscriptions.poll(subscription_id="sub:0")

    def test_under_a_delegation_it_lasts_as_long_as_that(self, store: Store) -> None:
        govern(store, NO_AGENTS)
        delegation_id = grant(store, "subscribe", usage_limit=1)
        subscriber = Subscriber(store, under(delegation_id), classes=CREATED)
        remember(store)
        before = store.head(SCOPE)
        assert len(subscriber.got()) == 1
        assert subscriber.got() == []
        assert store.head(SCOPE) == before, "a poll is a part of the use that opened it"
        store.delegations.revoke(scope_id=SCOPE, delegation_id=delegation_id, actor=OWNER)
        remember(store)
        with pytest.raises(AccessDenied):
            subscriber.poll()
        assert len(events(store, "subscription_closed")) == 1

    def test_a_delegation_restricts_what_is_delivered(self, store: Store) -> None:
        govern(store, NO_AGENTS)
        remember(store, object_id="mem:tea")
        delegation_id = grant(store, "subscribe", granted_object_ids=["mem:tea"])
        subscriber = Subscriber(store, under(delegation_id))
        remember(store, object_id="mem:jam")
        delivered = subscriber.poll()["events"]
        assert [event.get("object_id") for event in delivered] == ["mem:tea"]


class TestEvaluation:
    """A run in an evaluation scope leaves no trace outside it, and a cursor would be one."""

    def test_nothing_outside_is_polled_or_closed(self, store: Store) -> None:
        remember(store)
        subscriber = Subscriber(store, classes=CREATED)
        sealed = store.perform("snapshot_create", {"scope_id": SCOPE, "actor": OWNER})
        before = store.head(SCOPE)
        begun = evaluation.begin(
            store, source_scope_id=SCOPE, snapshot_id=sealed["snapshot"]["snapshot_id"], actor=OWNER
        )
        for act in (
            subscriber.poll,
            lambda: subscriber.poll(hold=True),
            lambda: subscriber.poll(scope_id=SCOPE),
            lambda: subscriber.acknowledge(1),
            subscriber.close,
        ):
            with pytest.raises(PolicyDenied):
                act()
        inside = Subscriber(store, scope_id=begun.scope_id)
        assert inside.got() == [1]
        store.evaluation = None
        assert store.head(SCOPE) == before
        assert subscriber.got() == [1]


class TestList:
    def test_shows_how_far_each_got(self, store: Store) -> None:
        remember_many(store, 2)
        first = Subscriber(store, classes=CREATED, acknowledgement="explicit")
        second = Subscriber(store)
        first.poll()
        items = store.subscriptions.list(scope_id=SCOPE, actor=OWNER)["items"]
        assert [item["subscription_id"] for item in items] == [
            first.subscription_id,
            second.subscription_id,
        ]
        assert (items[0]["delivered_sequence"], items[0]["acknowledged_sequence"]) == (2, 0)
        second.close()
        assert len(store.subscriptions.list(scope_id=SCOPE)["items"]) == 1
        every = store.subscriptions.list(scope_id=SCOPE, closed=True)["items"]
        assert [item["state"] for item in every] == ["open", "closed"]

    def test_of_a_scope_that_is_not_there_yet(self, store: Store) -> None:
        assert store.subscriptions.list(scope_id="project:new", actor=OWNER)["items"] == []


POLLER = """
import json, sys, time
import pamctl
store = pamctl.open_store(sys.argv[1])
seen, idle = [], 0
while idle < 20:
    polled = store.subscriptions.poll(subscription_id=sys.argv[2], max_events=3)
    seen += [event["sequence"] for event in polled["events"]]
    idle = 0 if polled["events"] else idle + 1
    if not polled["events"]:
        time.sleep(0.02)
print(json.dumps(seen))
"""


def test_processes_that_poll_one_subscription_share_its_events(store: Store) -> None:
    """Each event goes to one of them, and none is lost between two cursors."""
    subscriber = Subscriber(store, classes=CREATED)
    command = [sys.executable, "-c", POLLER, str(store.path), subscriber.subscription_id]
    pollers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    for _ in range(20):
        remember_many(store, 5)
    delivered: Counter[int] = Counter()
    for poller in pollers:
        printed, _ = poller.communicate(timeout=60)
        assert poller.returncode == 0
        seen = json.loads(printed)
        assert seen == sorted(seen)
        delivered.update(seen)
    assert delivered == Counter(range(2, 102))


def test_a_poll_waits_for_another_and_then_says_who(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscriber = Subscriber(store)
    monkeypatch.setattr(exclusive, "__kwdefaults__", {"wait_sec": 0.05})
    with exclusive(files(store, "*.json")[0].parent / "lock"), pytest.raises(ServiceUnavailable):
        subscriber.poll()
    assert subscriber.got() == [1]
