"""Holds what snapshots are sealed with against what the ledger says was there.
`store-format/snapshots.md`.

A digest is over everything that a scope held, in the order of ids, and a ledger is in the order
of time. So what entries say is sorted on scratch files, and all snapshots of a scope are gone
through at once, object by object.
"""

from __future__ import annotations

import heapq
import marshal
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from pamctl.audit.entry_terms import identifier_of
from pamctl.audit.findings import Findings
from pamctl.audit.reading import lines, open_plain, parsed, shown
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import ScopeLayout

_ALGORITHM, _PROFILE = "sha-256", "pamctl-snapshot-1"
_RUN_ROWS = 50_000
_BATCH_ROWS = 2_000
_SNAPSHOTS_AT_ONCE = 64

Row = tuple[bytes, int, str, str]
"""What an event says: the id in UTF-8, its ledger sequence, the version's id and address."""


class _Sealed(NamedTuple):
    """A snapshot: where its entry begins, and what it says of itself."""

    offset: int
    snapshot_id: str
    as_of: int
    digest: str
    included: frozenset[str] | None
    spaces: Sequence[str]


def check_snapshots(
    root: Path, scope_id: str, scope: ScopeLayout, end: int, scratch: Path
) -> Findings:
    """Report each snapshot in the first `end` bytes of a ledger, in which nothing else is
    wrong, whose digest is not that of what was there. scratch: an empty folder.

    A snapshot that names objects takes in the relationships between them, and what those join
    is written in versions. Where one of these cannot be read, it joins nothing.
    """
    findings = Findings()
    with _SortedRows(scratch) as rows:
        sealed, spaces = _read(scope.ledger, end, rows)
        wanted = frozenset[str]().union(*(one.included or () for one in sealed))
        ends = _ends_among(scope, scope_id, wanted) if wanted else {}
        for first in range(0, len(sealed), _SNAPSHOTS_AT_ONCE):
            some = sealed[first : first + _SNAPSHOTS_AT_ONCE]
            for one, digest in zip(some, _digests(some, rows, ends, spaces), strict=True):
                if digest != one.digest:
                    findings.add(
                        "snapshot-digest-wrong",
                        f"by the ledger the digest is {digest}",
                        scope_id=scope_id,
                        path=shown(root, scope.ledger),
                        offset=one.offset,
                        subject=one.snapshot_id,
                    )
    return findings


def _read(path: Path, end: int, rows: _SortedRows) -> tuple[list[_Sealed], dict[str, str]]:
    """The snapshots of a ledger that can be checked, and the digests of its spaces; what was
    committed goes into `rows`."""
    sealed: list[_Sealed] = []
    spaces: dict[str, str] = {}
    descriptor = open_plain(path)
    if descriptor is None:
        return sealed, spaces
    try:
        for line in lines(descriptor, end):
            value = parsed(line.data or b"") or {}
            kind, body = value.get("kind"), value.get("body", {})
            if kind == "event":
                identifier = identifier_of(body)
                delegates = str(body["event_type"]).startswith("delegation_")
                if "version" in value and identifier is not None and not delegates:
                    said = (body["sequence"], body["version_id"], value["version"])
                    rows.add((identifier.encode(), *said))
            elif kind == "space":
                space = body["space"]
                spaces[space["embedding_space_id"]] = sha256_digest(canonical(space))
            elif kind == "snapshot":
                found = _sealed(body["snapshot"], line.offset)
                if found is not None:
                    sealed.append(found)
    finally:
        os.close(descriptor)
    return sealed, spaces


def _sealed(snapshot: Mapping[str, Any], offset: int) -> _Sealed | None:
    """None for a snapshot without a digest, or with one over something else."""
    how = (snapshot.get("digest_algorithm"), snapshot.get("canonicalization_profile"))
    if "digest" not in snapshot or how != (_ALGORITHM, _PROFILE):
        return None
    included = snapshot.get("included_object_ids")
    return _Sealed(
        offset,
        snapshot["snapshot_id"],
        snapshot["ledger_sequence_high_watermark"],
        snapshot["digest"],
        None if included is None else frozenset(included),
        snapshot.get("included_embedding_space_ids", ()),
    )


def _ends_among(
    scope: ScopeLayout, scope_id: str, wanted: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    """For each version of a relationship, by its address, what it joins in this scope; of those
    that join nothing but `wanted`."""
    # Imported here: few snapshots are of some objects only.
    from pamctl.audit.holdings import versions_of

    found: dict[str, tuple[str, ...]] = {}
    for data in versions_of(scope):
        if b'"relationship_id":' not in data:
            continue
        value = parsed(data) or {}
        envelope = value.get("envelope")
        if not isinstance(envelope, dict) or "source_object_id" not in envelope:
            continue
        ends: tuple[str, ...] = (envelope["source_object_id"],)
        if envelope.get("target_scope_id", scope_id) == scope_id:
            ends = (*ends, envelope["target_object_id"])
        left = value.get("erased", value.get("withheld"))
        address = left["address"] if isinstance(left, dict) else sha256_digest(data)
        if wanted.issuperset(ends):
            found[address] = ends
    return found


def _digests(
    sealed: Sequence[_Sealed],
    rows: _SortedRows,
    ends: Mapping[str, tuple[str, ...]],
    spaces: Mapping[str, str],
) -> Iterator[str]:
    """The digest that each snapshot should have."""
    from hashlib import sha256

    running = [sha256(b'{"members":[') for _ in sealed]
    commas = [b""] * len(sealed)
    for identifier, versions in groupby(rows.merged(), itemgetter(0)):
        history, name = list(versions), identifier.decode()
        sequences = [row[1] for row in history]
        for place, one in enumerate(sealed):
            until = bisect_right(sequences, one.as_of)
            if until == 0:
                continue
            _, _, version_id, address = history[until - 1]
            joined = ends.get(address, ())
            if (
                one.included is None
                or name in one.included
                or (joined and one.included.issuperset(joined))
            ):
                member = orjson.dumps((name, version_id, address))
                running[place].update(commas[place] + member)
                commas[place] = b","
    for one, state in zip(sealed, running, strict=True):
        ids = sorted(one.spaces, key=str.encode)
        described = [[space, spaces.get(space, "")] for space in ids]
        state.update(b'],"spaces":' + orjson.dumps(described) + b"}")
        yield "sha256:" + state.hexdigest()


class _SortedRows:
    """Rows that are sorted on scratch files. A context manager; files are gone afterwards."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._rows: list[Row] = []
        self._runs: list[Path] = []

    def add(self, row: Row) -> None:
        """Take in a row."""
        self._rows.append(row)
        if len(self._rows) == _RUN_ROWS:
            self._spill()

    def merged(self) -> Iterator[Row]:
        """All rows in order."""
        self._rows.sort()
        return heapq.merge(self._rows, *(_run(path) for path in self._runs))

    def __enter__(self) -> _SortedRows:
        return self

    def __exit__(self, *failure: object) -> None:
        for path in self._runs:
            path.unlink()

    def _spill(self) -> None:
        self._rows.sort()
        path = self._scratch / f"run-{len(self._runs)}"
        self._runs.append(path)
        with open(path, "wb") as file:
            for first in range(0, len(self._rows), _BATCH_ROWS):
                marshal.dump(self._rows[first : first + _BATCH_ROWS], file)
        self._rows.clear()


def _run(path: Path) -> Iterator[Row]:
    with open(path, "rb") as file:
        while file.peek(1):
            yield from marshal.load(file)
