"""`pamctl stdio` as another program's test suite would probe it: filters, history, repetition."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.coprocess import Coprocess

SCOPE = "workspace:test"
ACTOR = {"actor_id": "actor:agent:probe", "actor_kind": "agent"}
BY = {"scope_id": SCOPE, "actor": ACTOR, "provenance": {"activity": "observed"}}
TRUSTED = {"validation_state": "corroborated"}


@pytest.fixture
def coprocess(tmp_path: Path) -> Iterator[Coprocess]:
    with Coprocess(tmp_path, "--ephemeral") as running:
        yield running


def create(coprocess: Coprocess, content: Any = "tea", **more: Any) -> Any:
    given = {"object_type": "claim", "canonical_content": content, **BY, **more}
    return coprocess.ask("create", **given)["envelope"]


def update(coprocess: Coprocess, on: dict[str, Any], content: Any) -> Any:
    changed = coprocess.ask(
        "update",
        **BY,
        object_id=on["object_id"],
        expected_version_id=on["version_id"],
        canonical_content=content,
    )
    return changed["envelope"]


def query(coprocess: Coprocess, **filters: Any) -> Any:
    return coprocess.ask("query", scope_id=SCOPE, **filters)


def test_by_default_trusted_memories_are_found(coprocess: Coprocess) -> None:
    trusted = create(coprocess, **TRUSTED)
    create(coprocess)
    for more in (
        {"lifecycle_state": "candidate"},
        {"lifecycle_state": "archived"},
        {"validation_state": "disputed"},
        {"validation_state": "rejected"},
        {"retention_state": "pending_deletion"},
    ):
        create(coprocess, **{**TRUSTED, **more})
    assert query(coprocess) == [trusted]


@pytest.mark.parametrize(
    ("member", "state"),
    [
        ("lifecycle_state", "candidate"),
        ("lifecycle_state", "superseded"),
        ("validation_state", "unverified"),
        ("validation_state", "disputed"),
        ("retention_state", "expired"),
    ],
)
def test_other_states_are_found_when_they_are_asked_for(
    coprocess: Coprocess, member: str, state: str
) -> None:
    create(coprocess, **TRUSTED)
    other = create(coprocess, **{**TRUSTED, member: state})
    assert query(coprocess, **{member: state}) == [other]


def test_a_type_is_a_filter(coprocess: Coprocess) -> None:
    create(coprocess, **TRUSTED)
    task = create(coprocess, object_type="task", **TRUSTED)
    assert query(coprocess, object_type="task") == [task]


def test_a_limit_is_kept_and_refused_beyond_reason(coprocess: Coprocess) -> None:
    made = [create(coprocess, number, **TRUSTED) for number in range(4)]
    assert query(coprocess, limit=2) == made[:2]
    for limit in (0, -1, "2", 10**9):
        assert query(coprocess, limit=limit)["code"] == "invalid_request"


def test_the_same_question_gets_the_same_bytes(coprocess: Coprocess) -> None:
    for number in range(5):
        create(coprocess, f"tea {number}", **TRUSTED)
    process = coprocess.process
    assert process.stdin is not None
    assert process.stdout is not None
    for arguments in ({}, {"text": "tea"}, {"limit": 3}, {"validation_state": "corroborated"}):
        line = json.dumps(
            {"request_id": 1, "operation": "query", "arguments": {"scope_id": SCOPE, **arguments}}
        )
        answers = set()
        for _ in range(4):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            answers.add(process.stdout.readline())
        assert len(answers) == 1


def test_history_only_grows(coprocess: Coprocess) -> None:
    version = create(coprocess)
    seen: list[Any] = []
    for number in range(5):
        history = coprocess.ask("history", scope_id=SCOPE, object_id=version["object_id"])
        assert history[: len(seen)] == seen
        assert len(history) == len(seen) + 1
        seen = history
        version = update(coprocess, version, number)
    numbers = [one["sequence"] for one in seen]
    assert numbers == sorted(set(numbers))


def test_events_of_an_object_tell_its_versions(coprocess: Coprocess) -> None:
    version = update(coprocess, create(coprocess), "coffee")
    asked = {"scope_id": SCOPE, "actor": ACTOR, "object_id": version["object_id"]}
    events = coprocess.ask("inspect_history", **asked, kind="events")["items"]
    assert [event["event_type"] for event in events] == ["object_created", "object_updated"]
    assert events[-1]["version_id"] == version["version_id"]
    assert all({"event_id", "scope_id", "sequence", "recorded_at"} <= set(one) for one in events)


def test_a_query_document_answers_pages(coprocess: Coprocess) -> None:
    made = [create(coprocess, f"tea {number}", **TRUSTED) for number in range(5)]
    document = {
        "operation_id": "op:query",
        "query": {"kind": "structured", "filters": {"object_type": ["claim"]}},
        "pagination": {"limit": 2},
    }
    found: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        document["pagination"] = {"limit": 2, **cursor}
        page = query(coprocess, **document)
        assert set(page) >= {"items", "next_cursor"}
        found += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == made


def test_text_of_a_structured_query_is_lexical(coprocess: Coprocess) -> None:
    create(coprocess, "coffee", **TRUSTED)
    tea = create(coprocess, "green tea", **TRUSTED)
    document = {
        "operation_id": "op:query",
        "query": {"kind": "structured", "text": "tea please"},
        "pagination": {"limit": 10},
    }
    assert query(coprocess, **document)["items"] == [tea]


def test_similarity_in_a_space_that_is_not_there(coprocess: Coprocess) -> None:
    document = {
        "operation_id": "op:query",
        "query": {"kind": "semantic", "text": "tea"},
        "pagination": {"limit": 10},
        "embedding_space_id": "embspace:nowhere",
    }
    assert query(coprocess, **document)["code"] == "embedding_space_mismatch"
