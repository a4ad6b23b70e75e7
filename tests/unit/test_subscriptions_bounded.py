"""Subscriptions that are closed, refused, kept within an evaluation, and shared by processes.
PAMSPEC §10.8, §15.4."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from pamctl import limits
from pamctl.errors import (
    AccessDenied,
    ObjectNotFound,
    PolicyDenied,
    ServiceUnavailable,
    SubscriptionClosed,
)
from pamctl.model.documents import check as check_document
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
    policy,
    remember,
    rule,
    under,
)
from tests.conftest import PATIENT
from tests.subscriptions import CREATED, Subscriber, files, remember_many


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


# Until its input has ended and nothing is left.
POLLER = """
import json, select, sys
import pamctl
store = pamctl.open_store(sys.argv[1])
seen, ended = [], False
while True:
    ended = ended or bool(select.select([sys.stdin], [], [], 0.02)[0])
    events = store.subscriptions.poll(subscription_id=sys.argv[2], max_events=3)["events"]
    seen += [event["sequence"] for event in events]
    if ended and not events:
        break
print(json.dumps(seen))
"""


def test_processes_that_poll_one_subscription_share_its_events(patient: None, store: Store) -> None:
    """Each event goes to one of them, and none is lost between two cursors."""
    subscriber = Subscriber(store, classes=CREATED)
    command = [sys.executable, "-c", PATIENT + POLLER, str(store.path), subscriber.subscription_id]
    pollers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)
    ]
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
