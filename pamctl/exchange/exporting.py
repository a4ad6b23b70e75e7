"""Writes a bundle. `store-format/bundle.md`.

Ledger lines and versions go as they are stored, byte by byte, and nothing is in a bundle that
is not in the store: no time, no host, no version of a program. The same state gives the same
bytes, wherever and whenever it is exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import IO, Any

import orjson

from pamctl.crypto.merkle import CompactRange, leaf_hash
from pamctl.encoding.canonical import canonical
from pamctl.errors import AccessDenied, InvalidRequest, StoreDamaged
from pamctl.model.bundles import COUNTED, FORMAT, FORMAT_VERSION, Kind, record_of
from pamctl.service.departure import Departure
from pamctl.service.open_store import OpenStore
from pamctl.store.carrying import (
    Place,
    StoredBytes,
    first_line,
    ledger_lines,
    ledger_windows,
    named_addresses,
)
from pamctl.store.erasure import stub_bytes, withheld_stub
from pamctl.store.packs import parsed_version

Json = dict[str, Any]
Carried = tuple[Kind, bytes, bytes]
"""A line: its kind, what it carries, and the 64 digits that its record has (model.bundles)."""

_LENGTH, _ERASED = itemgetter(2), itemgetter(3)
_WRITE_BYTES = 64 * 1024
_TOGETHER_BYTES = 8 * 1024 * 1024
"""Versions that are read at once, so that nothing holds more than a few of the largest."""

_CARRYING: tuple[Kind, ...] = ("ledger", "version", "stub", "leaf", "embedding")
_LEDGER: Kind = "ledger"
_VERSION: Kind = "version"
_OPENINGS: Mapping[Kind, bytes] = {kind: b'{"%b":' % kind.encode() for kind in _CARRYING}
"""By kind, how its line begins."""
_RECORDS: Mapping[Kind, bytes] = {kind: b"\n%b " % kind.encode() for kind in _CARRYING}
"""By kind, how its record begins."""


def export_bundle(
    store: OpenStore,
    target: IO[bytes],
    *,
    scope_ids: Sequence[str] | None = None,
    object_ids: Sequence[str] | None = None,
    snapshot_id: str | None = None,
    withhold_version_ids: Sequence[str] | None = None,
    withhold_object_ids: Sequence[str] | None = None,
    with_embeddings: bool = False,
    actor: Mapping[str, Any] | None = None,
    operation_id: str | None = None,
) -> Json:
    """Write scopes of a store, or a selection of one, to `target`, which is only written to,
    from the front to the end.

    Arguments:
        scope_ids: which; None for all that the actor may export. Objects, a snapshot and what
            is withheld are of one scope.
        object_ids: only these objects with their histories; all other ledger lines go as
            digests.
        snapshot_id: only what this snapshot holds, up to where it stands.
        withhold_version_ids, withhold_object_ids: go without their content.

    Returns what was written: `counts`, `digest`, `kind`, `scopes` and `withheld`. Raises
    AccessDenied, ScopeNotFound, ObjectNotFound, SnapshotNotFound, and StoreDamaged where the
    stored bytes are not what the ledger says.
    """
    request = {
        "object_ids": object_ids,
        "snapshot_id": snapshot_id,
        "withhold_version_ids": withhold_version_ids,
        "withhold_object_ids": withhold_object_ids,
        "actor": actor,
        "operation_id": operation_id,
    }
    given = {name: value for name, value in request.items() if value not in (None, [], ())}
    departures, refused = _departures(store, scope_ids, given)
    kind = "scopes" if all(one.selects is None for one in departures) else "selection"
    withheld = refused or any(one.withholds_anything() for one in departures)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "withheld": withheld,
        "embeddings": with_embeddings,
        "scopes": [_described(one, kind) for one in departures],
    }
    writer = _Writer(target)
    writer.line("header", header)
    for departure in departures:
        writer.line("scope", {"scope": departure.scope.scope_id})
        writer.carry(carriage(departure))
        if with_embeddings:
            from pamctl.exchange.embeddings import departing

            vectors = departing(departure)
            writer.carry([(("embedding", one, _hexadecimal(one)) for one in vectors)])
        departure.scope.index.shrink()
    footer = writer.end()
    return {**footer, "kind": kind, "scopes": header["scopes"], "withheld": withheld}


def _departures(
    store: OpenStore, scope_ids: Sequence[str] | None, request: Mapping[str, Any]
) -> tuple[list[Departure], bool]:
    """What may leave each scope, by scope id, and whether a scope may not leave at all: one
    that was not asked for by its name is then left out."""
    wanted = scope_ids
    if wanted is None:
        wanted = [str(scope["scope_id"]) for scope in store.directory.scopes()]
    wanted = sorted(set(wanted))
    if len(wanted) != 1 and request.keys() - {"actor", "operation_id"}:
        raise InvalidRequest(
            "objects, a snapshot and what is withheld are of one scope",
            hint="name the scope",
        )
    departures, refused = [], False
    for scope_id in wanted:
        try:
            departure = store.perform("export", {**request, "scope_id": scope_id})
            departure.scope.index.shrink()
            departures.append(departure)
        except AccessDenied:
            if scope_ids is not None or len(wanted) == 1:
                raise
            refused = True
    if not departures:
        raise InvalidRequest("there is no scope to export")
    return departures, refused


def _described(departure: Departure, kind: str) -> Json:
    """What the header says of a scope."""
    position = departure.position
    body = orjson.loads(first_line(departure.scope.layout))["body"]
    told = {name: member for name, member in body.items() if name != "created_at"}
    told |= {
        "head": position.head,
        "entries": position.entries,
        "sequence": position.sequence,
    }
    if kind == "selection":
        tree = CompactRange()
        for line, _ in ledger_lines(departure.scope.layout, position.offset):
            tree.append(leaf_hash(line))
        told["root"] = tree.root().hex()
    return told


class _Writer:
    """Writes the lines of a bundle, some hundreds at a time."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._digest = sha256()
        self.counts = dict.fromkeys(COUNTED.values(), 0)

    def line(self, kind: Kind, document: Any) -> None:
        """A line that is put together here."""
        data = canonical(document)
        self._target.write(data + b"\n")
        self._digest.update(record_of(kind, sha256(data).hexdigest().encode()))
        if kind in COUNTED:
            self.counts[COUNTED[kind]] += 1

    def carry(self, lines: Iterable[Iterable[Carried]]) -> None:
        """Lines that carry stored bytes."""
        for some in lines:
            for portion in [some] if isinstance(some, list) else _portions(some):
                self._carry(portion)

    def _carry(self, portion: Sequence[Carried]) -> None:
        """Some lines with one write. There are millions, so nothing is done line by line."""
        if not portion:
            return
        kinds, carried, digests = zip(*portion, strict=True)
        opened = zip(map(_OPENINGS.__getitem__, kinds), carried, repeat(b"}\n"), strict=False)
        self._target.write(b"".join(chain.from_iterable(opened)))
        records = zip(map(_RECORDS.__getitem__, kinds), digests, strict=True)
        self._digest.update(b"".join(chain.from_iterable(records)))
        for kind in _CARRYING:
            self.counts[COUNTED[kind]] += kinds.count(kind)

    def end(self) -> Json:
        """The footer, which was written."""
        footer = {"counts": self.counts, "digest": "sha256:" + self._digest.hexdigest()}
        self._target.write(canonical({"footer": footer}) + b"\n")
        return footer


