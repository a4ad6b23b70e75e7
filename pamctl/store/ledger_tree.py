"""The Merkle tree over a scope's ledger lines: derived, kept in `index/`, disposable.

    index/<folder of the scope>.tree
      a mark, then for each entry of the ledger, in order, without gaps:
        8 bytes   where its line starts in the ledger
        8 bytes   how many events there are up to and with it
        32 bytes  the hash of the leaf, then of each complete subtree that it completes

Every place follows from the number of an entry, so a proof reads a few dozen hashes whatever
the length of the ledger. What is written at a place follows from the ledger alone, so writers
need no lock: two of them write the same bytes. Nothing is made durable, and bytes that a power
cut lost are noticed where they are used: each hash is held against those it was made from, and
the last line against the ledger.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import orjson

from pamctl.crypto.merkle import HASH_BYTES, CompactRange, leaf_hash, node_hash, peaks_of, root_of
from pamctl.encoding.digests import sha256_hex
from pamctl.errors import PamError, StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import ScopeLayout, StoreLayout
from pamctl.store.ledger import damaged_ledger
from pamctl.store.plain_files import open_plain, require_sole_name

_MARK = b"pam-tree-1\n\0\0\0\0\0"
_FACTS = struct.Struct(">QQ")
_READ_BYTES = 1 << 20
_WRITE_BYTES = 1 << 20
_CHAIN_START = "0" * 64


class Grown(NamedTuple):
    """How far a tree goes: entries and events that it holds, where the next line starts, and
    the SHA-256 of the last one."""

    entries: int
    events: int
    end: int
    head: str


class _Stale(Exception):
    """The tree is not, or not any more, the one of this ledger."""


class LedgerTree:
    """The tree of one scope's ledger, up to the last complete transaction. A context manager.

    Where the file cannot be written, what it lacks is kept in memory.
    """

    def __init__(self, layout: StoreLayout, scope: ScopeLayout) -> None:
        self._path = layout.index / f"{scope.root.name}.tree"
        self._ledger = scope.ledger
        self._file: int | None = None
        self._writable = False
        self._kept = 0
        self._memory = bytearray()
        self.grown = Grown(0, 0, 0, _CHAIN_START)

    def __enter__(self) -> LedgerTree:
        return self

    def __exit__(self, *failure: object) -> None:
        self._let_go()

    def refresh(self) -> Grown:
        """Bring the tree to the ledger's last complete transaction, reading what is new.
        Raises StoreDamaged where the ledger's chain does not hold."""
        self._let_go()
        self._open()
        try:
            self.grown = self._resumed()
        except _Stale:
            self._start_anew()
        self._grow()
        return self.grown

    def read_all(self) -> tuple[Grown, bytes]:
        """The ledger read from its first byte, its chain checked, nothing taken from what was
        kept: how far it goes, and its root. What was kept is made anew where it differs."""
        tree, grown = CompactRange(), Grown(0, 0, 0, _CHAIN_START)
        for line in self._lines(grown):
            tree.append(leaf_hash(line.data))
            grown = line.after
        self.refresh()
        if self.grown.entries >= tree.size and self._safe_root(tree.size) != tree.root():
            self.forget()
        return grown, tree.root()

    def forget(self) -> None:
        """Make the tree anew from the ledger."""
        self._let_go()
        self._open()
        self._start_anew()
        self._grow()

    def root(self, size: int) -> bytes:
        """The root over the first `size` entries."""
        return root_of(size, self.node)

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree. Raises StoreDamaged where it is not that of the two
        below it, or of its line."""
        found = self._hash(level, index)
        if level:
            made = node_hash(self._hash(level - 1, 2 * index), self._hash(level - 1, 2 * index + 1))
        else:
            made = leaf_hash(self.line(index + 1))
        if made != found:
            raise StoreDamaged(
                f"{self._path} is damaged; it is derived from the ledger",
                hint="delete it: it is made anew when it is needed",
            )
        return found

    def line(self, n: int) -> bytes:
        """The ledger line of entry `n`, without its newline."""
        start = self._facts(n)[0]
        end = self._facts(n + 1)[0] if n < self.grown.entries else self.grown.end
        if not 0 < end - start <= DOCUMENT_BYTES_MAX + 1:
            raise damaged_ledger(self._ledger, start, "is not where its tree says")
        descriptor = open_plain(self._ledger)
        try:
            return os.pread(descriptor, end - start - 1, start)
        finally:
            os.close(descriptor)

    def entry_of_event(self, sequence: int) -> int | None:
        """The number of the entry that holds the event with this ledger sequence."""
        if not 1 <= sequence <= self.grown.events:
            return None
        low, high = 1, self.grown.entries
        while low < high:
            middle = (low + high) // 2
            if self._facts(middle)[1] < sequence:
                low = middle + 1
            else:
                high = middle
        return low

    # What is kept

    def _open(self) -> None:
        flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._path.parent.mkdir(exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | flags, 0o644)
            require_sole_name(self._file, self._path)
            self._writable = True
        except (OSError, PamError):
            self._let_go()
            self._file = self._open_to_read()
        self._memory, self._kept = bytearray(), 0

    def _open_to_read(self) -> int | None:
        try:
            return open_plain(self._path)
        except (OSError, PamError):
            return None

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self._writable = None, False

    def _start_anew(self) -> None:
        if self._writable:
            # Another process may go on writing to the old one; it must not be this one.
            self._path.unlink(missing_ok=True)
            self._let_go()
            self._open()
        else:
            self._let_go()
        self._memory, self._kept = bytearray(), 0
        self.grown = Grown(0, 0, 0, _CHAIN_START)

    def _resumed(self) -> Grown:
        """How far the file goes. Raises _Stale where it is another ledger's, or torn."""
        size = 0 if self._file is None else os.fstat(self._file).st_size
        if size == 0:
            raise _Stale
        if self._at(0, len(_MARK)) != _MARK:
            raise _Stale
        entries = _entries_within(size)
        self._kept = _place(entries + 1)
        if entries == 0:
            return Grown(0, 0, 0, _CHAIN_START)
        start, events = self._facts(entries)
        line = next(self._lines_from(start), b"")
        if leaf_hash(line) != self._hash(0, entries - 1):
            raise _Stale
        return Grown(entries, events, start + len(line) + 1, sha256_hex(line))

    def _grow(self) -> None:
        """Take in what the ledger has behind what the tree holds."""
        entries = self.grown.entries
        tree = CompactRange(entries, [self._hash(*peak) for peak in peaks_of(entries)])
        if self._kept == 0:
            self._keep([_MARK])
        pending: list[bytes] = []
        size = 0
        for line in self._lines(self.grown):
            facts = _FACTS.pack(line.start, line.after.events)
            pending.append(facts + b"".join(tree.append(leaf_hash(line.data))))
            size += len(pending[-1])
            self.grown = line.after
            if size >= _WRITE_BYTES:
                self._keep(pending)
                pending, size = [], 0
        self._keep(pending)

    def _keep(self, parts: list[bytes]) -> None:
        data = b"".join(parts)
        if self._writable and not self._memory and self._file is not None:
            try:
                done = os.pwrite(self._file, data, self._kept)
            except OSError:  # no room: what follows stays in memory
                done = 0
            self._kept += done
            data = data[done:]
        self._memory += data

    def _at(self, place: int, length: int) -> bytes:
        if place >= self._kept and self._memory:
            return bytes(self._memory[place - self._kept : place - self._kept + length])
        data = b"" if self._file is None else os.pread(self._file, length, place)
        if len(data) < length and self._memory:
            data += self._memory[: length - len(data)]
        return data

    def _facts(self, n: int) -> tuple[int, int]:
        data = self._at(_place(n), _FACTS.size)
        start, events = _FACTS.unpack(data.ljust(_FACTS.size, b"\0"))
        return start, events

    def _hash(self, level: int, index: int) -> bytes:
        last = (index + 1) << level
        return self._at(_place(last) + _FACTS.size + HASH_BYTES * level, HASH_BYTES)

    def _safe_root(self, size: int) -> bytes | None:
        try:
            return self.root(size)
        except StoreDamaged:
            return None

    # The ledger

    def _lines(self, after: Grown) -> Iterator[_Line]:
        """The entries of complete transactions behind `after`."""
        waiting: list[_Line] = []
        place = after
        for data in self._lines_from(after.end):
            try:
                value = orjson.loads(data)
                prev, i, of, kind = (value[name] for name in ("prev", "i", "of", "kind"))
            except (orjson.JSONDecodeError, KeyError, TypeError):
                if b"\0" in data:
                    return  # what a power cut left
                raise damaged_ledger(self._ledger, place.end, "is no ledger entry") from None
            if prev != place.head or type(i) is not int or i != len(waiting) + 1:
                raise damaged_ledger(self._ledger, place.end, "does not follow the line before it")
            start, end = place.end, place.end + len(data) + 1
            events = place.events + (kind == "event")
            place = Grown(place.entries + 1, events, end, sha256_hex(data))
            waiting.append(_Line(data, start, place))
            if i == of:
                yield from waiting
                waiting.clear()

    def _lines_from(self, offset: int) -> Iterator[bytes]:
        """Whole lines from `offset` on, without their newlines."""
        descriptor, carried = open_plain(self._ledger), b""
        try:
            while chunk := os.pread(descriptor, _READ_BYTES, offset):
                offset += len(chunk)
                first, *rest = chunk.split(b"\n")
                carried += first
                for piece in rest:
                    yield carried
                    carried = piece
                if len(carried) > DOCUMENT_BYTES_MAX:
                    raise damaged_ledger(self._ledger, offset, "ends a line that is too long")
        finally:
            os.close(descriptor)


class _Line(NamedTuple):
    data: bytes
    start: int
    after: Grown


def _place(n: int) -> int:
    """Where what is kept of entry `n`, counted from 1, begins in the file."""
    before = n - 1
    hashes = 2 * before - before.bit_count()
    return len(_MARK) + _FACTS.size * before + HASH_BYTES * hashes


def _entries_within(size: int) -> int:
    """How many entries a file of `size` bytes holds whole."""
    low, high = 0, max(size // HASH_BYTES, 1)
    while low < high:
        middle = (low + high + 1) // 2
        if _place(middle + 1) <= size:
            low = middle
        else:
            high = middle - 1
    return low
