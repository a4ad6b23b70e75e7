"""Where versions stand in the packs of a scope, found in bounded memory.

Whoever reads a ledger asks for versions in the order in which the lines of packs stand. So a
pack that was announced, or in which a version was found, is followed line by line, and that
answers nearly every question. For the rest there is a table of 24 bytes a line, made when it
is first needed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from pamctl.encoding.digests import is_sha256_digest, sha256
from pamctl.errors import StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout, address_digits, pack_name
from pamctl.store.plain_files import open_plain
from pamctl.store.records import StoredVersion

_READ_BYTES = 256 * 1024
_TRAILS_MAX = 4
_LISTINGS_MAX = 5
_LINE_BYTES_MIN = 64
"""Shorter than any version or stub. What is shorter still gets no place in the table, or a
pack of line breaks would be a table many times as large."""


def parsed_version(data: bytes) -> tuple[Mapping[str, Any] | None, str | None]:
    """The envelope in the bytes of a version or of a stub, and the address that a stub
    stands for. Both None for what is neither."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None, None
    if type(value) is not dict:
        return None, None
    envelope = value.get("envelope")
    if type(envelope) is not dict:
        envelope = None
    if "erased" not in value and "withheld" not in value:
        return envelope, None
    gone = value.get("erased", value.get("withheld"))
    address = gone.get("address") if isinstance(gone, dict) else None
    return (envelope, address) if is_sha256_digest(address) else (None, None)


def pack_names(layout: ScopeLayout) -> list[str]:
    """The packs that are there now, in the order of their names."""
    try:
        found = [pack_name(name) for name in sorted(os.listdir(layout.packs))]
    except FileNotFoundError:
        return []
    return [name for name in found if name is not None]


def pack_lines(layout: ScopeLayout, name: str, start: int = 0) -> Iterator[tuple[bytes, int]]:
    """The lines of a pack from byte `start` on, without their newlines, and where each starts.
    What is longer than any version comes in pieces.

    The file is open only while a piece of it is read. Raises FileNotFoundError, also where
    something that is no file stands in its place.
    """
    path, offset, wanted = layout.pack_file(name), start, _READ_BYTES
    while data := _read(path, offset, wanted):
        lines = data.split(b"\n")
        rest = lines.pop()
        if not lines and len(data) == wanted and wanted <= DOCUMENT_BYTES_MAX:
            wanted = DOCUMENT_BYTES_MAX + 1
            continue
        for line in lines or [rest]:
            yield line, offset
            offset += len(line) + 1
        wanted = _READ_BYTES


def _read(path: Path, offset: int, length: int) -> bytes:
    try:
        descriptor = open_plain(path)
    except StoreDamaged:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    try:
        return os.pread(descriptor, length, offset)
    finally:
        os.close(descriptor)


def stored_in(layout: ScopeLayout, name: str, start: int = 0) -> Iterator[StoredVersion]:
    """What stands in a pack from byte `start` on, line by line. Raises as `pack_lines`."""
    for data, offset in pack_lines(layout, name, start):
        yield _stored(data, name, offset)


def _stored(data: bytes, name: str, offset: int) -> StoredVersion:
    envelope, erased = parsed_version(data)
    if erased is None:
        address = f"sha256:{sha256(data).hexdigest()}"
        # Past its constructor, which is written in Python and takes as long again.
        return tuple.__new__(StoredVersion, (address, envelope, name, offset, len(data), False))
    return StoredVersion(erased, envelope, name, offset, len(data), True)


def moves(body: Mapping[str, Any]) -> bool:
    """Whether the pack that a `pack` entry announces holds what earlier entries committed."""
    return "loose" in body or "replaces" in body


