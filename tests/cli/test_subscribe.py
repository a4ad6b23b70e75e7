"""`pamctl subscribe`, but `follow`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.cli.test_start_up import HEAVY, imported_by

Remember = Callable[..., Any]
Subscribe = Callable[..., str]


def got(program: Program, subscription_id: str, *flags: str) -> list[int]:
    polled = program("subscribe", "poll", subscription_id, *flags).json
    return [event["sequence"] for event in polled["items"]]


class TestCommands:
    def test_from_open_to_close(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        remember("a")
        assert got(in_store, subscription_id) == [2]
        assert got(in_store, subscription_id) == []
        (listed,) = in_store("subscribe", "list").json["items"]
        assert listed["subscription_id"] == subscription_id
        assert listed["acknowledged_sequence"] == 2
        closed = in_store("subscribe", "close", subscription_id).json
        assert closed["last_delivered_sequence"] == 2
        refused = in_store("subscribe", "poll", subscription_id)
        assert refused.status == 9
        assert refused.error["details"]["last_acknowledged_sequence"] == 2
        assert in_store("subscribe", "list").json["items"] == []
        (listed,) = in_store("subscribe", "list", "--all").json["items"]
        assert listed["state"] == "closed"

    def test_open_states_everything(self, in_store: Program) -> None:
        opened = in_store(
            *("subscribe", "open", "--type", "claim", "--object", "mem:tea"),
            *("--event-class", "object_created", "--event-class", "object_updated"),
            *("--predicate", '{"/actor/actor_kind": ["human", "agent"]}'),
            *("--after", "0", "--ack", "explicit", "--batch-events", "5", "--batch-wait", "10"),
            *("--keepalive", "1000", "--backpressure", "close_on_lag", "--idempotency-key", "k"),
        ).json
        assert opened["filter"] == {
            "event_classes": ["object_created", "object_updated"],
            "object_id": "mem:tea",
            "object_type": "claim",
            "predicate": {"/actor/actor_kind": ["human", "agent"]},
        }
        assert opened["acknowledgement"] == "explicit"
        assert opened["delivery"] == {
            "backpressure_policy": "close_on_lag",
            "batching_max_events": 5,
            "batching_max_wait_ms": 10,
            "keepalive_interval_ms": 1000,
        }

    def test_from_now_on(self, in_store: Program, subscribe: Subscribe, remember: Remember) -> None:
        remember("a")
        subscription_id = subscribe("--after", "end")
        remember("b")
        assert got(in_store, subscription_id) == [3]
        assert in_store("--help").status == 0
        new = in_store("subscribe", "open", "--after", "end", "--scope", "project:new").json
        assert new["start_sequence"] == 0

    def test_explicit_acknowledgement(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        subscription_id = subscribe("--ack", "explicit")
        remember("a"), remember("b")
        assert got(in_store, subscription_id) == got(in_store, subscription_id) == [2, 3]
        done = in_store("subscribe", "ack", subscription_id, "2").json
        assert done["acknowledged_sequence"] == 2
        assert got(in_store, subscription_id) == [3]
        assert in_store("subscribe", "ack", subscription_id, "4").status == 2

    def test_once_more_and_ahead(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        subscription_id = subscribe()
        remember("a"), remember("b")
        assert got(in_store, subscription_id, "--after", "2") == [3]
        assert got(in_store, subscription_id) == [2, 3]
        assert got(in_store, subscription_id, "--after", "2") == [3]
        assert got(in_store, subscription_id) == []

    def test_found_by_its_id_in_whatever_scope(self, in_store: Program) -> None:
        words = ("subscribe", "open", "--scope", "project:a", "--print", "subscription_id")
        subscription_id = in_store(*words).stdout.decode().strip()
        assert got(in_store, subscription_id) == [1]
        elsewhere = in_store("subscribe", "poll", subscription_id, "--scope", "workspace:default")
        assert elsewhere.status == 3
        other = in_store("subscribe", "poll", subscription_id, "--actor", "actor:local:other")
        never = in_store("subscribe", "poll", "sub:never")
        assert (other.status, other.error["code"]) == (3, "object_not_found")
        assert (
            other.error["message"].replace(subscription_id, "sub:never") == never.error["message"]
        )

    @pytest.mark.parametrize(
        ("flags", "status"),
        [
            (("--backpressure", "drop_oldest"), 2),
            (("--after", "99"), 2),
            (("--after", "soon"), 2),
            (("--predicate", "[]"), 2),
            (("--predicate", '{"a": 1}'), 2),
            (("--event-class", "object_made"), 2),
            (("--type", "claims"), 2),
            (("--keepalive", "1"), 2),
            (("--print", "id"), 2),
        ],
    )
    def test_what_could_not_be_kept_is_refused(
        self, in_store: Program, flags: tuple[str, ...], status: int
    ) -> None:
        refused = in_store("subscribe", "open", *flags)
        assert refused.status == status
        assert refused.error["details"]
        assert in_store("log").json["items"] == []

    def test_lines_and_tables(
        self, in_store: Program, subscribe: Subscribe, remember: Remember
    ) -> None:
        subscription_id = subscribe("--ack", "explicit")
        for name in "abc":
            remember(name)
        lines = in_store("subscribe", "poll", subscription_id, "--format", "jsonl", "--limit", "2")
        assert [json.loads(line)["sequence"] for line in lines.stdout.splitlines()] == [2, 3]
        assert b"more may wait" in lines.stderr
        status, shown = in_store.at_terminal("subscribe", "poll", subscription_id)
        assert status == 0
        assert "SEQUENCE" in shown
        assert shown.count("object_created") == 3
        for words in (("list",), ("ack", subscription_id, "4"), ("close", subscription_id)):
            status, shown = in_store.at_terminal("subscribe", *words)
            assert status == 0
            assert subscription_id in shown


def test_polling_imports_nothing_heavy(
    in_store: Program, subscribe: Subscribe, remember: Remember
) -> None:
    subscription_id = subscribe()
    remember("a")
    modules = imported_by(in_store, "subscribe", "poll", subscription_id)
    assert HEAVY & modules == set()
    assert got(in_store, subscription_id) == []


def test_a_store_that_cannot_be_written_is_looked_at_and_no_more(
    in_store: Program, subscribe: Subscribe, remember: Remember
) -> None:
    subscription_id = subscribe()
    remember("a")
    for folder in in_store.folder.joinpath(".pam").rglob("subscriptions"):
        folder.chmod(0o555)
    bound = in_store.bound_by_permissions()
    listed = bound("subscribe", "list").json["items"]
    assert len(listed) == 1
    refused = bound("subscribe", "ack", subscription_id, "2")
    assert refused.status == 75
    assert got(in_store, subscription_id) == [2]
