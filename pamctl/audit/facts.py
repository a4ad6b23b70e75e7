"""Facts on their way from those who read files to those who compare them.

A store of a million versions has more facts than memory should hold. They are written to
scratch files, divided by what they are about, so that facts which belong together meet in one
part and a part fits in memory. They hold digests, identifiers and states, and no content.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

ADDRESS, NAME, OBJECT = "address", "name", "object"
"""What facts are about: an address; an id, key or pack that may occur once; an object."""

PART_LEDGER_BYTES = 4 * 1024 * 1024
"""Ledger bytes for each part. About five thousand events: a few tens of megabytes as Python
has them, whatever the size of the store."""

_PENDING_BYTES = 1 << 22


class Facts:
    """Writes facts of one reader. A context manager; what was put in is there afterwards."""

    def __init__(self, scratch: Path, reader: str, parts: int) -> None:
        self._scratch = scratch
        self._reader = reader
        self._parts = parts
        self._pending: dict[tuple[str, int], list[bytes]] = {}
        self._pending_bytes = 0

    def put(self, about: str, scope: str, key: str, kind: str, *values: Any) -> None:
        """One fact.

        about: ADDRESS, NAME or OBJECT. scope: the folder of the scope. key: what it is about,
        within the scope. kind, values: the fact.
        """
        line = orjson.dumps([scope, key, kind, *values])
        part = crc32(f"{scope}\n{key}".encode()) % self._parts
        self._pending.setdefault((about, part), []).append(line)
        self._pending_bytes += len(line) + 64
        if self._pending_bytes > _PENDING_BYTES:
            self._write()

    def __enter__(self) -> Facts:
        return self

    def __exit__(self, *failure: object) -> None:
        self._write()

    def _write(self) -> None:
        for (about, part), lines in self._pending.items():
            with open(self._scratch / f"{about}-{part}-{self._reader}", "ab") as file:
                file.write(b"\n".join(lines) + b"\n")
        self._pending.clear()
        self._pending_bytes = 0


Group = dict[str, list[list[Any]]]
"""Facts about one thing, by their kind: for each, its values."""


def gathered(scratch: Path, about: str, part: int) -> Iterator[tuple[str, str, Group]]:
    """The facts of a part: (scope, key, group) for each thing that there are facts about."""
    groups: dict[tuple[str, str], Group] = {}
    for path in sorted(scratch.glob(f"{about}-{part}-*")):
        with open(path, "rb") as file:
            for line in file:
                scope, key, kind, *values = orjson.loads(line)
                groups.setdefault((scope, key), {}).setdefault(kind, []).append(values)
    for (scope, key), group in groups.items():
        yield scope, key, group
