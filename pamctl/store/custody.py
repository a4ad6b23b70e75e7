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

_TAIL_BYTES = 16 * 1024


def custody_line(record: Mapping[str, Any]) -> bytes:
    """The line of a record, newline included."""
    return canonical(dict(record)) + b"\n"


def add_custody(layout: ScopeLayout, record: Mapping[str, Any]) -> None:
    """Add a record. Durable when this returns. The caller holds the scope's lock, and has set
    aside what is `unfinished`."""
    at, tail = _tail(layout, _TAIL_BYTES)
    if tail:
        files.append_durably(layout.custody, custody_line(record), at + len(tail))
    else:
        files.replace_whole(layout.custody, custody_line(record))


def unfinished(layout: ScopeLayout, entries: int) -> tuple[int, bytes]:
    """What an import left at the end of the custody that died before its ledger stood in its
    place: where that begins, and its bytes. Those are records of entries that a ledger of so
    many `entries` does not have, and a line without its end.

    Every write asks this, so no more is read of a long custody than tells.
    """
    length = _TAIL_BYTES
    while True:
        at, tail = _tail(layout, length)
        end = _sound_end(tail, entries, whole=at == 0)
        if end is not None:
            return at + end, tail[end:]
        length *= 16


def _sound_end(tail: bytes, entries: int, *, whole: bool) -> int | None:
    """Where the last record ends that speaks of no entry behind those; None where that stands
    further ahead, because `tail` is not the whole custody."""
    end = tail.rfind(b"\n") + 1
    while end > 0:
        begin = tail.rfind(b"\n", 0, end - 1) + 1
        if begin == 0 and not whole:
            return None
        try:
            to_entry = orjson.loads(tail[begin:end])["to_entry"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return end  # that is damage, and a checker's
        if type(to_entry) is not int or to_entry <= entries:
            return end
        end = begin
    return 0 if whole else None


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


def _tail(layout: ScopeLayout, length: int) -> tuple[int, bytes]:
    """The last `length` bytes of the custody, and where they begin; none where there is none,
    as in most scopes."""
    if not os.path.lexists(layout.custody):
        return 0, b""
    descriptor = open_plain(layout.custody)
    try:
        at = max(0, os.fstat(descriptor).st_size - length)
        return at, os.pread(descriptor, length, at)
    finally:
        os.close(descriptor)


def _bytes(layout: ScopeLayout) -> bytes:
    try:
        descriptor = open_plain(layout.custody)
    except FileNotFoundError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
