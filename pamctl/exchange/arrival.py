"""What comes in with a bundle, looked at before anything of it is taken over.

Everything is checked that a checker would find wrong with the scope afterwards: form and chain
of its ledger, versions against their entries, numbers, states and their transitions, stubs
against erasures, ids that may stand once. An index is made on the way: it knows what came
before without holding it in memory, and is the scope's own afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NoReturn

import orjson

from pamctl.encoding.canonical import is_canonical
from pamctl.errors import InvalidObject, PamError, StoreDamaged
from pamctl.exchange.arrived import Arrived, Pack
from pamctl.exchange.embeddings import as_embedding
from pamctl.limits import GROUP_BYTES_MAX, GROUP_OPERATIONS_MAX
from pamctl.model.bundles import Item
from pamctl.model.documents import is_valid
from pamctl.model.vocabulary import VERSION_EVENT_TYPES
from pamctl.rules.lineage import EARLIER_NOT_GIVEN, PROMOTION, Known, Step, unlawful_step
from pamctl.store.adoption import StagedScope
from pamctl.store.embeddings import FLOAT_BYTES
from pamctl.store.ledger import parse_entry
from pamctl.store.records import START, Entry, Position, StoredVersion, Transaction

Json = dict[str, Any]
# A version has its event and often a key; there are events of other things by the thousand.
_ENTRIES_MAX = 4 * GROUP_OPERATIONS_MAX
_COMMITS = frozenset((*VERSION_EVENT_TYPES, "delegation_granted", "delegation_revoked"))


class ScopeReader:
    """Reads the ledger and the versions of one scope of a bundle, line by line.

    told: what the header says of it. here: the position of this store's own ledger of it.
    staged: gets what lies behind that. what: a word for the file, in messages.
    """

    def __init__(
        self, told: Json, here: Position, staged: StagedScope, *, what: str = "bundle"
    ) -> None:
        self._what = what
        self._staged = staged
        self._arrived = Arrived(told, here, meets=here == START)
        self._scope_id: str = told["scope_id"]
        self._place = START
        self._lines: list[tuple[Entry, int]] = []
        self._versions: dict[str, StoredVersion] = {}
        self._chunk: list[Transaction] = []
        self._entries = 0
        self._applied = START
        self._pack, self._pack_digest = Pack(), sha256()
        self._recent: dict[str, Known] = {}
        self._steps: list[Step] = []
        self._wanted: Entry | None = None
        self._number = 0
        self._stubs: dict[str, tuple[bytes, bool]] = {}
        self._erased_as: dict[str, Json] = {}
        self._erasures: dict[str, Mapping[str, Any]] = {}
        self._spaces: dict[str, int] = {}
        self._keys = 0

    def take(self, item: Item) -> None:
        """Take in the next line. Raises InvalidObject."""
        self._number = item.number
        if item.kind == "ledger":
            self._ledger(item.data, item.digest)
        elif item.kind in ("version", "stub"):
            self._version(item.data, item.digest, stub=item.kind == "stub")
        elif item.kind == "embedding":
            self._embedding(item.data)

    @property
    def place(self) -> Position:
        """Behind the last line that was taken in."""
        return self._place

    def end(self) -> Arrived:
        """What arrived, when all of it was taken in. Raises InvalidObject."""
        self._require_version_was_there()
        told, place = self._arrived.told, self._place
        if self._lines:
            self._refuse("the ledger ends within a transaction")
        if (place.head, place.entries, place.sequence) != (
            told["head"],
            told["entries"],
            told["sequence"],
        ):
            self._refuse("the ledger does not end where the header says")
        self._close_pack()
        self._apply()
        self._settle_erasures()
        again = self._arrived.index.passage.repeated(self._keys)
        if again is not None:
            self._refuse(again)
        self._arrived.end = place
        return self._arrived

    def close(self) -> None:
        """Let go of what was made on the way."""
        self._arrived.index.close()

    # Entries

    def _ledger(self, data: bytes, digest: str) -> None:
        self._require_version_was_there()
        place = self._place
        parsed = parse_entry(data, place.offset, place, self._lines, self._damaged)
        if parsed is None:
            self._refuse("the ledger line holds bytes that were lost")
        entry, of = parsed
        self._entry(entry, of, place.head)
        self._lines.append(parsed)
        if entry.n > self._arrived.here.entries:
            self._staged.add_line(data)
        length = len(data) + 1
        sequence = place.sequence + (entry.kind == "event")
        self._place = Position(place.offset + length, entry.n, sequence, digest, length)
        if entry.n == self._arrived.here.entries:
            self._arrived.meets = self._place.head == self._arrived.here.head
        if entry.version is not None:
            self._wanted = entry
        elif len(self._lines) == of:
            self._transaction()

    def _entry(self, entry: Entry, of: int, prev: str) -> None:
        """Hold an entry to its schema and to its scope."""
        body = entry.body
        if entry.kind == "event":
            # The schema of an entry costs twice that of an event, and adds this.
            if not is_valid("event", body):
                self._refuse("the event is not as its schema says")
            if entry.version is None and body["event_type"] in VERSION_EVENT_TYPES:
                self._refuse("an event that commits a version names none")
            if entry.version is not None and body["event_type"] not in _COMMITS:
                self._refuse("an event of a type that commits no version names one")
            if body["scope_id"] != self._scope_id:
                self._refuse("the event belongs to another scope")
            return
        place = {"n": entry.n, "tx": entry.tx, "i": len(self._lines) + 1, "of": of, "prev": prev}
        value = {**place, "kind": entry.kind, "body": body}
        if entry.version is not None or not is_valid("ledger-entry", value):
            self._refuse("the ledger entry is not as its schema says")
        if (entry.kind == "scope") != (entry.n == 1):
            self._refuse("a scope entry is the first of a ledger, and no other")
        if entry.kind == "scope":
            told = {name: member for name, member in body.items() if name != "created_at"}
            if any(self._arrived.told.get(name) != member for name, member in told.items()):
                self._refuse("the ledger is not of the scope that the header names")
        elif entry.kind == "erasure":
            if body["address"] in self._erasures:
                self._refuse("a version is erased a second time")
            self._erasures[body["address"]] = {**body, "n": entry.n}
        elif entry.kind == "space":
            space = body["space"]
            self._spaces[space["embedding_space_id"]] = space["dimensions"]
        elif entry.kind == "idempotency":
            self._keys += 1
            self._require_result(body)

    def _require_result(self, body: Mapping[str, Any]) -> None:
        """The result of a request is what its transaction did."""
        named = body.get("result", {}).get("event_id")
        if named is None or (self._lines and self._lines[0][0].body.get("event_id") == named):
            return
        bodies = [one.body for one, _ in self._lines if one.kind in ("event", "erasure")]
        if all(one["event_id"] != named for one in bodies):
            self._refuse("the result of a request is not what its transaction did")

    def _transaction(self) -> None:
        self._judge_steps()
        entries = tuple(entry for entry, _ in self._lines)
        self._chunk.append(Transaction(entries, self._versions, self._place))
        self._lines = []
        self._versions = {}
        self._entries += len(entries)
        full = self._pack.versions >= GROUP_OPERATIONS_MAX or self._pack.size >= GROUP_BYTES_MAX
        if full or self._entries >= _ENTRIES_MAX:
            self._close_pack()
            self._apply()

    # Versions

    def _require_version_was_there(self) -> None:
        if self._wanted is not None:
            self._refuse("the version that the ledger line before commits is not there")

    def _version(self, data: bytes, digest: str, *, stub: bool) -> None:
        entry, self._wanted = self._wanted, None
        if entry is None or entry.version is None:
            self._refuse("the ledger line before commits no version")
        value = self._document(data, stub=stub)
        digest = address = f"sha256:{digest}"
        withheld = stub and "withheld" in value
        if stub:
            address = value["withheld" if withheld else "erased"]["address"]
        if address != entry.version:
            self._refuse("the version is not the one that its ledger line commits")
        envelope = value["envelope"]
        self._require_agreement(entry, envelope)
        self._require_lawful(entry, envelope)
        arriving = entry.n > self._arrived.here.entries
        if stub:
            self._note_stub(entry, address, data, value, digest)
        elif "integrity" in envelope and self._is_signed(envelope):
            self._arrived.signed += arriving
        offset = self._pack.size if arriving else 0
        pack = "" if arriving else None
        self._versions[address] = StoredVersion(address, envelope, pack, offset, len(data), stub)
        if arriving:
            self._arrived.withheld += withheld
            self._staged.add_version(data)
            self._pack_digest.update(data + b"\n")
            self._pack.size += len(data) + 1
            self._pack.versions += 1
        if len(self._lines) == self._lines[-1][1]:
            self._transaction()

    def _document(self, data: bytes, *, stub: bool) -> Json:
        name = "version-file"
        try:
            value = orjson.loads(data)
            if stub:
                name = "withheld-stub" if "withheld" in value else "erasure-stub"
            right = is_canonical(value, data) and is_valid(name, value)
        except (orjson.JSONDecodeError, InvalidObject, TypeError):
            right = False
        if not right:
            self._refuse("the version is not as its schema says")
        found: Json = value
        return found

    def _require_agreement(self, entry: Entry, envelope: Mapping[str, Any]) -> None:
        body = entry.body
        said = (
            body.get("object_id", body.get("relationship_id")),
            body.get("version_id"),
            body["scope_id"],
            body["actor"],
            body["recorded_at"],
        )
        ident = identified(envelope)
        found = (
            ident,
            envelope["version_id"],
            envelope["scope_id"],
            envelope["actor"],
            envelope["recorded_at"],
        )
        if said != found:
            self._refuse("an event and its version disagree")

    def _is_signed(self, envelope: Mapping[str, Any]) -> bool:
        """Whether a version is signed; whose key that is counts for is decided elsewhere. Raises
        InvalidObject where its signature does not hold."""
        from pamctl.crypto.version_signatures import SignatureFault, verified

        try:
            return verified(envelope) is not None
        except SignatureFault as cause:
            self._refuse(f"the signature of {envelope['version_id']} does not hold: {cause}")

    def _require_lawful(self, entry: Entry, envelope: Mapping[str, Any]) -> None:
        """Each version follows from the one before it (PAMSPEC §9.5), in its number at once,
        and in its states when the transaction is whole."""
        ident = identified(envelope)
        known = Known.of(envelope)
        condition = entry.body.get("payload", {}).get("condition")
        if known.number > 1:
            before = self._recent.get(ident) or self._known(ident)
            if before is not None and before.number + 1 == known.number:
                self._steps.append(Step(ident, before, known, condition))
            elif before is not None or condition != EARLIER_NOT_GIVEN:
                self._refuse(f"the versions of {ident} do not count from 1 without gaps")
        self._recent[ident] = known

    def _judge_steps(self) -> None:
        """Those of a whole transaction: that something is promoted is said in its last event."""
        promoted = any(
            one.body["event_type"] == "working_memory_promoted"
            for one, _ in self._lines
            if one.kind == "event"
        )
        for ident, before, after, condition in self._steps:
            fault = unlawful_step(before, after, PROMOTION if promoted else condition)
            if fault is not None:
                self._refuse(f"{ident}: {fault}")
        self._steps = []

    def _known(self, ident: str) -> Known | None:
        row = self._arrived.index.current(ident)
        if row is None:
            return None
        states = (
            row.lifecycle_state,
            row.availability_state,
            row.retention_state,
            row.validation_state,
        )
        return Known(row.sequence, states)

    def _note_stub(self, entry: Entry, address: str, data: bytes, value: Json, digest: str) -> None:
        if "withheld" in value:
            self._stubs[address] = (b"", False)
            return
        kept = data if entry.n <= self._arrived.here.entries else b""
        self._stubs[address] = (kept, True)
        erased = {**value["erased"], "stub": digest, "version_id": value["envelope"]["version_id"]}
        self._erased_as[address] = erased

    def _settle_erasures(self) -> None:
        """Every erased version is a stub, as its entry has it, and every such stub has one."""
        for address, body in self._erasures.items():
            found = self._erased_as.pop(address, None)
            if found is None and self._stubs.get(address, (b"", True))[1] is False:
                continue  # it was withheld before it was erased
            if found is None or any(body.get(name) != member for name, member in found.items()):
                self._refuse(f"the version {address} was erased, and is not as its erasure says")
            stub, _ = self._stubs[address]
            if stub and body["n"] > self._arrived.here.entries:
                self._arrived.erased[address] = stub
        if self._erased_as:
            self._refuse("nothing permits a version to be erased that is")

    def _embedding(self, data: bytes) -> None:
        """Vectors stand behind the ledger, so all that they speak of is known."""
        self._require_version_was_there()
        self._close_pack()
        self._apply()
        embedding = as_embedding(data)
        if embedding is None:
            self._refuse("the embedding is not as its schema says")
        if self._spaces.get(embedding.space_id) != len(embedding.vector) // FLOAT_BYTES:
            self._refuse(f"the ledger has no space {embedding.space_id} of such vectors")
        row = self._arrived.index.version(embedding.version_id)
        if row is None or row.object_id != embedding.object_id:
            self._refuse(f"there is no version {embedding.version_id} that the vector is of")
        self._staged.add_embedding(data)

    # The index, and packs

    def _close_pack(self) -> None:
        """Give the versions since the last pack the name of the one they will stand in."""
        if self._pack.versions == 0:
            return
        name = self._pack.name = self._pack_digest.hexdigest()
        self._staged.name_pack(name)
        for transaction in self._chunk:
            versions = transaction.versions
            assert isinstance(versions, dict)
            for address, stored in versions.items():
                if stored.pack == "":
                    versions[address] = stored._replace(pack=name)
        self._arrived.packs.append(self._pack)
        self._pack, self._pack_digest = Pack(), sha256()

    def _apply(self) -> None:
        """Have the index take in what was read; the pack of it is closed."""
        if not self._chunk:
            return
        try:
            applied = self._arrived.index.apply(self._applied, self._chunk)
        except StoreDamaged as cause:
            self._refuse(cause.message)
        if not applied:
            raise StoreDamaged("the index of the import did not follow it")
        self._applied = self._chunk[-1].after
        self._chunk, self._entries = [], 0
        self._recent.clear()

    def _damaged(self, offset: int, what: str) -> PamError:
        return self._error(f"the ledger line {what}")

    def _refuse(self, message: str) -> NoReturn:
        raise self._error(message)

    def _error(self, message: str) -> PamError:
        hint = "`pamctl verify-export` says everything that is wrong with it"
        return InvalidObject(
            f"line {self._number} of the {self._what}: {message}",
            hint=hint if self._what == "bundle" else None,
            line=self._number,
            scope_id=self._scope_id,
        )


def identified(envelope: Mapping[str, Any]) -> str:
    """What a valid envelope is a version of."""
    ident = envelope.get("object_id") or envelope.get("relationship_id")
    return str(ident or envelope["delegation_id"])
