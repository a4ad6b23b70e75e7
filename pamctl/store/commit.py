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

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from pamctl.encoding.canonical import canonical, canonical_plain, is_plain
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import InternalError, InvalidRequest, ServiceUnavailable
from pamctl.limits import DOCUMENT_BYTES_MAX, LOCK_WAIT_SEC
from pamctl.named_tuples import NamedTuple
from pamctl.store import files, recovery
from pamctl.store.erasure import Erasing, rewrite_packs
from pamctl.store.layout import ScopeLayout
from pamctl.store.lock import exclusive
from pamctl.store.plain_files import require_own_folder
from pamctl.store.records import Entry, Position, StoredVersion, Transaction
from pamctl.store.versions import remainder, version_bytes
from pamctl.store.waiting import doing_meanwhile


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

# A named tuple is made in half the time past its constructor, which is written in Python. A
# batch makes five of them for each operation here.
_made = tuple.__new__

# Their bodies hold strings and short integers under names of ours, whatever a caller says.
_PLAIN_KINDS = frozenset(("event", "idempotency", "pack", "erasure"))


class ScopeWriter:
    """Holds a scope's lock and commits to its ledger; a context manager.

    After an error that leaves it open what the device holds, it refuses all further work:
    a new writer starts from what is there. Without `wait`, a lock that another process
    holds is ServiceUnavailable at once.

    settled: folders of versions whose names are known to be durable. Kept from one writer to
        the next, it saves a look at each.
    """

    def __init__(
        self,
        layout: ScopeLayout,
        quarantine: Path,
        *,
        wait: bool = True,
        settled: set[Path] | None = None,
    ) -> None:
        self._layout = layout
        self._quarantine = quarantine
        self._settled = set() if settled is None else settled
        self._lock = exclusive(layout.lock, wait_sec=LOCK_WAIT_SEC if wait else 0.0)
        self._poisoned = False

    def __enter__(self) -> ScopeWriter:
        self._lock.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.__exit__(kind, error, trace)

    def recover(self, end: Position) -> list[str]:
        """Set aside what a dead writer left. `end` is the ledger's last complete position.

        Returns sentences for the user, none when all was well.
        """
        self._ensure_folders()
        notices = []
        if os.stat(self._layout.ledger).st_size != end.offset:
            notices.append(recovery.set_aside_torn_tail(self._layout, self._quarantine, end))
        notices.append(recovery.set_aside_staged_files(self._layout, self._quarantine))
        notices.append(recovery.set_aside_unfinished_custody(self._layout, self._quarantine, end))
        return [notice for notice in notices if notice is not None]

    def _ensure_folders(self) -> None:
        """Folders that are empty do not survive git; a clone gets them back here."""
        folders = (self._layout.versions, self._layout.packs, self._layout.staging)
        if not all(require_own_folder(folder) for folder in folders):
            for folder in folders:
                files.ensure_directory(folder)

    def commit(
        self,
        base: Position,
        transactions: Sequence[NewTransaction],
        *,
        meanwhile: Callable[[list[Transaction]], None] | None = None,
    ) -> list[Transaction]:
        """Commit transactions behind `base`, the ledger's head. All of them, or none.

        Returns them as a reader would find them, for the index. Raises ServiceUnavailable
        when the device refuses; what was not acknowledged is then gone, or will be set
        aside by the next writer.

        meanwhile: gets them, in another thread, while the device is waited for. They are not
            committed yet at that time and may never be.
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
            holder = _holder(self._layout, versions, erasures)
            if erasures:
                self._make_durable(holder)
                # The packs that are written anew leave out all that the group erases. So all
                # of it has to hold together, or a torn append could hide what no entry erases.
                moves = rewrite_packs(self._layout, erasures)
                transactions = [[*(NewEntry("pack", body) for body in moves), *entries]]
            if holder is not None and holder.announcement is not None:
                transactions = [[holder.announcement], *transactions]
            data, committed = _lines(base, transactions, holder.places if holder else {})
            work = partial(meanwhile, committed) if meanwhile else None
            with doing_meanwhile(work) if work else nullcontext() as begin:
                if not erasures:
                    self._make_durable(holder, begin)
                files.append_durably(self._layout.ledger, data, base.offset, before_sync=begin)
        except BaseException:
            self._poisoned = True
            raise
        return committed

    def _make_durable(
        self, holder: _Holder | None, before_sync: Callable[[], None] | None = None
    ) -> None:
        """Write the file of new versions. before_sync: as `files` has it."""
        if holder is None:
            return
        path, data, staging = holder.path, holder.data, self._layout.staging
        folder = path.parent
        if holder.announcement is not None or (
            folder in self._settled and require_own_folder(folder)
        ):
            files.create_idempotent(path, data, staging=staging, before_sync=before_sync)
        else:
            files.create_idempotent_with_folder(
                path, data, staging=staging, before_sync=before_sync
            )
            self._settled.add(folder)


class _Holder(NamedTuple):
    """The file that is to hold the versions of a commit.

    places: where each will stand, by its address.
    announcement: the entry that a pack needs.
    """

    path: Path
    data: bytes
    places: Mapping[str, StoredVersion]
    announcement: NewEntry | None


def _holder(
    layout: ScopeLayout, versions: Sequence[NewVersion], erasures: Mapping[str, Erasing]
) -> _Holder | None:
    """Where versions go: one to a file of its own, more to a pack. Of those that are erased
    in the same commit only the stub is ever written."""
    if not versions:
        return None
    written = [
        erasures[version.address].stub if version.address in erasures else version.data
        for version in versions
    ]
    if len(versions) == 1:
        ((version,), (data,)) = versions, written
        stored = _stored(version, None, 0, len(data), erasures)
        file = layout.stub_file if stored.erased else layout.version_file
        return _Holder(file(version.address), data, {version.address: stored}, None)
    written.append(b"")
    data = b"\n".join(written)
    name = sha256_hex(data)
    places, offset = {}, 0
    for version, line in zip(versions, written, strict=False):
        length = len(line)
        places[version.address] = _stored(version, name, offset, length, erasures)
        offset += length + 1
    announcement = NewEntry("pack", {"name": name, "versions": len(versions)})
    return _Holder(layout.pack_file(name), data, places, announcement)


def _stored(
    version: NewVersion,
    pack: str | None,
    offset: int,
    length: int,
    erasures: Mapping[str, Erasing],
) -> StoredVersion:
    """Where the bytes of a version, or its stub, will be."""
    address = version.address
    if address in erasures:
        kept = remainder(version.envelope)
        return StoredVersion(address, kept, pack, offset, length, erased=True)
    return _made(StoredVersion, (address, version.envelope, pack, offset, length, False))


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
    offset, n, sequence, head, length = base
    for group in transactions:
        tx, of = n + 1, len(group)
        entries: list[Entry] = []
        versions: dict[str, StoredVersion] = {}
        moved: tuple[StoredVersion, ...] = ()
        for kind, body, version, _, moves in group:
            n += 1
            address = None
            if version is not None:
                address = version.address
                versions[address] = stored[address]
            line = _line(kind, body, n, tx, of, head, address)
            length = len(line) + 1
            lines.append(line)
            entries.append(_made(Entry, (n, tx, kind, body, address, offset, length - 1)))
            offset += length
            if kind == "event":
                sequence += 1
            if moves:
                moved += moves
            head = sha256_hex(line)
        after = _made(Position, (offset, n, sequence, head, length))
        committed.append(_made(Transaction, (tuple(entries), versions, after, moved)))
    lines.append(b"")
    return b"\n".join(lines), committed


def _line(
    kind: str, body: Mapping[str, Any], n: int, tx: int, of: int, prev: str, address: str | None
) -> bytes:
    """The canonical JSON of an entry. Its own members are spelled out in canonical order
    around the body, which takes a third of the time that serializing all of it does."""
    if kind in _PLAIN_KINDS or is_plain(body, levels_around=1):
        data = canonical_plain(body)
    else:
        data = canonical(body)
    version = b"" if address is None else b',"version":"%b"' % address.encode()
    line = b'{"body":%b,"i":%d,"kind":"%b","n":%d,"of":%d,"prev":"%b","tx":%d%b}' % (
        data,
        n - tx + 1,
        kind.encode(),
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
