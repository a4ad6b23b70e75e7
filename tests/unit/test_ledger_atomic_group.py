"""A group in the ledger: a transaction an operation, and one for all when it is atomic."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.store.layout import StoreLayout

SCOPE = "workspace:default"


def fill(root: Path, *, atomic: bool) -> list[dict[str, Any]]:
    """Four operations in one group, two of them keyed; the entries that they left."""
    store = pamctl.init_store(root)
    request = {
        "scope_id": SCOPE,
        "object_type": "claim",
        "canonical_content": "text",
        "actor": {"actor_id": "actor:local:tester", "actor_kind": "human"},
        "provenance": {"activity": "noted"},
    }
    with store.group(atomic=atomic) as group:
        for number in range(3):
            made = group.perform("create", {**request, "idempotency_key": f"key {number}"})
        change = {name: request[name] for name in ("scope_id", "actor", "provenance")}
        group.perform(
            "update",
            {
                **change,
                "object_id": made["object_id"],
                "expected_version_id": made["version_id"],
                "canonical_content": "other text",
            },
        )
    store.close()
    lines = StoreLayout(root).scope(SCOPE).ledger.read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def sizes(entries: list[dict[str, Any]]) -> list[int]:
    return [entry["of"] for entry in entries if entry["i"] == 1]


def test_each_operation_is_a_transaction(tmp_path: Path) -> None:
    assert sizes(fill(tmp_path / ".pam", atomic=False)) == [2, 1, 2, 2, 2, 1]


def test_an_atomic_group_is_one_transaction(tmp_path: Path) -> None:
    assert sizes(fill(tmp_path / ".pam", atomic=True)) == [2, 1, 7]


@pytest.mark.parametrize("atomic", [True, False])
def test_a_torn_append_of_a_group(tmp_path: Path, atomic: bool) -> None:
    """Cut at every fiftieth byte of what it appended, the group is there whole, not at all, or,
    unless it is atomic, in whole operations."""
    root = tmp_path / ".pam"
    entries = fill(root, atomic=atomic)
    ledger = StoreLayout(root).scope(SCOPE).ledger
    data = ledger.read_bytes()
    begun = data.index(b'{"body":{"name":')
    seen = set()
    assert entries[2]["kind"] == "pack"
    for length in range(len(data), begun, -50):
        os.truncate(ledger, length)
        store = pamctl.open_store(root)
        seen.add(store.head(SCOPE)["sequence"])
        store.close()
    assert seen == ({0, 4} if atomic else {0, 1, 2, 3, 4})
