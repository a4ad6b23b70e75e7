"""Inventories of everything in an export or in a store. Two passes, so that of ten thousand
memories only those that are shown are held: first the ledgers, then the versions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from pamctl.audit.inventory import Inventory
from pamctl.audit.reading import (
    entries,
    kind_of,
    ledger_lines,
    lines,
    open_plain,
    parsed,
    whole,
)
from pamctl.store.layout import ScopeLayout, StoreLayout, pack_name

Opener = Callable[[], IO[bytes]]


def holdings_of_bundle(opener: Opener) -> list[Inventory]:
    """What each scope of a bundle holds, in the order of the bundle. `opener` opens it from
    its beginning. What is no line of a bundle is passed over: that is for the verdict."""
    from pamctl.model.bundles import Fault, scan_bundle  # a store has none

    found: list[Inventory] = []
    with opener() as source:
        for item in scan_bundle(source):
            if isinstance(item, Fault):
                continue
            if item.kind == "scope":
                found.append(Inventory(str(item.value)))
            elif item.kind == "ledger" and found:
                found[-1].ledger(parsed(item.data) or {})
            elif item.kind == "leaf" and found:
                found[-1].leaf()
    at = -1
    with opener() as source:
        for item in scan_bundle(source):
            if isinstance(item, Fault):
                continue
            if item.kind == "scope":
                if 0 <= at < len(found):
                    found[at].settle()
                at += 1
            if item.kind in ("version", "stub") and 0 <= at < len(found):
                _take_version(found[at], item.data)
    if found:
        found[-1].settle()
    return found


def holdings_of_store(root: Path) -> list[Inventory]:
    """What each scope of a store holds, in the order of their folders. Nothing in the store is
    believed, and nothing in it is changed."""
    layout, found = StoreLayout(root), []
    for folder in entries(layout.scopes):
        if folder.name.startswith(".") or kind_of(Path(folder.path)) != "folder":
            continue
        scope = ScopeLayout(Path(folder.path))
        document = parsed(whole(scope.scope_file) or b"") or {}
        inventory = Inventory(str(document.get("scope_id", folder.name)))
        for line in ledger_lines(scope.ledger):
            if line.data is not None and line.ended:
                inventory.ledger(parsed(line.data) or {})
        for data in versions_of(scope):
            _take_version(inventory, data)
        inventory.settle()
        found.append(inventory)
    return found


def versions_of(scope: ScopeLayout) -> Iterator[bytes]:
    """Every version and stub of a scope, wherever it stands."""
    for folder in entries(scope.versions):
        for entry in entries(Path(folder.path)):
            data = whole(Path(entry.path))
            if data is not None:
                yield data
    for entry in entries(scope.packs):
        descriptor = open_plain(Path(entry.path)) if pack_name(entry.name) else None
        if descriptor is None:
            continue
        try:
            for line in lines(descriptor, os.fstat(descriptor).st_size):
                if line.data is not None:
                    yield line.data
        finally:
            os.close(descriptor)


def _take_version(inventory: Inventory, data: bytes) -> None:
    value: dict[str, Any] | None = parsed(data)
    envelope = None if value is None else value.get("envelope")
    if isinstance(value, dict) and isinstance(envelope, dict):
        inventory.withheld += "withheld" in value
        inventory.version(envelope)
