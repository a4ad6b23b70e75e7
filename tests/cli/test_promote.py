"""`pamctl promote`: a lasting memory out of working memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Program

PLAN = json.dumps({"task_ref": "task:plan", "content": ["gather", "draft"]})


@pytest.fixture
def plan(in_store: Program) -> Any:
    return in_store(
        "create", "--type", "working_memory", "--content", PLAN, "--id", "mem:plan"
    ).json


def test_promote_answers_what_it_made(in_store: Program, plan: Any) -> None:
    made = in_store(
        *("promote", "mem:plan", "--expect", plan["version_id"], "--type", "task"),
        *("--content", '{"title": "Draft it."}', "--id", "mem:task"),
        *("--lifecycle", "candidate", "--validation", "corroborated", "--source", "urn:x"),
    ).json
    envelope = made["envelope"]
    assert made["object_id"] == "mem:task"
    assert made["source_object_id"] == "mem:plan"
    assert envelope["object_type"] == "task"
    assert envelope["lifecycle_state"] == "candidate"
    assert envelope["validation_state"] == "corroborated"
    assert envelope["provenance"]["activity"] == "promoted"
    assert envelope["provenance"]["transformation_parent"] == plan["version_id"]
    assert in_store("read", "mem:plan", "--print", "lifecycle_state").stdout == b"superseded\n"
    derived = in_store("read", made["relationship_id"]).json
    assert derived["relationship_type"] == "derived_from"
    events = in_store("log", "--after", "1").json["items"]
    assert [event["event_type"] for event in events] == [
        "object_created",
        "lifecycle_transitioned",
        "relationship_created",
        "working_memory_promoted",
    ]


def test_a_person_is_told_in_a_sentence(in_store: Program, plan: Any) -> None:
    status, shown = in_store.at_terminal(
        *("promote", "mem:plan", "--expect", plan["version_id"], "--type", "claim"),
        *("--content", '"Draft it."', "--id", "mem:claim"),
    )
    assert status == 0
    assert shown.startswith("promoted mem:plan to mem:claim, version ver:")


def test_refusals_have_their_statuses(in_store: Program, plan: Any) -> None:
    def refused(object_id: str, version: str, *words: str) -> tuple[int, str]:
        outcome = in_store("promote", object_id, "--expect", version, *words)
        return outcome.status, outcome.error["code"]

    task = ("--type", "task", "--content", "1")
    assert refused("mem:nowhere", "ver:1", *task) == (3, "object_not_found")
    assert refused("mem:plan", "ver:stale", *task) == (4, "version_conflict")
    current = plan["version_id"]
    result = ("--type", "tool_result", "--content", "{}")
    assert refused("mem:plan", current, *result) == (10, "invalid_object")
    assert refused("mem:plan", current, "--type", "tsk", "--content", "1") == (
        10,
        "unsupported_object_type",
    )
    assert refused("mem:plan", current, "--type", "task") == (2, "invalid_request")
    in_store("create", "--type", "claim", "--content", "1", "--id", "mem:claim")
    assert refused("mem:claim", "ver:1", *task) == (2, "invalid_request")


def test_through_the_coprocess(in_store: Program, plan: Any) -> None:
    actor = {"actor_id": "actor:agent:planner", "actor_kind": "agent"}
    request = {
        "request_id": 1,
        "operation": "promote",
        "arguments": {
            "scope_id": "workspace:default",
            "source_object_id": "mem:plan",
            "expected_version_id": plan["version_id"],
            "target_object_type": "task",
            "target_canonical_content": None,
            "actor": actor,
            "provenance": {"activity": "promoted"},
            "idempotency_key": "k",
        },
    }
    line = json.dumps(request).encode() + b"\n"
    done = in_store("stdio", stdin=line + line)
    first, second = (json.loads(answer)["result"] for answer in done.stdout.splitlines()[1:])
    assert first["envelope"]["canonical_content"] is None
    assert second == {**first, "replayed": True}
