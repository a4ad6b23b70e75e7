"""One scope, opened: its ledger, its versions, and the index over them kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pamctl.index.database import IndexDamaged
from pamctl.index.rows import EntryPlace, VersionRow
from pamctl.index.scope_index import ScopeIndex
from pamctl.named_tuples import NamedTuple
from pamctl.rules.authorization import default_policy
from pamctl.service.envelopes import withhold
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger, Mark
from pamctl.store.records import (
    START,
    Entry,
    Position,
    StoredVersion,
    Transaction,
    portions,
)
from pamctl.store.versions import VersionErased, Versions

if TYPE_CHECKING:
    from pamctl.index.stored import StoredRow
    from pamctl.store.commit import NewEntry, NewTransaction

_CATCH_UP_ENTRIES = 8192
# From here on an index that has read nothing is made of the whole ledger at once.
_AT_ONCE_BYTES = 4 * 1024 * 1024


class Behind(NamedTuple):
    """What an index has not followed yet.

    before: where it stands.
    keys, objects: the idempotency keys and the objects that it does not know yet.
    wait: returns when it has followed, or when nobody brings it there any more.
    """

    before: Position
    keys: frozenset[str]
    objects: frozenset[str]
    wait: Callable[[], object]


class OpenScope:
    """What reading a scope needs. Long-lived: a process opens each scope once."""

    def __init__(self, scope_id: str, layout: ScopeLayout, index_path: Path) -> None:
        self.scope_id = scope_id
        self.layout = layout
        self.ledger = Ledger(layout)
        self._index = ScopeIndex(index_path)
        self._behind: Behind | None = None
        # The ledger's file when the index was last held against it.
        self._seen: Mark | None = None
        self.settled_folders: set[Path] = set()
        self._versions = Versions(layout)
        self._policy: tuple[int, dict[str, Any]] | None = None
        # How many ledger entries were looked through for a later policy than that.
        self._policy_seen = -1
        self.position = START
        """Where the index stood when it was last brought up to date, or will stand when it has
        followed what was committed here."""
        self._past: tuple[tuple[int, int], ScopeIndex] | None = None
        self._settled: dict[EntryPlace, dict[str, Any]] = {}

    @property
    def index(self) -> ScopeIndex:
        """The index, which has followed all that was committed here.

        Raises IndexDamaged where another process emptied it while it was behind.
        """
        behind = self._settle()
        if behind is not None:
            if self._index.position().entries < behind.before.entries:
                raise _emptied()
            if self._index.position().entries < self.position.entries:
                self.refresh()  # nobody brought it there
        return self._index

    def _settle(self) -> Behind | None:
        """Wait for an index that is behind, if it is, and say how it was."""
        behind = self._behind
        if behind is not None:
            behind.wait()
            self._behind = None
        return behind

    def leave_behind(self, behind: Behind, committed: list[Transaction]) -> None:
        """As `follow`, of objects that were created, while another process brings the index
        there."""
        self._note(behind.before, committed)
        self._behind = behind

    @property
    def is_behind(self) -> bool:
        """Whether the index may not have followed yet what was committed here last."""
        return self._behind is not None

    def head(self) -> Position:
        """As `refresh`, for the holder of the lock, and without waiting for an index that is
        behind: what is in the ledger since then was committed here."""
        if self._behind is not None and self.ledger.ends_at(self.position):
            return self.position
        return self.refresh()

    def absent(
        self, keys: Sequence[str], identifiers: Sequence[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Those of some idempotency keys that no request was recorded with, and those of some
        identifiers that never named anything; also where the index is behind. Raises
        IndexDamaged as `require_whole` does."""
        behind = self._behind or Behind(self.position, frozenset(), frozenset(), tuple)
        absent_keys = self._index.absent_keys(keys) - behind.keys
        absent_objects = self._index.absent_objects(identifiers) - behind.objects
        if self._index.position().entries < behind.before.entries:
            self._settle()
            raise _emptied()
        return absent_keys, absent_objects

    def refresh(self) -> Position:
        """Bring the index to the ledger's last complete transaction, and say where that is.

        Reads only what is new. An index that speaks of another ledger than this one, after
        a restored backup for instance, is made anew.
        """
        self._settle()
        position, mark = self._index.position(), self.ledger.mark()
        if position == self.position and mark == self._seen:
            return position
        if not self.ledger.holds(position):
            self._index.reset()
            self._settled.clear()
            position = START
        if position == START and self.ledger.size() >= _AT_ONCE_BYTES:
            self.rebuild_index()
            position = self._index.position()
        while self.ledger.size() > position.offset:
            before = position
            for chunk in portions(self.ledger.commits(position), _CATCH_UP_ENTRIES):
                if not self._index.apply(position, chunk):
                    break  # another process was faster; go on from where it got to
                position = chunk[-1].after
            position = self._index.position()
            if position == before:
                break  # what follows is a transaction that is not complete
        self.position, self._seen = position, mark
        return position

    def require_whole(self) -> None:
        """Raises IndexDamaged where another process found the index damaged, and emptied it,
        since it was last brought up to date here: what was looked up may have missed some."""
        if self.index.position().entries < self.position.entries:
            raise _emptied()

    def withdraw(self, transactions: Sequence[NewTransaction]) -> None:
        """Take away the vectors of what these hide, before they are committed."""
        alone = len(transactions) == 1 and is_a_create(transactions[0])
        if not alone and self.layout.embeddings.is_dir():
            from pamctl.store import embedding_upkeep

            entries = [entry for staged in transactions for entry in staged]
            embedding_upkeep.withdraw(self.layout, entries)

    def follow(self, base: Position, committed: list[Transaction]) -> None:
        """Bring what is derived up to what was just committed behind `base`: the index, and
        the vectors, of which those of hidden objects go (PAMSPEC §15.8) and snapshots pin the
        others."""
        self.index.apply(base, committed)
        self._note(base, committed)
        alone = len(committed) == 1 and is_a_create(committed[0].entries)
        if not alone and self.layout.embeddings.is_dir():
            from pamctl.store import embedding_upkeep

            embedding_upkeep.follow(self.layout, committed)

    def _note(self, base: Position, committed: list[Transaction]) -> None:
        if self._policy_seen == base.entries and not _has_policy(committed):
            self._policy_seen = committed[-1].after.entries
        self.position = committed[-1].after
        seen = self.ledger.mark()
        self._seen = seen if seen.size == self.position.offset else None

    def index_at(self, entries: int) -> ScopeIndex:
        """The index as it was when the ledger had that many entries, made anew in memory: of
        what was withdrawn since then, all that was not erased is in it."""
        # What has been erased since must not be found in what was read before.
        last = self.index.latest("erasure")
        key = (entries, 0 if last is None else last.n)
        if self._past is None or self._past[0] != key:
            before = takewhile(
                lambda done: done.entries[0].n <= entries, self.ledger.transactions(START)
            )
            made = ScopeIndex.made_of(before)
            self._past = (key, made)
        return self._past[1]

    def rebuild_index(self) -> bool:
        """Make the index anew from the ledger, in one step for all who use it. False when
        what it held before could not be removed from its files yet."""
        return self.index.become(ScopeIndex.made_of(self.ledger.commits()))

    def envelope(self, row: VersionRow) -> dict[str, Any]:
        """The envelope of a version, from bytes that match its address; of an erased one,
        with a tombstone for its content."""
        if row.erased:
            return withhold(self._versions.remains(_stored(row), partial(self._whereabouts, row)))
        try:
            document: dict[str, Any] = orjson.loads(self._bytes(row))
        except VersionErased as erased:  # since its row was looked up
            return withhold(erased.kept)
        envelope: dict[str, Any] = document["envelope"]
        return envelope

    def envelopes(self, rows: Sequence[VersionRow]) -> Iterator[dict[str, Any]]:
        """As `envelope` of each of some rows, in their order, and in less time."""
        from pamctl.store.reading import read_plainly

        found = read_plainly(self.layout, [row.place for row in rows])
        for row, data in zip(rows, found, strict=True):
            if data is None or row.erased:
                yield self.envelope(row)
            else:
                yield orjson.loads(data)["envelope"]

    def version_bytes(self, row: VersionRow) -> bytes:
        """The exact stored bytes of a version. Raises VersionErased or StoreDamaged."""
        if row.erased:
            raise VersionErased(row.address, {"version_id": row.version_id})
        return self._bytes(row)

    def all_version_bytes(self, rows: Sequence[StoredRow]) -> list[bytes | None]:
        """The exact stored bytes of many versions, in order; None for one that was erased
        since its row was looked up. Raises StoreDamaged."""
        from pamctl.store.reading import read_plainly

        found = read_plainly(self.layout, [row.place for row in rows])
        for number, row in enumerate(rows):
            if found[number] is None:
                found[number] = self._read_closely(row)
        return found

    def _read_closely(self, row: StoredRow) -> bytes | None:
        digest, pack, offset, length = row.place
        address = f"sha256:{digest.hex()}"
        version = StoredVersion(address, None, None if pack is None else pack.hex(), offset, length)
        try:
            return self._versions.read(version, lambda: self._elsewhere(row.version_id, address))
        except VersionErased:
            return None

    def _bytes(self, row: VersionRow) -> bytes:
        return self._versions.read(_stored(row), partial(self._whereabouts, row))

    def _whereabouts(self, row: VersionRow) -> StoredVersion | None:
        return self._elsewhere(row.version_id, row.address)

    def _elsewhere(self, version_id: str, address: str) -> StoredVersion | None:
        """Where a version is by now that was moved since its row was looked up."""
        self.refresh()
        found = self.index.version(version_id)
        return None if found is None or found.address != address else _stored(found)

    def located(self, row: VersionRow) -> StoredVersion:
        """A version with its envelope, where its bytes stand now. Raises as `version_bytes`."""
        return self._versions.locate(_stored(row), partial(self._whereabouts, row))

    def entry(self, place: EntryPlace) -> dict[str, Any]:
        """The ledger entry at a place that the index knows."""
        return self.ledger.line(place.offset, place.length)

    def settled_entry(self, place: EntryPlace) -> dict[str, Any]:
        """As `entry`, read once and kept: for the few entries that describe the scope."""
        found = self._settled.get(place)
        if found is None:
            found = self._settled[place] = self.entry(place)
        return found

    def policy(self) -> dict[str, Any]:
        """The scope's policy in force: the last one that its ledger holds. The same object
        each time, for as long as that is the same."""
        if self._policy is not None and self._policy_seen == self.position.entries:
            return self._policy[1]
        place = self.index.latest("policy")
        self._policy_seen = self.position.entries
        offset = -1 if place is None else place.offset
        if self._policy is None or self._policy[0] != offset:
            in_force = default_policy() if place is None else self.entry(place)["body"]["policy"]
            self._policy = (offset, in_force)
        return self._policy[1]


def _emptied() -> IndexDamaged:
    return IndexDamaged("the index was emptied meanwhile", hint="try again")


def is_a_create(entries: Sequence[NewEntry | Entry]) -> bool:
    """Whether this transaction creates one object and does nothing else, as most do. It
    concerns nothing that is there, and no vector."""
    event, *others = entries
    created = event.body.get("event_type") == "object_created"
    return created and all(other.kind == "idempotency" for other in others)


def _has_policy(committed: list[Transaction]) -> bool:
    return "policy" in {entry.kind for done in committed for entry in done.entries}


def _stored(row: VersionRow) -> StoredVersion:
    return StoredVersion(row.address, None, row.pack, row.offset, row.length, row.erased)
