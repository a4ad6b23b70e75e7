"""PAMSPEC §10.9: Redact."""

from typing import Any

import pytest

from pamctl.errors import (
    InvalidRequest,
    LegalHold,
    ObjectNotFound,
    RetentionRestriction,
    VersionConflict,
)
from tests.conformance.memories import HUMAN, Memories
from tests.remnants import remnants

SECRET = "qzxwvk wvqzkx"


def redact(memories: Memories, on: dict[str, Any], **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = memories.perform(
        "redact", object_id=on["object_id"], expected_version_id=on["version_id"], **more
    )
    return result


@pytest.mark.parametrize("missing", ["scope_id", "object_id", "expected_version_id", "actor"])
def test_10_9_its_required_inputs(memories: Memories, missing: str) -> None:
    """Scope, object, expected version and actor have to be there; a caller of the binding may
    leave the policy basis to the scope, and without members the target is the whole."""
    made = memories.create()
    request = {
        "scope_id": memories.scope_id,
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "actor": HUMAN,
    }
    del request[missing]
    with pytest.raises(InvalidRequest) as refused:
        memories.store.perform("redact", request)
    assert refused.value.details["pointer"] == f"/{missing}"


def test_10_9_protected_content_is_suppressed_and_audit_information_stays(
    memories: Memories,
) -> None:
    """Who, when, on which basis and what it was stays known."""
    made = memories.create({"text": SECRET})
    done = redact(memories, made, policy_basis="policy:subject")
    envelope = done["envelope"]
    kept = ("object_id", "object_type", "provenance", "scope_id", "lifecycle_state")
    assert {name: envelope[name] for name in kept} == {name: made[name] for name in kept}
    event = memories.events()[-1]
    assert event["event_id"] == done["event_id"]
    assert event["event_type"] == "object_redacted"
    assert event["actor"] == HUMAN
    assert event["payload"]["policy_basis"] == "policy:subject"
    assert "qzxwvk" not in str(event)


def test_10_9_protected_content_is_removed_for_good_if_that_is_asked(memories: Memories) -> None:
    """Then no file of the store has it, and a tombstone accounts for each version."""
    made = memories.create({"text": SECRET})
    made = memories.update(made, canonical_content={"text": f"{SECRET} too"})
    done = redact(memories, made, erase=True)
    assert done["erased_versions"] == 2
    assert remnants(memories.store.path, SECRET) == []
    versions = memories.versions(made)
    assert [version["sequence"] for version in versions] == [1, 2, 3]
    assert all(version["canonical_content"] == {"tombstone": True} for version in versions)


def test_10_9_a_target_is_the_whole_or_members(memories: Memories) -> None:
    """A partially redacted version shows what is left."""
    made = memories.create({"a": SECRET, "b": "kept"})
    done = redact(memories, made, paths=["/a"])
    assert done["envelope"]["availability_state"] == "partially_redacted"
    assert memories.read(made)["canonical_content"] == {"a": "[REDACTED]", "b": "kept"}


def test_10_9_derived_indexes_follow(memories: Memories) -> None:
    """The text of every version of the object leaves the search."""
    made = memories.create({"text": "verbena"})
    made = memories.update(made, canonical_content={"text": "verbena and thyme"})
    other = memories.create({"text": "verbena elsewhere"})
    redact(memories, made)
    for as_of in (None, 1, 2, 3):
        asked = {} if as_of is None else {"as_of": as_of}
        found = memories.found(text="verbena", **asked)
        expected = [other["object_id"]] if as_of in (None, 3) else []
        assert [one["object_id"] for one in found] == expected


def test_10_9_blocked_by_policy(memories: Memories) -> None:
    """A legal hold answers legal_hold; a rule against erasing, retention_restriction."""
    held = memories.create(retention_state="legal_hold")
    with pytest.raises(LegalHold):
        redact(memories, held)
    made = memories.create()
    policy = memories.store.scope_show(scope_id=memories.scope_id)["policy"]
    rules = [{"rule_id": "rule:keep", "may_erase": False}]
    memories.perform("scope_policy", policy={**policy, "retention": rules})
    with pytest.raises(RetentionRestriction) as refused:
        redact(memories, made, erase=True)
    assert refused.value.policy_rule_id == "rule:keep"
    assert memories.versions(made) == [made]


def test_10_9_a_stale_expected_version_fails_and_changes_nothing(memories: Memories) -> None:
    """With version_conflict, which names the current version (§12)."""
    made = memories.create()
    updated = memories.update(made, canonical_content="coffee")
    for erase in (False, True):
        with pytest.raises(VersionConflict) as refused:
            redact(memories, made, erase=erase)
        assert refused.value.details["current_version_id"] == updated["version_id"]
    assert memories.versions(made)[-1] == updated


def test_10_9_an_absent_object_is_not_found(memories: Memories) -> None:
    """Nor is one of another scope."""
    elsewhere = Memories(memories.store, "workspace:other").create()
    for object_id in ("mem:none", elsewhere["object_id"]):
        with pytest.raises(ObjectNotFound):
            redact(memories, {"object_id": object_id, "version_id": elsewhere["version_id"]})
