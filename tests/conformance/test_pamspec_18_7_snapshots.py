"""PAMSPEC §10.2, §10.7, §12, §18.7: reading through a snapshot repeats."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pamctl.errors import InvalidRequest, ObjectNotFound, ObjectRedacted, SnapshotNotFound
from pamctl.service.store import Store
from tests.conformance.memories import SEEN, Memories


def everything(memories: Memories, *, snapshot_id: str = "snap:1") -> str:
    """All that can be asked through a snapshot, as the bytes of the answers."""

    def ask(operation: str, **more: Any) -> Any:
        return memories.perform(operation, snapshot_id=snapshot_id, **more)

    answers = [
        ask("read", object_id="mem:tea"),
        ask("read", object_id="mem:bun"),
        ask("query", any_state=True),
        ask("query", any_state=True, text="tea", count=True, explain=True),
        ask("query", any_state=True, order_by=["committed_at:desc"], limit=1),
        ask("query", any_state=True, related_to={"object_id": "mem:tea"}),
        ask("query", any_state=True, relationships=True),
        ask("query"),
        ask("history", object_id="mem:tea"),
        ask("history", object_id="mem:tea", kind="events"),
        ask("log"),
    ]
    return json.dumps(answers, sort_keys=True)


@pytest.fixture
def sealed(memories: Memories) -> Memories:
    memories.create({"text": "tea at four"}, object_id="mem:tea")
    memories.create({"text": "tea and buns on Sunday"}, object_id="mem:bun")
    memories.perform(
        "relate",
        relationship_id="rel:1",
        source_object_id="mem:tea",
        target_object_id="mem:bun",
        relationship_type="supports",
        provenance=SEEN,
    )
    memories.perform("snapshot_create", snapshot_id="snap:1")
    return memories


def test_18_7_what_a_snapshot_answers_repeats_byte_for_byte_after_later_writes(
    sealed: Memories,
) -> None:
    """New objects, versions, states and relationships, redactions and deletions leave every
    answer as it was: that of a read, a query by words, a walk, a history and a log."""
    before = everything(sealed)
    tea = sealed.update(sealed.read("mem:tea"), canonical_content={"text": "tea tea tea"})
    for number in range(5):
        sealed.create({"text": f"tea {number}"})
    assert everything(sealed) == before
    tea = sealed.move(tea, "validation", "corroborated")
    link = sealed.perform("read", object_id="rel:1")
    sealed.perform(
        "delete",
        relationship_id="rel:1",
        expected_version_id=link["version_id"],
        policy_basis="policy:test",
    )
    assert everything(sealed) == before
    sealed.perform(
        "redact",
        object_id="mem:tea",
        expected_version_id=tea["version_id"],
        policy_basis="policy:test",
    )
    sealed.delete(sealed.read("mem:bun"))
    assert everything(sealed) == before


def test_18_7_what_a_snapshot_answers_outlives_the_index(sealed: Memories) -> None:
    """The answers are a function of the ledger and the versions."""
    before = everything(sealed)
    sealed.delete(sealed.read("mem:bun"))
    sealed.store.rebuild_index(scope_id=sealed.scope_id)
    assert everything(sealed) == before


def test_18_7_an_erasure_shows_as_a_tombstone(sealed: Memories) -> None:
    """Erased content is gone from snapshots too; that there was something is not."""
    tea = sealed.read("mem:tea")
    sealed.perform(
        "delete",
        object_id="mem:tea",
        expected_version_id=tea["version_id"],
        policy_basis="policy:test",
        erase=True,
    )
    read = sealed.read("mem:tea", snapshot_id="snap:1")
    (found,) = [
        item for item in sealed.found(snapshot_id="snap:1") if item["object_id"] == "mem:tea"
    ]
    (version,) = sealed.versions(tea, snapshot_id="snap:1")
    assert read == found == version
    assert read["canonical_content"] == {"tombstone": True}
    assert read["version_id"] == tea["version_id"]
    assert sealed.found(snapshot_id="snap:1", text="four") == []
    assert "four" not in everything(sealed)
    assert sealed.perform("snapshot_show", snapshot_id="snap:1")["digest_matches"]


def test_18_7_what_was_redacted_before_the_seal_stays_withheld(sealed: Memories) -> None:
    """A snapshot of an earlier sequence is no way around a redaction."""
    tea = sealed.read("mem:tea")
    sealed.perform(
        "redact",
        object_id="mem:tea",
        expected_version_id=tea["version_id"],
        policy_basis="policy:test",
    )
    sealed.perform("snapshot_create", snapshot_id="snap:2", at_sequence=3)
    with pytest.raises(ObjectRedacted):
        sealed.read("mem:tea", snapshot_id="snap:2")
    assert sealed.found(snapshot_id="snap:2", text="four") == []
    contents = [item["canonical_content"] for item in sealed.found(snapshot_id="snap:2")]
    assert {"tombstone": True} in contents
    assert "four" not in json.dumps(sealed.versions(tea, snapshot_id="snap:2"))


def test_12_a_snapshot_is_a_boundary(sealed: Memories) -> None:
    """Nothing that came later is visible through it, and nothing that it does not name."""
    sealed.create(object_id="mem:later")
    sealed.perform("snapshot_create", snapshot_id="snap:few", included_object_ids=["mem:tea"])
    for snapshot_id, absent in (("snap:1", "mem:later"), ("snap:few", "mem:bun")):
        with pytest.raises(ObjectNotFound):
            sealed.read(absent, snapshot_id=snapshot_id)
        with pytest.raises(ObjectNotFound):
            sealed.perform("history", object_id=absent, snapshot_id=snapshot_id)
        ids = [item["object_id"] for item in sealed.found(snapshot_id=snapshot_id)]
        assert absent not in ids
    assert [item["object_id"] for item in sealed.found(snapshot_id="snap:few")] == ["mem:tea"]
    walk = {"object_id": "mem:tea"}
    assert sealed.found(snapshot_id="snap:few", related_to=walk) == []
    events = sealed.events(snapshot_id="snap:few")
    assert [event["object_id"] for event in events] == ["mem:tea"]


def test_12_pages_through_a_snapshot_go_on(sealed: Memories) -> None:
    """A cursor continues the same answer while others write."""
    page = sealed.perform("query", any_state=True, snapshot_id="snap:1", limit=1)
    sealed.create()
    rest = sealed.perform(
        "query", any_state=True, snapshot_id="snap:1", limit=5, cursor=page["next_cursor"]
    )
    ids = [item["object_id"] for item in (*page["items"], *rest["items"])]
    assert ids == ["mem:tea", "mem:bun"]
    assert rest["next_cursor"] is None
    assert rest["snapshot_id"] == "snap:1"
    assert rest["index"]["ledger_sequence"] == rest["ledger_sequence"] == 3


@pytest.mark.parametrize("operation", ["read", "history", "query", "log", "snapshot_show"])
def test_14_an_unknown_snapshot_is_not_found(sealed: Memories, operation: str) -> None:
    """Every operation that takes a snapshot says so, also of one in another scope."""
    elsewhere = Memories(sealed.store, "workspace:elsewhere")
    elsewhere.create()
    elsewhere.perform("snapshot_create", snapshot_id="snap:there")
    about = {"object_id": "mem:tea"} if operation in ("read", "history") else {}
    for snapshot_id in ("snap:none", "snap:there"):
        with pytest.raises(SnapshotNotFound):
            sealed.perform(operation, snapshot_id=snapshot_id, **about)


def test_18_11_a_snapshot_of_what_is_to_come_is_refused(sealed: Memories, store: Store) -> None:
    """It could not be fixed."""
    with pytest.raises(InvalidRequest):
        sealed.perform("snapshot_create", at_sequence=99)
    with pytest.raises(ObjectNotFound):
        sealed.perform("snapshot_create", included_object_ids=["mem:none"])


def test_10_6_a_query_document_names_its_snapshot(sealed: Memories) -> None:
    """It answers as the snapshot has it, and says which that was."""
    from pamctl.bindings.operations import perform

    document = {
        "operation_id": "op:1",
        "scope_id": sealed.scope_id,
        "query": {"kind": "structured", "filters": {"validation_state": ["unverified"]}},
        "pagination": {"limit": 5},
        "snapshot_id": "snap:1",
    }
    before = perform(sealed.store, "query", document)
    sealed.create({"text": "tea"})
    assert perform(sealed.store, "query", document) == before
    assert before["snapshot_id"] == "snap:1"
    with pytest.raises(SnapshotNotFound):
        perform(sealed.store, "query", {**document, "snapshot_id": "snap:none"})
