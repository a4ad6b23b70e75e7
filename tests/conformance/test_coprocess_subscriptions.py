"""`pamctl stdio` as another program's test suite would probe it: PAMSPEC-Subscribe (§18.3)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.coprocess import Coprocess
from tests.conftest import Run

SCOPE = "workspace:test"
ACTOR = {"actor_id": "actor:agent:probe", "actor_kind": "agent"}
OPENING = ("subscription_opened", "subscription_closed")


@pytest.fixture
def coprocess(tmp_path: Path) -> Iterator[Coprocess]:
    with Coprocess(tmp_path, "--ephemeral") as running:
        yield running


def create(coprocess: Coprocess, content: Any = "tea", **more: Any) -> Any:
    given = {
        "scope_id": SCOPE,
        "object_type": "claim",
        "canonical_content": content,
        "actor": ACTOR,
        "provenance": {"activity": "observed"},
        **more,
    }
    return coprocess.ask("create", **given)


def archive(coprocess: Coprocess, made: dict[str, Any]) -> Any:
    return coprocess.ask(
        "transition",
        scope_id=SCOPE,
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        dimension="lifecycle",
        target_state="archived",
        actor=ACTOR,
    )


def subscribe(coprocess: Coprocess, **more: Any) -> str:
    answer = coprocess.ask("subscribe", **{"scope_id": SCOPE, "actor": ACTOR, **more})
    assert "code" not in answer, answer
    identifier: str = answer["subscription_id"]
    return identifier


def poll(coprocess: Coprocess, subscription_id: str, **more: Any) -> list[Any]:
    """The events of memories that a poll delivers."""
    answer = coprocess.ask("poll_subscription", subscription_id=subscription_id, **more)
    assert "code" not in answer, answer
    return [event for event in answer["events"] if event["event_type"] not in OPENING]


def test_a_subscription_delivers_what_happens(coprocess: Coprocess) -> None:
    subscription = subscribe(coprocess)
    made = [create(coprocess, number) for number in range(3)]
    events = poll(coprocess, subscription)
    assert [event["event_id"] for event in events] == [one["event_id"] for one in made]
    for event in events:
        assert {"event_id", "event_type", "scope_id", "sequence"} <= set(event)
        assert event["scope_id"] == SCOPE
    sequences = [event["sequence"] for event in events]
    assert sequences == sorted(set(sequences))


def test_what_was_delivered_is_not_delivered_again(coprocess: Coprocess) -> None:
    subscription = subscribe(coprocess)
    create(coprocess)
    assert len(poll(coprocess, subscription)) == 1
    assert poll(coprocess, subscription) == []
    later = create(coprocess)
    assert [event["event_id"] for event in poll(coprocess, subscription)] == [later["event_id"]]


def test_a_poll_delivers_no_more_than_it_was_asked_for(coprocess: Coprocess) -> None:
    subscription = subscribe(coprocess, filter_spec={"event_classes": ["object_created"]})
    made = [create(coprocess, number)["event_id"] for number in range(5)]
    delivered = []
    for expected in (2, 2, 1, 0):
        events = poll(coprocess, subscription, max_events=2)
        assert len(events) == expected
        delivered += [event["event_id"] for event in events]
    assert delivered == made


@pytest.mark.parametrize(
    ("filter_spec", "expected"),
    [
        ({"event_classes": ["object_created"]}, ["object_created"] * 3),
        ({"event_classes": ["lifecycle_transitioned"]}, ["lifecycle_transitioned"]),
        ({"object_id": "mem:b"}, ["object_created"]),
        ({"object_id": "mem:a"}, ["object_created", "lifecycle_transitioned"]),
        ({"object_type": "task"}, ["object_created"]),
        ({"event_classes": ["object_deleted"]}, []),
    ],
)
def test_a_filter_is_asked_for_each_event(
    coprocess: Coprocess, filter_spec: dict[str, Any], expected: list[str]
) -> None:
    subscription = subscribe(coprocess, filter_spec=filter_spec)
    first = create(coprocess, object_id="mem:a")
    create(coprocess, object_id="mem:b")
    create(coprocess, object_id="mem:c", object_type="task")
    archive(coprocess, first)
    assert [event["event_type"] for event in poll(coprocess, subscription)] == expected


def test_a_subscription_sees_its_scope_alone(coprocess: Coprocess) -> None:
    subscription = subscribe(coprocess)
    create(coprocess, scope_id="workspace:other")
    here = create(coprocess)
    assert [event["event_id"] for event in poll(coprocess, subscription)] == [here["event_id"]]


@pytest.mark.parametrize("operation", ["close_subscription", "unsubscribe"])
def test_after_the_close_nothing_is_delivered(coprocess: Coprocess, operation: str) -> None:
    subscription = subscribe(coprocess)
    before = create(coprocess)
    assert [event["event_id"] for event in poll(coprocess, subscription)] == [before["event_id"]]
    closed = coprocess.ask(operation, subscription_id=subscription)
    assert "code" not in closed, closed
    create(coprocess)
    answer = coprocess.ask("poll_subscription", subscription_id=subscription)
    assert "code" in answer or answer["events"] == []


def test_it_can_begin_in_the_past(coprocess: Coprocess) -> None:
    made = [create(coprocess, number) for number in range(4)]
    after = made[1]["ledger_sequence"]
    subscription = subscribe(coprocess, start_sequence=after)
    delivered = [event["sequence"] for event in poll(coprocess, subscription)]
    assert delivered[-2:] == [one["ledger_sequence"] for one in made[2:]]
    assert min(delivered) >= after


def test_a_cursor_is_of_the_store_and_not_of_the_process(tmp_path: Path, run: Run) -> None:
    assert run("init").returncode == 0
    with Coprocess(tmp_path) as first:
        subscription = subscribe(first)
        create(first, "before")
        assert len(poll(first, subscription)) == 1
    with Coprocess(tmp_path) as second:
        later = create(second, "later")
        events = poll(second, subscription)
        assert [event["event_id"] for event in events] == [later["event_id"]]


def test_opening_and_closing_are_events(coprocess: Coprocess) -> None:
    subscription = subscribe(coprocess)
    coprocess.ask("close_subscription", subscription_id=subscription)
    events = coprocess.ask("inspect_history", scope_id=SCOPE, actor=ACTOR)["items"]
    assert [event["event_type"] for event in events] == list(OPENING)
    assert all("version_id" not in event for event in events)


def test_what_is_no_subscription(coprocess: Coprocess) -> None:
    answer = coprocess.ask("poll_subscription", subscription_id="sub:nothing")
    assert answer["code"] in ("object_not_found", "invalid_request")