def _portions(lines: Iterable[Carried]) -> Iterator[list[Carried]]:
    """Lines, so many at a time as are worth a write."""
    portion: list[Carried] = []
    size = 0
    for one in lines:
        portion.append(one)
        size += len(one[1])
        if size > _WRITE_BYTES:
            yield portion
            portion, size = [], 0
    yield portion


def carriage(departure: Departure) -> Iterator[Iterable[Carried]]:
    """Every ledger line of a scope, and behind it the version that it commits; some at once."""
    with StoredBytes(departure.scope.layout) as stored:
        if departure.is_plain:
            yield from _as_it_is(departure, stored)
        else:
            yield _as_it_may(departure, stored)


def _as_it_is(departure: Departure, stored: StoredBytes) -> Iterator[Iterable[Carried]]:
    """A whole scope with all its content."""
    layout, position = departure.scope.layout, departure.position
    places = departure.scope.index.passage.places(position.sequence)
    for lines, digests in ledger_windows(layout, position.offset):
        addresses = named_addresses(lines)
        named = [address for address in addresses if address is not None]
        there = list(islice(places, len(named)))
        erased = any(map(_ERASED, there))
        size = sum(map(_LENGTH, there))
        if erased or len(there) < len(named) or size > _TOGETHER_BYTES:
            yield _one_by_one(departure, stored, zip(lines, digests, strict=True), iter(there))
            continue
        entries = zip(repeat(_LEDGER), lines, digests, strict=False)
        versions = zip(repeat(_VERSION), stored.versions(named, there), named, strict=False)
        some: list[Carried] = []
        for entry, address in zip(entries, addresses, strict=True):
            some.append(entry)
            if address is not None:
                some.append(next(versions))
        yield some


