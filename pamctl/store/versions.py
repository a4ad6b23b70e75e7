"""Immutable versions: one line of canonical JSON each, named by the digest of its bytes.

A version is a file of its own, or a line of a pack; the bytes are the same. Each carries
sixteen random bytes of salt, so that an address proves nothing once the version is erased.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping
from typing import Any

import orjson

from pamctl.encoding.base64url import encode
from pamctl.encoding.canonical import canonical, canonical_plain
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InvalidObject, ServiceUnavailable, StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout, pack_name
from pamctl.store.records import StoredVersion

SALT_BYTES = 16


def version_bytes(envelope: Mapping[str, Any], salt: bytes, *, plain: bool = False) -> bytes:
    """The bytes of a new version. They are its identity: never parse and write them again.

    plain: whether the envelope is known to be plain, as `encoding.canonical` has it. Raises
    InvalidObject when no reader would take the bytes.
    """
    write = canonical_plain if plain else canonical
    data = write({"envelope": envelope, "salt": encode(salt)})
    if len(data) > DOCUMENT_BYTES_MAX:
        raise InvalidObject(
            f"the version takes {len(data)} bytes; at most {DOCUMENT_BYTES_MAX} are accepted "
            "(limits.DOCUMENT_BYTES_MAX)",
            hint="keep what is large in the content's source and refer to it",
        )
    return data


class Versions:
    """Finds and reads the versions of one scope. Bytes are checked against their address
    before anything is made of them."""

    def __init__(self, layout: ScopeLayout) -> None:
        self._layout = layout
        self._packed: dict[str, StoredVersion] = {}
        self._packs_read: set[str] = set()

    def read(self, version: StoredVersion) -> bytes:
        """The exact bytes of a version. Raises StoreDamaged when they are not what its
        address says, or are gone."""
        if version.pack is None:
            path = self._layout.version_file(version.address)
        else:
            path = self._layout.pack_file(version.pack)
        try:
            data = _slice(path, version.offset, version.length)
        except FileNotFoundError:
            # Packing moves versions; where it went is for a fresh look to say.
            found = Versions(self._layout).find(version.address)
            if found is None or (found.pack, found.offset) == (version.pack, version.offset):
                raise StoreDamaged(
                    f"the version {version.address} is missing",
                    hint="run `pamctl fsck` to see what is damaged",
                    address=version.address,
                ) from None
            return self.read(found)
        if sha256_digest(data) != version.address:
            raise StoreDamaged(
                f"the bytes of version {version.address} were altered",
                hint="run `pamctl fsck` to see what is damaged",
                address=version.address,
                path=str(path),
            )
        return data

    def find(self, address: str) -> StoredVersion | None:
        """Where a version is, with its envelope; None when it is nowhere.

        An erased version is found without an envelope. Bytes that differ from their
        address count as nowhere: they are somebody else's.
        """
        known = self._packed.get(address)
        if known is not None:
            return known
        path = self._layout.version_file(address)
        # A file that is too long to be a version is not the one that the address names.
        with contextlib.suppress(FileNotFoundError, StoreDamaged):
            data = _slice(path, 0, None)
            if sha256_digest(data) == address:
                return StoredVersion(address, _envelope(data), None, 0, len(data))
        if self._layout.stub_file(address).is_file():
            return StoredVersion(address, None, None, 0, 0)
        self._read_all_packs()
        return self._packed.get(address)

    def announce_pack(self, name: str) -> None:
        """Note where each version of a pack stands. A pack that is gone is passed over: it
        was replaced by another."""
        if name in self._packs_read:
            return
        self._packs_read.add(name)
        with contextlib.suppress(FileNotFoundError):
            self._read_pack(name)

    def release(self, address: str) -> None:
        """Drop what is remembered of one packed version, once it has been used."""
        self._packed.pop(address, None)

    def _read_pack(self, name: str) -> None:
        offset = 0
        with open(self._layout.pack_file(name), "rb") as pack:
            while line := pack.readline(DOCUMENT_BYTES_MAX + 1):
                data = line.removesuffix(b"\n")
                address = sha256_digest(data)
                envelope = _envelope(data)
                if envelope is None:
                    address = _erased_address(data) or address
                self._packed[address] = StoredVersion(address, envelope, name, offset, len(data))
                offset += len(line)

    def _read_all_packs(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            for name in sorted(os.listdir(self._layout.packs)):
                pack = pack_name(name)
                if pack is not None:
                    self.announce_pack(pack)


def _slice(path: os.PathLike[str], offset: int, length: int | None) -> bytes:
    """Bytes of a file; all of them where `length` is None.

    Raises FileNotFoundError when there is no such file, or something else in its place: a
    link, a directory or a pipe.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer that never comes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        if cause.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
        raise ServiceUnavailable(
            f"cannot read {path}: {os.strerror(cause.errno or 0)}", path=str(path)
        ) from cause
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        wanted = status.st_size if length is None else length
        if wanted > DOCUMENT_BYTES_MAX:
            raise StoreDamaged(
                f"{path} is longer than a version may be ({DOCUMENT_BYTES_MAX} bytes, "
                "limits.DOCUMENT_BYTES_MAX)",
                path=str(path),
            )
        return os.pread(descriptor, wanted, offset)
    finally:
        os.close(descriptor)


def _envelope(data: bytes) -> Mapping[str, Any] | None:
    """The envelope in a version's bytes, None for a stub and for what is no version."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or "erased" in value:
        return None
    envelope = value.get("envelope")
    return envelope if isinstance(envelope, dict) else None


def _erased_address(data: bytes) -> str | None:
    try:
        address = orjson.loads(data)["erased"]["address"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return address if isinstance(address, str) else None
