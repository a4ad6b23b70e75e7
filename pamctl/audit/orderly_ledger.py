"""Reads a ledger in which nothing is out of order, and stops at the first thing that is.

It asks for the same as `ledger` and `bodies`, and does not say what it found instead, which
takes most of their time: each line must be, byte for byte, the one that a writer would write
for its body at this place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from pamctl.audit.disorder import disorder, is_simple, lines_by_chunk, link, object_in
from pamctl.audit.entry_terms import (
    CLOCK_BACKWARDS,
    COMMITTING_EVENTS,
    EVENTS_THAT_MAY_COMMIT,
    SCOPE_MEMBERS,
    identifier_of,
    is_earlier,
    said_of_clock,
)
from pamctl.audit.facts import NAME, Facts
from pamctl.audit.findings import Findings
from pamctl.audit.ledger_state import CHAIN_START, LedgerState
from pamctl.audit.pins import PinWatch
from pamctl.audit.reading import open_plain
from pamctl.audit.records import COMMITTED, ERASURE, ONCE, PROMOTED, Records
from pamctl.encoding.canonical import canonical, is_plain
from pamctl.encoding.digests import is_sha256_digest, sha256_hex
from pamctl.errors import InvalidObject
from pamctl.limits import INTEGER_MAX
from pamctl.model.documents import is_valid
from pamctl.model.vocabulary import ENTRY_KINDS

_SORTED = orjson.OPT_SORT_KEYS
_KINDS: dict[str, bytes] = {kind: kind.encode() for kind in ENTRY_KINDS}
_LINE = b'{"body":%b,"i":%d,"kind":"%b","n":%d,"of":%d,"prev":"%b","tx":%d}'
_LINE_WITH_VERSION = _LINE[:-1] + b',"version":"%b"}'
# Members of the body that are open: elsewhere the schema lets nothing stand but text, small
# integers and names in ASCII, which are spelled in one way.
_OPEN = {"event": "payload", "idempotency": "result"}
_EVENTS_HERE_MAX = 65_536
_DESCRIBED_MAX = 10_000


class OrderlyLedger:
    """Reads one ledger.

    descriptors: facts about what there are few of: packs, snapshots, spaces. findings: takes
    notices, and nothing else.
    """

    def __init__(
        self,
        path: str,
        folder: str,
        scope: Mapping[str, Any],
        store_id: str | None,
        records: Records,
        descriptors: Facts,
        findings: Findings,
    ) -> None:
        self._path = path
        self._folder = folder
        # Two scopes may use one identifier.
        self._prefix = folder + " "
        self._scope = scope
        self._scope_id: str = scope["scope_id"]
        self._store_id = store_id
        self._records = records
        self._parts = records.parts
        self._once, self._committed = records.lists(ONCE), records.lists(COMMITTED)
        self._descriptors = descriptors
        self._findings = findings
        self._n = self._tx = self._offset = 0
        self._events = self._versions = self._snapshots = self._described = 0
        self._recorded_at: str | None = None
        self._events_here: dict[str, tuple[Any, str | None, Any]] = {}

    def read(self, path: Path, size: int, pins: PinWatch) -> LedgerState:
        """All of the first `size` bytes. Raises Disorder."""
        descriptor = open_plain(path)
        if descriptor is None or size == 0:
            disorder("no ledger, or an empty one")
        head, i, of = CHAIN_START, 0, 0
        watched = bool(pins.pins)
        try:
            for lines in lines_by_chunk(descriptor, size):
                for line in lines:
                    value = object_in(line)
                    self._n += 1
                    i += 1
                    if i > of:
                        i, of, self._tx = 1, _entries_of(value), self._n
                        self._events_here.clear()
                    self._require_spelled(line, value, i, of, head)
                    self._take(value["kind"], value["body"], value.get("version"), value)
                    head = sha256_hex(line)
                    if watched:
                        pins.see(self._n, head)
                    self._offset += len(line) + 1
                self._records.settle()
        finally:
            os.close(descriptor)
        if i != of or self._offset != size:
            disorder("the last transaction is not whole")
        counts = (self._n, self._events, self._versions)
        return LedgerState(head, *counts, size, size, False, self._snapshots)

    def _require_spelled(
        self, line: bytes, value: Mapping[str, Any], i: int, of: int, head: str
    ) -> None:
        """The line is what a writer would write for this body here: the chain, all counters,
        canonical form, and no member beside those of every entry."""
        kind, body, version = value.get("kind"), value.get("body"), value.get("version")
        if type(kind) is not str or type(body) is not dict:
            disorder("no kind, or no body")
        name = _KINDS.get(kind)
        if name is None:
            disorder("another kind")
        spelled = _spelled(kind, body, line)
        before = head.encode()
        if version is None:
            line_due = _LINE % (spelled, i, name, self._n, of, before, self._tx)
        elif is_sha256_digest(version):
            address = version.encode()
            line_due = _LINE_WITH_VERSION % (
                *(spelled, i, name, self._n, of, before, self._tx),
                address,
            )
        else:
            disorder("no address")
        if line != line_due:
            disorder("another line than is due here")

    def _take(
        self, kind: str, body: dict[str, Any], version: str | None, value: dict[str, Any]
    ) -> None:
        if (self._n == 1) != (kind == "scope"):
            disorder("a scope entry elsewhere, or none")
        if kind == "event":
            self._event(body, version)
        elif version is not None:
            disorder("a version that no event commits")
        elif kind == "idempotency":
            self._key(body)
            return
        elif not is_valid("ledger-entry", value):
            disorder("not as its schema says")
        elif kind == "scope":
            self._names_its_scope(body)
        elif kind == "erasure":
            self._erasure(body)
        elif kind == "pack":
            self._describe("pack " + body["name"], "announced", self._offset, body["versions"])
        elif kind == "snapshot":
            self._snapshot(body)
        elif kind == "space":
            space = body["space"]
            about, dimensions = f"space {space['embedding_space_id']}", space["dimensions"]
            self._describe(about, "described", self._n, self._offset, dimensions)
        self._clock(body.get("recorded_at"))

    def _event(self, body: dict[str, Any], version: str | None) -> None:
        if not is_valid("event", body):
            disorder("not as its schema says")
        self._events += 1
        event_type, event_id, sequence = body["event_type"], body["event_id"], body["sequence"]
        if sequence != self._events or body["scope_id"] != self._scope_id:
            disorder("another sequence or scope")
        identifier = identifier_of(body)
        version_id = body.get("version_id")
        name = f"event {self._prefix}{event_id}"
        self._once[crc32(name.encode()) % self._parts].append(name)
        if len(self._events_here) >= _EVENTS_HERE_MAX:
            disorder("a transaction that is too large to remember")
        self._events_here[event_id] = (sequence, identifier, version_id)
        if event_type == "working_memory_promoted" and identifier is not None:
            promoted = self._prefix + identifier
            self._records.put(PROMOTED, promoted, (promoted, self._tx))
        if version is None:
            if event_type in COMMITTING_EVENTS:
                disorder("an event without its version")
            return
        if event_type not in EVENTS_THAT_MAY_COMMIT or identifier is None:
            disorder("a version of nothing")
        self._versions += 1
        condition = body["payload"].get("condition") if "payload" in body else None
        linked = link(
            version, identifier, version_id, self._scope_id, body["recorded_at"], body["actor"]
        )
        about = self._prefix + identifier
        self._committed[crc32(about.encode()) % self._parts].append(
            (about, linked, self._tx, condition if type(condition) is str else None)
        )

    def _key(self, body: dict[str, Any]) -> None:
        if not is_valid("ledger-entry#/$defs/idempotency_body", body):
            disorder("not as its schema says")
        name, result = f"key {self._prefix}{body['key']}", body.get("result", {})
        self._once[crc32(name.encode()) % self._parts].append(name)
        event_id = result.get("event_id")
        if type(event_id) is not str:
            return
        identifier = identifier_of(result) or result.get("delegation_id")
        told = (result.get("ledger_sequence"), identifier, result.get("version_id"))
        if self._events_here.get(event_id) != told:
            disorder("a result of another transaction")

    def _names_its_scope(self, body: Mapping[str, Any]) -> None:
        same = body["scope_id"] == self._scope_id and (
            self._store_id is None or body["store_id"] == self._store_id
        )
        if not same or any(body.get(name) != self._scope.get(name) for name in SCOPE_MEMBERS):
            disorder("another scope or store")

    def _erasure(self, body: Mapping[str, Any]) -> None:
        address = body["address"]
        told = (address, body["event_id"], body["erased_at"], body["version_id"], body["stub"])
        self._records.put(ERASURE, address, told)

    def _snapshot(self, body: Mapping[str, Any]) -> None:
        self._snapshots += 1
        described, sealed_at = body["snapshot"], body["sealed_at_sequence"]
        name = described["snapshot_id"]
        if sealed_at != self._events or described["ledger_sequence_high_watermark"] > sealed_at:
            disorder("a snapshot of another time")
        self._describe(f"snapshot {name}", "described", self._n, self._offset, None)
        for space in described.get("included_embedding_space_ids", ()):
            self._describe(f"space {space}", "included", self._n, self._offset, name)

    def _describe(self, about: str, kind: str, *values: Any) -> None:
        self._described += 1
        if self._described > _DESCRIBED_MAX:
            disorder("more descriptors than are remembered")
        self._descriptors.put(NAME, self._folder, about, kind, *values)

    def _clock(self, now: Any) -> None:
        before = self._recorded_at
        if type(now) is not str:
            return
        if before is not None and is_earlier(now, before):
            self._findings.add(
                CLOCK_BACKWARDS,
                said_of_clock(now, before),
                scope_id=self._scope_id,
                path=self._path,
                offset=self._offset,
            )
        self._recorded_at = now


def _entries_of(value: Mapping[str, Any]) -> int:
    """How many entries the transaction has that begins here. Raises Disorder."""
    of = value.get("of")
    if type(of) is not int or not 1 <= of <= INTEGER_MAX:
        disorder("no number of entries")
    return of


def _spelled(kind: str, body: dict[str, Any], line: bytes) -> bytes:
    """The canonical form of a body that is as its schema says. Raises Disorder where there is
    none."""
    place = _OPEN.get(kind)
    part = body if place is None or "error" in body else body.get(place)
    try:
        if part is None or is_simple(part, line) or is_plain(part, levels_around=2):
            return orjson.dumps(body, option=_SORTED)
        return canonical(body)
    except (InvalidObject, orjson.JSONEncodeError):
        disorder("no canonical form")
