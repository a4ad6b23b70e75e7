"""What stands around ledgers and versions: the store's own files, and everything that is where
it does not belong."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from pamctl.audit.findings import Findings
from pamctl.audit.key_records import record_fault
from pamctl.audit.reading import entries, kind_of, parsed, shown, whole
from pamctl.encoding.canonical import is_canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.model.documents import is_valid
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import (
    FORMAT,
    FORMAT_VERSION,
    ScopeLayout,
    StoreLayout,
    scope_folder,
)

_GIT_FILES = {".gitattributes": (b"* -text -merge",), ".gitignore": (b"/index/", b"/keys/*.pem")}
_FOLDERS = ("scopes", "keys", "projections", "index", "quarantine")
_SCOPE_FOLDERS = ("versions", "packs", "subscriptions", "embeddings", "tmp")


class ScopeFolder(NamedTuple):
    """A folder in `scopes/` that says which scope it is; `document` is its `scope.json`."""

    folder: str
    scope_id: str
    document: dict[str, Any]

    def layout(self, store: StoreLayout) -> ScopeLayout:
        """Its paths, whatever its name should have been."""
        return ScopeLayout(store.scopes / self.folder)


class Surroundings:
    """Checks one store's surroundings."""

    def __init__(self, layout: StoreLayout, findings: Findings) -> None:
        self._layout = layout
        self._findings = findings
        self.leftovers: list[tuple[Path, str | None]] = []

    def store_file(self) -> Any:
        """Check `store.json`; what it says, None where that is nothing. Raises UnknownVersion
        where nothing else must be looked at."""
        path = self._layout.store_file
        if not self._is_kind(path, "file", None):
            if kind_of(path) is None:
                self._add("store-file-invalid", "there is no store.json", path)
            return None
        data = whole(path) or b""
        value = parsed(data)
        stated = {} if value is None else value
        name, version = stated.get("format"), stated.get("format_version")
        if isinstance(name, str) and name != FORMAT:
            raise UnknownVersion(f"the format is {name!r}"[:120])
        if type(version) is int and version != FORMAT_VERSION:
            raise UnknownVersion(f"format version {version}, known is {FORMAT_VERSION}"[:120])
        fault = _document_fault("store", data)
        if fault is not None:
            self._add("store-file-invalid", fault, path)
        return value

    def root(self) -> None:
        """The folder of the store itself, the files for git, and quarantine."""
        layout = self._layout
        self._names(layout.root)
        for name in _FOLDERS:
            self._is_kind(layout.root / name, "folder", None)
        for name, needed in _GIT_FILES.items():
            path = layout.root / name
            if kind_of(path) is not None and not self._is_kind(path, "file", None):
                continue
            there = (whole(path) or b"").splitlines()
            missing = [line.decode() for line in needed if line not in there]
            if missing:
                self._add("git-files-missing", f"it lacks {', '.join(missing)}", path)
        self._is_kind(layout.lock, "file", None)
        if entries(layout.quarantine):
            self._add("quarantine-occupied", "something was set aside here", layout.quarantine)

    def scopes(self) -> list[ScopeFolder]:
        """Check each scope's folder and `scope.json`; the scopes that say who they are."""
        found: dict[str, ScopeFolder] = {}
        self._names(self._layout.scopes, leading_dot=True)
        for entry in entries(self._layout.scopes):
            path = Path(entry.path)
            if entry.name.startswith("."):
                continue
            if not self._is_kind(path, "folder", None):
                continue
            scope = self._scope(path)
            if scope is None:
                continue
            other = found.get(scope.scope_id)
            expected = scope_folder(scope.scope_id)
            if other is not None:
                wrong = other if other.folder != expected else scope
                found[scope.scope_id] = scope if wrong is other else other
                self._add(
                    "scope-id-repeated",
                    "another folder is this scope too",
                    self._layout.scopes / wrong.folder,
                    scope.scope_id,
                )
                continue
            found[scope.scope_id] = scope
        for scope_id, scope in found.items():
            expected = scope_folder(scope_id)
            if scope.folder != expected:
                self._add(
                    "scope-folder-misnamed",
                    f"the folder's name should be {expected}",
                    self._layout.scopes / scope.folder,
                    scope_id,
                )
        return list(found.values())

    def _scope(self, path: Path) -> ScopeFolder | None:
        file = ScopeLayout(path).scope_file
        if kind_of(file) is None:
            self._add("scope-file-invalid", "there is no scope.json", file)
            return None
        if not self._is_kind(file, "file", None):
            return None
        data = whole(file) or b""
        fault = _document_fault("scope", data)
        value = parsed(data)
        if fault is not None:
            self._add("scope-file-invalid", fault, file)
        if value is None or not isinstance(value.get("scope_id"), str):
            return None
        folder = os.fsencode(path.name).decode("utf-8", "backslashreplace")
        return ScopeFolder(folder, value["scope_id"], value)

    def scope_folder(self, scope: ScopeFolder) -> None:
        """What stands in a scope's folder, ledger and versions aside."""
        layout = scope.layout(self._layout)
        self._names(layout.root, scope.scope_id)
        for name in _SCOPE_FOLDERS:
            self._is_kind(layout.root / name, "folder", scope.scope_id)
        for path in (layout.ledger, layout.lock, layout.custody):
            self._is_kind(path, "file", scope.scope_id)
        for folder in (layout.versions, layout.packs, layout.subscriptions):
            self._names(folder, scope.scope_id)
        for entry in entries(layout.versions):
            if re.fullmatch("[0-9a-f]{2}", entry.name):
                path = Path(entry.path)
                if self._is_kind(path, "folder", scope.scope_id):
                    self._names(path, scope.scope_id)
        for entry in entries(layout.packs):
            if entry.name.endswith(".jsonl"):
                self._is_kind(Path(entry.path), "file", scope.scope_id)
        self.leftovers += [(Path(entry.path), scope.scope_id) for entry in entries(layout.staging)]

    def subscriptions(self, scope: ScopeFolder, events: int) -> None:
        """Each subscription's descriptor and cursor, against a ledger of that many events."""
        folder = scope.layout(self._layout).subscriptions
        for entry in entries(folder):
            digits, _, suffix = entry.name.partition(".")
            if len(digits) != 64 or suffix not in ("json", "cursor.json"):
                continue
            value = parsed(whole(Path(entry.path)) or b"")
            fault = None
            if value is None or not _named_by(digits, value.get("subscription_id")):
                fault = "it is not the subscription that its name says"
            elif suffix == "json":
                # How it is acknowledged is kept beside what the draft describes.
                described = {n: m for n, m in value.items() if n != "acknowledgement"}
                if not is_valid("subscription", described) or value["scope_id"] != scope.scope_id:
                    fault = "the descriptor is not as its schema says"
                elif value["start_sequence"] > events:
                    fault = "it starts behind the end of the ledger"
            elif not _is_cursor(value, events):
                fault = "the cursor is no place in the ledger"
            if fault is not None:
                self._add("subscription-invalid", fault, Path(entry.path), scope.scope_id)

    def keys(self) -> None:
        """Private keys are their owner's alone, and records are as they say."""
        folder = self._layout.keys
        self._names(folder)
        for entry in entries(folder):
            path = Path(entry.path)
            if entry.name.endswith(".pem") and self._is_kind(path, "file", None):
                mode = entry.stat(follow_symlinks=False).st_mode & 0o777
                if mode & 0o077:
                    self._add("key-permissions-loose", f"the mode is {mode:04o}", path)
                if kind_of(path.with_suffix(".json")) is None:
                    self.leftovers.append((path, None))
            elif entry.name.endswith(".json") and self._is_kind(path, "file", None):
                self._key_record(path, None)
        self._names(folder / "trusted")
        for entry in entries(folder / "trusted"):
            if entry.name.endswith(".json") and self._is_kind(Path(entry.path), "file", None):
                self._key_record(Path(entry.path), entry.name.removesuffix(".json"))

    def _key_record(self, path: Path, key_id: str | None) -> None:
        fault = record_fault(whole(path) or b"", key_id)
        if fault is not None:
            self._add("key-record-invalid", fault, path)

    def projections(self) -> None:
        """Entries of the register are named by their projection ids."""
        for name in ("issued", "accepted"):
            folder = self._layout.projections / name
            self._names(folder)
            for entry in entries(folder):
                digits = entry.name.removesuffix(".json")
                path = Path(entry.path)
                if len(digits) != 64 or not self._is_kind(path, "file", None):
                    continue
                value = parsed(whole(path) or b"")
                if value is None or not _named_by(digits, value.get("projection_id")):
                    self._add("projection-entry-invalid", "it is not what its name says", path)

    def still_left_over(self) -> None:
        """Report the temporary files that were seen before and are there now: nobody is
        writing them, or takes very long."""
        for path, scope_id in self.leftovers:
            if kind_of(path) is not None:
                self._add("leftover-file", "nobody gave it its name", path, scope_id)

    def _names(
        self, folder: Path, scope_id: str | None = None, *, leading_dot: bool = False
    ) -> None:
        """Collisions of names in a folder, and temporary files in it."""
        seen: dict[str, str] = {}
        for entry in entries(folder):
            folded = _folded(entry.name)
            if folded in seen:
                self._add(
                    "name-collision",
                    "its name is another's but for case or Unicode form",
                    Path(entry.path),
                    scope_id,
                )
            seen[folded] = entry.name
            hidden = entry.name.startswith(".")
            if hidden and (leading_dot or entry.name[1:].endswith(".new")):
                self.leftovers.append((Path(entry.path), scope_id))

    def _is_kind(self, path: Path, wanted: str, scope_id: str | None) -> bool:
        """Whether that is what stands there; something else is a finding, nothing is none."""
        kind = kind_of(path)
        if kind not in (None, wanted):
            self._add(
                "unexpected-file-kind", f"a {kind} stands where a {wanted} belongs", path, scope_id
            )
        return kind == wanted

    def _add(self, id_: str, message: str, path: Path, scope_id: str | None = None) -> None:
        self._findings.add(id_, message, path=shown(self._layout.root, path), scope_id=scope_id)


class UnknownVersion(Exception):
    """The store's format is not one that can be checked; the text says which it is."""


def _folded(name: str) -> str:
    """What a file system may take a name for: without case, in one Unicode form."""
    if name.isascii():
        return name.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", name).casefold())


def _document_fault(name: str, data: bytes) -> str | None:
    """What is wrong with a file of one canonical object and one newline."""
    value = parsed(data)
    if value is None:
        return "it is no JSON object"
    if not data.endswith(b"\n") or not is_canonical(value, data[:-1]):
        return "it is not one line of canonical JSON"
    return None if is_valid(name, value) else "it is not as its schema says"


def _named_by(digits: str, identifier: Any) -> bool:
    return isinstance(identifier, str) and sha256_hex(identifier.encode()) == digits


def _is_cursor(value: dict[str, Any], events: int) -> bool:
    delivered, acknowledged = value.get("delivered_sequence"), value.get("acknowledged_sequence")
    if type(delivered) is not int or type(acknowledged) is not int:
        return False
    return 0 <= acknowledged <= events and 0 <= delivered <= events
