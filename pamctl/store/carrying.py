"""The stored bytes of a scope, one after the other, for whoever carries all of them elsewhere.

`Versions` opens a file for each version that it reads, which is right for a few. Here the same
bytes are read a window at a time, and checked all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import repeat
from operator import itemgetter
from types import TracebackType

from pamctl.errors import ServiceUnavailable, StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import damaged_ledger
from pamctl.store.packs import parsed_version
from pamctl.store.plain_files import open_plain
from pamctl.store.records import CHAIN_START
from pamctl.store.versions import Versions

_WINDOW_BYTES = 64 * 1024
_TAIL_BYTES = 200
"""More than `prev`, `tx` and `version` take at the end of a ledger line."""


def ledger_windows(layout: ScopeLayout, end: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The lines in the first `end` bytes of a ledger, which end with one, some thousand at a
    time: without their newlines, and their SHA-256 in hexadecimal digits.

    Raises StoreDamaged at a line that does not follow the one before it, or is too long.
    """
    descriptor, at, head, wanted = open_plain(layout.ledger), 0, CHAIN_START.encode(), _WINDOW_BYTES
    count = 0
    try:
        while at < end:
            chunk = os.pread(descriptor, min(wanted, end - at), at)
            lines = chunk.split(b"\n")
            rest = lines.pop()
            if len(rest) > DOCUMENT_BYTES_MAX:
                raise damaged_ledger(layout.ledger, at, "is longer than it may be")
            if not lines:
                if len(chunk) < wanted:
                    raise damaged_ledger(layout.ledger, at, "is missing")
                wanted = DOCUMENT_BYTES_MAX + 1
                continue
            digests = [sha256(line).hexdigest().encode() for line in lines]
            if not _follow(lines, [head, *digests[:-1]], count + 1):
                what = f"or one up to byte {at + len(chunk)} does not follow the one before it"
                raise damaged_ledger(layout.ledger, at, what)
            head = digests[-1]
            yield lines, digests
            at += len(chunk) - len(rest)
            count += len(lines)
            wanted = _WINDOW_BYTES
    finally:
        os.close(descriptor)


def _follow(lines: Sequence[bytes], heads: Sequence[bytes], n: int) -> bool:
    """Whether each line has the head before it as its `prev`; the full look at it is a
    checker's. n: of the first line. In nearly every line `tx` has as many digits as that, and
    tells where `prev` stands."""
    digits = len(str(n))
    bare, behind = slice(-72 - digits, -8 - digits), slice(-156 - digits, -92 - digits)
    prevs = [line[behind] if line[-2:-1] == b'"' else line[bare] for line in lines]
    return prevs == heads or -1 not in map(bytes.find, lines, heads, repeat(-_TAIL_BYTES))


def ledger_lines(layout: ScopeLayout, end: int) -> Iterator[tuple[bytes, bytes]]:
    """As `ledger_windows`, one by one."""
    for lines, digests in ledger_windows(layout, end):
        yield from zip(lines, digests, strict=True)


def first_line(layout: ScopeLayout) -> bytes:
    """The first line of a ledger, which says whose it is."""
    with os.fdopen(open_plain(layout.ledger), "rb") as ledger:
        line = ledger.readline(DOCUMENT_BYTES_MAX + 1)
    if not line.endswith(b"\n"):
        raise damaged_ledger(layout.ledger, 0, "is no entry")
    return line[:-1]


def beginning_of(layout: ScopeLayout, end: int) -> bytes:
    """The first `end` bytes of a ledger, which are few. Raises StoreDamaged where they are not
    there."""
    with os.fdopen(open_plain(layout.ledger), "rb") as ledger:
        data = ledger.read(end)
    if len(data) < end:
        raise damaged_ledger(layout.ledger, len(data), "is missing")
    return data


def named_addresses(lines: Sequence[bytes]) -> list[bytes | None]:
    """Of ledger lines, which are canonical, the 64 digits of the addresses of the versions that
    they commit. Their members stand in order, so that `version` is the last one where it is
    there."""
    return [line[-66:-2] if line[-2:-1] == b'"' else None for line in lines]


