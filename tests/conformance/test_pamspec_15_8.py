"""PAMSPEC §15.8: what derived indexes may hold."""

from __future__ import annotations

from pamctl.service.store import Store
from tests.conformance.memories import Memories

ELSEWHERE = "project:elsewhere"


def test_15_8_an_index_preserves_the_boundary_of_its_scope(
    store: Store, memories: Memories
) -> None:
    """Neither its text nor its identifiers come from another scope."""
    elsewhere = Memories(store, ELSEWHERE)
    made = elsewhere.create("oolong", object_id="mem:there")
    memories.create("assam")
    index = store.layout.index_file(store.open_scope(memories.scope_id).layout)
    store.close()
    held = b"".join(part.read_bytes() for part in index.parent.glob(f"{index.name}*"))
    assert b"assam" in held
    for foreign in (b"oolong", b"mem:there", made["version_id"].encode()):
        assert foreign not in held


def test_15_8_deletion_and_redaction_reach_the_index(memories: Memories) -> None:
    redacted, deleted = memories.create("oolong"), memories.create("sencha")
    memories.move(redacted, "availability", "redacted")
    memories.delete(deleted)
    assert memories.found(text="oolong") == memories.found(text="sencha") == []
    memories.store.rebuild_index(scope_id=memories.scope_id)
    assert memories.found(text="oolong") == memories.found(text="sencha") == []
