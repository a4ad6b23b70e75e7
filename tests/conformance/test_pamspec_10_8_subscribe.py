"""PAMSPEC §10.8: Subscribe, one test a requirement."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl import errors
from pamctl.model.documents import check
from pamctl.service.store import Store
from tests.authority import (
    AGENT,
    NO_AGENTS,
    OWNER,
    SCOPE,
    events,
    govern,
    on,
    policy,
    remember,
    rule,
)
from tests.subscriptions import Subscriber


def test_10_8_the_required_inputs_are_required(store: Store) -> None:
    """Scope and actor have to be named; the operation has a name, its own if none is given;
    a filter that is left out is the one that lets everything through."""
    asked = {"operation_id": "op:mine", "scope_id": SCOPE, "actor": OWNER, "filter": {}}
    assert store.perform("subscribe", asked)["operation_id"] == "op:mine"
    for missing in ("scope_id", "actor"):
        with pytest.raises(errors.InvalidRequest):
            store.perform("subscribe", {n: v for n, v in asked.items() if n != missing})
    assert Subscriber(store).opened["filter"] == {}


@pytest.mark.parametrize(
    "chosen",
    [
        {"object_type": "decision"},
        {"event_classes": ["object_updated"]},
        {"object_id": "mem:plan"},
    ],
    ids=str,
)
def test_10_8_the_optional_filters_narrow_it(store: Store, chosen: dict[str, Any]) -> None:
    """Object type, event classes and object are each enough to pick out the one event."""
    subscriber = Subscriber(store, filter=chosen)
    plan = remember(store, object_id="mem:plan", object_type="decision")
    remember(store, object_id="mem:tea")
    if "event_classes" in chosen:
        store.update(**on(plan, OWNER, canonical_content="new", provenance={"activity": "edited"}))
    assert [event["object_id"] for event in subscriber.poll()["events"]] == ["mem:plan"]


def test_10_8_delivery_begins_where_the_subscriber_says(store: Store) -> None:
    """What was committed behind after_sequence before the subscription is caught up with."""
    for content in "abc":
        remember(store, content)
    subscriber = Subscriber(store, classes=("object_created",), after_sequence=1)
    assert subscriber.got() == [2, 3]


def test_10_8_preferences_of_delivery_are_kept(store: Store) -> None:
    """A batch is never larger than the subscriber wants it."""
    for content in "abc":
        remember(store, content)
    preferences = {
        "batching_max_events": 2,
        "batching_max_wait_ms": 5,
        "keepalive_interval_ms": 1000,
        "backpressure_policy": "block",
    }
    subscriber = Subscriber(store, delivery=preferences)
    assert subscriber.opened["delivery"] == preferences
    assert subscriber.got() == [1, 2]


def test_10_8_a_preference_that_would_lose_events_is_refused(store: Store) -> None:
    """Dropping the oldest contradicts the delivery of every event."""
    with pytest.raises(errors.InvalidRequest):
        Subscriber(store, delivery={"backpressure_policy": "drop_oldest"})


def test_10_8_the_answer_says_what_was_resolved(store: Store) -> None:
    """The id, the filter, where delivery starts, and how events are to be had."""
    remember(store)
    chosen = {"event_classes": ["object_created"]}
    opened = Subscriber(store, filter=chosen, after_sequence=1).opened
    assert opened["subscription_id"].startswith("sub:")
    assert opened["filter"] == chosen
    assert opened["start_sequence"] == 1
    assert opened["channel_ref"]


def test_10_8_every_event_that_matches_must_be_delivered(store: Store) -> None:
    """None is missing, however the polls fall between the commits and however small they are."""
    subscriber = Subscriber(store, classes=("object_created",))
    delivered: list[int] = []
    for number in range(20):
        remember(store, number)
        if number % 3 == 0:
            delivered += subscriber.got(max_events=2)
    while found := subscriber.got(max_events=2):
        delivered += found
    created = [event["sequence"] for event in events(store, "object_created")]
    assert delivered == created
    assert len(created) == 20


def test_10_8_nothing_from_outside_the_scope_is_delivered(store: Store) -> None:
    """A subscription is to one scope."""
    subscriber = Subscriber(store)
    remember(store, scope_id="project:other")
    assert {event["scope_id"] for event in subscriber.poll()["events"]} == {SCOPE}


def test_10_8_what_is_not_acknowledged_must_be_delivered_again(store: Store) -> None:
    """Everything behind the last acknowledged sequence, until it is acknowledged."""
    subscriber = Subscriber(store, classes=("object_created",), acknowledgement="explicit")
    for content in "abc":
        remember(store, content)
    assert subscriber.got() == [2, 3, 4]
    subscriber.acknowledge(3)
    assert subscriber.got() == [4]
    assert subscriber.got() == [4]


def test_10_8_the_order_of_the_scope_must_be_preserved(store: Store) -> None:
    """Events come in the order of the ledger, across pages too."""
    subscriber = Subscriber(store)
    for number in range(10):
        remember(store, number)
    delivered = [sequence for _ in range(6) for sequence in subscriber.got(max_events=2)]
    assert delivered == list(range(1, 12))


def test_10_8_events_can_be_told_apart_by_their_ids(store: Store) -> None:
    """An event that is delivered twice has the same event_id; two events never do."""
    subscriber = Subscriber(store, acknowledgement="explicit")
    remember(store)
    first, again = subscriber.poll()["events"], subscriber.poll()["events"]
    assert [one["event_id"] for one in first] == [one["event_id"] for one in again]
    assert len({one["event_id"] for one in first}) == len(first) == 2


def test_10_8_the_caller_may_close_it_by_its_id(store: Store) -> None:
    """Unsubscribe, naming the subscription."""
    subscriber = Subscriber(store)
    named = {"scope_id": SCOPE, "actor": OWNER, "subscription_id": subscriber.subscription_id}
    store.perform("unsubscribe", named)
    with pytest.raises(errors.SubscriptionClosed):
        subscriber.poll()


def test_10_8_the_service_closes_it_when_authority_is_revoked(store: Store) -> None:
    """The terminal event names the last delivered sequence, and who can subscribe again goes
    on from there."""
    subscriber = Subscriber(store, AGENT, classes=("object_created",))
    remember(store)
    assert subscriber.got() == [2]
    govern(store, NO_AGENTS)
    remember(store)
    with pytest.raises(errors.AccessDenied):
        subscriber.poll()
    (closed,) = events(store, "subscription_closed")
    assert closed["payload"]["subscription_id"] == subscriber.subscription_id
    assert closed["payload"]["last_delivered_sequence"] == 2
    govern(store, policy())
    resumed = Subscriber(
        store,
        AGENT,
        classes=("object_created",),
        after_sequence=closed["payload"]["last_delivered_sequence"],
    )
    assert resumed.got() == [3]


def test_10_8_the_service_closes_it_under_prolonged_backpressure(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a subscriber who chose that, when too many events wait unacknowledged."""
    monkeypatch.setattr("pamctl.limits.SUBSCRIPTION_LAG_EVENTS_MAX", 3)
    subscriber = Subscriber(store, delivery={"backpressure_policy": "close_on_lag"})
    for content in "abcd":
        remember(store, content)
    with pytest.raises(errors.SubscriptionClosed):
        subscriber.poll()
    (closed,) = events(store, "subscription_closed")
    assert closed["payload"]["reason"] == "lag"
    assert closed["payload"]["last_delivered_sequence"] == 0


