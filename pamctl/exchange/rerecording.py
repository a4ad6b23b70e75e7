"""Records histories of another scope anew in a scope of this store. PAMSPEC §7.5, §8.2, §8.5.

Identifiers of objects, versions, events and operations stay, and so do numbers, actors,
provenance, times and content. What changes is the scope that they name, and the ledger that
they stand in: an `import` entry behind them says where they came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import InvalidObject, LegalHold, VersionConflict
from pamctl.exchange.arrival import ScopeReader
from pamctl.exchange.exporting import carriage
from pamctl.exchange.foreign import Foreign
from pamctl.model.bundles import Item, Kind
from pamctl.named_tuples import NamedTuple
from pamctl.service.departure import Departure
from pamctl.store.commit import first_ledger
from pamctl.store.versions import SALT_BYTES, version_bytes

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.index.scope_index import ScopeIndex
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore
    from pamctl.store.commit import NewEntry

Json = dict[str, Any]
_IDENTIFIERS = ("relationship_id", "object_id")
_CLASHES_MAX = 100


class Origin(NamedTuple):
    """Where histories come from.

    scope_id: that they name. store_id, head: of the ledger that they stood in, None for those
        that stood in none.
    """

    scope_id: str
    store_id: str | None = None
    head: str | None = None

    def told(self) -> Json:
        """As JSON."""
        return {name: member for name, member in self._asdict().items() if member is not None}


class Rerecording:
    """Records transactions of one origin anew, one after the other, into what `reader` reads."""

    def __init__(
        self,
        store: OpenStore,
        scope: OpenScope | None,
        reader: ScopeReader,
        *,
        scope_id: str,
        origin: Origin,
    ) -> None:
        self._store = store
        self._scope = scope
        self._reader = reader
        self._scope_id = scope_id
        self._origin = origin
        self._first: int | None = None
        self._custodian = store.signers.owner()
        self._seen: dict[str, str] = {}
        self._clashes: list[Json] = []
        self._held: list[str] = []
        self._number = 0
        self._ends: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    def begin(self, beginning: list[NewEntry] | None) -> None:
        """Have the reader read what is here already, or the beginning of a new ledger."""
        if self._scope is not None:
            for some in carriage(Departure(self._scope, self._scope.refresh())):
                for kind, data, digest in some:
                    self._reader.take(Item(kind, 0, 0, data, digest.decode()))
            return
        for line in first_ledger([beginning or []]).splitlines():
            self._read("ledger", line)

    def _read(self, kind: Kind, data: bytes) -> None:
        """Have the reader read a line."""
        self._reader.take(Item(kind, self._number, 0, data, sha256_hex(data)))

    def record(self, transaction: list[Foreign]) -> None:
        """Record a transaction, or what of it is not here yet. Raises InvalidObject."""
        new = [foreign for foreign in transaction if self._is_new(foreign)]
        if not new or self._clashes or self._held:
            return
        if self._first is None:
            self._first = self._reader.place.entries + 1
        self._number = new[0].number
        self._append([self._anew(foreign) for foreign in new])

    def end(self, entry: Json) -> bool:
        """Record where all of it came from, behind it; `entry` is the body of that. Whether
        there was anything to record. Raises LegalHold and VersionConflict, which tell of every
        object that cannot come in."""
        if self._held:
            raise LegalHold(
                f"{self._held[0]} is under legal hold here, and the import would go on with it; "
                "nothing was imported",
                hint="release the hold first, or import into another scope",
                object_ids=self._held[:_CLASHES_MAX],
                scope_id=self._scope_id,
            )
        if self._clashes:
            raise VersionConflict(
                f"{len(self._clashes)} objects cannot come into {self._scope_id}; nothing was "
                "imported",
                hint="map the scope to one that does not have these objects: --map-scope "
                f"{self._origin.scope_id}=NEW",
                objects=self._clashes[:_CLASHES_MAX],
                more=max(0, len(self._clashes) - _CLASHES_MAX),
                scope_id=self._scope_id,
            )
        if self._first is None:
            return False
        told = {**entry, "from_entry": self._first, "to_entry": self._reader.place.entries}
        self._append([("import", told, None, None, False)])
        return True

    def require_ends(self, index: ScopeIndex) -> None:
        """Raises InvalidObject for a relationship one end of which is nowhere in the scope."""
        for end, relationship_id in self._ends.items():
            if index.current(end) is None:
                raise InvalidObject(
                    f"{relationship_id} joins {end}, which is not in {self._scope_id}",
                    hint="import the object with it, or before it",
                    relationship_id=relationship_id,
                    object_id=end,
                )

    # What is here already

    def _is_new(self, foreign: Foreign) -> bool:
        """Whether an entry is not here yet. What cannot be is noted."""
        scope, body = self._scope, foreign.body
        if scope is None:
            return True
        if foreign.envelope is None:
            if foreign.kind == "erasure":
                row = scope.index.version(body["version_id"])
                return row is None
            return scope.index.event(body["event_id"]) is None
        envelope = foreign.envelope
        ident = next(envelope[name] for name in _IDENTIFIERS if name in envelope)
        row = scope.index.version(envelope["version_id"])
        if row is not None:
            self._seen[ident] = row.version_id
            if not self._same(scope, row, foreign):
                self._clash(ident, row.version_id, "the version is here, and says something else")
            return False
        current = scope.index.current(ident)
        if current is None or current.version_id == self._seen.get(ident):
            if current is not None and current.retention_state == "legal_hold":
                if ident not in self._held:
                    self._held.append(ident)
                return False
            if current is not None and current.availability_state == "deleted":
                self._clash(ident, current.version_id, "the object was deleted here")
                return False
            return True
        self._clash(ident, current.version_id, "the object is here, with another history")
        return False

    def _same(self, scope: OpenScope, row: VersionRow, foreign: Foreign) -> bool:
        """Whether a version that is here is the one that comes in. Content that is not in one
        of the two is not compared; what was erased here stays erased."""
        here, there = dict(scope.envelope(row)), self._envelope(foreign)
        if row.erased or foreign.gone is not None:
            from pamctl.store.versions import remainder

            here, there = remainder(here), remainder(there)
        here.pop("integrity", None)
        there.pop("integrity", None)
        return here == there

    def _clash(self, ident: str, version_id: str, reason: str) -> None:
        if all(clash["object_id"] != ident for clash in self._clashes[-_CLASHES_MAX:]):
            clash = {"object_id": ident, "version_id": version_id, "reason": reason}
            self._clashes.append(clash)

    # What is recorded

    def _anew(self, foreign: Foreign) -> tuple[str, Json, str | None, bytes | None, bool]:
        """An entry with its version, as they are recorded here."""
        body = foreign.body
        if foreign.kind == "erasure":
            address = self._addresses[body["version_id"]]
            return "erasure", {**body, "stub": address}, None, None, False
        body = {**body, "scope_id": self._scope_id}
        if foreign.envelope is None:
            return "event", body, None, None, False
        envelope = self._envelope(foreign)
        if "relationship_id" in envelope:
            self._note_ends(envelope)
        if foreign.gone is not None:
            data = canonical({"envelope": envelope, **foreign.gone})
            ((_, gone),) = foreign.gone.items()
            self._addresses[envelope["version_id"]] = sha256_digest(data)
            return "event", body, gone["address"], data, True
        data = version_bytes(
            self._countersigned(envelope, foreign), self._store.sources.entropy(SALT_BYTES)
        )
        return "event", body, sha256_digest(data), data, False

    def _envelope(self, foreign: Foreign) -> Json:
        assert foreign.envelope is not None
        envelope = {**foreign.envelope, "scope_id": self._scope_id}
        if envelope.get("target_scope_id") == self._origin.scope_id:
            envelope["target_scope_id"] = self._scope_id
        return envelope

    def _note_ends(self, envelope: Json) -> None:
        self._ends[envelope["source_object_id"]] = envelope["relationship_id"]
        if envelope.get("target_scope_id", self._scope_id) == self._scope_id:
            self._ends[envelope["target_object_id"]] = envelope["relationship_id"]

    def _countersigned(self, envelope: Json, foreign: Foreign) -> Json:
        """A signature is over the scope too, so it cannot hold here. Whoever keeps the store
        says by a signature of its own that it did hold."""
        if foreign.original is None or "integrity" not in envelope or self._custodian is None:
            return envelope
        from pamctl.crypto.version_signatures import SignatureFault, verify_and_countersign

        bare = {name: member for name, member in envelope.items() if name != "integrity"}
        try:
            integrity = verify_and_countersign(foreign.original, bare, self._custodian)
        except SignatureFault as cause:
            raise InvalidObject(
                f"line {foreign.number}: the signature of version {envelope['version_id']} does "
                f"not hold: {cause}",
                line=foreign.number,
                version_id=envelope["version_id"],
            ) from cause
        return envelope if integrity is None else {**bare, "integrity": integrity}

    def _append(
        self, entries: list[tuple[str, Mapping[str, Any], str | None, bytes | None, bool]]
    ) -> None:
        """Have the reader read the lines of one transaction."""
        tx = self._reader.place.entries + 1
        for i, (kind, body, version, data, stub) in enumerate(entries, 1):
            place = self._reader.place
            entry: Json = {
                "n": place.entries + 1,
                "tx": tx,
                "i": i,
                "of": len(entries),
                "kind": kind,
                "prev": place.head,
                "body": body,
            }
            if kind == "event":
                entry["body"] = {**body, "sequence": place.sequence + 1}
            if version is not None:
                entry["version"] = version
            self._read("ledger", canonical(entry))
            if data is not None:
                self._read("stub" if stub else "version", data)
