"""Subscriptions through the Python API. PAMSPEC §10.8, §18.3."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

import pamctl
from pamctl import limits
from pamctl.errors import (
    DuplicateOperation,
    InvalidRequest,
    ObjectNotFound,
)
from pamctl.model.documents import check as check_document
from pamctl.rules import subscriptions as rules
from pamctl.service.store import Store
from pamctl.store.lock import exclusive
from tests.authority import (
    OWNER,
    SCOPE,
    events,
    on,
    remember,
)
from tests.subscriptions import CREATED, Subscriber, files, remember_many


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