def test_10_8_it_makes_no_version_and_two_events(store: Store) -> None:
    """subscription_opened when it starts, subscription_closed when it ends, and nothing else."""
    subscriber = Subscriber(store)
    subscriber.poll()
    subscriber.close()
    recorded = events(store)
    assert [event["event_type"] for event in recorded] == [
        "subscription_opened",
        "subscription_closed",
    ]
    for event in recorded:
        check("event", event)
        assert "version_id" not in event
    assert store.status()["scopes"][0]["versions"] == 0


def test_10_8_the_filter_must_be_applied_to_each_event(store: Store) -> None:
    """In one page, those that pass and no others."""
    subscriber = Subscriber(store, filter={"object_type": "decision"})
    for kind in ("claim", "decision", "claim", "decision"):
        remember(store, object_type=kind)
    assert subscriber.got() == [3, 5]


def test_10_8_authorization_must_be_applied_to_each_event(store: Store) -> None:
    """What the actor may no longer see when it would be delivered, is not."""
    subscriber = Subscriber(store, AGENT, classes=("object_created",))
    remember(store, object_type="decision")
    remember(store)
    kept_secret = rule(actors=["actor:agent:*"], object_types=["decision"])
    govern(store, policy(kept_secret))
    assert subscriber.got() == [3]


class TestErrors:
    def test_10_8_invalid_request(self, store: Store) -> None:
        """A filter that is none."""
        with pytest.raises(errors.InvalidRequest):
            Subscriber(store, filter={"event_classes": ["something"]})

    def test_10_8_scope_not_found(self, store: Store) -> None:
        """Where scopes have to be declared."""
        store.directory.config = {**store.config, "auto_create_scopes": False}
        with pytest.raises(errors.ScopeNotFound):
            Subscriber(store, scope_id="project:never")

    def test_10_8_access_denied(self, store: Store) -> None:
        """An actor whom the policy refuses; it is on record."""
        govern(store, NO_AGENTS)
        with pytest.raises(errors.AccessDenied):
            Subscriber(store, AGENT)
        assert len(events(store, "access_denied")) == 1

    def test_10_8_service_unavailable(self, store: Store) -> None:
        """Somebody holds the scope, for longer than anybody waits."""
        from pamctl.store.lock import exclusive

        layout = store.layout.scope(SCOPE)
        with exclusive(layout.lock), pytest.MonkeyPatch.context() as patch:
            patch.setattr("pamctl.store.commit.LOCK_WAIT_SEC", 0.01)
            with pytest.raises(errors.ServiceUnavailable):
                Subscriber(store)
