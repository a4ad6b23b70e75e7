"""From transactions of the ledger to rows of the index. Pure: no database, no files."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from pamctl.encoding.timestamps import instant
from pamctl.errors import StoreDamaged
from pamctl.index.content_text import content_text
from pamctl.index.schema import (
    AVAILABILITY_STATES,
    DIRECTIONALITIES,
    FAMILIES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)
from pamctl.index.word_forms import spaced
from pamctl.store.records import Commit, Entry, StoredVersion, Transaction

_LIFECYCLE: dict[Any, int] = {state: code for code, state in enumerate(LIFECYCLE_STATES)}
_AVAILABILITY: dict[Any, int] = {state: code for code, state in enumerate(AVAILABILITY_STATES)}
_RETENTION: dict[Any, int] = {state: code for code, state in enumerate(RETENTION_STATES)}
_VALIDATION: dict[Any, int] = {state: code for code, state in enumerate(VALIDATION_STATES)}
_DIRECTIONALITY = {word: code for code, word in enumerate(DIRECTIONALITIES)}
_, FAMILY_OBJECT, _RELATIONSHIP, _DELEGATION = range(len(FAMILIES))
_AVAILABLE = _AVAILABILITY["available"]
_PARTIALLY_REDACTED = _AVAILABILITY["partially_redacted"]
_NOTHING: Mapping[str, Any] = {}

Row = tuple[Any, ...]
# The last format that does not look for what it wrote before: rows share next to nothing.
_MARSHAL_FORMAT = 2
MISSING = 0
"""Stands in rows for what becomes NULL: Python's sqlite3 takes 0.4 µs to bind a None and
0.05 µs to bind an int. For the same reason bytes are bytearrays here, and flags ints."""


class _Instants(dict[str | None, str | int]):
    """The keys of timestamps, each worked out once. One that is no timestamp orders nothing
    and is missing."""

    def __missing__(self, text: str | None) -> str | int:
        try:
            # Not by its cache: hardly a timestamp comes back after these.
            key: str | int = MISSING if text is None else instant.__wrapped__(text)
        except ValueError:
            key = MISSING
        self[text] = key
        return key


@dataclass(slots=True)
class Intake:
    """Rows to be written together, in ledger order.

    versions: in the order of schema.VERSION_COLUMNS, without `until`.
    unnumbered: `since` of versions whose number in the history nothing tells.
    successions: by family, (since, object, family) of versions that may replace another.
    links: in the order of the table `relationship`, of versions that are relationships'.
    texts: (since, strings, member names).
    withdrawals: (object, since): all earlier text of the object goes.
    erasures: (version, address) whose content was erased.
    replacements: (new pack, old pack).
    moves: (pack, offset, length, version, address) of versions that were committed before.
    """

    versions: list[Row] = field(default_factory=list)
    unnumbered: list[Row] = field(default_factory=list)
    successions: dict[int, list[Row]] = field(default_factory=dict)
    links: list[Row] = field(default_factory=list)
    texts: list[Row] = field(default_factory=list)
    withdrawals: list[Row] = field(default_factory=list)
    erasures: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    mentions: list[Row] = field(default_factory=list)
    keys: list[Row] = field(default_factory=list)
    others: list[Row] = field(default_factory=list)
    packs: list[Row] = field(default_factory=list)
    replacements: list[Row] = field(default_factory=list)
    moves: list[Row] = field(default_factory=list)
    _instants: _Instants = field(default_factory=_Instants)
    _last_pack: tuple[str | None, bytearray | int] = (None, MISSING)

    def packed(self) -> bytes:
        """All of it, for `unpacked` in a copy of this process."""
        return marshal.dumps([getattr(self, name) for name in _PACKED], _MARSHAL_FORMAT)

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """What was `packed`."""
        return cls(*marshal.loads(data))

    def withdrawn(self) -> int:
        """How often text was taken away."""
        return len(self.withdrawals) + len(self.erasures)

    def rows(self) -> int:
        """How many rows there are of what a ledger may have any number of."""
        kinds = self.versions, self.events, self.keys, self.others, self.moves
        return sum([len(rows) for rows in kinds])

    def drop_rows(self) -> None:
        """Forget the rows, which were inserted, and keep what is to be done to rows."""
        for rows in (
            self.versions,
            self.links,
            self.texts,
            self.events,
            self.mentions,
            self.keys,
            self.others,
            self.packs,
        ):
            rows.clear()
        self._instants.clear()

    def take(self, transactions: Iterable[Transaction | Commit]) -> None:
        """Add the rows of `transactions`. Raises StoreDamaged for an entry that lacks what
        every one of its kind has, which no checked ledger holds."""
        for transaction in transactions:
            if isinstance(transaction, Commit):
                self._take_commit(transaction)
                continue
            for entry in transaction.entries:
                try:
                    self._take_entry(entry, transaction.versions)
                except KeyError as missing:
                    what = "an event" if entry.kind == "event" else f"of kind {entry.kind}"
                    raise StoreDamaged(
                        f"ledger entry {entry.n} is {what} without {missing}"
                    ) from None
            for moved in transaction.moved:
                self._take_move(moved)

    def _take_commit(self, commit: Commit) -> None:
        event, line, (object_id, relationship_id), stored, key, _ = commit
        committed = self._take_version(event, line, stored)
        if committed is None:
            since, event_type, event_id, recorded_at = event
            self.events.append((since, event_type, event_id, self._instants[recorded_at], *line))
        if object_id != committed or relationship_id is not None:
            self._take_mentions(event[0], committed, object_id, relationship_id)
        if key is not None:
            self.keys.append(key)

    def _take_entry(self, entry: Entry, versions: Mapping[str, StoredVersion]) -> None:
        n, _, kind, body, version, offset, length = entry
        if kind == "event":
            self._take_event(entry, None if version is None else versions[version])
        elif kind == "idempotency":
            self.keys.append((body["key"], n, offset, length))
        else:
            self._take_other(entry)

    def _take_event(self, entry: Entry, stored: StoredVersion | None) -> None:
        n, _, _, body, _, offset, length = entry
        get = body.get
        since, event_type, event_id = body["sequence"], body["event_type"], body["event_id"]
        recorded_at = get("recorded_at")
        committed = None
        if stored is not None:
            if stored.envelope is None:
                stored = stored._replace(envelope=_told_by_event(body))
            event = since, event_type, event_id, recorded_at
            committed = self._take_version(event, (n, offset, length), stored)
        if committed is None:
            self.events.append(
                (since, event_type, event_id, self._instants[recorded_at], n, offset, length)
            )
        self._take_mentions(since, committed, get("object_id"), get("relationship_id"))
        if event_type == "working_memory_promoted":
            promoted = get("payload", _NOTHING).get("target_object_id")
            self._take_mentions(since, committed, promoted, None)

    def _take_mentions(
        self, since: int, committed: str | None, object_id: str | None, relationship_id: str | None
    ) -> None:
        """Note whom an event concerns besides the one whose version it commits: the object or
        the relationship that it names, and of a promotion the object that came of it too."""
        if object_id is not None and object_id != committed:
            self.mentions.append((object_id, since))
        if relationship_id is not None and relationship_id != committed:
            self.mentions.append((relationship_id, since))

    def _take_version(
        self,
        event: tuple[int, str, str, str | None],
        entry: tuple[int, int, int],
        stored: StoredVersion,
    ) -> str | None:
        """Add the row of a version; returns whose version it is. A version that was erased,
        and whose event does not say whose it was, has no row: nothing could ask for it.

        event: its sequence, class, id and time. entry: n, offset, length.
        """
        since, event_type, event_id, event_recorded_at = event
        address, told, pack, offset, length, erased = stored
        envelope = told or _NOTHING
        get = envelope.get
        (identifier, family), version_id = _identity(envelope), get("version_id")
        if identifier is None or version_id is None:
            return None
        availability = _AVAILABILITY.get(get("availability_state"), MISSING)
        number, provenance = get("sequence", MISSING), get("provenance", _NOTHING)
        instants, recorded_at = self._instants, get("recorded_at")
        if pack != self._last_pack[0]:  # versions that were written together are in one
            self._last_pack = pack, MISSING if pack is None else bytearray.fromhex(pack)
        self.versions.append(
            (
                since,
                family,
                _LIFECYCLE.get(get("lifecycle_state"), MISSING),
                availability,
                _RETENTION.get(get("retention_state"), MISSING),
                _VALIDATION.get(get("validation_state"), MISSING),
                1 if erased else 0,
                number,
                identifier,
                version_id,
                get("object_type") or get("relationship_type", MISSING),
                get("actor", _NOTHING).get("actor_id", MISSING),
                instants[get("committed_at")],
                instants[recorded_at],
                instants[get("observed_at")],
                instants[get("asserted_at")],
                instants[get("valid_from")],
                instants[get("valid_until")],
                get("schema_id", MISSING),
                provenance.get("provenance_id", MISSING),
                provenance.get("source_ref", MISSING),
                provenance.get("activity", MISSING),
                get("integrity", _NOTHING).get("digest", MISSING),
                bytearray.fromhex(address[7:]),
                self._last_pack[1],
                offset,
                length,
                event_type,
                event_id,
                MISSING if event_recorded_at == recorded_at else instants[event_recorded_at],
                *entry,
            )
        )
        if number != 1:
            self.successions.setdefault(family, []).append((since, identifier, family))
        if number == MISSING:
            self.unnumbered.append((since,))
        if family == _RELATIONSHIP:
            self._take_link(since, envelope)
        if availability not in (_AVAILABLE, MISSING):
            self.withdrawals.append((identifier, since))
        if availability in (_AVAILABLE, _PARTIALLY_REDACTED) and "canonical_content" in envelope:
            self._take_text(since, envelope["canonical_content"])
        return str(identifier)

    def _take_text(self, since: int, content: Any) -> None:
        strings, names = content_text(content)
        if strings or names:
            self.texts.append((since, spaced(strings), spaced(names)))

    def _take_move(self, moved: StoredVersion) -> None:
        if moved.envelope is not None and moved.pack is not None:
            pack, address = bytearray.fromhex(moved.pack), bytearray.fromhex(moved.address[7:])
            version_id = moved.envelope["version_id"]
            self.moves.append((pack, moved.offset, moved.length, version_id, address))

    def _take_link(self, since: int, envelope: Mapping[str, Any]) -> None:
        """Add the ends of a relationship, as far as there is an envelope that tells them."""
        get = envelope.get
        source, target = get("source_object_id"), get("target_object_id")
        if source is None or target is None:
            return
        elsewhere = get("target_scope_id", MISSING)
        if elsewhere == get("scope_id"):
            elsewhere = MISSING
        directionality = _DIRECTIONALITY.get(get("directionality", ""), MISSING)
        self.links.append((since, source, target, elsewhere, directionality))

    def _take_other(self, entry: Entry) -> None:
        body = entry.body
        self.others.append((entry.kind, entry.n, entry.offset, entry.length))
        if entry.kind == "pack":
            name = bytearray.fromhex(body["name"])
            self.packs.append((name, body["versions"]))
            if "replaces" in body:
                self.replacements.append((name, bytearray.fromhex(body["replaces"])))
        elif entry.kind == "erasure":
            self.erasures.append((body["version_id"], bytearray.fromhex(body["address"][7:])))


_PACKED = [one.name for one in fields(Intake) if not one.name.startswith("_")]


def _identity(envelope: Mapping[str, Any]) -> tuple[str | None, int]:
    """Whose version an envelope is, and of which family."""
    if "object_id" in envelope:
        return envelope["object_id"], FAMILY_OBJECT
    if "relationship_id" in envelope:
        return envelope["relationship_id"], _RELATIONSHIP
    return envelope.get("delegation_id"), _DELEGATION


def _told_by_event(body: Mapping[str, Any]) -> dict[str, Any]:
    """What an event says about the version it committed, as members of an envelope."""
    told = {name: body[name] for name in ("version_id", "actor", "recorded_at") if name in body}
    event_type = body["event_type"]
    if event_type.startswith("delegation_"):
        told["delegation_id"] = body.get("object_id")
    elif "relationship_id" in body:
        told["relationship_id"] = body["relationship_id"]
    else:
        told["object_id"] = body.get("object_id")
    if event_type == "object_deleted":
        told["availability_state"] = "deleted"
    elif event_type.endswith("_transitioned"):
        dimension = event_type.removesuffix("_transitioned")
        told[f"{dimension}_state"] = body.get("payload", {}).get("to", "")
    return told
