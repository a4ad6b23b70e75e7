"""What was hidden later, looked at through a snapshot that was sealed before.
docs/decisions/withheld-history.md"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.errors import ObjectDeleted, ObjectRedacted
from tests.conformance.memories import AGENT, SCOPE, Memories

DENIED = {
    "rule_id": "rule:no-history",
    "effect": "deny",
    "operations": ["inspect_history"],
    "actors": [AGENT["actor_id"]],
}


@pytest.fixture
def memories(tmp_path: Path) -> Memories:
    """One object whole, one redacted and one deleted since the snapshot was sealed."""
    memories = Memories(pamctl.init_store(tmp_path / ".pam"))
    for name in ("kept", "redacted", "deleted"):
        memories.create({"text": f"verbena {name}"}, object_id=f"mem:{name}")
    memories.perform("snapshot_create", snapshot_id="snap:1")
    hidden = memories.read("mem:redacted")
    memories.perform("redact", object_id="mem:redacted", expected_version_id=hidden["version_id"])
    memories.delete(memories.read("mem:deleted"))
    return memories


def govern(memories: Memories, *rules: dict[str, Any]) -> None:
    policy = memories.store.scope_show(scope_id=SCOPE)["policy"]
    memories.perform("scope_policy", policy={**policy, "rules": list(rules)})


def through(memories: Memories) -> dict[str, Any]:
    found = memories.found(snapshot_id="snap:1")
    return {one["object_id"].removeprefix("mem:"): one["canonical_content"] for one in found}


PINNED = {name: {"text": f"verbena {name}"} for name in ("kept", "redacted", "deleted")}
TOMBSTONE = {"tombstone": True}


def test_who_may_inspect_history_sees_what_was_pinned(memories: Memories) -> None:
    assert through(memories) == PINNED
    for name, content in PINNED.items():
        read = memories.read(f"mem:{name}", snapshot_id="snap:1")
        assert read["canonical_content"] == content
    assert len(memories.found(snapshot_id="snap:1", text="verbena")) == 3


def test_who_may_not_sees_what_the_present_shows(memories: Memories) -> None:
    agent = Memories(memories.store, actor=AGENT)
    assert through(agent) == PINNED
    govern(memories, DENIED)
    assert through(memories) == PINNED
    assert through(agent) == {
        "kept": PINNED["kept"],
        "redacted": TOMBSTONE,
        "deleted": TOMBSTONE,
    }
    with pytest.raises(ObjectRedacted):
        agent.read("mem:redacted", snapshot_id="snap:1")
    with pytest.raises(ObjectDeleted):
        agent.read("mem:deleted", snapshot_id="snap:1")
    assert agent.read("mem:kept", snapshot_id="snap:1")["canonical_content"] == PINNED["kept"]
    # A search would tell as much.
    found = agent.found(snapshot_id="snap:1", text="verbena")
    assert [one["object_id"] for one in found] == ["mem:kept"]
    assert agent.found(snapshot_id="snap:1", text="redacted") == []


def test_an_erasure_is_for_everybody(memories: Memories) -> None:
    before = through(memories)
    for name in ("redacted", "deleted"):
        current = memories.versions({"object_id": f"mem:{name}"})[-1]
        operation = "redact" if name == "redacted" else "delete"
        assert memories.found(snapshot_id="snap:1", text=name) != []
        memories.perform(
            operation,
            object_id=f"mem:{name}",
            expected_version_id=current["version_id"],
            erase=True,
        )
        # Also in a process that has just looked.
        assert memories.found(snapshot_id="snap:1", text=name) == []
    assert through(memories) == {**before, "redacted": TOMBSTONE, "deleted": TOMBSTONE}


def test_without_a_snapshot_the_present_decides(memories: Memories) -> None:
    for name in ("redacted", "deleted"):
        with pytest.raises((ObjectRedacted, ObjectDeleted)):
            memories.read(f"mem:{name}", at_sequence=3)
        first = memories.versions({"object_id": f"mem:{name}"})[0]
        assert first["canonical_content"] == TOMBSTONE
    contents = [one["canonical_content"] for one in memories.found(as_of=3)]
    assert contents == [PINNED["kept"], TOMBSTONE, TOMBSTONE]
