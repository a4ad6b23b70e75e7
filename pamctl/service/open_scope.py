"""One scope, opened: its ledger, its versions, and the index over them kept up to date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from pamctl.index.rows import EntryPlace, VersionRow
from pamctl.index.scope_index import ScopeIndex
from pamctl.rules.authorization import default_policy
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.records import START, Position, StoredVersion, Transaction
from pamctl.store.versions import Versions

_CATCH_UP_TRANSACTIONS = 4096


class OpenScope:
    """What reading a scope needs. Long-lived: a process opens each scope once."""

    def __init__(self, scope_id: str, layout: ScopeLayout, index_path: Path) -> None:
        self.scope_id = scope_id
        self.layout = layout
        self.ledger = Ledger(layout)
        self.index = ScopeIndex(index_path)
        self._versions = Versions(layout)
        self._policy: tuple[int, dict[str, Any]] | None = None

    def refresh(self) -> Position:
        """Bring the index to the ledger's last complete transaction, and say where that is.

        Reads only what is new. An index that speaks of another ledger than this one, after
        a restored backup for instance, is made anew.
        """
        position = self.index.position()
        if not self.ledger.holds(position):
            self.index.reset()
            position = START
        while self.ledger.size() > position.offset:
            before = position
            for chunk in _chunks(self.ledger.transactions(position), _CATCH_UP_TRANSACTIONS):
                if not self.index.apply(position, chunk):
                    break  # another process was faster; go on from where it got to
                position = chunk[-1].after
            position = self.index.position()
            if position == before:
                break  # what follows is a transaction that is not complete
        return position

    def envelope(self, row: VersionRow) -> dict[str, Any]:
        """The envelope of a version, from bytes that match its address."""
        document: dict[str, Any] = orjson.loads(self.version_bytes(row))
        envelope: dict[str, Any] = document["envelope"]
        return envelope

    def version_bytes(self, row: VersionRow) -> bytes:
        """The exact stored bytes of a version. Raises StoreDamaged."""
        return self._versions.read(
            StoredVersion(row.address, None, row.pack, row.offset, row.length)
        )

    def entry(self, place: EntryPlace) -> dict[str, Any]:
        """The ledger entry at a place that the index knows."""
        return self.ledger.line(place.offset, place.length)

    def policy(self) -> dict[str, Any]:
        """The scope's policy in force: the last one that its ledger holds."""
        place = self.index.latest("policy")
        if place is None:
            return default_policy()
        if self._policy is None or self._policy[0] != place.offset:
            self._policy = (place.offset, self.entry(place)["body"]["policy"])
        return self._policy[1]


def _chunks(items: Iterable[Transaction], size: int) -> Iterator[list[Transaction]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
