"""The append-only, hash-chained ledger of a scope, read one transaction at a time.

Readers take no lock. They read up to the last complete transaction and stop there: what
follows is a writer at work, or what is left of one that died.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson

from pamctl.encoding.canonical import is_canonical
from pamctl.encoding.digests import is_sha256_digest, sha256_hex
from pamctl.errors import PamError, StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import ScopeLayout, is_pack_name
from pamctl.store.packs import moved_to, moves
from pamctl.store.plain_files import open_plain, plain_status
from pamctl.store.records import START, Commit, Entry, Position, StoredVersion, Transaction
from pamctl.store.versions import Versions

_READ_BYTES = 256 * 1024
# From here on it pays to make the patterns of plain lines, which takes some milliseconds.
_LONG_BYTES = 1024 * 1024
_Found = TypeVar("_Found")
_MEMBERS = {"n", "tx", "i", "of", "kind", "prev", "body"}


class Mark(NamedTuple):
    """A state of a ledger's file: its bytes, its inode, and when it was written and changed, in
    nanoseconds."""

    size: int
    inode: int
    written: int
    changed: int


class Ledger:
    """Reads the ledger of one scope."""

    def __init__(self, layout: ScopeLayout) -> None:
        self._layout = layout
        self._path = layout.ledger

    def size(self) -> int:
        """Bytes of the ledger now. Raises StoreDamaged when it is gone."""
        return self.mark().size

    def mark(self) -> Mark:
        """What tells one state of the file from another; cheap to ask for. Raises as `size`."""
        try:
            status = plain_status(self._path)
        except FileNotFoundError:
            raise StoreDamaged(f"the ledger {self._path} is missing") from None
        return Mark(status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)

    def holds(self, position: Position) -> bool:
        """Whether the ledger still has, before `position`, the line that it ended with."""
        if position == START:
            return True
        start = position.offset - position.head_bytes
        if start < 0 or self.size() < position.offset:
            return False
        line = self._read(start, position.head_bytes)
        return line.endswith(b"\n") and sha256_hex(line[:-1]) == position.head

    def ends_at(self, position: Position) -> bool:
        """Whether the ledger ends with the line that it had before `position`."""
        return self.size() == position.offset and self.holds(position)

    def transactions(self, after: Position) -> Iterator[Transaction]:
        """The complete transactions behind `after`, oldest first.

        Raises StoreDamaged at a line that no writer, alive or dead, can have left there:
        one that is whole and yet no entry, or that does not follow the line before it.
        """
        return self._follow(self._assembled, after)

    def commits(self, after: Position = START) -> Iterator[Transaction | Commit]:
        """As `transactions`, and in the place of one that a look at its lines tells all of, a
        commit; where there is little to read, none."""
        if self.size() - after.offset < _LONG_BYTES:
            return self.transactions(after)
        from pamctl.store.commits import commits

        return self._follow(
            lambda assembly: commits(self._lines(assembly.end.offset), assembly), after
        )

    def _follow(
        self, reading: Callable[[Assembly], Iterator[_Found]], after: Position
    ) -> Iterator[_Found]:
        doubted = False
        while True:
            is_plain = _plain_lines(self.size() - after.offset)
            assembly = Assembly(self._layout, after, self._damaged, is_plain)
            try:
                for found in reading(assembly):
                    yield found
                    doubted = False
                return
            except StoreDamaged:
                # Torn lines that are set aside and written over while they are being read
                # look like damage once. Damage looks like it twice.
                if doubted:
                    raise
                doubted, after = True, assembly.end
                if not self.holds(after):
                    return

    def _assembled(self, assembly: Assembly) -> Iterator[Transaction]:
        for data, offset in self._lines(assembly.end.offset):
            found = assembly.add(data, offset)
            if found is not None:
                yield found
            elif assembly.torn:
                return

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
                    if len(line) > DOCUMENT_BYTES_MAX:
                        raise self._too_long(offset)
                    yield line, offset
                    offset += len(line) + 1
                if not lines:
                    if len(rest) > DOCUMENT_BYTES_MAX:
                        raise self._too_long(offset)
                    if len(rest) < wanted:
                        return
                wanted = _READ_BYTES if lines else DOCUMENT_BYTES_MAX + 1
        finally:
            os.close(descriptor)

    def _too_long(self, offset: int) -> StoreDamaged:
        return self._damaged(offset, "is longer than limits.DOCUMENT_BYTES_MAX")

    def _read(self, offset: int, length: int) -> bytes:
        if length > DOCUMENT_BYTES_MAX:
            raise self._too_long(offset)
        descriptor = open_plain(self._path)
        try:
            return os.pread(descriptor, length, offset)
        finally:
            os.close(descriptor)

    def _damaged(self, offset: int, what: str) -> StoreDamaged:
        return damaged_ledger(self._path, offset, what)


Damaged = Callable[[int, str], PamError]
"""The error for a line that begins at that byte, and what is wrong with it."""

IsPlain = Callable[[bytes], bool]
"""Tells of some lines that they are canonical entries, each member of its type."""


def _none(_: bytes) -> bool:
    return False


def _plain_lines(size: int) -> IsPlain:
    """What tells plain lines in so many bytes of a ledger."""
    if size < _LONG_BYTES:
        return _none
    from pamctl.store.plain_lines import is_plain_line

    return is_plain_line


class Standing(Protocol):
    """Behind which line the next one has to follow, as `Position` has it."""

    @property
    def entries(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def head(self) -> str: ...


class Assembly:
    """Puts transactions together from the lines of a ledger, which come one after another.

    It stands, as a `Standing`, behind the last line. torn: whether that was none.
    versions: where the versions are that entries name; packs that were announced are expected.
    """

    def __init__(
        self, layout: ScopeLayout, after: Position, damaged: Damaged, is_plain: IsPlain
    ) -> None:
        self._layout = layout
        self._damaged = damaged
        self._is_plain = is_plain
        self._lines: list[tuple[Entry, int]] = []
        self._end: tuple[int, int, int, str, int] = after
        self.entries, self.sequence, self.head = after.entries, after.sequence, after.head
        self.torn = False
        # What is noted of packs is dropped with the reading that it was noted for.
        self.versions = Versions(layout)

    @property
    def end(self) -> Position:
        """Behind the last transaction that is whole."""
        return Position(*self._end)

    @property
    def is_open(self) -> bool:
        """Whether a transaction has begun that is not whole yet."""
        return bool(self._lines)

    def add(self, data: bytes, offset: int) -> Transaction | None:
        """Take the next line; the transaction that it completes. Raises as `parse_entry`."""
        lines = self._lines
        parsed = parse_entry(data, offset, self, lines, self._damaged, self._is_plain)
        if parsed is None:
            self.torn = True
            return None
        lines.append(parsed)
        entry, of = parsed
        self.entries, self.head = entry.n, sha256_hex(data)
        if entry.kind == "event":
            self.sequence += 1
        elif entry.kind == "pack" and not moves(entry.body):
            self.versions.expect(entry.body["name"])
        if len(lines) < of:
            return None
        length = len(data) + 1
        self._end = (offset + length, self.entries, self.sequence, self.head, length)
        entries = tuple([entry for entry, _ in lines])
        lines.clear()
        named = _named_versions(entries, self.versions)
        return Transaction(entries, named, self.end, self._moved(entries))

    def skip(self, end: tuple[int, int, int, str, int]) -> None:
        """Move on to `end`, a position's members, behind a transaction that was not added."""
        self._end = end
        _, self.entries, self.sequence, self.head, _ = end

    def _moved(self, entries: Sequence[Entry]) -> tuple[StoredVersion, ...]:
        """What stands in the packs that these entries announce, if it stood elsewhere before."""
        packs = [entry.body for entry in entries if entry.kind == "pack"]
        if not packs:
            return ()
        names = dict.fromkeys(body["name"] for body in packs if moves(body))
        return tuple([version for name in names for version in moved_to(self._layout, name)])


