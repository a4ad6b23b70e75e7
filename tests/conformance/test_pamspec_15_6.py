"""PAMSPEC §15.6: ledger events are not silently rewritten."""

from __future__ import annotations

import pytest

import pamctl
from pamctl.errors import StoreDamaged
from tests.conformance.memories import Memories


def test_15_6_no_operation_rewrites_an_event(memories: Memories) -> None:
    """What was in the ledger stays in it, byte for byte, whatever follows."""
    ledger = memories.store.open_scope(memories.scope_id).layout.ledger
    made = memories.create("tea")
    before = ledger.read_bytes()
    made = memories.update(made, canonical_content="coffee")
    made = memories.move(made, "availability", "redacted")
    memories.delete(made)
    assert ledger.read_bytes().startswith(before)


def test_15_6_a_rewritten_event_does_not_stay_silent(memories: Memories) -> None:
    memories.create("tea")
    memories.create("tea")
    ledger = memories.store.open_scope(memories.scope_id).layout.ledger
    forged = ledger.read_bytes().replace(b"actor:human:ada", b"actor:human:bob", 1)
    path = memories.store.path
    memories.store.rebuild_index(scope_id=memories.scope_id)
    memories.store.close()
    ledger.chmod(0o644)
    ledger.write_bytes(forged)
    store = pamctl.open_store(path)
    with pytest.raises(StoreDamaged):
        store.rebuild_index(scope_id=memories.scope_id)
