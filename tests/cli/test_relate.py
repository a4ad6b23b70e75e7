"""`pamctl relate`, and relationships in read, history, transition, delete and query."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program

Remember = Callable[..., Any]


@pytest.fixture
def related(in_store: Program, remember: Remember) -> Program:
    """A store in which a supports b, and b is part of c."""
    for name in "abc":
        remember(name, "--id", f"mem:{name}")
    assert in_store("relate", "mem:a", "supports", "mem:b", "--id", "rel:ab").status == 0
    assert in_store("relate", "mem:b", "part_of", "mem:c", "--id", "rel:bc").status == 0
    return in_store


def test_relate_answers_the_whole_result(in_store: Program, remember: Remember) -> None:
    remember("a", "--id", "mem:a"), remember("b", "--id", "mem:b")
    made = in_store(
        *("relate", "mem:a", "supports", "mem:b", "--directionality", "undirected"),
        *("--content", '{"weight": 0.5}', "--validation", "corroborated"),
        *("--valid-from", "2026-01-01T00:00:00Z", "--source", "urn:x", "--activity", "noticed"),
    ).json
    envelope = made["envelope"]
    assert made["relationship_id"] == envelope["relationship_id"]
    assert envelope["source_object_id"] == "mem:a"
    assert envelope["target_object_id"] == "mem:b"
    assert envelope["relationship_type"] == "supports"
    assert envelope["directionality"] == "undirected"
    assert envelope["canonical_content"] == {"weight": 0.5}
    assert envelope["validation_state"] == "corroborated"
    assert envelope["valid_from"] == "2026-01-01T00:00:00Z"
    assert envelope["provenance"]["source_ref"] == "urn:x"
    assert envelope["provenance"]["activity"] == "noticed"


def test_a_relationship_lives_as_a_memory_does(related: Program) -> None:
    first = related("read", "rel:ab", "--print", "version_id").stdout.decode().strip()
    updated = related(
        "relate", "--relationship", "rel:ab", "--expect", first, "--content", '{"weight": 1}'
    ).json
    moved = related(
        *("transition", "rel:ab", "validation", "corroborated"),
        *("--expect", updated["version_id"], "--policy-basis", "seen by two"),
    ).json
    gone = related(
        "delete", "rel:ab", "--expect", moved["version_id"], "--policy-basis", "asked"
    ).json
    assert gone["relationship_id"] == "rel:ab"
    assert related("read", "rel:ab").status == 9
    versions = related("history", "rel:ab").json["items"]
    assert [version["sequence"] for version in versions] == [1, 2, 3, 4]
    events = related("history", "rel:ab", "--events").json["items"]
    assert [event["event_type"] for event in events] == [
        "relationship_created",
        "relationship_updated",
        "validation_transitioned",
        "object_deleted",
    ]


def test_refusals_have_their_statuses(related: Program) -> None:
    again = related("relate", "mem:a", "supports", "mem:b")
    assert (again.status, again.error["code"]) == (6, "relationship_conflict")
    assert again.error["details"]["relationship_id"] == "rel:ab"
    nowhere = related("relate", "mem:a", "supports", "mem:nowhere")
    assert (nowhere.status, nowhere.error["code"]) == (3, "object_not_found")
    stale = related("relate", "--relationship", "rel:ab", "--expect", "ver:stale")
    assert (stale.status, stale.error["code"]) == (4, "version_conflict")
    across = related("relate", "mem:a", "x", "mem:b", "--target-scope", "workspace:far")
    assert (across.status, across.error["code"]) == (7, "policy_denied")


@pytest.mark.parametrize(
    "words",
    [
        ("mem:a", "supports"),
        ("--relationship", "rel:ab"),
        ("mem:a", "x", "mem:b", "--expect", "ver:1"),
        ("--relationship", "rel:ab", "--expect", "ver:1", "--id", "rel:x"),
        ("mem:a", "x", "mem:b", "--directionality", "both"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(related: Program, words: tuple[str, ...]) -> None:
    refused = related("relate", *words)
    assert (refused.status, refused.error["code"]) == (2, "invalid_request")


def ids(outcome: Any) -> list[str]:
    return [item.get("object_id") or item["relationship_id"] for item in outcome.json["items"]]


def test_query_walks_and_lists(related: Program) -> None:
    def found(*words: str) -> list[str]:
        return ids(related("query", "--any-state", *words))

    assert found("--related-to", "mem:a") == ["mem:b"]
    assert found("--related-to", "mem:a", "--depth", "2") == ["mem:b", "mem:c"]
    assert found("--related-to", "mem:b", "--direction", "in") == ["mem:a"]
    assert found("--related-to", "mem:b", "--relation-type", "part_of") == ["mem:c"]
    assert found("--relationships") == ["rel:ab", "rel:bc"]
    assert found("--relationships", "--relation-type", "part_of") == ["rel:bc"]
    assert found("--relationships", "--related-to", "mem:a") == ["rel:ab"]
    assert found("--relation-type", "supports") == ["mem:a", "mem:b"]
    assert ids(related("query", "--related-to", "mem:a")) == []


def test_query_refuses_what_makes_no_sense(related: Program) -> None:
    for words in (
        ("--depth", "2"),
        ("--direction", "out"),
        ("--related-to", "mem:a", "--depth", "17"),
        ("--related-to", "mem:a", "--direction", "up"),
        ("--relationships", "--type", "claim"),
    ):
        assert related("query", *words).status == 2
    assert related("query", "--related-to", "mem:nowhere").status == 3


def test_a_person_reads_what_is_joined(related: Program) -> None:
    status, shown = related.at_terminal("read", "rel:ab")
    assert status == 0
    assert "mem:a" in shown
    assert "supports (directed)" in shown
    status, shown = related.at_terminal(
        "query", "--relationships", "--any-state", env={"NO_COLOR": "1"}
    )
    assert shown.splitlines()[0].split()[:4] == ["RELATIONSHIP", "SOURCE", "TYPE", "TARGET"]
    assert len(shown.splitlines()) == 3
    status, shown = related.at_terminal("relate", "mem:c", "mentions", "mem:a", "--id", "rel:ca")
    assert shown.startswith("related by rel:ca, version ver:")
    assert "rel:ca" in related.at_terminal("log")[1]


def test_in_a_batch_with_what_it_relates(in_store: Program) -> None:
    provenance = {"activity": "imported"}
    lines = [
        {
            "operation": "create",
            "arguments": {
                "object_id": f"mem:{name}",
                "object_type": "working_memory",
                "canonical_content": {"task_ref": "task:1", "content": name},
                "provenance": provenance,
            },
        }
        for name in "ab"
    ]
    lines.append(
        {
            "operation": "relate",
            "arguments": {
                "source_object_id": "mem:a",
                "target_object_id": "mem:b",
                "relationship_type": "supports",
                "provenance": provenance,
                "idempotency_key": "k",
            },
        }
    )
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    done = in_store("batch", "--atomic", stdin=text)
    assert done.status == 0
    (_, _, made) = [json.loads(line)["result"] for line in done.stdout.splitlines()]
    assert in_store("read", made["relationship_id"]).json == made["envelope"]