def parse_entry(
    data: bytes,
    offset: int,
    place: Standing,
    lines: Sequence[tuple[Entry, int]],
    damaged: Damaged,
    is_plain: IsPlain = _none,
) -> tuple[Entry, int] | None:
    """The entry in a line of a ledger, and the size of its transaction; None for torn bytes.

    Arguments:
        data, offset: the line without its newline, and where it stands.
        place: behind the line before it.
        lines: the entries of the transaction that it goes on with, and their sizes.
        is_plain: saves looking closely at those lines that it tells.

    Raises what `damaged` makes of a line that is no entry or does not follow.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\x00" in data:
            return None  # a power cut lengthened the file and lost what was to be in it
        raise damaged(offset, "is not JSON") from None
    plain = is_plain(data)
    if not plain:
        if not isinstance(value, dict) or not value.keys() >= _MEMBERS:
            raise damaged(offset, "is no ledger entry")
        if not is_canonical(value, data):
            raise damaged(offset, "is not in canonical form")
    n, tx, i, of = value["n"], value["tx"], value["i"], value["of"]
    if value["prev"] != place.head:
        raise damaged(offset, "does not follow the line before it (its `prev` differs)")
    # JSON's true is no number, though it equals 1 in Python.
    counted = plain or type(n) is type(tx) is type(i) is type(of) is int
    before = len(lines)
    expected = (place.entries + 1, place.entries + 1 - before, before + 1)
    if not counted or (n, tx, i) != expected or (before and lines[0][1] != of) or i > of:
        raise damaged(offset, "has counters that do not follow from the line before it")
    kind, body, version = value["kind"], value["body"], value.get("version")
    if not plain:
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
