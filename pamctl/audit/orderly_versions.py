"""Reads version files and packs in which nothing is out of order, and stops at the first thing
that is. It asks for the same as `versions`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from pamctl.audit.disorder import disorder, is_simple, lines_by_chunk, link, object_in
from pamctl.audit.facts import NAME, Facts
from pamctl.audit.reading import kind_of, open_plain, shown, whole
from pamctl.audit.records import END, PRESENT, STUB, VERSION_ID, Records
from pamctl.audit.signatures import SignatureCheck
from pamctl.encoding.canonical import is_canonical, is_plain
from pamctl.encoding.digests import is_sha256_digest, sha256_digest
from pamctl.errors import InvalidObject
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.documents import is_valid
from pamctl.model.vocabulary import DIMENSIONS, IDENTIFIERS
from pamctl.store.layout import pack_name

_SORTED = orjson.OPT_SORT_KEYS
_STATES = [f"{dimension}_state" for dimension in DIMENSIONS]


class OrderlyVersions:
    """Reads the versions of one scope.

    folders: folders of the scopes that are checked, by scope id. packs: takes how many lines
    each pack has.
    """

    def __init__(
        self,
        root: Path,
        folder: str,
        scope_id: str,
        folders: Mapping[str, str],
        records: Records,
        packs: Facts,
        signatures: SignatureCheck,
    ) -> None:
        self._root = root
        self._folder = folder
        self._prefix = folder + " "
        self._scope_id = scope_id
        self._folders = folders
        self._records = records
        self._parts = records.parts
        self._present, self._ids = records.lists(PRESENT), records.lists(VERSION_ID)
        self._packs = packs
        self._signatures = signatures

    def read_folder(self, folder: Path) -> None:
        """Every version file and stub in a folder `versions/<2 hex>`. Raises Disorder."""
        with os.scandir(folder) as found:
            names = [entry.name for entry in found]
        for name in names:
            digits, _, suffix = name.partition(".")
            address = f"sha256:{folder.name}{digits}"
            if not is_sha256_digest(address) or suffix not in ("json", "erased.json"):
                continue
            path = folder / name
            data = whole(path) if kind_of(path) == "file" else None
            if data is None or len(data) > DOCUMENT_BYTES_MAX:
                disorder("no file, or a long one")
            if suffix == "json" and sha256_digest(data) != address:
                disorder("another version's bytes")
            if self._take(data) != address:
                disorder("another version's stub, or none")
        self._records.settle()

    def read_pack(self, path: Path) -> None:
        """Every line of a pack. Raises Disorder."""
        from hashlib import sha256

        name, descriptor = pack_name(path.name), open_plain(path)
        if name is None or descriptor is None:
            disorder("no pack")
        count, digest = 0, sha256()
        try:
            for lines in lines_by_chunk(descriptor, os.fstat(descriptor).st_size, digest):
                count += len(lines)
                for line in lines:
                    self._take(line)
                self._records.settle()
        finally:
            os.close(descriptor)
        if digest.hexdigest() != name:
            disorder("another pack's bytes")
        place = shown(self._root, path)
        self._packs.put(NAME, self._folder, "pack " + name, "pack", place, count)

    def _take(self, data: bytes) -> str:
        """Take in a version or a stub, and say whose: its address."""
        value = object_in(data)
        if not _is_spelled(value, data):
            disorder("not canonical")
        if "erased" in value:
            return self._stub(value, data)
        if not is_valid("version-file", value):
            disorder("not as its schema says")
        envelope = value["envelope"]
        if self._signatures.judge(envelope) is not None:
            disorder("a signature that does not hold, or none")
        address = sha256_digest(data)
        self._put(address, envelope)
        return address

    def _stub(self, value: dict[str, Any], data: bytes) -> str:
        if not is_valid("erasure-stub", value):
            disorder("not as its schema says")
        erased, envelope = value["erased"], value["envelope"]
        address: str = erased["address"]
        told = (
            *(address, erased["event_id"], erased["erased_at"]),
            *(envelope["version_id"], sha256_digest(data)),
        )
        self._records.put(STUB, address, told)
        self._put(address, envelope)
        return address

    def _put(self, address: str, envelope: dict[str, Any]) -> None:
        """What is compared of a valid envelope."""
        for name in IDENTIFIERS:
            if name in envelope:
                break
        identifier = envelope[name]
        version_id, scope_id = envelope["version_id"], envelope["scope_id"]
        linked = link(
            address, identifier, version_id, scope_id, envelope["recorded_at"], envelope["actor"]
        )
        place = crc32((self._prefix + identifier).encode()) % self._parts
        states = " ".join([str(envelope.get(name)) for name in _STATES])
        self._present[place].append((linked, envelope["sequence"], states))
        about = self._prefix + version_id
        self._ids[crc32(about.encode()) % self._parts].append(about)
        if "relationship_id" in envelope:
            self._end(scope_id, envelope["source_object_id"])
            self._end(envelope.get("target_scope_id", scope_id), envelope["target_object_id"])

    def _end(self, scope_id: str, identifier: str) -> None:
        folder = self._folders.get(scope_id)
        if folder is not None:
            about = f"{folder} {identifier}"
            self._records.put(END, about, about)


def _is_spelled(value: dict[str, Any], data: bytes) -> bool:
    """Whether `data` is the canonical form of `value`, which was read from it."""
    envelope = value.get("envelope")
    try:
        if type(envelope) is dict and "canonical_content" in envelope:
            plain = _is_plain_memory(envelope, data)
        else:
            plain = is_plain(value)
        if plain:
            return orjson.dumps(value, option=_SORTED) == data
    except (InvalidObject, orjson.JSONEncodeError):
        return False
    return is_canonical(value, data)


def _is_plain_memory(envelope: dict[str, Any], data: bytes) -> bool:
    """Whether a memory is spelled in one way, when it is as its schema says: that leaves a
    choice in these members and no others."""
    content, provenance = envelope["canonical_content"], envelope.get("provenance")
    confidence = provenance.get("source_confidence") if type(provenance) is dict else None
    return (
        type(envelope.get("sequence")) is int
        and (is_simple(content, data) or is_plain(content, levels_around=2))
        and (confidence is None or is_plain(confidence))
        and ("quality_signals" not in envelope or is_plain(envelope["quality_signals"]))
    )
