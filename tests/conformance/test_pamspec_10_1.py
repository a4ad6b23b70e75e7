"""PAMSPEC §10.1: create."""

from typing import Any

import pytest

from pamctl.errors import DuplicateOperation, PamError
from tests.conformance.memories import Memories


def test_10_1_it_answers_what_was_committed(memories: Memories) -> None:
    result = memories.perform(
        "create",
        object_type="claim",
        canonical_content="tea",
        provenance={"activity": "observed"},
        operation_id="op:mine",
    )
    envelope = result["envelope"]
    (event,) = memories.events()
    assert event["event_type"] == "object_created"
    assert event["event_id"] == result["event_id"]
    assert event["operation_id"] == result["operation_id"] == "op:mine"
    for member in ("object_id", "version_id", "scope_id"):
        assert result[member] == envelope[member] == event[member]
    assert memories.read(envelope) == envelope


def test_10_1_optional_inputs_are_kept(memories: Memories) -> None:
    given = {
        "object_id": "mem:tea",
        "schema_id": "urn:example:schema",
        "observed_at": "2026-01-01T00:00:00Z",
        "asserted_at": "2026-01-02T00:00:00Z",
        "valid_from": "2026-01-03T00:00:00Z",
        "valid_until": "2026-01-04T00:00:00Z",
        "lifecycle_state": "candidate",
        "retention_state": "expired",
        "validation_state": "disputed",
    }
    made = memories.create(**given)
    assert {name: made[name] for name in given} == given


def test_10_1_expected_absence_is_held(memories: Memories) -> None:
    made = memories.create(object_id="mem:tea", expect_absent=True)
    with pytest.raises(PamError) as caught:
        memories.create("other", object_id="mem:tea", expect_absent=True)
    assert caught.value.code == "version_conflict"
    assert memories.read("mem:tea") == made


def test_10_1_the_same_again_answers_the_first_result(memories: Memories) -> None:
    asked = {
        "object_type": "claim",
        "canonical_content": {"a": 1, "b": [1, 2]},
        "provenance": {"activity": "observed"},
        "idempotency_key": "key:1",
    }
    first = memories.perform("create", **asked)
    head = memories.head()
    again = memories.perform(
        "create", **{**asked, "canonical_content": {"b": [1, 2], "a": 1}, "operation_id": "op:2"}
    )
    assert again.pop("replayed") is True
    assert first.pop("replayed") is False
    assert again == first
    assert memories.head() == head


@pytest.mark.parametrize(
    "other",
    [
        {"canonical_content": "coffee"},
        {"object_type": "decision"},
        {"provenance": {"activity": "invented"}},
        {"object_id": "mem:other"},
        {"validation_state": "corroborated"},
        {"observed_at": "2026-01-01T00:00:00Z"},
    ],
)
def test_10_1_another_request_under_the_key_is_refused(
    memories: Memories, other: dict[str, Any]
) -> None:
    """Vector duplicate-operation-different-content."""
    made = memories.create("tea", idempotency_key="key:1")
    head = memories.head()
    with pytest.raises(DuplicateOperation) as caught:
        memories.create(
            **{"content": other.pop("canonical_content", "tea"), **other}, idempotency_key="key:1"
        )
    assert not caught.value.retryable
    assert memories.head() == head
    assert memories.read(made) == made


def test_10_1_a_refusal_comes_before_anything_is_written(memories: Memories) -> None:
    policy = {"policy_version": 1, "default_effect": "deny", "rules": [], "overrides": []}
    memories.perform("scope_policy", policy=policy)
    with pytest.raises(PamError) as caught:
        memories.create("secret plan", object_id="mem:plan")
    assert caught.value.code == "access_denied"
    store = memories.store
    written = [file.read_bytes() for file in store.path.rglob("*") if file.is_file()]
    assert not any(b"secret plan" in data or b"mem:plan" in data for data in written)
