"""Short records on scratch files, for the proof that a store is orderly.

Like facts they are divided by what they are about, so that what belongs together meets in one
part. But nothing in them says where it was found: they answer whether everything fits, and
`facts` answer what does not.
"""

from __future__ import annotations

import marshal
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

from pamctl.audit.reading import entries

COMMITTED, PRESENT, PROMOTED = "committed", "present", "promoted"
"""(object, link, transaction, condition) of an event that commits a version; (link, number,
states) of a version; (object, transaction) of a promotion."""
END, VECTOR, VERSION_ID, ONCE = "end", "vector", "version_id", "once"
"""An object that a relationship names; a version that has a vector; a version; anything else of
which there may be one."""
ERASURE, STUB = "erasure", "stub"
"""What an erasure says of the stub that it leaves; what a stub says of itself."""

PART_LEDGER_BYTES = 48 * 1024 * 1024
"""Ledger bytes for each part: the records of some forty thousand versions, which take about
twenty megabytes as Python has them."""

_PENDING_RECORDS = 32_768
# The last format that does not look for what it wrote before: few records share anything.
_MARSHAL_FORMAT = 2


class Records:
    """Writes records. A context manager; what was put in is there afterwards. Each process has
    files of its own, as with Facts, and the records in one are in the order of their putting.

    parts: in how many parts records meet. What a record is about is text that names its scope
    too; the record belongs into part `crc32(about.encode()) % parts`.
    """

    def __init__(self, scratch: Path, parts: int) -> None:
        self.parts = parts
        self._scratch = scratch
        self._pending: dict[str, list[list[Any]]] = defaultdict(self._empty)

    def lists(self, kind: str) -> list[list[Any]]:
        """A list for each part, to append records of a kind to: text, bytes, integers, None,
        and tuples of them."""
        return self._pending[kind]

    def put(self, kind: str, about: str, record: Any) -> None:
        """One record about something."""
        self._pending[kind][crc32(about.encode()) % self.parts].append(record)

    def settle(self) -> None:
        """Write out what was put, when that is much. To be called now and then."""
        pending = sum(len(part) for parts in self._pending.values() for part in parts)
        if pending >= _PENDING_RECORDS:
            self._write()

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *failure: object) -> None:
        self._write()

    def _empty(self) -> list[list[Any]]:
        return [[] for _ in range(self.parts)]

    def _write(self) -> None:
        for kind, parts in self._pending.items():
            for part, records in enumerate(parts):
                if records:
                    with open(self._scratch / f"{kind}-{part}-{os.getpid()}", "ab") as file:
                        marshal.dump(records, file, _MARSHAL_FORMAT)
                    records.clear()


def records(scratch: Path, kind: str, part: int) -> Iterator[list[Any]]:
    """The records of one kind in a part, many at once; those of one process in their order."""
    beginning = f"{kind}-{part}-"  # a pattern would be compiled for each
    for entry in entries(scratch):
        if not entry.name.startswith(beginning):
            continue
        with open(entry.path, "rb") as file:
            while file.peek(1):
                yield marshal.load(file)