def moved_to(layout: ScopeLayout, name: str) -> list[StoredVersion]:
    """The versions in a pack, each with the `version_id` of its envelope alone. None where
    the pack is gone, because another replaced it."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for stored in stored_in(layout, name):
            version_id = (stored.envelope or {}).get("version_id")
            if isinstance(version_id, str):
                found.append(stored._replace(envelope={"version_id": version_id}))
    return found


class Packs:
    """Finds versions in the packs of one scope."""

    def __init__(self, layout: ScopeLayout) -> None:
        self._layout = layout
        self._trails: deque[_Trail] = deque(maxlen=_TRAILS_MAX)
        self._table: _Table | None = None

    def follow(self, name: str, start: int = 0) -> None:
        """Expect the versions of a pack, from byte `start` on. A pack that is gone is passed
        over: it was replaced by another."""
        self._trails.appendleft(_Trail(stored_in(self._layout, name, start)))

    def next_is(self, address: str) -> StoredVersion | None:
        """A version that is the next line of a pack that is being followed."""
        for trail in self._trails:
            found = trail.ahead or trail.step()
            if found is not None and found.address == address:
                trail.ahead = None
                return found
        return None

    def search(self, address: str) -> StoredVersion | None:
        """A version in whichever pack has it; a stub, where none has the version."""
        if self._table is None:
            self._table = _Table(self._layout)
        stub = None
        for _ in range(_LISTINGS_MAX):
            missed = self._table.take_in_new()
            for name, offset, length in self._table.places(address):
                try:
                    data = _read(self._layout.pack_file(name), offset, length)
                except FileNotFoundError:
                    missed = True  # it was replaced since it was read
                    continue
                found = _stored(data, name, offset)
                if found.address == address:
                    if not found.erased:
                        return found
                    stub = found
            if stub is not None or not missed:
                break
        return stub


class _Trail:
    """A pack that is read line by line, each no sooner than it is asked for."""

    def __init__(self, lines: Iterator[StoredVersion]) -> None:
        self._lines = lines
        self.ahead: StoredVersion | None = None
        """The next line, once it was asked for."""

    def step(self) -> StoredVersion | None:
        """Look at the next line; None behind the last."""
        try:
            self.ahead = next(self._lines, None)
        except FileNotFoundError:  # it may be replaced at any time
            self.ahead = None
        return self.ahead


class _Table:
    """Places of versions by the first eight bytes of their digests, in 256 parts. Only a hint:
    what stands there has to be looked at."""

    _PLACE = struct.Struct(">8sIQI")

    def __init__(self, layout: ScopeLayout) -> None:
        self._layout = layout
        self._names: list[str] = []
        self._parts = [bytearray() for _ in range(256)]

    def take_in_new(self) -> bool:
        """Read the packs that were not there before; whether one went while it was read."""
        missed = False
        for name in sorted({*pack_names(self._layout)}.difference(self._names)):
            number = len(self._names)
            self._names.append(name)
            try:
                for data, offset in pack_lines(self._layout, name):
                    self._note(data, number, offset)
            except FileNotFoundError:
                missed = True
        return missed

    def _note(self, data: bytes, number: int, offset: int) -> None:
        if not _LINE_BYTES_MIN <= len(data) <= DOCUMENT_BYTES_MAX:
            return
        # Nearly no line is a stub; those that may be are looked at.
        stub = b'"erased":' in data or b'"withheld":' in data
        erased = parsed_version(data)[1] if stub else None
        digest = sha256(data).digest() if erased is None else bytes.fromhex(erased[7:])
        self._parts[digest[0]] += self._PLACE.pack(digest[:8], number, offset, len(data))

    def places(self, address: str) -> list[tuple[str, int, int]]:
        """Where a version may stand: pack, offset and length."""
        wanted = bytes.fromhex(address_digits(address)[:16])
        part, size, found = self._parts[wanted[0]], self._PLACE.size, []
        at = part.find(wanted)
        while at >= 0:
            if at % size == 0:
                _, number, offset, length = self._PLACE.unpack_from(part, at)
                found.append((self._names[number], offset, length))
            at = part.find(wanted, at + 1)
        return found