_LENGTH = itemgetter(2)
Place = tuple[bytes | None, int, int, int, int]
"""Where a version is: its pack, offset, length, whether it was erased, and the ledger sequence of
the event that committed it."""


class StoredBytes:
    """Reads versions and stubs of one scope by where they stand; a context manager."""

    def __init__(self, layout: ScopeLayout) -> None:
        self._layout = layout
        self._pack: bytes | None = None
        self._descriptor = -1
        self._window, self._window_at = b"", 0

    def __enter__(self) -> StoredBytes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._let_go()

    def versions(self, addresses: Sequence[bytes], places: Sequence[Place]) -> list[bytes]:
        """The bytes of versions, which are those of their addresses, 64 digits each. Raises
        StoreDamaged, and ServiceUnavailable where some were erased since they were looked up.

        places: pack (the 32 bytes of its name, None for a file of its own), offset and length.
        """
        found = self._run(places)
        if len(found) != len(places):
            found = [
                self._bytes(address, pack, offset, length, stub=False)
                for address, (pack, offset, length, _, _) in zip(addresses, places, strict=True)
            ]
        digests = [sha256(data).hexdigest().encode() for data in found]
        if digests != addresses:
            for number, (address, digest) in enumerate(zip(addresses, digests, strict=True)):
                if address != digest:
                    found[number] = self._moved(address.decode())
        return found

    def _run(self, places: Sequence[Place]) -> list[bytes]:
        """The bytes at places that are the lines of a pack one behind the other, as nearly all
        are; whatever they are not, their digests will tell."""
        if not places:
            return []
        pack, start, *_ = places[0]
        last_pack, last_start, last_length, *_ = places[-1]
        size = sum(map(_LENGTH, places)) + len(places) - 1
        if pack is None or pack != last_pack or last_start + last_length - start != size:
            return []
        return self._bytes(b"", pack, start, size, stub=False).split(b"\n")

    def _moved(self, digits: str) -> bytes:
        """The bytes of a version that is not where it was."""
        versions = Versions(self._layout)
        found = versions.find(f"sha256:{digits}")
        if found is None:
            raise StoreDamaged(
                f"the version sha256:{digits} is missing or altered",
                hint="run `pamctl fsck` to see what is damaged",
                address=f"sha256:{digits}",
            )
        if found.erased:
            raise ServiceUnavailable(
                "a version was erased while it was being carried away",
                hint="run the same command again",
            )
        return versions.read(found)

    def stub(self, address: bytes, pack: bytes | None, offset: int, length: int) -> bytes | None:
        """The bytes of the stub that stands in the place of a version; None where there is
        none at that place."""
        data = self._bytes(address, pack, offset, length, stub=True)
        return data if parsed_version(data)[1] == f"sha256:{address.decode()}" else None

    def _bytes(
        self, address: bytes, pack: bytes | None, offset: int, length: int, *, stub: bool
    ) -> bytes:
        """What stands at a place; nothing where that is gone."""
        try:
            if pack is None:
                file = self._layout.stub_file if stub else self._layout.version_file
                with os.fdopen(open_plain(file(f"sha256:{address.decode()}")), "rb") as opened:
                    return opened.read(DOCUMENT_BYTES_MAX + 1)
            if pack != self._pack:
                self._let_go()
                self._descriptor = open_plain(self._layout.pack_file(pack.hex()))
                self._pack = pack
        except FileNotFoundError:
            return b""
        start = offset - self._window_at
        if start < 0 or start + length > len(self._window):
            wanted = max(min(length, DOCUMENT_BYTES_MAX), _WINDOW_BYTES)
            self._window = os.pread(self._descriptor, wanted, offset)
            self._window_at, start = offset, 0
        return self._window[start : start + length]

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._pack, self._descriptor, self._window, self._window_at = None, -1, b"", 0