def _one_by_one(
    departure: Departure,
    stored: StoredBytes,
    lines: Iterable[tuple[bytes, bytes]],
    places: Iterator[Place],
) -> Iterator[Carried]:
    """Lines with what some of them commit, where that is large, or erased."""
    for line, digest in lines:
        yield "ledger", line, digest
        (address,) = named_addresses([line])
        if address is None:
            continue
        place = next(places, None)
        if place is None:
            raise _unknown(address)
        if place[3]:
            stub = _stub(departure, stored, address, place)
            yield "stub", stub, _hexadecimal(stub)
        else:
            (data,) = stored.versions([address], [place])
            yield "version", data, address


def _as_it_may(departure: Departure, stored: StoredBytes) -> Iterator[Carried]:
    """What of a scope may leave it, and as much of its content."""
    lines = ledger_lines(departure.scope.layout, departure.position.offset)
    versions = departure.scope.index.passage.versions(departure.position.sequence)
    for line, digest in lines:
        (address,) = named_addresses([line])
        version = None if address is None else next(versions, None)
        if not departure.discloses(line):
            leaf = b'"%b"' % leaf_hash(line).hex().encode()
            yield "leaf", leaf, _hexadecimal(b'{"leaf":%b}' % leaf)
            continue
        yield "ledger", line, digest
        if address is None:
            continue
        if version is None:
            raise _unknown(address)
        place = (version.pack, version.offset, version.length, version.erased, version.since)
        if version.erased:
            stub = _stub(departure, stored, address, place)
            yield "stub", stub, _hexadecimal(stub)
            continue
        (data,) = stored.versions([address], [place])
        if departure.withholds(version):
            stub = _withheld(data, address)
            yield "stub", stub, _hexadecimal(stub)
        else:
            yield "version", data, address


def _stub(departure: Departure, stored: StoredBytes, address: bytes, place: Place) -> bytes:
    """The stub of a version that was erased, or that came without its content. Where an
    erasure has not come to removing the bytes yet, it is made as the erasure will."""
    pack, offset, length, *_ = place
    data = stored.stub(address, pack, offset, length)
    if data is not None:
        return data
    scope, wanted = departure.scope, f"sha256:{address.decode()}"
    for entry in scope.index.boundaries.entries("erasure"):
        body = scope.entry(entry)["body"]
        if body["address"] == wanted:
            row = scope.index.version(body["version_id"])
            assert row is not None
            return stub_bytes(scope.envelope(row), body)
    raise _unknown(address)


def _withheld(data: bytes, address: bytes) -> bytes:
    envelope, _ = parsed_version(data)
    if envelope is None:
        raise _unknown(address)
    return withheld_stub(envelope, f"sha256:{address.decode()}")


def _unknown(address: bytes) -> StoreDamaged:
    return StoreDamaged(
        f"the version sha256:{address.decode()} is not where the index has it",
        hint="run `pamctl index rebuild`, and `pamctl fsck` if that does not help",
        address=f"sha256:{address.decode()}",
    )


def _hexadecimal(data: bytes) -> bytes:
    return sha256(data).hexdigest().encode()
