"""Plain envelopes and events of another implementation of PAMSPEC, to be recorded anew.

A dump is a JSON document or JSON Lines. Each value is an envelope of a Memory Object (§8.1) or a
Relationship Object (§8.5), an event (§7.7), or an array of such. An event that names a version
of the dump is what committed it; a version that no event names gets one made from what changed.
What is recognized and not taken over is counted.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import IO, Any

from pamctl.encoding.strict_json import parse
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidObject, InvalidRequest, PamError
from pamctl.exchange.foreign import CARRIED_EVENTS, Foreign
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.bundles import COMPRESSED
from pamctl.model.documents import check
from pamctl.model.vocabulary import DIMENSIONS
from pamctl.named_tuples import NamedTuple
from pamctl.rules.lineage import EARLIER_NOT_GIVEN
from pamctl.service.envelopes import bears_withdrawn_content
from pamctl.service.sources import Sources

Json = dict[str, Any]
_BUNDLE = b'{"embeddings":'
_SCHEMAS = {"relationship_id": "relationship", "object_id": "envelope"}
_NOT_TAKEN_OVER = {
    "delegation_id": "delegations",
    "subscription_id": "subscriptions",
    "snapshot_id": "snapshots",
    "embedding_space_id": "embedding_spaces",
}
"""By the member that tells what it is: authority comes from nowhere else, and the others are of
a ledger that is not here."""
_ORIGIN_TIME, _ORIGIN_CONDITION = "origin_recorded_at", "origin_condition"


class Dump(NamedTuple):
    """What stands in a dump.

    scopes: by scope id, transactions of one event each.
    digest: of its bytes.
    passed_over: how many of what was recognized and is not taken over, by what it is.
    """

    scopes: dict[str, list[list[Foreign]]]
    digest: str
    passed_over: dict[str, int]


def begins_bundle(first: bytes) -> bool:
    """Whether a file with these first bytes is a bundle, if it is anything."""
    return first.startswith(COMPRESSED) or first == _BUNDLE


def rejoined(source: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    """The first bytes of a file that can be read once, and the file with them before it."""
    first = b""
    while len(first) < len(_BUNDLE) and (piece := source.read(len(_BUNDLE) - len(first))):
        first += piece
    return first, io.BufferedReader(_Rejoined(first, source))


class _Rejoined(io.RawIOBase):
    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first = first
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._first[: len(buffer)] or self._rest.read(len(buffer))
        self._first = self._first[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def read_dump(source: IO[bytes], sources: Sources) -> Dump:
    """What stands in a dump, all of it held in memory.

    An object's history may begin later than with its first version; the event of the one that
    it begins with says so. Raises InvalidObject for what is no envelope and no event, and for a
    version that stands twice.
    """
    digest = sha256()
    envelopes: dict[str, tuple[int, Json]] = {}
    events: list[tuple[int, Json]] = []
    passed_over: Counter[str] = Counter()
    for number, value in _values(source, digest):
        if "event_id" in value:
            _check("event", value, number)
            events.append((number, value))
            continue
        name = next((_SCHEMAS[member] for member in _SCHEMAS if member in value), None)
        other = next((_NOT_TAKEN_OVER[member] for member in _NOT_TAKEN_OVER if member in value), "")
        if other and name is None and "query" not in value:
            passed_over[other] += 1
            continue
        if name is None or "version_id" not in value:
            raise _bad(number, "it is no envelope of an object or a relationship, and no event")
        _check(name, value, number)
        if bears_withdrawn_content(value):
            raise _bad(
                number,
                f"{value['version_id']} is {value['availability_state']} and bears content, "
                'where {"tombstone": true} belongs',
            )
        if value["version_id"] in envelopes:
            raise _bad(number, f"the version {value['version_id']} stands a second time")
        envelopes[value["version_id"]] = number, value
    scopes = _ordered(envelopes, events, sources, passed_over)
    if not scopes:
        raise InvalidObject(
            "there is nothing in the file that could be recorded"
            + "".join(f"; {what} passed over: {count}" for what, count in passed_over.items()),
            hint="an event comes with the version that it names; authority does not come at all",
            passed_over=dict(passed_over) or None,
        )
    return Dump(scopes, "sha256:" + digest.hexdigest(), dict(passed_over))


def _values(source: IO[bytes], digest: Any) -> Iterator[tuple[int, Json]]:
    """The objects of a dump, each with its line."""
    first = source.readline(DOCUMENT_BYTES_MAX + 1)
    digest.update(first)
    try:
        value = parse(first, what="line 1")
        lines = True
    except InvalidRequest:
        lines = False
    if not lines:
        rest = source.read(DOCUMENT_BYTES_MAX + 1)
        digest.update(rest)
        try:
            value = parse(first + rest, what="the file")
        except InvalidRequest as cause:
            raise InvalidObject(
                f"the file is no bundle and no dump of envelopes and events: {cause.message}",
                hint="`pamctl export` makes a bundle",
            ) from None
    yield from _objects(value, 1)
    number = 1
    while lines and (line := source.readline(DOCUMENT_BYTES_MAX + 1)):
        number += 1
        digest.update(line)
        if line.strip():
            try:
                value = parse(line, what=f"line {number}")
            except InvalidRequest as cause:
                raise _bad(number, cause.message) from None
            yield from _objects(value, number)


def _objects(value: Any, number: int) -> Iterator[tuple[int, Json]]:
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            raise _bad(number, "it is no envelope and no event")
        yield number, one


def _ordered(
    envelopes: Mapping[str, tuple[int, Json]],
    events: list[tuple[int, Json]],
    sources: Sources,
    passed_over: Counter[str],
) -> dict[str, list[list[Foreign]]]:
    """Histories in an order in which they can have happened: events by their sequence, and
    versions without one by when they were recorded."""
    named: dict[str, tuple[int, Json]] = {}
    entries: list[tuple[str, Any, Foreign]] = []
    for number, event in sorted(events, key=lambda one: int(one[1]["sequence"])):
        if event["event_type"] not in CARRIED_EVENTS:
            passed_over["events"] += 1
            continue
        version_id = str(event.get("version_id"))
        if event["event_type"] == "working_memory_promoted":
            place = instant(event["recorded_at"]), event["sequence"]
            entries.append((event["scope_id"], place, Foreign(number, "event", event)))
        elif version_id not in envelopes:
            passed_over["events_without_version"] += 1
        elif version_id in named:
            raise _bad(number, f"a second event names the version {version_id}")
        else:
            named[version_id] = number, event
    before: dict[str, Json] = {}
    for version_id, (number, envelope) in sorted(envelopes.items(), key=_when):
        ident = _ident(envelope)
        if version_id in named:
            body = _agreed(*named[version_id], envelope)
        else:
            body = _event(before.get(ident), envelope, sources)
        if ident not in before and envelope["sequence"] > 1:
            body = _beginning_late(body)
        before[ident] = envelope
        place = instant(envelope["recorded_at"]), envelope["sequence"]
        entries.append((envelope["scope_id"], place, Foreign(number, "event", body, envelope)))
    found: dict[str, list[list[Foreign]]] = {}
    for scope_id, _, foreign in sorted(entries, key=lambda one: one[1]):
        found.setdefault(scope_id, []).append([foreign])
    return dict(sorted(found.items()))


def _when(one: tuple[str, tuple[int, Json]]) -> tuple[str, int]:
    _, (_, envelope) = one
    return instant(envelope["recorded_at"]), envelope["sequence"]


def _ident(envelope: Mapping[str, Any]) -> str:
    return str(envelope.get("relationship_id") or envelope["object_id"])


def _agreed(number: int, event: Json, envelope: Mapping[str, Any]) -> Json:
    """An event that agrees with the version it commits, as they must here. Where it was
    recorded at another time, that goes into its payload."""
    told = _subject(envelope)
    for member in (*told, "scope_id", "actor"):
        if event.get(member, envelope.get(member)) != envelope.get(member):
            raise _bad(number, f"the event and its version disagree on {member}")
    kept = {name: member for name, member in event.items() if name not in _SCHEMAS}
    agreed = {**kept, **told, "recorded_at": envelope["recorded_at"]}
    if event["recorded_at"] != envelope["recorded_at"]:
        agreed["payload"] = {**event.get("payload", {}), _ORIGIN_TIME: event["recorded_at"]}
    return agreed


def _beginning_late(event: Json) -> Json:
    """The event of the first version that was given, where others were before it."""
    payload = {**event.get("payload", {})}
    if "condition" in payload:
        payload[_ORIGIN_CONDITION] = payload["condition"]
    return {**event, "payload": {**payload, "condition": EARLIER_NOT_GIVEN}}


def _subject(envelope: Mapping[str, Any]) -> dict[str, str]:
    name = "relationship_id" if "relationship_id" in envelope else "object_id"
    return {name: envelope[name]}


def _event(before: Mapping[str, Any] | None, envelope: Mapping[str, Any], sources: Sources) -> Json:
    """An event for a version that came without one, from how it differs from the one before."""
    event_type, payload = _change(before, envelope)
    return {
        "event_id": sources.identifier("evt"),
        "operation_id": sources.identifier("op"),
        "scope_id": envelope["scope_id"],
        "event_type": event_type,
        "recorded_at": envelope["recorded_at"],
        "sequence": 0,
        "actor": envelope["actor"],
        "version_id": envelope["version_id"],
        "payload": payload,
        **_subject(envelope),
    }


def _change(before: Mapping[str, Any] | None, envelope: Mapping[str, Any]) -> tuple[str, Json]:
    relationship = "relationship_id" in envelope
    if before is None and envelope["sequence"] == 1:
        if relationship:
            return "relationship_created", {}
        return "object_created", {"object_type": envelope["object_type"]}
    now = envelope["availability_state"]
    was = {"availability_state": "available"} if before is None else before
    if was["availability_state"] != now != "available":
        return ("object_deleted" if now == "deleted" else "object_redacted"), {}
    states = [] if before is None else DIMENSIONS
    changed = [name for name in states if was[f"{name}_state"] != envelope[f"{name}_state"]]
    if len(changed) == 1:
        (name,) = changed
        return f"{name}_transitioned", {
            "from": was[f"{name}_state"],
            "to": envelope[f"{name}_state"],
        }
    return ("relationship_updated" if relationship else "object_updated"), {}


def _check(name: str, value: Json, number: int) -> None:
    try:
        check(name, value)
    except PamError as cause:
        raise _bad(number, cause.message) from cause


def _bad(number: int, message: str) -> InvalidObject:
    return InvalidObject(f"line {number} of the file: {message}", line=number)
