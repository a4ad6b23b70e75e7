"""What the entries of a ledger say: their bodies against their schemas, and the facts in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pamctl.audit.entry_terms import (
    CLOCK_BACKWARDS,
    COMMITTING_EVENTS,
    EVENTS_THAT_MAY_COMMIT,
    SCOPE_MEMBERS,
    actor_digest,
    identifier_of,
    is_earlier,
    said_of_clock,
)
from pamctl.audit.facts import ADDRESS, NAME, OBJECT, Facts
from pamctl.encoding.digests import is_sha256_digest
from pamctl.errors import PamError
from pamctl.model.documents import check, is_valid
from pamctl.model.vocabulary import ENTRY_KINDS
from pamctl.named_tuples import NamedTuple

# Of a larger transaction the rest meet their records where all facts meet.
_EVENTS_HERE_MAX = 4096

Report = Callable[..., None]
"""Takes the id of a finding, a message, an offset in the ledger, and perhaps what it is about."""


class Place(NamedTuple):
    """Where an entry stands, and whether the one before it is known."""

    n: int
    tx: int
    offset: int
    follows: bool


class Bodies:
    """Reads the entries of one ledger, one after the other.

    events, versions, snapshots: how many were read.
    """

    def __init__(
        self, folder: str, scope: dict[str, Any], store_id: str | None, facts: Facts, report: Report
    ) -> None:
        self._folder = folder
        self._scope = scope
        self._scope_id = scope["scope_id"]
        self._store_id = store_id
        self._facts = facts
        self._report = report
        self.events = self.versions = self.snapshots = 0
        self._n = self._tx = self._sequence = 0
        # False behind an entry that could not be read, until an event says where we are.
        self._knows_sequence = True
        self._recorded_at: str | None = None
        # Of the transaction that is being read: sequence, object and version by event.
        self._events_here: dict[str, tuple[Any, str | None, str | None]] = {}

    def take(self, value: dict[str, Any], place: Place) -> bool:
        """Take in the next entry. False when it could not be understood."""
        kind, body, version = value["kind"], value["body"], value.get("version")
        if place.tx != self._tx:
            self._events_here.clear()
        self._n, self._tx, offset, follows = place
        self._knows_sequence &= follows
        if not isinstance(kind, str) or not isinstance(body, dict):
            self._entry_invalid(value, offset)
            return False
        if kind not in ENTRY_KINDS:
            self._report(
                "ledger-kind-unknown", "the entry's kind is not one that is known", offset, kind
            )
            return True
        if (self._n == 1) != (kind == "scope"):
            self._report(
                "ledger-wrong-scope",
                "a scope entry is the first of every ledger, and no other",
                offset,
            )
            if kind == "scope":
                return True
        if kind == "event" and not self._commits_as_it_should(body, version, offset):
            self._sequence_of(body, offset)
            return True
        if not is_valid("ledger-entry", value):
            self._entry_invalid(value, offset)
            if kind == "event":
                self._sequence_of(body, offset)
            return False
        self._clock(body, offset)
        if kind == "event":
            self._sequence_of(body, offset)
            self._event(body, version, offset)
        elif kind == "scope":
            self._names_its_scope(body, offset)
        elif kind in ("erasure", "idempotency", "pack"):
            self._record(kind, body, offset)
        elif kind in ("snapshot", "space"):
            self._descriptor(kind, body, offset)
        return True

    def _entry_invalid(self, value: dict[str, Any], offset: int) -> None:
        self._report("ledger-entry-invalid", _fault(value), offset)
        version = value.get("version")
        if is_sha256_digest(version):
            # Named all the same: its version is no orphan.
            self._facts.put(ADDRESS, self._folder, str(version), "named")

    def _commits_as_it_should(self, body: dict[str, Any], version: Any, offset: int) -> bool:
        event_type = body.get("event_type")
        if version is None and event_type in COMMITTING_EVENTS:
            message = f"an event {event_type} names no version"
        elif version is not None and event_type not in EVENTS_THAT_MAY_COMMIT:
            message = "an event of a type that commits no version names one"
        else:
            return True
        self._report("event-without-version", message, offset, _text(body.get("event_id")))
        if is_sha256_digest(version):
            self._facts.put(ADDRESS, self._folder, str(version), "named")
        if isinstance(body.get("version_id"), str):
            self._facts.put(OBJECT, self._folder, body["version_id"], "bare")
        ident = identifier_of(body)
        if ident is not None and type(body.get("sequence")) is int:
            self._facts.put(
                OBJECT,
                self._folder,
                ident,
                "version",
                body["sequence"],
                self._n,
                None,
                None,
                None,
                None,
                self._tx,
            )
        return False

    def _sequence_of(self, body: dict[str, Any], offset: int) -> None:
        self.events += 1
        sequence = body.get("sequence")
        if type(sequence) is not int:
            self._knows_sequence = False
            return
        if self._knows_sequence and sequence != self._sequence + 1:
            reused = sequence <= self._sequence
            self._report(
                "event-sequence-reused" if reused else "event-sequence-gap",
                f"the event's sequence is {sequence}; the one before is {self._sequence}",
                offset,
                _text(body.get("event_id")),
            )
        self._sequence, self._knows_sequence = sequence, True

    def _event(self, body: dict[str, Any], version: str | None, offset: int) -> None:
        event_id, ident = body["event_id"], identifier_of(body)
        if body["scope_id"] != self._scope_id:
            self._report(
                "event-wrong-scope", "the event belongs to another scope", offset, event_id
            )
        self._facts.put(
            NAME,
            self._folder,
            "event " + event_id,
            "event",
            self._n,
            self._tx,
            offset,
            body["sequence"],
            ident,
            body.get("version_id"),
        )
        if len(self._events_here) < _EVENTS_HERE_MAX:
            told = (body["sequence"], ident, body.get("version_id"))
            self._events_here[event_id] = told
        if body["event_type"] == "working_memory_promoted" and ident is not None:
            self._facts.put(OBJECT, self._folder, ident, "promoted", self._tx)
        if version is None:
            return
        self.versions += 1
        payload = body.get("payload", {})
        self._facts.put(
            ADDRESS,
            self._folder,
            version,
            "committed",
            self._n,
            offset,
            body["sequence"],
            body["event_type"],
            ident,
            body.get("version_id"),
            actor_digest(body["actor"]),
            body["recorded_at"],
            _text(payload.get("condition")),
            self._tx,
        )

    def _names_its_scope(self, body: dict[str, Any], offset: int) -> None:
        store = self._store_id is not None and body["store_id"] != self._store_id
        if store or body["scope_id"] != self._scope_id:
            what = "store" if store else "scope"
            self._report("ledger-wrong-scope", f"the ledger is of another {what}", offset)
        elif any(body.get(name) != self._scope.get(name) for name in SCOPE_MEMBERS):
            message = "the ledger names another kind or parent of the scope than scope.json"
            self._report("scope-file-invalid", message, offset)

    def _record(self, kind: str, body: dict[str, Any], offset: int) -> None:
        put, folder = self._facts.put, self._folder
        if kind == "erasure":
            put(
                ADDRESS,
                folder,
                body["address"],
                "erasure",
                self._n,
                offset,
                body["event_id"],
                body["erased_at"],
                body.get("version_id"),
                body.get("stub"),
            )
            put(NAME, folder, "event " + body["event_id"], "erases", self._tx)
        elif kind == "pack":
            put(NAME, folder, "pack " + body["name"], "announced", offset, body["versions"])
        else:
            put(NAME, folder, "key " + body["key"], "key", self._n, offset)
            result = body.get("result", {})
            if isinstance(result.get("event_id"), str):
                ident = identifier_of(result) or _text(result.get("delegation_id"))
                told = (result.get("ledger_sequence"), ident, _text(result.get("version_id")))
                if self._events_here.get(result["event_id"]) == told:
                    return  # nearly always: what it says is what its transaction did
                put(
                    NAME,
                    folder,
                    "event " + result["event_id"],
                    "result",
                    self._tx,
                    offset,
                    ident,
                    _text(result.get("version_id")),
                    result.get("ledger_sequence"),
                    body["key"],
                )

    def _descriptor(self, kind: str, body: dict[str, Any], offset: int) -> None:
        put, described = self._facts.put, body[kind]
        if kind == "space":
            name, dimensions = described["embedding_space_id"], described["dimensions"]
            put(NAME, self._folder, f"space {name}", "described", self._n, offset, dimensions)
            return
        self.snapshots += 1
        name, sealed_at = described["snapshot_id"], body["sealed_at_sequence"]
        put(NAME, self._folder, f"snapshot {name}", "described", self._n, offset, None)
        for space in described.get("included_embedding_space_ids", ()):
            put(NAME, self._folder, f"space {space}", "included", self._n, offset, name)
        if self._knows_sequence and sealed_at != self._sequence:
            message = f"it says that event {sealed_at} was the last; it was {self._sequence}"
            self._report("descriptor-invalid", message, offset, name)
        elif described["ledger_sequence_high_watermark"] > sealed_at:
            message = "it shows what came after it was sealed"
            self._report("descriptor-invalid", message, offset, name)

    def _clock(self, body: dict[str, Any], offset: int) -> None:
        now, before = body.get("recorded_at"), self._recorded_at
        if not isinstance(now, str):
            return
        if before is not None and is_earlier(now, before):
            self._report(CLOCK_BACKWARDS, said_of_clock(now, before), offset)
        self._recorded_at = now


def _fault(value: dict[str, Any]) -> str:
    try:
        check("ledger-entry", value)
    except PamError as cause:
        return cause.message
    return "the entry is not as its schema says"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
