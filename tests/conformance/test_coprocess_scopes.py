"""`pamctl stdio` as another program's test suite would probe it: scopes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.coprocess import Coprocess

HERE, THERE = "workspace:here", "workspace:there"
ACTOR = {"actor_id": "actor:agent:probe", "actor_kind": "agent"}
SEEN = {"activity": "observed"}
BY = {"actor": ACTOR, "provenance": SEEN}


@pytest.fixture
def coprocess(tmp_path: Path) -> Iterator[Coprocess]:
    with Coprocess(tmp_path, "--ephemeral") as running:
        yield running


def create(coprocess: Coprocess, scope_id: str, content: Any = "tea", **more: Any) -> Any:
    given = {"object_type": "claim", "canonical_content": content, **BY, **more}
    return coprocess.ask("create", scope_id=scope_id, **given)


def about(made: dict[str, Any]) -> dict[str, Any]:
    return {"object_id": made["object_id"], "expected_version_id": made["version_id"]}


def by_id(made: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every operation that addresses an object by its id."""
    working = {"target_object_type": "claim", "target_canonical_content": "x", **BY}
    return [
        ("read", {"object_id": made["object_id"]}),
        ("read", {"object_id": made["object_id"], "version_id": made["version_id"]}),
        ("history", {"object_id": made["object_id"]}),
        ("inspect_history", {"object_id": made["object_id"], "actor": ACTOR}),
        ("update", {**about(made), "canonical_content": "stolen", **BY}),
        (
            "transition",
            {**about(made), "dimension": "lifecycle", "target_state": "archived", "actor": ACTOR},
        ),
        ("redact", {**about(made), "actor": ACTOR, "policy_basis": "policy:test"}),
        ("delete", {**about(made), **BY}),
        (
            "promote",
            {
                "source_object_id": made["object_id"],
                "expected_version_id": made["version_id"],
                **working,
            },
        ),
    ]


def test_an_object_is_in_one_scope(coprocess: Coprocess) -> None:
    made = create(coprocess, HERE)
    assert made["envelope"]["scope_id"] == HERE
    assert coprocess.ask("read", scope_id=HERE, object_id=made["object_id"]) == made["envelope"]
    create(coprocess, THERE)
    absent = coprocess.ask("read", scope_id=THERE, object_id=made["object_id"])
    assert absent["code"] == "object_not_found"


def test_no_operation_reaches_an_object_of_another_scope(coprocess: Coprocess) -> None:
    made = create(coprocess, HERE)
    create(coprocess, THERE, "other")
    for operation, arguments in by_id(made):
        answer = coprocess.ask(operation, scope_id=THERE, **arguments)
        assert answer["code"] == "object_not_found", operation
        assert "tea" not in str(answer)
    assert coprocess.ask("read", scope_id=HERE, object_id=made["object_id"]) == made["envelope"]
    related = coprocess.ask(
        "relate",
        scope_id=THERE,
        source_object_id=made["object_id"],
        target_object_id=made["object_id"],
        relationship_type="supports",
        **BY,
    )
    assert related["code"] == "object_not_found"


def test_no_operation_works_without_a_scope(coprocess: Coprocess) -> None:
    made = create(coprocess, HERE)
    operations = by_id(made)
    operations.append(("query", {}))
    operations.append(("create", {"object_type": "claim", "canonical_content": 1, **BY}))
    for operation, arguments in operations:
        assert coprocess.ask(operation, **arguments)["code"] == "invalid_request", operation
        assert coprocess.ask(operation, scope_id="", **arguments)["code"] == "invalid_request"


def test_a_query_sees_its_scope_alone(coprocess: Coprocess) -> None:
    trusted = {"validation_state": "corroborated"}
    here = create(coprocess, HERE, "tea here", **trusted)
    there = create(coprocess, THERE, "tea there", **trusted)
    assert coprocess.ask("query", scope_id=HERE) == [here["envelope"]]
    assert coprocess.ask("query", scope_id=THERE) == [there["envelope"]]
    assert coprocess.ask("query", scope_id=HERE, text="tea") == [here["envelope"]]
    assert coprocess.ask("query", scope_id=HERE, text="there") == []


def test_a_key_belongs_to_its_scope(coprocess: Coprocess) -> None:
    here = create(coprocess, HERE, "tea", idempotency_key="key:1")
    there = create(coprocess, THERE, "coffee", idempotency_key="key:1")
    assert here["object_id"] != there["object_id"]


def test_a_scope_that_was_never_written_reads_as_empty(coprocess: Coprocess) -> None:
    assert coprocess.ask("query", scope_id="project:new") == []
    read = coprocess.ask("read", scope_id="project:new", object_id="mem:x")
    assert read["code"] == "object_not_found"
    assert coprocess.ask("scope_list")["items"][0]["scope_id"] != "project:new"
