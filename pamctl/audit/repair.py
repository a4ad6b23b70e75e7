"""What can be put right in a store, and how: a plan, made by looking alone.

A plan adds files and sets files aside. It takes bytes from packs, from quarantine and from a
second copy of the store, and only bytes whose digest is the one that is asked for. Of ledgers
it takes another only where the check of the copy found nothing wrong with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pamctl.audit.reading import entries, kind_of, lines, open_plain, parsed, whole
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import InvalidRequest
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import ScopeLayout, StoreLayout, pack_name, scope_folder

_GIT_LINES = {".gitattributes": b"* -text -merge\n", ".gitignore": b"/index/\n/keys/*.pem\n"}
_FROM_COPY = frozenset(("store-file-invalid", "scope-file-invalid", "key-record-invalid"))
_VERSIONS = frozenset(
    (
        "version-missing",
        "version-altered",
        "version-too-long",
        "unexpected-file-kind",
        "erasure-without-authority",
    )
)
_PACKS = frozenset(("pack-misnamed", "pack-line-invalid", "pack-count-wrong"))
_TAILS = frozenset(("ledger-torn-tail", "ledger-transaction-incomplete"))

Kind = Literal["add", "replace", "set-aside", "cut"]


class Copy(NamedTuple):
    """Bytes in a file: `length` of them from `offset` on, whose SHA-256 is `digest`."""

    path: Path
    offset: int
    length: int
    digest: str


class Action(NamedTuple):
    """One step of a repair.

    kind: `add` a file that is not there; `replace` one, keeping what it was in quarantine;
        `set-aside` a file, a link or a folder to quarantine; `cut` a ledger behind its last
        complete transaction, keeping what followed.
    path: what it is done to.
    finding: the id of the finding that it is for.
    folder: of the scope, None for the store as a whole.
    copy, data: where the new bytes come from.
    at: where a ledger is cut, and what it ends with there.
    """

    kind: Kind
    path: Path
    finding: str
    folder: str | None
    copy: Copy | None = None
    data: bytes | None = None
    at: Mapping[str, Any] | None = None


def plan_repair(
    root: Path,
    answer: Mapping[str, Any],
    *,
    other: Path | None = None,
    other_answer: Mapping[str, Any] | None = None,
) -> list[Action]:
    """What to do about the findings in `answer`, which `check_store` gave of the store at
    `root`. Nothing is changed, and no more than a version or a ledger held in memory.

    Arguments:
        other: a second copy of the store. other_answer: what was found in that.

    Raises InvalidRequest when `other` is no copy of this store.
    """
    if other_answer is not None and other_answer["store_id"] != answer["store_id"]:
        ours = (parsed(whole(StoreLayout(root).store_file) or b"") or {}).get("store_id")
        if isinstance(ours, str) and ours != other_answer["store_id"]:
            raise InvalidRequest(f"{other} is no copy of this store: it has another store_id")
    planner = _Planner(StoreLayout(root), answer, other, other_answer)
    return planner.plan()


class _Planner:
    def __init__(
        self,
        store: StoreLayout,
        answer: Mapping[str, Any],
        other: Path | None,
        other_answer: Mapping[str, Any] | None,
    ) -> None:
        self._store = store
        self._answer = answer
        self._other = None if other is None else StoreLayout(other)
        self._sound = _sound_scopes(other_answer)
        self._as_pinned = _scopes_as_pinned(other_answer)
        self._actions: dict[tuple[Kind, Path], Action] = {}

    def plan(self) -> list[Action]:
        findings = self._answer["findings"]
        ledgers = {f["scope_id"] for f in findings if _is_ledger_damage(f)}
        for scope_id in sorted(ledgers):
            self._ledger(scope_id, findings)
        for finding in findings:
            id_, scope_id = finding["id"], finding.get("scope_id")
            if id_ in _TAILS and scope_id not in ledgers:
                self._cut(finding)
            elif id_ == "git-files-missing":
                self._git_file(finding)
            elif id_ == "leftover-file":
                self._set_aside(finding)
            elif id_ == "custody-unfinished":
                self._unfinished_custody(finding)
            elif id_ == "version-orphaned":
                self._orphan(finding, findings)
            elif id_ in _FROM_COPY:
                self._file_from_copy(finding)
            elif id_ in _PACKS:
                self._pack(finding)
            elif id_ == "stub-mismatch":
                self._stub(finding)
        self._versions([f for f in findings if f["id"] in _VERSIONS])
        added = {action.path for action in self._actions.values() if action.kind == "add"}

        def order(action: Action) -> int:
            """What is in the way goes first, and the rest not before its bytes are elsewhere."""
            if action.kind == "set-aside":
                return 0 if action.path in added else 2
            return 1

        return sorted(self._actions.values(), key=order)

    def _do(self, kind: Kind, path: Path, finding: Mapping[str, Any], **more: Any) -> None:
        scope_id = finding.get("scope_id")
        folder = None if scope_id is None else scope_folder(scope_id)
        action = Action(kind, path, finding["id"], folder, **more)
        self._actions.setdefault((kind, path), action)

    def _path(self, finding: Mapping[str, Any]) -> Path:
        path: Path = self._store.root / finding.get("path", "")
        return path

    def _scope(self, finding: Mapping[str, Any]) -> ScopeLayout:
        return self._store.scope(finding["scope_id"])

    def _ledger(self, scope_id: str, findings: Iterable[Mapping[str, Any]]) -> None:
        damage = [f for f in findings if _is_ledger_damage(f) and f["scope_id"] == scope_id]
        first = damage[0]
        path = self._store.scope(scope_id).ledger
        kind: Kind = "add" if kind_of(path) is None else "replace"
        if first["id"] == "ledger-line-mangled":
            data = _unmangled(path)
            if data is not None:
                self._do("replace", path, first, data=data)
                return
        # An older ledger is better than a damaged one, and no better than one that is only old.
        takes = self._as_pinned if all(map(_breaks_a_pin, damage)) else self._sound
        if self._other is not None and scope_id in takes:
            copy = _whole_copy(self._other.scope(scope_id).ledger)
            if copy is not None:
                self._do(kind, path, first, copy=copy)

    def _cut(self, finding: Mapping[str, Any]) -> None:
        scopes = self._answer["scopes"]
        state = next(s for s in scopes if s["scope_id"] == finding["scope_id"])
        self._do("cut", self._scope(finding).ledger, finding, at=state)

    def _unfinished_custody(self, finding: Mapping[str, Any]) -> None:
        """Keep the records before the first one of an import that did not come to its end."""
        path = self._scope(finding).custody
        self._do("replace", path, finding, data=(whole(path) or b"")[: finding["offset"]])

    def _git_file(self, finding: Mapping[str, Any]) -> None:
        path = self._path(finding)
        there = whole(path)
        needed = _GIT_LINES[path.name]
        if there is None:
            self._do("add", path, finding, data=needed)
            return
        present = there.splitlines(keepends=True)
        missing = [line for line in needed.splitlines(keepends=True) if line not in present]
        if there and not there.endswith(b"\n"):
            missing.insert(0, b"\n")
        self._do("replace", path, finding, data=there + b"".join(missing))

    def _set_aside(self, finding: Mapping[str, Any]) -> None:
        if kind_of(self._path(finding)) is not None:
            self._do("set-aside", self._path(finding), finding)

    def _orphan(self, finding: Mapping[str, Any], findings: Iterable[Mapping[str, Any]]) -> None:
        """A file goes; a pack only when there is nothing else in it."""
        path = self._path(finding)
        if pack_name(path.name) is not None and finding.get("offset") is not None:
            orphans = {
                f.get("offset")
                for f in findings
                if f["id"] == "version-orphaned" and f.get("path") == finding["path"]
            }
            if any(offset not in orphans for offset, _ in _lines_of(path)):
                return
        self._set_aside(finding)

    def _file_from_copy(self, finding: Mapping[str, Any]) -> None:
        if self._other is None:
            return
        path = self._path(finding)
        if finding["id"] == "scope-file-invalid":
            # Where the ledger says otherwise, the finding's place is there.
            path = path.parent / "scope.json"
        copy = _whole_copy(self._other.root / path.relative_to(self._store.root))
        ours = _whole_copy(path)
        if copy is not None and (ours is None or copy.digest != ours.digest):
            self._do("add" if kind_of(path) is None else "replace", path, finding, copy=copy)

    def _pack(self, finding: Mapping[str, Any]) -> None:
        """Their pack of that name, where its name is right; else ours under its right name."""
        path = self._path(finding)
        name = pack_name(path.name)
        if self._other is not None:
            theirs = self._other.scope(finding["scope_id"]).pack_file(str(name))
            copy = _whole_copy(theirs)
            ours = _whole_copy(path)
            same = ours is not None and ours.digest == name
            if copy is not None and copy.digest == name and not same:
                self._do("replace", path, finding, copy=copy)
                return
        ours = _whole_copy(path)
        if finding["id"] == "pack-misnamed" and ours is not None:
            right = self._scope(finding).pack_file(ours.digest)
            if kind_of(right) is None:
                self._do("add", right, finding, copy=ours)
            self._do("set-aside", path, finding)

    def _stub(self, finding: Mapping[str, Any]) -> None:
        if self._other is None or not finding["path"].endswith(".erased.json"):
            return
        path = self._path(finding)
        copy, ours = _whole_copy(self._other.root / finding["path"]), _whole_copy(path)
        if copy is not None and (ours is None or copy.digest != ours.digest):
            self._do("replace", path, finding, copy=copy)

    def _versions(self, findings: list[Mapping[str, Any]]) -> None:
        """Versions whose bytes are gone or changed, from wherever they can be had."""
        wanted: dict[str, Mapping[str, Any]] = {}
        for finding in findings:
            address = finding.get("subject") or self._address_in_name(finding)
            if address is not None:
                wanted[address] = finding
        if not wanted:
            return
        found = dict(self._copies(wanted))
        for address, finding in wanted.items():
            scope = self._scope(finding)
            path = scope.version_file(address)
            copy = found.get(address)
            if copy is None:
                continue
            if kind_of(path) is None:
                self._do("add", path, finding, copy=copy)
            elif kind_of(path) == "file":
                self._do("replace", path, finding, copy=copy)
            else:
                self._do("set-aside", path, finding)
                self._do("add", path, finding, copy=copy)
            if finding["id"] == "erasure-without-authority":
                self._do("set-aside", self._path(finding), finding)

    def _address_in_name(self, finding: Mapping[str, Any]) -> str | None:
        path = self._path(finding)
        address = f"sha256:{path.parent.name}{path.name.removesuffix('.json')}"
        if finding.get("scope_id") is None or path.suffix != ".json" or len(address) != 71:
            return None
        return address if self._scope(finding).version_file(address) == path else None

    def _copies(self, wanted: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Copy]]:
        """Where the bytes of these addresses are, the last place being the best."""
        folders = {scope_folder(finding["scope_id"]) for finding in wanted.values()}
        places = [self._store.quarantine / folder for folder in folders]
        stores = [self._store] if self._other is None else [self._other, self._store]
        places += [store.scopes / folder / "packs" for store in stores for folder in folders]
        for place in places:
            for entry in entries(place):
                path = Path(entry.path)
                for offset, data in _lines_of(path):
                    if data is not None and sha256_digest(data) in wanted:
                        digest = sha256_hex(data)
                        yield f"sha256:{digest}", Copy(path, offset, len(data), digest)
        if self._other is not None:
            for address, finding in wanted.items():
                path = self._other.scope(finding["scope_id"]).version_file(address)
                copy = _whole_copy(path)
                if copy is not None and f"sha256:{copy.digest}" == address:
                    yield address, copy


def _sound_scopes(answer: Mapping[str, Any] | None) -> frozenset[str]:
    """Scopes of a copy in whose ledgers nothing is wrong, but that a pin may know better."""
    if answer is None:
        return frozenset()
    damaged = {
        f["scope_id"]
        for f in answer["findings"]
        if f["id"] in _TAILS or (_is_ledger_damage(f) and not _breaks_a_pin(f))
    }
    return frozenset(scope["scope_id"] for scope in answer["scopes"]) - damaged


def _scopes_as_pinned(answer: Mapping[str, Any] | None) -> frozenset[str]:
    """Those of them whose ledgers are what every pin says."""
    broken = {f["scope_id"] for f in (answer or {"findings": []})["findings"] if _breaks_a_pin(f)}
    return _sound_scopes(answer) - broken


def _breaks_a_pin(finding: Mapping[str, Any]) -> bool:
    """Whether a ledger is at fault by a pin alone. What it shows itself has a place in it."""
    return finding["id"] in ("ledger-tail-cut", "ledger-forked") and "offset" not in finding


def _is_ledger_damage(finding: Mapping[str, Any]) -> bool:
    id_: str = finding["id"]
    ledger = id_.startswith(("ledger-", "event-", "idempotency-"))
    return ledger and finding["severity"] == "must" and id_ != "event-version-mismatch"


def _lines_of(path: Path) -> Iterator[tuple[int, bytes | None]]:
    descriptor = open_plain(path)
    if descriptor is None:
        return
    try:
        for line in lines(descriptor, os.fstat(descriptor).st_size):
            yield line.offset, line.data
    finally:
        os.close(descriptor)


def _whole_copy(path: Path) -> Copy | None:
    """All of a regular file; None where there is none."""
    from hashlib import sha256

    descriptor = open_plain(path)
    if descriptor is None:
        return None
    digest = sha256()
    try:
        size = os.fstat(descriptor).st_size
        for _ in lines(descriptor, size, digest):
            pass
    finally:
        os.close(descriptor)
    return Copy(path, 0, size, digest.hexdigest())


def _unmangled(path: Path) -> bytes | None:
    """A ledger without what git or an editor added to its lines; None when even so its chain
    does not hold from end to end."""
    head, bare = "0" * 64, []
    for _, data in _lines_of(path):
        if data is None or len(data) > DOCUMENT_BYTES_MAX:
            return None
        line = data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r")
        value = parsed(line)
        if value is None or value.get("prev") != head or canonical(value) != line:
            return None
        head = sha256_hex(line)
        bare.append(line + b"\n")
    return b"".join(bare)
