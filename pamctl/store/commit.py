"""The one path by which anything is committed, with its one commit point.

1. The scope's lock is held for as long as the `ScopeWriter` is open.
2. What a dead writer left is set aside (`recover`).
3. The caller brings its index to the ledger's head and decides.
4. Versions become durable: one as a file, many as a pack.
5. All ledger entries are appended with one write and one fsync. **That is the commit.**

So one operation or a million cost the same handful of fsyncs, and a request, its event and
its idempotency record are there together or not at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from pamctl.encoding.canonical import canonical, canonical_plain, is_plain
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import InternalError, InvalidRequest, ServiceUnavailable
from pamctl.limits import DOCUMENT_BYTES_MAX, LOCK_WAIT_SEC
from pamctl.store import files, recovery
from pamctl.store.erasure import Erasing, rewrite_packs
from pamctl.store.layout import ScopeLayout
from pamctl.store.lock import exclusive
from pamctl.store.plain_files import require_own_folder
from pamctl.store.records import Entry, Position, StoredVersion, Transaction
from pamctl.store.versions import remainder, version_bytes


class NewVersion(NamedTuple):
    """A version that is to be committed: its bytes, and their address."""

    envelope: Mapping[str, Any]
    data: bytes
    address: str

    @classmethod
    def seal(cls, envelope: Mapping[str, Any], salt: bytes, *, plain: bool = False) -> NewVersion:
        """Fix the bytes of a version, and with them its address."""
        data = version_bytes(envelope, salt, plain=plain)
        return cls(envelope, data, sha256_digest(data))


class NewEntry(NamedTuple):
    """A ledger entry that is to be committed, and the version that its event commits.

    erasing: what an `erasure` entry does.
    moved: where versions stand by a `pack` entry that were committed before.
    """

    kind: str
    body: Mapping[str, Any]
    version: NewVersion | None = None
    erasing: Erasing | None = None
    moved: tuple[StoredVersion, ...] = ()


NewTransaction = Sequence[NewEntry]

# Their bodies hold strings and short integers under names of ours, whatever a caller says.
_PLAIN_KINDS = frozenset(("event", "idempotency", "pack", "erasure"))


class ScopeWriter:
    """Holds a scope's lock and commits to its ledger; a context manager.

    After an error that leaves it open what the device holds, it refuses all further work:
    a new writer starts from what is there. Without `wait`, a lock that another process
    holds is ServiceUnavailable at once.
    """

    def __init__(self, layout: ScopeLayout, quarantine: Path, *, wait: bool = True) -> None:
        self._layout = layout
        self._quarantine = quarantine
        self._held = contextlib.ExitStack()
        self._wait_sec = LOCK_WAIT_SEC if wait else 0.0
        self._poisoned = False

    def __enter__(self) -> ScopeWriter:
        self._held.enter_context(exclusive(self._layout.lock, wait_sec=self._wait_sec))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def recover(self, end: Position) -> list[str]:
        """Set aside what a dead writer left. `end` is the ledger's last complete position.

        Returns sentences for the user, none when all was well.
        """
        self._ensure_folders()
        notices = []
        if os.stat(self._layout.ledger).st_size != end.offset:
            notices.append(recovery.set_aside_torn_tail(self._layout, self._quarantine, end))
        notices.append(recovery.set_aside_staged_files(self._layout, self._quarantine))
        return [notice for notice in notices if notice is not None]

    def _ensure_folders(self) -> None:
        """Folders that are empty do not survive git; a clone gets them back here."""
        folders = (self._layout.versions, self._layout.packs, self._layout.staging)
        if not all(require_own_folder(folder) for folder in folders):
            for folder in folders:
                files.ensure_directory(folder)

    def commit(self, base: Position, transactions: Sequence[NewTransaction]) -> list[Transaction]:
        """Commit transactions behind `base`, the ledger's head. All of them, or none.

        Returns them as a reader would find them, for the index. Raises ServiceUnavailable
        when the device refuses; what was not acknowledged is then gone, or will be set
        aside by the next writer.
        """
        if self._poisoned:
            raise ServiceUnavailable(
                "an earlier write failed, and this writer no longer knows what the device holds",
                hint="open the store again",
            )
        entries = [entry for group in transactions for entry in group]
        versions = [entry.version for entry in entries if entry.version is not None]
        erasures = {
            entry.body["address"]: entry.erasing for entry in entries if entry.erasing is not None
        }
        try:
            stored, pack = self._store_versions(versions, erasures)
            if erasures:
                # The packs that are written anew leave out all that the group erases. So all
                # of it has to hold together, or a torn append could hide what no entry erases.
                moves = rewrite_packs(self._layout, erasures)
                transactions = [[*(NewEntry("pack", body) for body in moves), *entries]]
            if pack is not None:
                transactions = [[pack], *transactions]
            data, committed = _lines(base, transactions, stored)
            files.append_durably(self._layout.ledger, data, base.offset)
        except BaseException:
            self._poisoned = True
            raise
        return committed

    def _store_versions(
        self, versions: Sequence[NewVersion], erasures: Mapping[str, Erasing]
    ) -> tuple[dict[str, StoredVersion], NewEntry | None]:
        """Make versions durable; where they are, and the entry that announces their pack. Of
        those that are erased in the same commit only the stub is ever written."""
        if not versions:
            return {}, None
        written = {v.address: v.data for v in versions}
        written.update({a: e.stub for a, e in erasures.items() if a in written})
        if len(versions) == 1:
            (version,) = versions
            stored = _stored(version, written, None, 0, erasures)
            file = self._layout.stub_file if stored.erased else self._layout.version_file
            path = file(version.address)
            files.ensure_directory(path.parent)
            files.create_idempotent(path, written[version.address], staging=self._layout.staging)
            return {version.address: stored}, None
        data = b"\n".join(written.values()) + b"\n"
        name = sha256_hex(data)
        files.create_idempotent(self._layout.pack_file(name), data, staging=self._layout.staging)
        places, offset = {}, 0
        for version in versions:
            stored = _stored(version, written, name, offset, erasures)
            places[version.address] = stored
            offset += stored.length + 1
        return places, NewEntry("pack", {"name": name, "versions": len(versions)})


def _stored(
    version: NewVersion,
    written: Mapping[str, bytes],
    pack: str | None,
    offset: int,
    erasures: Mapping[str, Erasing],
) -> StoredVersion:
    """Where the bytes of a version, or its stub, are."""
    address, length = version.address, len(written[version.address])
    if address in erasures:
        kept = remainder(version.envelope)
        return StoredVersion(address, kept, pack, offset, length, erased=True)
    return StoredVersion(address, version.envelope, pack, offset, length)


def first_ledger(transactions: Sequence[NewTransaction]) -> bytes:
    """The bytes of a ledger that holds just these transactions, which commit no versions."""
    data, _ = _lines(Position(), transactions, {})
    return data


def _lines(
    base: Position, transactions: Sequence[NewTransaction], stored: Mapping[str, StoredVersion]
) -> tuple[bytes, list[Transaction]]:
    """The ledger lines of transactions behind `base`, chained, and their reading."""
    lines: list[bytes] = []
    committed: list[Transaction] = []
    offset, n, sequence, head, _ = base
    for group in transactions:
        tx, of = n + 1, len(group)
        entries: list[Entry] = []
        versions: dict[str, StoredVersion] = {}
        length = 0
        for i, new in enumerate(group, 1):
            n += 1
            line = _line(new, n, tx, i, of, head)
            length = len(line)
            lines.append(line)
            address = None
            if new.version is not None:
                address = new.version.address
                versions[address] = stored[address]
            entries.append(Entry(n, tx, new.kind, new.body, address, offset, length))
            offset += length + 1
            sequence += new.kind == "event"
            head = sha256_hex(line)
        after = Position(offset, n, sequence, head, length + 1)
        moved = tuple(version for new in group for version in new.moved)
        committed.append(Transaction(tuple(entries), versions, after, moved))
    lines.append(b"")
    return b"\n".join(lines), committed


def _line(new: NewEntry, n: int, tx: int, i: int, of: int, prev: str) -> bytes:
    """The canonical JSON of an entry. Its own members are spelled out in canonical order
    around the body, which takes a third of the time that serializing all of it does."""
    if new.kind in _PLAIN_KINDS or is_plain(new.body, levels_around=1):
        body = canonical_plain(new.body)
    else:
        body = canonical(new.body)
    version = b"" if new.version is None else b',"version":"%b"' % new.version.address.encode()
    line = b'{"body":%b,"i":%d,"kind":"%b","n":%d,"of":%d,"prev":"%b","tx":%d%b}' % (
        body,
        i,
        new.kind.encode(),
        n,
        of,
        prev.encode(),
        tx,
        version,
    )
    if b"\n" in line:
        raise InternalError("a ledger entry would have spanned two lines; nothing was written")
    if len(line) > DOCUMENT_BYTES_MAX:
        raise InvalidRequest(
            f"a ledger entry would have taken {len(line)} bytes; at most {DOCUMENT_BYTES_MAX} "
            "can be read back (limits.DOCUMENT_BYTES_MAX)"
        )
    return line
