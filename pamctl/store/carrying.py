"""The stored bytes of a scope, one after the other, for whoever carries all of them elsewhere.

`Versions` opens a file for each version that it reads, which is right for a few. Here the same
bytes are read a window at a time, and checked all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import repeat
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
    descriptor, at, head, carried = open_plain(layout.ledger), 0, CHAIN_START.encode(), b""
    start = 0
    try:
        while at < end:
            chunk = os.pread(descriptor, min(_WINDOW_BYTES, end - at), at)
            if not chunk:
                raise damaged_ledger(layout.ledger, at, "is missing")
            at += len(chunk)
            lines = (carried + chunk).split(b"\n")
            carried = lines.pop()
            if len(carried) > DOCUMENT_BYTES_MAX:
                raise damaged_ledger(layout.ledger, start, "is longer than it may be")
            if lines:
                digests = [sha256(line).hexdigest().encode() for line in lines]
                # `prev` stands near the end; the full look at it is a checker's.
                before = [head, *digests[:-1]]
                if -1 in map(bytes.find, lines, before, repeat(-_TAIL_BYTES)):
                    what = f"or one up to byte {at} does not follow the one before it"
                    raise damaged_ledger(layout.ledger, start, what)
                head = digests[-1]
                yield lines, digests
            start = at - len(carried)
    finally:
        os.close(descriptor)


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


def named_address(line: bytes) -> bytes | None:
    """The 64 digits of the address of the version that a ledger line, which is canonical,
    commits. Its members stand in order, so that `version` is the last one where it is there."""
    return line[-66:-2] if line.endswith(b'"}') else None


Place = tuple[bytes | None, int, int, int]
"""Where a version is: its pack, offset, length, and whether it was erased."""


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
        found = []
        for address, (pack, offset, length, _) in zip(addresses, places, strict=True):
            start = offset - self._window_at
            if pack is not None and pack == self._pack and 0 <= start <= len(self._window) - length:
                found.append(self._window[start : start + length])
            else:
                found.append(self._bytes(address, pack, offset, length, stub=False))
        digests = [sha256(data).hexdigest().encode() for data in found]
        if digests != addresses:
            for number, (address, digest) in enumerate(zip(addresses, digests, strict=True)):
                if address != digest:
                    found[number] = self._moved(address.decode())
        return found

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
