"""`pamctl stdio` as another program's test suite would probe it: identity, versions, keys,
tombstones and transitions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.coprocess import Coprocess
from tests.conftest import Run

SCOPE = "workspace:test"
ACTOR = {"actor_id": "actor:agent:probe", "actor_kind": "agent"}
SEEN = {"activity": "observed", "source_ref": "urn:probe"}
BY = {"scope_id": SCOPE, "actor": ACTOR, "provenance": SEEN}


@pytest.fixture
def coprocess(tmp_path: Path) -> Iterator[Coprocess]:
    with Coprocess(tmp_path, "--ephemeral") as running:
        yield running


def create(coprocess: Coprocess, content: Any = "tea", **more: Any) -> Any:
    given = {"object_type": "claim", "canonical_content": content, **BY, **more}
    return coprocess.ask("create", **given)


def change(coprocess: Coprocess, operation: str, made: dict[str, Any], **more: Any) -> Any:
    on = {"object_id": made["object_id"], "expected_version_id": made["version_id"]}
    return coprocess.ask(operation, **BY, **on, **more)


def move(coprocess: Coprocess, made: dict[str, Any], dimension: str, target: str) -> Any:
    return change(coprocess, "transition", made, dimension=dimension, target_state=target)


def read(coprocess: Coprocess, made: dict[str, Any], **more: Any) -> Any:
    return coprocess.ask("read", scope_id=SCOPE, object_id=made["object_id"], **more)


def test_a_result_of_create_has_its_members(coprocess: Coprocess) -> None:
    made = create(coprocess)
    assert {
        "object_id",
        "version_id",
        "sequence",
        "envelope",
        "event_id",
        "operation_id",
    } <= set(made)
    envelope = made["envelope"]
    assert envelope["object_id"] == made["object_id"]
    assert envelope["version_id"] == made["version_id"]
    assert envelope["sequence"] == made["sequence"]
    assert envelope["lifecycle_state"] == "active"
    assert envelope["availability_state"] == "available"
    assert envelope["retention_state"] == "retained"
    assert envelope["validation_state"] == "unverified"
    assert read(coprocess, made) == envelope


def test_ids_are_stable_and_versions_immutable(coprocess: Coprocess) -> None:
    made = create(coprocess, object_id="mem:mine")
    assert made["object_id"] == "mem:mine"
    changed = change(coprocess, "update", made, canonical_content="coffee")
    assert changed["object_id"] == "mem:mine"
    assert changed["version_id"] != made["version_id"]
    assert changed["sequence"] > made["sequence"]
    assert read(coprocess, made, version_id=made["version_id"]) == made["envelope"]
    assert read(coprocess, made) == changed["envelope"]


def test_a_stale_version_is_refused_and_changes_nothing(coprocess: Coprocess) -> None:
    made = create(coprocess)
    changed = change(coprocess, "update", made, canonical_content="coffee")
    for stale in (
        change(coprocess, "update", made, canonical_content="milk"),
        move(coprocess, made, "validation", "corroborated"),
        change(coprocess, "delete", made),
    ):
        assert stale["code"] == "version_conflict"
        assert stale["retryable"] is True
        assert stale["details"]["current_version_id"] == changed["version_id"]
    assert read(coprocess, made) == changed["envelope"]
    assert len(coprocess.ask("history", scope_id=SCOPE, object_id=made["object_id"])) == 2


def test_the_same_key_and_content_is_the_same_object(coprocess: Coprocess) -> None:
    made = create(coprocess, idempotency_key="key:1")
    again = create(coprocess, idempotency_key="key:1")
    for member in ("object_id", "version_id", "sequence", "event_id", "envelope"):
        assert again[member] == made[member]
    assert create(coprocess, "coffee", idempotency_key="key:1")["code"] == "duplicate_operation"
    assert create(coprocess, idempotency_key="key:2")["object_id"] != made["object_id"]


def test_a_key_is_remembered_by_the_next_process(tmp_path: Path, run: Run) -> None:
    assert run("init").returncode == 0
    with Coprocess(tmp_path) as first:
        made = create(first, idempotency_key="key:1")
        assert first.end() == 0
    with Coprocess(tmp_path) as second:
        again = create(second, idempotency_key="key:1")
        assert again["version_id"] == made["version_id"]
        assert again["replayed"] is True
        other = create(second, "coffee", idempotency_key="key:1")
        assert other["code"] == "duplicate_operation"
        assert read(second, made) == made["envelope"]


def test_a_tombstone_is_final(coprocess: Coprocess) -> None:
    made = create(coprocess, {"secret": "tea"}, validation_state="corroborated")
    gone = change(coprocess, "delete", made)
    assert gone["envelope"]["availability_state"] == "deleted"
    assert "tea" not in str(gone)
    assert read(coprocess, made)["code"] == "object_deleted"
    assert coprocess.ask("query", scope_id=SCOPE) == []
    for after in (
        change(coprocess, "update", gone, canonical_content="back"),
        move(coprocess, gone, "availability", "available"),
        move(coprocess, gone, "lifecycle", "archived"),
        change(coprocess, "delete", gone),
    ):
        assert after["code"] in ("object_deleted", "invalid_state_transition")
    history = coprocess.ask("history", scope_id=SCOPE, object_id=made["object_id"])
    assert [version["availability_state"] for version in history] == ["available", "deleted"]
    assert "tea" not in str(history)


@pytest.mark.parametrize(
    ("dimension", "path"),
    [
        ("lifecycle", ["superseded", "archived"]),
        ("lifecycle", ["deprecated", "archived", "deprecated"]),
        ("validation", ["corroborated", "disputed", "rejected", "disputed", "corroborated"]),
        ("retention", ["pending_deletion", "retained", "expired", "retained"]),
        ("availability", ["partially_redacted", "available", "redacted"]),
    ],
)
def test_transitions_that_are_allowed(
    coprocess: Coprocess, dimension: str, path: list[str]
) -> None:
    version = create(coprocess)
    for target in path:
        version = move(coprocess, version, dimension, target)
        assert version["envelope"][f"{dimension}_state"] == target, version


@pytest.mark.parametrize(
    ("dimension", "target"),
    [
        ("lifecycle", "scratch"),
        ("lifecycle", "candidate"),
        ("lifecycle", "active"),
        ("validation", "unverified"),
        ("retention", "retained"),
        ("availability", "available"),
        ("lifecycle", "corroborated"),
        ("validation", "archived"),
    ],
)
def test_transitions_that_are_forbidden(coprocess: Coprocess, dimension: str, target: str) -> None:
    made = create(coprocess)
    refused = move(coprocess, made, dimension, target)
    assert refused["code"] == "invalid_state_transition"
    assert refused["retryable"] is False
    assert read(coprocess, made) == made["envelope"]


def test_a_hold_keeps_what_is_held(coprocess: Coprocess) -> None:
    held = move(coprocess, create(coprocess), "retention", "legal_hold")
    assert change(coprocess, "delete", held)["code"] == "legal_hold"
    assert read(coprocess, held) == held["envelope"]


@pytest.mark.parametrize(
    ("without", "code"),
    [
        ("provenance", {"invalid_object", "invalid_request"}),
        ("actor", {"invalid_object", "invalid_request"}),
        ("object_type", {"invalid_request"}),
        ("canonical_content", {"invalid_request", "invalid_object"}),
    ],
)
def test_what_create_cannot_do_without(coprocess: Coprocess, without: str, code: set[str]) -> None:
    given = {"object_type": "claim", "canonical_content": "tea", **BY}
    del given[without]
    assert coprocess.ask("create", **given)["code"] in code


def test_unknown_members_of_content_are_kept(coprocess: Coprocess) -> None:
    content = {"x-unknown": {"deep": [1, 2.5, None, "é\u2028"]}, "": 0}
    kind = {"object_type": "com.example.note", "schema_id": "urn:example:note"}
    made = create(coprocess, content, **kind)
    assert read(coprocess, made)["canonical_content"] == content
    assert read(coprocess, made)["schema_id"] == kind["schema_id"]


def test_provenance_survives_every_change(coprocess: Coprocess) -> None:
    version = create(coprocess)
    version = change(coprocess, "update", version, canonical_content="coffee")
    version = move(coprocess, version, "lifecycle", "archived")
    for one in coprocess.ask("history", scope_id=SCOPE, object_id=version["object_id"]):
        assert one["provenance"]["activity"] == "observed"
        assert one["provenance"]["source_ref"] == "urn:probe"
