"""PAMSPEC §10.4: transition. What may become what is in test_pamspec_9."""

from typing import Any

import pytest

from pamctl.errors import PamError
from tests.conformance.memories import Memories

TARGETS = {
    "lifecycle": "archived",
    "availability": "partially_redacted",
    "retention": "expired",
    "validation": "corroborated",
}


@pytest.mark.parametrize(("dimension", "target"), TARGETS.items())
def test_10_4_it_answers_a_new_version_and_leaves_the_event_of_the_dimension(
    memories: Memories, dimension: str, target: str
) -> None:
    made = memories.create()
    result = memories.perform(
        "transition",
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        dimension=dimension,
        target_state=target,
        policy_basis="policy:test",
    )
    envelope = result["envelope"]
    assert envelope[f"{dimension}_state"] == target
    assert envelope["sequence"] == made["sequence"] + 1
    event = memories.events()[-1]
    assert event["event_type"] == f"{dimension}_transitioned"
    assert event["version_id"] == envelope["version_id"]
    payload = event["payload"]
    assert (payload["from"], payload["to"]) == (made[f"{dimension}_state"], target)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"object_id": "mem:nothing"}, "object_not_found"),
        ({"expected_version_id": "ver:stale"}, "version_conflict"),
        ({"dimension": "mood"}, "invalid_request"),
        ({"target_state": "scratch"}, "invalid_state_transition"),
        ({"dimension": None}, "invalid_request"),
    ],
)
def test_10_4_it_fails_as_it_says(memories: Memories, how: dict[str, Any], code: str) -> None:
    made = memories.create()
    asked = {
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "dimension": "lifecycle",
        "target_state": "archived",
        "policy_basis": "policy:test",
        **how,
    }
    head = memories.head()
    with pytest.raises(PamError) as caught:
        memories.perform("transition", **asked)
    assert caught.value.code == code
    assert memories.head() == head


def test_10_4_filters_follow(memories: Memories) -> None:
    made = memories.create(validation_state="corroborated")
    assert memories.perform("query")["items"] == [made]
    moved = memories.move(made, "lifecycle", "deprecated")
    assert memories.perform("query")["items"] == []
    assert memories.perform("query", lifecycle_state=["deprecated"])["items"] == [moved]
