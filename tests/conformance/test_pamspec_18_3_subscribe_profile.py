"""PAMSPEC §18.3: the Subscribe profile, over the coprocess, one test a requirement."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import clean_environment, pamctl_program, unmeasured

SCOPE = "workspace:default"
ADA = {"actor_id": "actor:human:ada", "actor_kind": "human"}
BOB = {"actor_id": "actor:human:bob", "actor_kind": "human"}


class Coprocess:
    """`pamctl stdio` on a store that outlives it."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [pamctl_program(), "stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=clean_environment(folder),
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def answer(self, operation: str, **arguments: Any) -> Any:
        """The whole answer to one request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"request_id": 1, "operation": operation, "arguments": arguments}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __call__(self, operation: str, **arguments: Any) -> Any:
        """The result of one request, which succeeds."""
        answer = self.answer(operation, **arguments)
        assert "result" in answer, answer
        return answer["result"]

    def create(self, object_type: str = "claim", **more: Any) -> Any:
        return self(
            "create",
            **{"scope_id": SCOPE, "actor": ADA, "canonical_content": "tea", **more},
            object_type=object_type,
            provenance={"activity": "observed"},
        )

    def poll(self, subscription_id: str, **more: Any) -> list[Any]:
        events: list[Any] = self("poll_subscription", subscription_id=subscription_id, **more)[
            "events"
        ]
        return events

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Coprocess]]:
    subprocess.run(
        [pamctl_program(), "init"],
        cwd=tmp_path,
        env=unmeasured(clean_environment(tmp_path)),
        check=True,
        capture_output=True,
    )
    begun: list[Coprocess] = []

    def start() -> Coprocess:
        begun.append(Coprocess(tmp_path))
        return begun[-1]

    yield start
    for coprocess in begun:
        coprocess.end()


@pytest.fixture
def call(start: Callable[[], Coprocess]) -> Coprocess:
    return start()


def subscribed(call: Coprocess, *classes: str, **more: Any) -> str:
    if classes:
        more["filter_spec"] = {"event_classes": list(classes)}
    opened = call("subscribe", scope_id=SCOPE, actor=ADA, **more)
    return str(opened["subscription_id"])


def test_18_3_subscribe_takes_scope_actor_and_filter(call: Coprocess) -> None:
    """And answers an id with the sequence at which delivery starts."""
    chosen = {"event_classes": ["object_created"], "object_type": "claim"}
    opened = call("subscribe", scope_id=SCOPE, actor=ADA, filter_spec=chosen, start_sequence=0)
    assert opened["subscription_id"]
    assert opened["start_sequence"] == 0
    assert opened["filter"] == chosen


def test_18_3_every_matching_event_is_to_be_had_by_polling(call: Coprocess) -> None:
    """Each with what tells it from others and where it belongs."""
    subscription_id = subscribed(call, "object_created")
    made = [call.create() for _ in range(5)]
    delivered = call.poll(subscription_id)
    assert [event["event_id"] for event in delivered] == [one["event_id"] for one in made]
    for event in delivered:
        assert event["scope_id"] == SCOPE
        assert event["event_type"] == "object_created"
        assert event["sequence"] > 0


def test_18_3_no_more_than_asked_for_and_the_rest_later(call: Coprocess) -> None:
    """max_events bounds a poll, and loses nothing."""
    subscription_id = subscribed(call, "object_created")
    for _ in range(5):
        call.create()
    pages = [len(call.poll(subscription_id, max_events=2)) for _ in range(4)]
    assert pages == [2, 2, 1, 0]


def test_18_3_events_that_do_not_match_must_be_excluded(call: Coprocess) -> None:
    """By class, by type and by object, event by event."""
    by_class = subscribed(call, "object_deleted")
    by_type = subscribed(call, filter={"object_type": "decision"})
    by_object = subscribed(call, filter={"object_id": "mem:tea"})
    call.create(object_id="mem:tea")
    call.create("decision", object_id="mem:plan")
    assert call.poll(by_class) == []
    assert [event["object_id"] for event in call.poll(by_type)] == ["mem:plan"]
    assert [event["object_id"] for event in call.poll(by_object)] == ["mem:tea"]


def test_18_3_events_of_another_scope_are_excluded(call: Coprocess) -> None:
    """The authorized scope is the one that was subscribed to."""
    subscription_id = subscribed(call, "object_created")
    call.create(scope_id="project:other")
    assert call.poll(subscription_id) == []


def test_18_3_delivered_events_must_not_be_delivered_by_the_next_poll(call: Coprocess) -> None:
    """The cursor moves with every poll."""
    subscription_id = subscribed(call, "object_created")
    call.create()
    assert len(call.poll(subscription_id)) == 1
    assert call.poll(subscription_id) == []
    second = call.create()
    assert [event["event_id"] for event in call.poll(subscription_id)] == [second["event_id"]]


def test_18_3_the_cursor_is_stable_across_processes(start: Callable[[], Coprocess]) -> None:
    """Another process goes on where the first one was."""
    first = start()
    subscription_id = subscribed(first, "object_created")
    first.create()
    assert len(first.poll(subscription_id)) == 1
    second = start()
    assert second.poll(subscription_id) == []
    second.create()
    assert len(second.poll(subscription_id)) == 1
    assert first.poll(subscription_id) == []


def test_18_3_an_explicit_reset_delivers_again(call: Coprocess) -> None:
    """For the poll that asks for it; the cursor itself does not go back."""
    subscription_id = subscribed(call, "object_created")
    call.create()
    assert len(call.poll(subscription_id)) == 1
    assert len(call.poll(subscription_id, after_sequence=0)) == 1
    assert call.poll(subscription_id) == []


def test_18_3_acknowledgement_may_be_explicit(call: Coprocess) -> None:
    """Asked for, the cursor moves when the subscriber says so."""
    subscription_id = subscribed(call, "object_created", acknowledgement="explicit")
    call.create()
    (event,) = call.poll(subscription_id)
    assert call.poll(subscription_id) == [event]
    call("acknowledge_subscription", subscription_id=subscription_id, sequence=event["sequence"])
    assert call.poll(subscription_id) == []


@pytest.mark.parametrize("close", ["close_subscription", "unsubscribe"])
def test_18_3_after_close_nothing_must_be_delivered(call: Coprocess, close: str) -> None:
    """A poll answers with no events then, and says how far delivery got."""
    subscription_id = subscribed(call, "object_created")
    call.create()
    delivered = call.poll(subscription_id)
    call(close, subscription_id=subscription_id)
    call.create()
    for _ in range(2):
        answer = call.answer("poll_subscription", subscription_id=subscription_id)
        assert answer["result"]["events"] == []
        closed = answer["result"]["closed"]
        assert closed["last_delivered_sequence"] == delivered[-1]["sequence"]


def test_18_3_unsubscribe_takes_scope_and_id(call: Coprocess) -> None:
    """As PAMSPEC's binding for tools names its arguments."""
    subscription_id = subscribed(call)
    closed = call("unsubscribe", scope_id=SCOPE, subscription_id=subscription_id)
    assert closed["subscription_id"] == subscription_id


def test_18_3_a_subscription_is_its_subscriber_s(call: Coprocess) -> None:
    """To anybody else it is as absent as one that never was."""
    subscription_id = subscribed(call, "object_created")
    call.create()
    operations: dict[str, Any] = {
        "poll_subscription": {},
        "close_subscription": {},
        "acknowledge_subscription": {"sequence": 1},
    }
    for operation, more in operations.items():
        refused = call.answer(operation, subscription_id=subscription_id, actor=BOB, **more)
        never = call.answer(operation, subscription_id="sub:never", actor=BOB, **more)
        assert refused["error"]["code"] == never["error"]["code"] == "object_not_found"
        assert refused["error"]["details"] == never["error"]["details"]
    assert len(call.poll(subscription_id, actor=ADA)) == 1
