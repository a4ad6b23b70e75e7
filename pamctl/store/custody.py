"""Custody: what imports brought into a scope, from where, and who did it.

A scope that was taken over has the ledger of another store, byte by byte, so nothing can be
said in it of how it came here. That stands in `custody.jsonl`. `store-format/custody.md`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.errors import StoreDamaged
from pamctl.store import files
from pamctl.store.layout import ScopeLayout, is_pack_name
from pamctl.store.plain_files import open_plain


def custody_line(record: Mapping[str, Any]) -> bytes:
    """The line of a record, newline included."""
    return canonical(dict(record)) + b"\n"


def add_custody(layout: ScopeLayout, record: Mapping[str, Any]) -> None:
    """Add a record. Durable when this returns. The caller holds the scope's lock."""
    data, line = _bytes(layout), custody_line(record)
    if not data:
        files.replace_whole(layout.custody, line)
    else:
        # A line that a dying writer did not end is no record.
        end = data.rfind(b"\n") + 1
        if end < len(data):
            files.cut_durably(layout.custody, end)
        files.append_durably(layout.custody, line, end)


def records(layout: ScopeLayout) -> list[dict[str, Any]]:
    """The records of a scope, oldest first; none for a scope that nothing was brought into.
    Raises StoreDamaged."""
    found = []
    for line in _bytes(layout).split(b"\n")[:-1]:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            record = None
        if not isinstance(record, dict):
            raise StoreDamaged(
                f"{layout.custody} holds a line that is no record",
                hint="run `pamctl fsck` to see what is damaged",
                path=str(layout.custody),
            )
        found.append(record)
    return found


def packs_brought(layout: ScopeLayout) -> tuple[set[str], dict[str, str]]:
    """The packs that imports wrote, which no entry of the ledger announces; and those that
    they replaced, with what took their place."""
    names: set[str] = set()
    replaced: dict[str, str] = {}
    for record in records(layout):
        names.update(filter(is_pack_name, record.get("packs", ())))
        moved = record.get("replaces", {}).items()
        replaced.update((old, new) for old, new in moved if is_pack_name(old) and is_pack_name(new))
    return names, replaced


def _bytes(layout: ScopeLayout) -> bytes:
    try:
        descriptor = open_plain(layout.custody)
    except FileNotFoundError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
