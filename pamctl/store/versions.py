"""Immutable versions: one line of canonical JSON each, named by the digest of its bytes.

A version is a file of its own, or a line of a pack; the bytes are the same. Each carries
sixteen random bytes of salt, so that an address proves nothing once the version is erased.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from pamctl.encoding.base64url import encode
from pamctl.encoding.canonical import canonical, canonical_plain
from pamctl.encoding.digests import is_sha256_digest, sha256_digest
from pamctl.errors import InvalidObject, ObjectRedacted, ServiceUnavailable, StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout, pack_name
from pamctl.store.plain_files import open_plain
from pamctl.store.records import StoredVersion

SALT_BYTES = 16

_ERASED_MEMBERS = ("canonical_content", "integrity", "quality_signals")
_LISTINGS_MAX = 5


class VersionErased(ObjectRedacted):
    """The content of a version was erased; `kept` is what its stub has of the envelope."""

    def __init__(self, address: str, kept: Mapping[str, Any]) -> None:
        super().__init__(f"the content of version {kept.get('version_id', address)} was erased")
        self.kept = kept


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


def remainder(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """What an erasure keeps of a version's envelope: who, what, when and in which states.

    The content goes, and whatever could confirm a guess at it or says how good it was: the
    integrity metadata, the quality signals, and the integrity reference of provenance.
    """
    kept = {name: member for name, member in envelope.items() if name not in _ERASED_MEMBERS}
    provenance = kept.get("provenance", {})
    if "integrity_ref" in provenance:
        kept["provenance"] = {n: m for n, m in provenance.items() if n != "integrity_ref"}
    return kept


class Versions:
    """Finds and reads the versions of one scope. Bytes are checked against their address
    before anything is made of them."""

    def __init__(self, layout: ScopeLayout) -> None:
        self._layout = layout
        self._packed: dict[str, StoredVersion] = {}
        self._packs_read: set[str] = set()
        self._moved: dict[str, StoredVersion] = {}

    def read(self, version: StoredVersion) -> bytes:
        """The exact bytes of a version. Raises VersionErased when only a stub is left, and
        StoreDamaged when the bytes are not what its address says, or are gone."""
        return self._read(version)[1]

    def locate(self, version: StoredVersion) -> StoredVersion:
        """A version with its envelope, where it stands now. Raises as `read` does."""
        place, data = self._read(version)
        return place._replace(envelope=parsed_version(data)[0])

    def _read(self, version: StoredVersion) -> tuple[StoredVersion, bytes]:
        try:
            data = _slice(self._path(version), version.offset, version.length)
        except FileNotFoundError:
            # Packing and erasing move versions; where it went is for a fresh look to say.
            found = self._look_again(version)
            if found.erased:
                raise VersionErased(version.address, found.envelope or {}) from None
            return self._read(found)
        if sha256_digest(data) != version.address:
            raise StoreDamaged(
                f"the bytes of version {version.address} were altered",
                hint="run `pamctl fsck` to see what is damaged",
                address=version.address,
                path=str(self._path(version)),
            )
        return version, data

    def remains(self, version: StoredVersion) -> Mapping[str, Any]:
        """The envelope of an erased version without what was erased.

        Its stub tells; and where its bytes are still there, because whoever erased it died
        before they were removed, those do. Raises StoreDamaged where neither is left.
        """
        found = None
        if version.pack is None:
            # Its length may be that of the version or that of the stub.
            found = self._find_file(version.address)
        else:
            with contextlib.suppress(FileNotFoundError):
                data = _slice(self._path(version), version.offset, version.length)
                envelope, erased = parsed_version(data)
                if envelope is not None and version.address in (erased, sha256_digest(data)):
                    return remainder(envelope)
        if found is None:
            found = self._look_again(version)
        if found.envelope is None and not found.erased:
            found = self.locate(found)
        if found.envelope is None:
            raise _missing(version.address)
        return remainder(found.envelope)

    def find(self, address: str) -> StoredVersion | None:
        """Where a version is, with its envelope; None when it is nowhere.

        Of an erased version the stub is found. Bytes that differ from their address count as
        nowhere: they are somebody else's.
        """
        known = self._packed.get(address) or self._find_file(address)
        if known is None:
            self._read_all_packs()
            known = self._packed.get(address)
        return known

    def _find_file(self, address: str) -> StoredVersion | None:
        """The file of a version, or its stub."""
        # A file that is too long to be a version is not the one that the address names.
        with contextlib.suppress(FileNotFoundError, StoreDamaged):
            data = _slice(self._layout.version_file(address), 0, None)
            if sha256_digest(data) == address:
                return StoredVersion(address, parsed_version(data)[0], None, 0, len(data))
        with contextlib.suppress(FileNotFoundError, StoreDamaged):
            data = _slice(self._layout.stub_file(address), 0, None)
            envelope, erased = parsed_version(data)
            kept = envelope if erased == address else None
            return StoredVersion(address, kept, None, 0, len(data), erased=True)
        return None

    def _path(self, version: StoredVersion) -> Path:
        if version.pack is not None:
            return self._layout.pack_file(version.pack)
        file = self._layout.stub_file if version.erased else self._layout.version_file
        return file(version.address)

    def _look_again(self, version: StoredVersion) -> StoredVersion:
        """Where a version is that is not, or no longer, where it was. Raises StoreDamaged."""
        found = self._find_file(version.address)
        if found is None:
            found = self._moved.get(version.address)
            if found is None or _place(found) == _place(version):
                found = self._search_packs(version.address)
        if found is None or _place(found) == _place(version):
            raise _missing(version.address)
        return found

    def _search_packs(self, address: str) -> StoredVersion | None:
        """The line of a version in whichever pack has it; a stub, where none has the version.

        What else is in that pack is noted, versions without their envelopes: those that were
        together in a pack have moved together.
        """
        stub = None
        for _ in range(_LISTINGS_MAX):
            names, missed = self._pack_names(), False
            for name in names:
                try:
                    lines = list(self._lines(name))
                except FileNotFoundError:
                    missed = True  # it was replaced since the folder was read
                    continue
                for found in lines:
                    if found.address == address:
                        self._moved = {
                            one.address: one if one.erased else one._replace(envelope=None)
                            for one in lines
                        }
                        if not found.erased:
                            return found
                        stub = found
            if stub is not None or not missed:
                break
        return stub

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
        for found in self._lines(name):
            # A stub stands for nothing where the version itself is: it is what was left by
            # an erasure that never came to its commit.
            if not found.erased or found.address not in self._packed:
                self._packed[found.address] = found

    def _lines(self, name: str) -> Iterator[StoredVersion]:
        """What stands in a pack. Raises FileNotFoundError, also where something that is no
        file stands in its place."""
        path, offset = self._layout.pack_file(name), 0
        try:
            descriptor = open_plain(path)
        except StoreDamaged:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
        with os.fdopen(descriptor, "rb") as pack:
            while line := pack.readline(DOCUMENT_BYTES_MAX + 1):
                data = line.removesuffix(b"\n")
                envelope, erased = parsed_version(data)
                address = erased or sha256_digest(data)
                yield StoredVersion(
                    address, envelope, name, offset, len(data), erased=erased is not None
                )
                offset += len(line)

    def _read_all_packs(self) -> None:
        for name in self._pack_names():
            self.announce_pack(name)

    def _pack_names(self) -> list[str]:
        try:
            found = [pack_name(name) for name in sorted(os.listdir(self._layout.packs))]
        except FileNotFoundError:
            return []
        return [name for name in found if name is not None]


def _missing(address: str) -> StoreDamaged:
    return StoreDamaged(
        f"the version {address} is missing",
        hint="run `pamctl fsck` to see what is damaged",
        address=address,
    )


def _place(version: StoredVersion) -> tuple[str | None, int, bool]:
    return version.pack, version.offset, version.erased


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


def parsed_version(data: bytes) -> tuple[Mapping[str, Any] | None, str | None]:
    """The envelope in the bytes of a version or of a stub, and the address that a stub
    stands for. Both None for what is neither."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None, None
    if not isinstance(value, dict):
        return None, None
    envelope, erased = value.get("envelope"), value.get("erased")
    if not isinstance(envelope, dict):
        envelope = None
    if "erased" not in value:
        return envelope, None
    address = erased.get("address") if isinstance(erased, dict) else None
    return (envelope, address) if is_sha256_digest(address) else (None, None)
