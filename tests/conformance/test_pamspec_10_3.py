"""PAMSPEC §10.3: update."""

from typing import Any

import pytest

from pamctl.errors import PamError
from tests.conformance.memories import SEEN, Memories


def test_10_3_it_answers_the_new_version(memories: Memories) -> None:
    made = memories.create("tea")
    result = memories.perform(
        "update",
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        provenance=SEEN,
        canonical_content="coffee",
    )
    envelope = result["envelope"]
    assert envelope["canonical_content"] == "coffee"
    assert result["version_id"] == envelope["version_id"] != made["version_id"]
    event = memories.events()[-1]
    assert event["event_type"] == "object_updated"
    assert event["event_id"] == result["event_id"]
    assert memories.read(made) == envelope


def test_10_3_what_is_not_given_stays(memories: Memories) -> None:
    made = memories.create(
        "tea",
        schema_id="urn:example:schema",
        observed_at="2026-01-01T00:00:00Z",
        quality_signals={"assessed_confidence": 0.5},
        validation_state="disputed",
    )
    changed = memories.update(made, canonical_content="coffee")
    for member in ("schema_id", "observed_at", "quality_signals", "validation_state"):
        assert changed[member] == made[member]


def test_10_3_a_key_makes_it_happen_once(memories: Memories) -> None:
    made = memories.create("tea")
    changed = memories.update(made, canonical_content="coffee", idempotency_key="key:1")
    again = memories.update(made, canonical_content="coffee", idempotency_key="key:1")
    assert again == changed
    assert len(memories.versions(made)) == 2
    with pytest.raises(PamError) as caught:
        memories.update(made, canonical_content="milk", idempotency_key="key:1")
    assert caught.value.code == "duplicate_operation"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"object_id": "mem:nothing", "canonical_content": 1}, "object_not_found"),
        ({"expected_version_id": "ver:stale", "canonical_content": 1}, "version_conflict"),
        ({"canonical_content": 1, "merge_patch": {}}, "invalid_request"),
        ({"canonical_content": 1, "provenance": {}}, "invalid_object"),
        ({"json_patch": [{"op": "remove", "path": "/x"}]}, "invalid_request"),
        ({"canonical_content": 1, "scope_id": "no scope"}, "invalid_request"),
    ],
)
def test_10_3_it_fails_as_it_says(memories: Memories, how: dict[str, Any], code: str) -> None:
    made = memories.create({"a": 1})
    asked = {
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "provenance": SEEN,
        **how,
    }
    head = memories.head()
    with pytest.raises(PamError) as caught:
        memories.perform("update", **asked)
    assert caught.value.code == code
    assert memories.head() == head


def test_10_3_an_index_shows_the_new_content_and_not_the_old(memories: Memories) -> None:
    made = memories.create("green tea")
    changed = memories.update(made, canonical_content="black coffee")
    assert memories.found(text="coffee") == [changed]
    assert memories.found(text="tea") == []
