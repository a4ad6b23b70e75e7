"""Immutable versions: one line of canonical JSON each, named by the digest of its bytes.

A version is a file of its own, or a line of a pack; the bytes are the same. Each carries
sixteen random bytes of salt, so that an address proves nothing once the version is erased.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pamctl.encoding.base64url import encode
from pamctl.encoding.canonical import canonical, canonical_plain
from pamctl.encoding.digests import is_sha256_digest, sha256_digest
from pamctl.errors import InvalidObject, ObjectRedacted, ServiceUnavailable, StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout
from pamctl.store.packs import Packs, parsed_version
from pamctl.store.records import StoredVersion

SALT_BYTES = 16

_BEFORE_ENVELOPE = b'{"envelope":'
_BEHIND_ENVELOPE = len(',"salt":""}') + len(encode(bytes(SALT_BYTES)))

_ERASED_MEMBERS = ("canonical_content", "integrity", "quality_signals")

Elsewhere = Callable[[], StoredVersion | None]
"""Says where a version may stand that is not where it was."""


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


def envelope_bytes(data: bytes) -> bytes:
    """The canonical bytes of the envelope, out of those that `version_bytes` made."""
    return data[len(_BEFORE_ENVELOPE) : -_BEHIND_ENVELOPE]


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
        self._packs = Packs(layout)

    def read(self, version: StoredVersion, elsewhere: Elsewhere | None = None) -> bytes:
        """The exact bytes of a version. Raises VersionErased when only a stub is left, and
        StoreDamaged when the bytes are not what its address says, or are gone.

        elsewhere: asked where it may have gone, before all packs are looked through.
        """
        return self._read(version, elsewhere)[1]

    def locate(self, version: StoredVersion, elsewhere: Elsewhere | None = None) -> StoredVersion:
        """A version with its envelope, where it stands now. Raises as `read` does."""
        place, data = self._read(version, elsewhere)
        return place._replace(envelope=parsed_version(data)[0])

    def _read(
        self, version: StoredVersion, elsewhere: Elsewhere | None
    ) -> tuple[StoredVersion, bytes]:
        try:
            data = bytes_at(self._path(version), version.offset, version.length)
        except FileNotFoundError:
            # Packing and erasing move versions; where it went is for a fresh look to say.
            found = self._look_again(version, elsewhere)
            if found.erased:
                raise VersionErased(version.address, found.envelope or {}) from None
            return self._read(found, None)
        if sha256_digest(data) != version.address:
            raise StoreDamaged(
                f"the bytes of version {version.address} were altered",
                hint="run `pamctl fsck` to see what is damaged",
                address=version.address,
                path=str(self._path(version)),
            )
        return version, data

    def remains(
        self, version: StoredVersion, elsewhere: Elsewhere | None = None
    ) -> Mapping[str, Any]:
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
                data = bytes_at(self._path(version), version.offset, version.length)
                envelope, erased = parsed_version(data)
                if envelope is not None and version.address in (erased, sha256_digest(data)):
                    return remainder(envelope)
        if found is None:
            found = self._look_again(version, elsewhere)
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
        next_one = self._packs.next_is(address)
        if next_one is not None and not next_one.erased:
            return next_one
        # What an import that died has brought may have a stub of what nobody erased here.
        known = self._find_file(address)
        if known is None:
            known = self._packs.search(address)
            if known is not None and known.pack is not None:
                # Those that were together in a pack have moved together.
                self._packs.follow(known.pack, known.offset + known.length + 1)
        return known or next_one

    def expect(self, pack: str) -> None:
        """Note that the versions of a pack will be asked for next, in its order."""
        self._packs.follow(pack)

    def _find_file(self, address: str) -> StoredVersion | None:
        """The file of a version, or its stub."""
        # A file that is too long to be a version is not the one that the address names.
        with contextlib.suppress(FileNotFoundError, StoreDamaged):
            data = bytes_at(self._layout.version_file(address))
            if sha256_digest(data) == address:
                return StoredVersion(address, parsed_version(data)[0], None, 0, len(data))
        with contextlib.suppress(FileNotFoundError, StoreDamaged):
            data = bytes_at(self._layout.stub_file(address))
            envelope, erased = parsed_version(data)
            kept = envelope if erased == address else None
            return StoredVersion(address, kept, None, 0, len(data), erased=True)
        return None

    def _path(self, version: StoredVersion) -> Path:
        if version.pack is not None:
            return self._layout.pack_file(version.pack)
        file = self._layout.stub_file if version.erased else self._layout.version_file
        return file(version.address)

    def _look_again(self, version: StoredVersion, elsewhere: Elsewhere | None) -> StoredVersion:
        """Where a version is that is not, or no longer, where it was. Raises StoreDamaged."""
        found = self._find_file(version.address)
        if found is None and elsewhere is not None:
            found = self._as_said(elsewhere())
        if found is None or _place(found) == _place(version):
            found = self._packs.search(version.address)
        if found is None or _place(found) == _place(version):
            raise _missing(version.address)
        return found

    def _as_said(self, version: StoredVersion | None) -> StoredVersion | None:
        """A version or its stub, read where it is said to stand; None where it does not."""
        if version is None or version.pack is None:
            return None
        with contextlib.suppress(FileNotFoundError, StoreDamaged):
            data = bytes_at(self._path(version), version.offset, version.length)
            envelope, erased = parsed_version(data)
            if version.address in (erased, sha256_digest(data)):
                return version._replace(envelope=envelope, erased=erased is not None)
        return None


def _missing(address: str) -> StoreDamaged:
    return StoreDamaged(
        f"the version {address} is missing",
        hint="run `pamctl fsck` to see what is damaged",
        address=address,
    )


def _place(version: StoredVersion) -> tuple[str | None, int, bool]:
    return version.pack, version.offset, version.erased


def bytes_at(path: os.PathLike[str], offset: int = 0, length: int | None = None) -> bytes:
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


def version_files(layout: ScopeLayout) -> Iterator[tuple[str, Path, bool]]:
    """Every version file and stub, no link among them, by the address in its name, and
    whether it is a stub."""
    for folder in _entries(layout.versions):
        if len(folder.name) == 2 and folder.is_dir(follow_symlinks=False):
            for file in _entries(folder.path):
                digits, _, suffix = file.name.partition(".")
                address = f"sha256:{folder.name}{digits}"
                known = suffix in ("json", "erased.json") and is_sha256_digest(address)
                if known and file.is_file(follow_symlinks=False):
                    yield address, Path(file.path), suffix != "json"


def _entries(folder: os.PathLike[str] | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
