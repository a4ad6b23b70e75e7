"""The append-only, hash-chained ledger of a scope, read one transaction at a time.

Readers take no lock. They read up to the last complete transaction and stop there: what
follows is a writer at work, or what is left of one that died.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from pamctl.encoding.canonical import is_canonical
from pamctl.encoding.digests import is_sha256_digest, sha256_hex
from pamctl.errors import PamError, StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout, is_pack_name
from pamctl.store.packs import moved_to, moves
from pamctl.store.plain_files import open_plain, plain_size
from pamctl.store.records import START, Entry, Position, StoredVersion, Transaction
from pamctl.store.versions import Versions

_READ_BYTES = 256 * 1024
_MEMBERS = {"n", "tx", "i", "of", "kind", "prev", "body"}


class Ledger:
    """Reads the ledger of one scope."""

    def __init__(self, layout: ScopeLayout) -> None:
        self._layout = layout
        self._path = layout.ledger

    def size(self) -> int:
        """Bytes of the ledger now. Raises StoreDamaged when it is gone."""
        try:
            return plain_size(self._path)
        except FileNotFoundError:
            raise StoreDamaged(f"the ledger {self._path} is missing") from None

    def holds(self, position: Position) -> bool:
        """Whether the ledger still has, before `position`, the line that it ended with."""
        if position == START:
            return True
        start = position.offset - position.head_bytes
        if start < 0 or self.size() < position.offset:
            return False
        line = self._read(start, position.head_bytes)
        return line.endswith(b"\n") and sha256_hex(line[:-1]) == position.head

    def transactions(self, after: Position) -> Iterator[Transaction]:
        """The complete transactions behind `after`, oldest first.

        Raises StoreDamaged at a line that no writer, alive or dead, can have left there:
        one that is whole and yet no entry, or that does not follow the line before it.
        """
        place, doubted = after, False
        while True:
            try:
                for transaction in self._transactions(place):
                    yield transaction
                    place, doubted = transaction.after, False
                return
            except StoreDamaged:
                # Torn lines that are set aside and written over while they are being read
                # look like damage once. Damage looks like it twice.
                if doubted:
                    raise
                doubted = True
                if not self.holds(place):
                    return

    def _transactions(self, after: Position) -> Iterator[Transaction]:
        lines: list[tuple[Entry, int]] = []
        # What is noted of packs is dropped with the reading that it was noted for.
        versions = Versions(self._layout)
        place = after
        for data, offset in self._lines(after.offset):
            parsed = parse_entry(data, offset, place, lines, self._damaged)
            if parsed is None:
                break
            entry, of = parsed
            lines.append((entry, of))
            sequence = place.sequence + (entry.kind == "event")
            place = Position(
                offset + len(data) + 1, entry.n, sequence, sha256_hex(data), len(data) + 1
            )
            if entry.kind == "pack" and not moves(entry.body):
                versions.expect(entry.body["name"])
            if len(lines) == of:
                entries = tuple(entry for entry, _ in lines)
                named = _named_versions(entries, versions)
                yield Transaction(entries, named, place, self._moved(entries))
                lines.clear()

    def _moved(self, entries: Sequence[Entry]) -> tuple[StoredVersion, ...]:
        """What stands in the packs that these entries announce, if it stood elsewhere before."""
        names = {
            entry.body["name"]: None
            for entry in entries
            if entry.kind == "pack" and moves(entry.body)
        }
        return tuple(version for name in names for version in moved_to(self._layout, name))

    def line(self, offset: int, length: int) -> dict[str, Any]:
        """The entry whose line stands at `offset`; `length` excludes the newline."""
        data = self._read(offset, length)
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict):
            raise self._damaged(offset, "is no ledger entry")
        return value

    def _lines(self, offset: int) -> Iterator[tuple[bytes, int]]:
        """Each whole line from `offset` on, without its newline, and where it starts.

        A line comes from one read: half of a torn line and half of the line that took its
        place could make up a third that was never written.
        """
        descriptor = open_plain(self._path)
        wanted = _READ_BYTES
        try:
            while data := os.pread(descriptor, wanted, offset):
                lines = data.split(b"\n")
                rest = lines.pop()
                for line in lines:
                    self._require_bounded(line, offset)
                    yield line, offset
                    offset += len(line) + 1
                if not lines:
                    self._require_bounded(rest, offset)
                    if len(rest) < wanted:
                        return
                wanted = _READ_BYTES if lines else DOCUMENT_BYTES_MAX + 1
        finally:
            os.close(descriptor)

    def _require_bounded(self, line: bytes, offset: int) -> None:
        if len(line) > DOCUMENT_BYTES_MAX:
            raise self._damaged(offset, "is longer than limits.DOCUMENT_BYTES_MAX")

    def _read(self, offset: int, length: int) -> bytes:
        if length > DOCUMENT_BYTES_MAX:
            raise self._damaged(offset, "is longer than limits.DOCUMENT_BYTES_MAX")
        descriptor = open_plain(self._path)
        try:
            return os.pread(descriptor, length, offset)
        finally:
            os.close(descriptor)

    def _damaged(self, offset: int, what: str) -> StoreDamaged:
        return damaged_ledger(self._path, offset, what)


Damaged = Callable[[int, str], PamError]
"""The error for a line that begins at that byte, and what is wrong with it."""


def parse_entry(
    data: bytes,
    offset: int,
    place: Position,
    lines: Sequence[tuple[Entry, int]],
    damaged: Damaged,
) -> tuple[Entry, int] | None:
    """The entry in a line of a ledger, and the size of its transaction; None for torn bytes.

    Arguments:
        data, offset: the line without its newline, and where it stands.
        place: behind the line before it.
        lines: the entries of the transaction that it goes on with, and their sizes.

    Raises what `damaged` makes of a line that is no entry or does not follow.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\x00" in data:
            return None  # a power cut lengthened the file and lost what was to be in it
        raise damaged(offset, "is not JSON") from None
    if not isinstance(value, dict) or not value.keys() >= _MEMBERS:
        raise damaged(offset, "is no ledger entry")
    if not is_canonical(value, data):
        raise damaged(offset, "is not in canonical form")
    counters = n, tx, i, of = value["n"], value["tx"], value["i"], value["of"]
    if value["prev"] != place.head:
        raise damaged(offset, "does not follow the line before it (its `prev` differs)")
    expected = (place.entries + 1, place.entries + 1 - len(lines), len(lines) + 1)
    # JSON's true is no number, though it equals 1 in Python.
    counted = all(type(counter) is int for counter in counters)
    if not counted or (n, tx, i) != expected or (lines and lines[0][1] != of) or i > of:
        raise damaged(offset, "has counters that do not follow from the line before it")
    kind, body, version = value["kind"], value["body"], value.get("version")
    if not isinstance(kind, str) or not isinstance(body, dict):
        raise damaged(offset, "is no ledger entry")
    if "version" in value and not is_sha256_digest(version):
        raise damaged(offset, "names a version by what is no address")
    if kind == "pack" and not is_pack_name(body.get("name")):
        raise damaged(offset, "names a pack by what is no pack's name")
    if kind == "event" and body.get("sequence") != place.sequence + 1:
        raise damaged(offset, "is an event out of sequence")
    return Entry(n, tx, kind, body, version, offset, len(data)), of


def damaged_ledger(path: Path, offset: int, what: str) -> StoreDamaged:
    """What to answer when the line at `offset` cannot be what a writer wrote."""
    return StoreDamaged(
        f"the ledger line at byte {offset} {what}: {path}",
        hint="run `pamctl fsck` to see what is damaged; nothing was changed",
        path=str(path),
        offset=offset,
    )


def _named_versions(entries: Sequence[Entry], versions: Versions) -> dict[str, StoredVersion]:
    """The version of each entry that has one, by address."""
    named = {}
    for entry in entries:
        if entry.version is not None:
            found = versions.find(entry.version)
            # A version that is missing is that object's damage, not the ledger's: the rest
            # of the scope stays readable, and fsck says what is gone.
            named[entry.version] = found or StoredVersion(entry.version, None, None, 0, 0)
    return named
