"""Snapshots and subscriptions, as their owner uses them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.property.machine.requests import OWNER, WORDS, actor_object, names, outcome, scopes
from tests.property.machine.side_by_side import SideBySide
from tests.property.model.tables import Event


class Boundaries(SideBySide):
    """Views that stand still, and events that arrive in order."""

    @rule(scope_id=scopes)
    def seal(self, scope_id: str) -> None:
        answer = self.store.perform(
            "snapshot_create", {"scope_id": scope_id, "actor": actor_object(OWNER)}
        )
        snapshot = answer["snapshot"]
        scope = self.model[scope_id]
        assert snapshot["ledger_sequence_high_watermark"] == len(scope.events)
        self.snapshots.append((scope_id, snapshot["snapshot_id"], scope.sealed()))

    @precondition(lambda self: self.snapshots)
    @rule(which=st.integers(0, 9), name=names)
    def read_through_a_snapshot(self, which: int, name: str) -> None:
        scope_id, snapshot_id, sealed = self.snapshots[which % len(self.snapshots)]
        both = self.look(
            scope_id,
            OWNER,
            "read",
            {"object_id": name, "snapshot_id": snapshot_id},
            lambda scope: sealed.read(OWNER, name, None, None),
        )
        if both is not None:
            envelope, (version, shown) = both
            self.compare(scope_id, name, version, shown, envelope)

    @precondition(lambda self: self.snapshots)
    @rule(which=st.integers(0, 9), word=st.sampled_from((None, *WORDS)))
    def query_through_a_snapshot(self, which: int, word: str | None) -> None:
        scope_id, snapshot_id, sealed = self.snapshots[which % len(self.snapshots)]
        arguments: dict[str, Any] = {"snapshot_id": snapshot_id, "any_state": True, "limit": 100}
        if word is not None:
            arguments["text"] = word
        both = self.look(
            scope_id,
            OWNER,
            "query",
            arguments,
            lambda scope: sealed.query(OWNER, {}, None, word, None),
        )
        assert both is not None
        self.compare_found(scope_id, both[0]["items"], both[1], in_order=word is None)

    @precondition(lambda self: len(self.subscriptions) < 3)
    @rule(
        scope_id=scopes,
        chosen=st.sampled_from(
            (
                {},
                {"event_classes": ["object_created", "object_deleted"]},
                {"object_id": "mem:claim"},
            )
        ),
        replayed=st.booleans(),
    )
    def subscribe(self, scope_id: str, chosen: dict[str, Any], replayed: bool) -> None:
        scope = self.model[scope_id]
        start = 0 if replayed else len(scope.events)
        answer = self.store.perform(
            "subscribe",
            {
                "scope_id": scope_id,
                "actor": actor_object(OWNER),
                "filter": chosen,
                "after_sequence": start,
            },
        )
        scope.events.append(Event("subscription_opened"))
        self.subscriptions[answer["subscription_id"]] = (scope_id, chosen, start)

    @precondition(lambda self: self.subscriptions)
    @rule(which=st.integers(0, 2), most=st.sampled_from((1, 3, 100)))
    def poll(self, which: int, most: int) -> None:
        names = sorted(self.subscriptions)
        subscription_id = names[which % len(names)]
        scope_id, chosen, cursor = self.subscriptions[subscription_id]
        events = self.model[scope_id].events
        wanted = [
            number
            for number, event in enumerate(events, start=1)
            if number > cursor
            and event.kind in chosen.get("event_classes", (event.kind,))
            and chosen.get("object_id", event.named) == event.named
        ][:most]
        answer = self.store.perform(
            "poll_subscription", {"subscription_id": subscription_id, "max_events": most}
        )
        assert [event["sequence"] for event in answer["events"]] == wanted
        assert [self.told(scope_id, event) for event in answer["events"]] == [
            (events[number - 1].kind, events[number - 1].named, events[number - 1].number)
            for number in wanted
        ]
        if wanted:
            self.subscriptions[subscription_id] = (scope_id, chosen, wanted[-1])

    @precondition(lambda self: self.subscriptions)
    @rule(which=st.integers(0, 2))
    def unsubscribe(self, which: int) -> None:
        names = sorted(self.subscriptions)
        subscription_id = names[which % len(names)]
        scope_id, _, _ = self.subscriptions.pop(subscription_id)
        self.store.perform("close_subscription", {"subscription_id": subscription_id})
        self.model[scope_id].events.append(Event("subscription_closed"))
        kind, _ = outcome(
            lambda: self.store.perform("poll_subscription", {"subscription_id": subscription_id})[
                "events"
            ][0]
        )
        assert kind != "done"
