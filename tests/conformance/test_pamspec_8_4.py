"""PAMSPEC §8.4: versioning."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pamctl.errors import AccessDenied, InvalidRequest, VersionConflict
from tests.conformance.memories import AGENT, SEEN, Memories, states

Change = Callable[[Memories, Mapping[str, Any]], dict[str, Any]]

CHANGES: dict[str, Change] = {
    "content": lambda memories, on: memories.update(on, canonical_content="more"),
    "patch": lambda memories, on: memories.update(
        on, json_patch=[{"op": "replace", "path": "", "value": 2}]
    ),
    "merge patch": lambda memories, on: memories.update(on, merge_patch={"a": 1}),
    "schema": lambda memories, on: memories.update(on, schema_id="urn:example:schema"),
    "times": lambda memories, on: memories.update(on, observed_at="2026-01-01T00:00:00Z"),
    "signals": lambda memories, on: memories.update(
        on, quality_signals={"assessed_confidence": 0.5}
    ),
    "provenance": lambda memories, on: memories.update(on),
    "lifecycle": lambda memories, on: memories.move(on, "lifecycle", "deprecated"),
    "validation": lambda memories, on: memories.move(on, "validation", "rejected"),
    "retention": lambda memories, on: memories.move(on, "retention", "legal_hold"),
    "availability": lambda memories, on: memories.move(on, "availability", "redacted"),
    "deletion": lambda memories, on: memories.delete(on),
}


@pytest.mark.parametrize("change", CHANGES)
def test_8_4_every_change_makes_a_new_version(memories: Memories, change: str) -> None:
    made = memories.create()
    changed = CHANGES[change](memories, made)
    assert changed["version_id"] != made["version_id"]
    assert changed["sequence"] == made["sequence"] + 1
    history = memories.versions(made)
    assert len(history) == 2
    assert history[1] == changed


@pytest.mark.parametrize("change", CHANGES)
def test_8_4_and_the_version_before_stays_as_it_was(memories: Memories, change: str) -> None:
    """Byte for byte, as stored; whether it may still be shown is another matter."""
    made = memories.create()
    stored = memories.store.version_bytes(memories.scope_id, made["version_id"])
    CHANGES[change](memories, made)
    assert memories.store.version_bytes(memories.scope_id, made["version_id"]) == stored


@pytest.mark.parametrize("change", CHANGES)
def test_8_4_every_change_leaves_an_event(memories: Memories, change: str) -> None:
    made = memories.create()
    changed = CHANGES[change](memories, made)
    event = memories.events()[-1]
    assert (event["object_id"], event["version_id"]) == (made["object_id"], changed["version_id"])


@pytest.mark.parametrize("change", CHANGES)
def test_8_4_a_stale_expected_version_must_fail_with_version_conflict(
    memories: Memories, change: str
) -> None:
    """Vector stale-expected-version."""
    made = memories.create()
    newer = memories.update(made, canonical_content="newer", actor=AGENT)
    with pytest.raises(VersionConflict) as caught:
        CHANGES[change](memories, made)
    assert caught.value.retryable
    assert caught.value.details["current_version_id"] == newer["version_id"]
    assert caught.value.details["expected_version_id"] == made["version_id"]


@pytest.mark.parametrize("change", CHANGES)
def test_8_4_and_must_not_overwrite_a_newer_version(memories: Memories, change: str) -> None:
    """Vector silent-overwrite-attempt."""
    made = memories.create()
    newer = memories.update(made, canonical_content="newer", actor=AGENT)
    head = memories.head()
    with pytest.raises(VersionConflict):
        CHANGES[change](memories, made)
    assert memories.read(made) == newer
    assert memories.head() == head


@pytest.mark.parametrize("expected", ["ver:nothing", "", None])
def test_8_4_nothing_changes_without_an_expected_version(memories: Memories, expected: Any) -> None:
    """Vector silent-overwrite-attempt: leaving it out is no way around it either."""
    made = memories.create()
    asked = {
        "scope_id": memories.scope_id,
        "object_id": made["object_id"],
        "actor": AGENT,
        "provenance": SEEN,
        "canonical_content": "other",
    }
    if expected is not None:
        asked["expected_version_id"] = expected
    with pytest.raises((VersionConflict, InvalidRequest)):
        memories.store.perform("update", asked)
    assert memories.read(made) == made


def test_8_4_of_two_that_saw_the_same_version_one_wins(memories: Memories) -> None:
    made = memories.create({"count": 0})
    first = memories.update(made, canonical_content={"count": 1})
    with pytest.raises(VersionConflict):
        memories.update(made, canonical_content={"count": 2}, actor=AGENT)
    second = memories.update(first, canonical_content={"count": 2}, actor=AGENT)
    assert [version["canonical_content"]["count"] for version in memories.versions(made)] == [
        0,
        1,
        2,
    ]
    assert states(second) == states(made)


def test_8_4_a_denial_makes_an_event_and_no_version(memories: Memories) -> None:
    made = memories.create()
    rule = {"rule_id": "rule:no", "effect": "deny", "actors": [AGENT["actor_id"]]}
    policy = {"policy_version": 1, "default_effect": "allow", "rules": [rule], "overrides": []}
    memories.perform("scope_policy", policy=policy)
    with pytest.raises(AccessDenied):
        memories.update(made, canonical_content="other", actor=AGENT)
    assert memories.versions(made) == [made]
    event = memories.events()[-1]
    assert event["event_type"] == "access_denied"
    assert not {"version_id", "object_id"} & set(event)
