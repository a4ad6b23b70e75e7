"""From transactions of the ledger to rows of the index. Pure: no database, no files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
from pamctl.store.records import Entry, StoredVersion, Transaction

_LIFECYCLE = {state: code for code, state in enumerate(LIFECYCLE_STATES)}
_AVAILABILITY = {state: code for code, state in enumerate(AVAILABILITY_STATES)}
_RETENTION = {state: code for code, state in enumerate(RETENTION_STATES)}
_VALIDATION = {state: code for code, state in enumerate(VALIDATION_STATES)}
_DIRECTIONALITY = {word: code for code, word in enumerate(DIRECTIONALITIES)}
_, FAMILY_OBJECT, _RELATIONSHIP, _DELEGATION = range(len(FAMILIES))
_AVAILABLE = _AVAILABILITY["available"]
_PARTIALLY_REDACTED = _AVAILABILITY["partially_redacted"]
_NOTHING: Mapping[str, Any] = {}

Row = tuple[Any, ...]
MISSING = 0
"""Stands in rows for what becomes NULL: Python's sqlite3 takes 0.4 µs to bind a None and
0.05 µs to bind an int. For the same reason bytes are bytearrays here, and flags ints."""


class _Instants(dict[str | None, str | int]):
    """The keys of timestamps, each worked out once. One that is no timestamp orders nothing
    and is missing."""

    def __missing__(self, text: str | None) -> str | int:
        try:
            key: str | int = MISSING if text is None else instant(text)
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

    def take(self, transactions: Iterable[Transaction]) -> None:
        """Add the rows of `transactions`. Raises StoreDamaged for an entry that lacks what
        every one of its kind has, which no checked ledger holds."""
        for transaction in transactions:
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

    def _take_entry(self, entry: Entry, versions: Mapping[str, StoredVersion]) -> None:
        if entry.kind == "event":
            self._take_event(entry, versions)
        elif entry.kind == "idempotency":
            self.keys.append((entry.body["key"], entry.n, entry.offset, entry.length))
        else:
            self._take_other(entry)

    def _take_event(self, entry: Entry, versions: Mapping[str, StoredVersion]) -> None:
        body = entry.body
        committed = None
        if entry.version is not None:
            committed = self._take_version(entry, versions[entry.version])
        if committed is None:
            self.events.append(
                (
                    body["sequence"],
                    body["event_type"],
                    body["event_id"],
                    self._instants[body.get("recorded_at")],
                    entry.n,
                    entry.offset,
                    entry.length,
                )
            )
        for concerned in _concerned(body):
            if concerned is not None and concerned != committed:
                self.mentions.append((concerned, body["sequence"]))

    def _take_version(self, entry: Entry, stored: StoredVersion) -> str | None:
        """Add the row of a version; returns whose version it is. A version that was erased,
        and whose event does not say whose it was, has no row: nothing could ask for it."""
        body, envelope = entry.body, stored.envelope
        if envelope is None:
            envelope = _told_by_event(body)
        get = envelope.get
        identifier, family = _identity(envelope)
        version_id = get("version_id")
        if identifier is None or version_id is None:
            return None
        since = body["sequence"]
        has_text = "canonical_content" in envelope
        erased = stored.erased
        number = get("sequence", MISSING)
        availability = _AVAILABILITY.get(get("availability_state", ""), MISSING)
        provenance = get("provenance", _NOTHING)
        instants = self._instants
        recorded_at, event_recorded_at = get("recorded_at"), body.get("recorded_at")
        self.versions.append(
            (
                since,
                family,
                _LIFECYCLE.get(get("lifecycle_state", ""), MISSING),
                availability,
                _RETENTION.get(get("retention_state", ""), MISSING),
                _VALIDATION.get(get("validation_state", ""), MISSING),
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
                bytearray.fromhex(stored.address[7:]),
                MISSING if stored.pack is None else bytearray.fromhex(stored.pack),
                stored.offset,
                stored.length,
                body["event_type"],
                body["event_id"],
                MISSING if event_recorded_at == recorded_at else instants[event_recorded_at],
                entry.n,
                entry.offset,
                entry.length,
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
        if has_text and availability in (_AVAILABLE, _PARTIALLY_REDACTED):
            strings, names = content_text(envelope["canonical_content"])
            if strings or names:
                self.texts.append((since, spaced(strings), spaced(names)))
        return str(identifier)

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


def _concerned(body: Mapping[str, Any]) -> list[str | None]:
    """Whom an event concerns: the object or the relationship that it names, and of a
    promotion the object that came of it too."""
    concerned = [body.get("object_id"), body.get("relationship_id")]
    if body["event_type"] == "working_memory_promoted":
        concerned.append(body.get("payload", _NOTHING).get("target_object_id"))
    return concerned


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
