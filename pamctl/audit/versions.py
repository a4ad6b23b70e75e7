"""Reads version files and packs as data. What is wrong with one by itself is reported here;
what it is becomes a fact for `comparison`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pamctl.audit.entry_terms import actor_digest
from pamctl.audit.facts import ADDRESS, NAME, Facts
from pamctl.audit.findings import Findings
from pamctl.audit.reading import kind_of, lines, open_plain, parsed, shown, whole
from pamctl.audit.signatures import SignatureCheck
from pamctl.audit.transitions import states_of
from pamctl.encoding.canonical import is_canonical
from pamctl.encoding.digests import is_sha256_digest, sha256_digest
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.documents import is_valid
from pamctl.model.vocabulary import IDENTIFIERS
from pamctl.store.layout import pack_name


class VersionReader:
    """Reads the versions of one scope."""

    def __init__(
        self,
        root: Path,
        folder: str,
        scope_id: str,
        facts: Facts,
        findings: Findings,
        signatures: SignatureCheck | None = None,
    ) -> None:
        self._root = root
        self._folder = folder
        self._scope_id = scope_id
        self._facts = facts
        self._findings = findings
        self._signatures = signatures or SignatureCheck()

    def read_folder(self, folder: Path) -> None:
        """Every version file and stub in a folder `versions/<2 hex>`."""
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in found)
        for name in names:
            digits, _, suffix = name.partition(".")
            address = f"sha256:{folder.name}{digits}"
            if not is_sha256_digest(address) or suffix not in ("json", "erased.json"):
                continue
            path = folder / name
            kind = kind_of(path)
            if kind is None:
                continue  # packed or erased since the folder was read
            data = self._bytes(path, kind)
            if data is None:
                self._put(address, "damaged")
            elif suffix == "erased.json":
                place = shown(self._root, path)
                if not self._withheld(data, parsed(data), place, None, address):
                    self._stub(address, data, place, None)
            elif sha256_digest(data) != address:
                self._report("version-altered", "the bytes are not the version's", path, address)
                self._put(address, "damaged")
            else:
                self._version(address, data, shown(self._root, path), None)

    def read_pack(self, path: Path) -> None:
        """Every line of a pack, and the pack as a whole."""
        from hashlib import sha256

        name = pack_name(path.name)
        descriptor = open_plain(path)
        if name is None or descriptor is None:
            return
        place, count, digest = shown(self._root, path), 0, sha256()
        try:
            for line in lines(descriptor, os.fstat(descriptor).st_size, digest):
                count += 1
                if line.data is None:
                    self._add("version-too-long", "the line is too long", place, line.offset)
                elif not line.ended:
                    self._add("pack-line-invalid", "no newline ends the line", place, line.offset)
                else:
                    self.read_line(line.data, place, line.offset)
        finally:
            os.close(descriptor)
        if digest.hexdigest() != name:
            self._add("pack-misnamed", "the name is not the digest of the bytes", place, None)
        self._facts.put(NAME, self._folder, "pack " + name, "pack", place, count)

    def read_line(self, data: bytes, place: str, offset: int) -> None:
        """A version or a stub that is a line of a file, or part of one."""
        value = parsed(data)
        if self._withheld(data, value, place, offset):
            return
        if value is not None and "erased" in value:
            erased = value["erased"]
            address = erased.get("address") if isinstance(erased, dict) else None
            if is_sha256_digest(address):
                self._stub(str(address), data, place, offset)
                return
        elif value is not None and isinstance(value.get("envelope"), dict):
            self._version(sha256_digest(data), data, place, offset)
            return
        self._add("pack-line-invalid", "the line is no version and no stub", place, offset)

    def _bytes(self, path: Path, kind: str) -> bytes | None:
        if kind != "file":
            self._report("unexpected-file-kind", f"a {kind} stands here", path, None)
            return None
        data = whole(path)
        if data is not None and len(data) > DOCUMENT_BYTES_MAX:
            self._report("version-too-long", "the file is longer than a version", path, None)
            return None
        return data

    def _version(self, address: str, data: bytes, place: str, offset: int | None) -> None:
        value = parsed(data)
        if value is None or not is_canonical(value, data):
            self._add("version-not-canonical", "not canonical JSON", place, offset, address)
        elif not is_valid("version-file", value):
            self._add("version-invalid", _fault("version-file", value), place, offset, address)
        else:
            found = self._signatures.judge(value["envelope"])
            if found is not None:
                self._add(*found, place, offset, address)
            self._put(address, "version", place, offset, *_described(value["envelope"]))
            return
        self._put(address, "damaged")

    def _stub(self, address: str, data: bytes, place: str, offset: int | None) -> None:
        value = parsed(data)
        valid = value is not None and is_canonical(value, data) and is_valid("erasure-stub", value)
        if value is None or not valid:
            self._put(address, "stub", place, offset, None, None, None, None)
            return
        erased = value["erased"]
        self._put(
            address,
            "stub",
            place,
            offset,
            [erased[m] for m in ("address", "event_id")],
            erased["erased_at"],
            sha256_digest(data),
            _described(value["envelope"]),
        )

    def _withheld(
        self, data: bytes, value: Any, place: str, offset: int | None, named: str | None = None
    ) -> bool:
        """Take in a version that was taken over without its content; False for what is none,
        or is not of the address that its file is named for."""
        if value is None or "withheld" not in value or not is_canonical(value, data):
            return False
        if not is_valid("withheld-stub", value):
            return False
        address = value["withheld"]["address"]
        if named not in (None, address):
            return False
        self._put(address, "withheld", place, offset, _described(value["envelope"]))
        return True

    def _put(self, address: str, kind: str, *values: Any) -> None:
        self._facts.put(ADDRESS, self._folder, address, kind, *values)

    def _report(self, id_: str, message: str, path: Path, subject: str | None) -> None:
        self._add(id_, message, shown(self._root, path), None, subject)

    def _add(
        self, id_: str, message: str, place: str, offset: int | None, subject: str | None = None
    ) -> None:
        self._findings.add(
            id_, message, scope_id=self._scope_id, path=place, offset=offset, subject=subject
        )


def _described(envelope: dict[str, Any]) -> list[Any]:
    """What is compared of a valid envelope: what it is a version of, its id, number, states,
    scope, actor and time of record; and of a relationship, its ends."""
    ident = next(envelope[name] for name in IDENTIFIERS if name in envelope)
    ends = None
    if "relationship_id" in envelope:
        own = envelope["scope_id"]
        ends = [
            [own, envelope["source_object_id"]],
            [envelope.get("target_scope_id", own), envelope["target_object_id"]],
        ]
    return [
        ident,
        envelope["version_id"],
        envelope["sequence"],
        states_of(envelope),
        envelope["scope_id"],
        actor_digest(envelope["actor"]),
        envelope["recorded_at"],
        ends,
    ]


def _fault(name: str, value: Any) -> str:
    from pamctl.errors import PamError
    from pamctl.model.documents import check

    try:
        check(name, value)
    except PamError as cause:
        return cause.message
    return "not as its schema says"
