"""Transactions made by hand, as the ledger would hand them to an index."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from typing import Any

from pamctl.encoding.timestamps import from_nanoseconds
from pamctl.index.scope_index import ScopeIndex
from pamctl.model.vocabulary import IDENTIFIERS
from pamctl.store.records import START, Entry, Position, StoredVersion, Transaction

ACTOR = {"actor_id": "actor:local:ada", "actor_kind": "human"}
_FIRST_MOMENT_NS = 1_767_225_600_000_000_000
_LINE_BYTES = 100


class HandMadeLedger:
    """Grows by one transaction a call; `transactions` is what a reader would find."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.envelopes: dict[str, dict[str, Any]] = {}
        self.sequence = 0
        self._entries: list[Entry] = []
        self._versions: dict[str, StoredVersion] = {}
        self._after = START
        self._grouping = False

    @property
    def position(self) -> Position:
        return self._after

    def create(self, object_id: str, content: Any = "", **members: Any) -> dict[str, Any]:
        """Commit the first version of a memory object; its envelope."""
        return self.commit_version(
            {"object_id": object_id, "object_type": "claim", "canonical_content": content},
            "object_created",
            **members,
        )

    def revise(self, identifier: str, event: str = "object_updated", **members: Any) -> Any:
        """Commit the next version of an object, a relationship or a delegation."""
        return self.commit_version(self.envelopes[identifier], event, **members)

    def commit_version(
        self,
        origin: Mapping[str, Any],
        event_type: str,
        *,
        body: Mapping[str, Any] | None = None,
        pack: str | None = None,
        gone: bool = False,
        **members: Any,
    ) -> dict[str, Any]:
        """Commit a version like `origin` but for `members`; one that is None is left out.

        body: more members of the event. gone: nothing is left of it but a bare stub.
        """
        identifier = next(origin[name] for name in IDENTIFIERS if name in origin)
        number = self.envelopes.get(identifier, {"sequence": 0})["sequence"] + 1
        now = self._now()
        envelope = {
            "lifecycle_state": "active",
            "availability_state": "available",
            "retention_state": "retained",
            "validation_state": "corroborated",
            "provenance": {"provenance_id": f"prov:{identifier}", "activity": "noted"},
            "actor": ACTOR,
            **origin,
            "version_id": f"ver:{identifier}:{number}",
            "sequence": number,
            "committed_at": now,
            "recorded_at": now,
            **members,
        }
        envelope = {name: member for name, member in envelope.items() if member is not None}
        self.envelopes[identifier] = envelope
        subject = "relationship_id" if "relationship_id" in envelope else "object_id"
        told = {subject: identifier, "version_id": envelope["version_id"], **(body or {})}
        address = "sha256:" + hashlib.sha256(envelope["version_id"].encode()).hexdigest()
        has_content = "canonical_content" in envelope or "delegation_id" in envelope
        erased = gone or not has_content
        stored = StoredVersion(address, None if gone else envelope, pack, 7, 70, erased)
        self._versions[address] = stored
        self.event(event_type, version=address, **told)
        return envelope

    def relate(self, relationship_id: str, source: str, target: str) -> dict[str, Any]:
        return self.commit_version(
            {
                "relationship_id": relationship_id,
                "relationship_type": "supports",
                "source_object_id": source,
                "target_object_id": target,
                "canonical_content": {"note": "linked"},
            },
            "relationship_created",
            body={"object_id": source},
        )

    def delegate(self, delegation_id: str) -> dict[str, Any]:
        return self.commit_version(
            {"delegation_id": delegation_id, "policy_basis": "policy:handover"},
            "delegation_granted",
        )

    def event(self, event_type: str, *, version: str | None = None, **body: Any) -> None:
        """Commit an event; by default one that changes nothing."""
        self.sequence += 1
        told = {
            "event_id": f"evt:{self.sequence}",
            "event_type": event_type,
            "recorded_at": self._now(),
            "sequence": self.sequence,
            "actor": ACTOR,
            **body,
        }
        self.entry("event", told, version=version)

    def entry(self, kind: str, body: Mapping[str, Any], *, version: str | None = None) -> Entry:
        """Commit an entry of any kind."""
        n = self._after.entries + 1
        made = Entry(n, n, kind, body, version, self._after.offset, _LINE_BYTES - 1)
        self._after = Position(
            self._after.offset + _LINE_BYTES,
            n,
            self.sequence,
            hashlib.sha256(str(n).encode()).hexdigest(),
            _LINE_BYTES,
        )
        self._entries.append(made)
        if not self._grouping:
            self._close_transaction()
        return made

    def __enter__(self) -> HandMadeLedger:
        """What is committed within a `with` is one transaction."""
        self._grouping = True
        return self

    def __exit__(self, *_: object) -> None:
        self._grouping = False
        self._close_transaction()

    def index(self, path: Any = None) -> ScopeIndex:
        """An index that has read all of this ledger."""
        index = ScopeIndex(path)
        bring_up_to_date(index, self)
        return index

    def _close_transaction(self) -> None:
        made = Transaction(tuple(self._entries), dict(self._versions), self._after)
        self.transactions.append(made)
        self._entries.clear()
        self._versions.clear()

    def _now(self) -> str:
        return from_nanoseconds(_FIRST_MOMENT_NS + self.sequence * 1_000_000_000)


def bring_up_to_date(index: ScopeIndex, ledger: HandMadeLedger) -> None:
    """Give an index what it lacks of a ledger, wherever it stands."""
    while index.position() != ledger.position:
        base = index.position()
        rest = [made for made in ledger.transactions if made.after.offset > base.offset]
        index.apply(base, rest)


def table_rows(index: ScopeIndex) -> dict[str, list[Any]]:
    """Everything an index holds, by table, for comparing one with another."""
    return rows_of(index._database)


def rows_of(database: sqlite3.Connection) -> dict[str, list[Any]]:
    """As `table_rows`, of an index file."""
    names = [
        name
        for (name,) in database.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'text_%'"
        )
    ]
    return {
        name: sorted(
            database.execute(
                f"SELECT rowid, * FROM {name}" if name == "text" else f"SELECT * FROM {name}"
            ),
            key=repr,
        )
        for name in names
    }
