"""Facts on their way from those who read files to those who compare them.

A store of a million versions has more facts than memory should hold. They are written to
scratch files, divided by what they are about, so that facts which belong together meet in one
part and a part fits in memory. They hold digests, identifiers and states, and no content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from pamctl.audit.reading import entries

ADDRESS, NAME, OBJECT = "address", "name", "object"
"""What facts are about: an address; an id, key or pack that may occur once; an object."""

PART_LEDGER_BYTES = 4 * 1024 * 1024
"""Ledger bytes for each part. About five thousand events: a few tens of megabytes as Python
has them, whatever the size of the store."""

_PENDING_FACTS = 16_384


class Facts:
    """Writes facts. A context manager; what was put in is there afterwards.

    Each process has files of its own and goes on with them from one task to the next: files
    for each task would be as many as tasks times parts, which grows with the square of the
    store. Each line holds what was written at once: to spell and to parse facts one by one
    would take three times as long.
    """

    def __init__(self, scratch: Path, parts: int) -> None:
        self._scratch = scratch
        self._parts = parts
        self._pending: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
        self._count = 0

    def put(self, about: str, scope: str, key: str, kind: str, *values: Any) -> None:
        """One fact.

        about: ADDRESS, NAME or OBJECT. scope: the folder of the scope. key: what it is about,
        within the scope. kind, values: the fact.
        """
        place = (about, crc32(key.encode(), _seed(scope)) % self._parts)
        pending = self._pending.get(place)
        if pending is None:
            pending = self._pending[place] = []
        pending.append((scope, key, kind, values))
        self._count += 1
        if self._count >= _PENDING_FACTS:
            self._write()

    def __enter__(self) -> Facts:
        return self

    def __exit__(self, *failure: object) -> None:
        self._write()

    def _write(self) -> None:
        for (about, part), facts in self._pending.items():
            with open(self._scratch / f"{about}-{part}-{os.getpid()}", "ab") as file:
                file.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
        self._pending.clear()
        self._count = 0


@cache
def _seed(scope: str) -> int:
    return crc32(scope.encode())


Group = dict[str, list[list[Any]]]
"""Facts about one thing, by their kind: for each, its values."""


def gathered(scratch: Path, about: str, part: int) -> Iterator[tuple[str, str, Group]]:
    """The facts of a part: (scope, key, group) for each thing that there are facts about."""
    groups: dict[tuple[str, str], Group] = {}
    beginning = f"{about}-{part}-"  # a pattern would be compiled for each
    for entry in entries(scratch):
        if not entry.name.startswith(beginning):
            continue
        with open(entry.path, "rb") as file:
            for line in file:
                for scope, key, kind, values in orjson.loads(line):
                    place = (scope, key)
                    group = groups.get(place)
                    if group is None:
                        groups[place] = {kind: [values]}
                    elif kind in group:
                        group[kind].append(values)
                    else:
                        group[kind] = [values]
    for (scope, key), group in groups.items():
        yield scope, key, group
