"""One scope, opened: its ledger, its versions, and the index over them kept up to date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from pamctl.index.rows import EntryPlace, VersionRow
from pamctl.index.scope_index import ScopeIndex
from pamctl.rules.authorization import default_policy
from pamctl.service.envelopes import withhold
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.records import START, Position, StoredVersion, Transaction
from pamctl.store.versions import VersionErased, Versions

_CATCH_UP_ENTRIES = 8192


class OpenScope:
    """What reading a scope needs. Long-lived: a process opens each scope once."""

    def __init__(self, scope_id: str, layout: ScopeLayout, index_path: Path) -> None:
        self.scope_id = scope_id
        self.layout = layout
        self.ledger = Ledger(layout)
        self.index = ScopeIndex(index_path)
        self._versions = Versions(layout)
        self._policy: tuple[int, dict[str, Any]] | None = None
        # How many ledger entries were looked through for a later policy than that.
        self._policy_seen = -1
        self._entries = 0
        self._past: tuple[tuple[int, int], ScopeIndex] | None = None
        self._settled: dict[EntryPlace, dict[str, Any]] = {}

    def refresh(self) -> Position:
        """Bring the index to the ledger's last complete transaction, and say where that is.

        Reads only what is new. An index that speaks of another ledger than this one, after
        a restored backup for instance, is made anew.
        """
        position = self.index.position()
        if not self.ledger.holds(position):
            self.index.reset()
            self._settled.clear()
            position = START
        while self.ledger.size() > position.offset:
            before = position
            for chunk in _chunks(self.ledger.transactions(position)):
                if not self.index.apply(position, chunk):
                    break  # another process was faster; go on from where it got to
                position = chunk[-1].after
            position = self.index.position()
            if position == before:
                break  # what follows is a transaction that is not complete
        self._entries = position.entries
        return position

    def follow(self, base: Position, committed: list[Transaction]) -> None:
        """Bring what is derived up to what was just committed behind `base`: the index, and
        the vectors, of which those of hidden objects go (PAMSPEC §15.8) and snapshots pin the
        others."""
        self.index.apply(base, committed)
        if self._policy_seen == base.entries and not _has_policy(committed):
            self._policy_seen = committed[-1].after.entries
        self._entries = committed[-1].after.entries
        if self.layout.embeddings.is_dir():
            from pamctl.store import embedding_upkeep

            embedding_upkeep.follow(self.layout, committed)

    def index_at(self, entries: int) -> ScopeIndex:
        """The index as it was when the ledger had that many entries, made anew in memory: of
        what was withdrawn since then, all that was not erased is in it."""
        # What has been erased since must not be found in what was read before.
        last = self.index.latest("erasure")
        key = (entries, 0 if last is None else last.n)
        if self._past is None or self._past[0] != key:
            made, position = ScopeIndex(None), START
            for chunk in _chunks(self.ledger.transactions(START)):
                kept = [done for done in chunk if done.entries[0].n <= entries]
                if kept:
                    made.apply(position, kept)
                    position = kept[-1].after
                if len(kept) < len(chunk):
                    break
            self._past = (key, made)
        return self._past[1]

    def rebuild_index(self) -> bool:
        """Make the index anew from the ledger, in one step for all who use it. False when
        what it held before could not be removed from its files yet."""
        made, position = ScopeIndex.scratch(), START
        for chunk in _chunks(self.ledger.transactions(START)):
            made.apply(position, chunk)
            position = chunk[-1].after
        return self.index.become(made)

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

    def version_bytes(self, row: VersionRow) -> bytes:
        """The exact stored bytes of a version. Raises VersionErased or StoreDamaged."""
        if row.erased:
            raise VersionErased(row.address, {"version_id": row.version_id})
        return self._bytes(row)

    def _bytes(self, row: VersionRow) -> bytes:
        return self._versions.read(_stored(row), partial(self._whereabouts, row))

    def _whereabouts(self, row: VersionRow) -> StoredVersion | None:
        """Where a version is by now that was moved since its row was looked up."""
        self.refresh()
        found = self.index.version(row.version_id)
        return None if found is None or found.address != row.address else _stored(found)

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
        if self._policy is not None and self._policy_seen == self._entries:
            return self._policy[1]
        place = self.index.latest("policy")
        self._policy_seen = self._entries
        offset = -1 if place is None else place.offset
        if self._policy is None or self._policy[0] != offset:
            in_force = default_policy() if place is None else self.entry(place)["body"]["policy"]
            self._policy = (offset, in_force)
        return self._policy[1]


def _has_policy(committed: list[Transaction]) -> bool:
    return any(entry.kind == "policy" for done in committed for entry in done.entries)


def _stored(row: VersionRow) -> StoredVersion:
    return StoredVersion(row.address, None, row.pack, row.offset, row.length, row.erased)


def _chunks(transactions: Iterable[Transaction]) -> Iterator[list[Transaction]]:
    """Transactions, so many at a time that they fit in memory."""
    chunk: list[Transaction] = []
    weight = 0
    for transaction in transactions:
        chunk.append(transaction)
        weight += len(transaction.entries) + len(transaction.moved)
        if weight >= _CATCH_UP_ENTRIES:
            yield chunk
            chunk, weight = [], 0
    if chunk:
        yield chunk
