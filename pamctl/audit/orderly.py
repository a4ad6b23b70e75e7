"""The proof that a store is orderly, which is most of what there is to check, and the quick way.

Ledgers, packs and version files are read once, each as it would have been written, and what they
say becomes records that have to fit: each version with the one event that commits it, each stub
with its erasure, the versions of an object with one another, and each id with no second one.
Nothing is said of what does not fit: `check` looks at the whole store again then, with the
facts that findings are made of. So this may fail for a store in which nothing is wrong, and
must never succeed for another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pamctl.audit.disorder import disorder
from pamctl.audit.facts import NAME, Facts
from pamctl.audit.findings import Findings
from pamctl.audit.ledger_state import LedgersRead, LedgerState
from pamctl.audit.names import compare_names
from pamctl.audit.orderly_ledger import OrderlyLedger
from pamctl.audit.orderly_versions import OrderlyVersions
from pamctl.audit.pins import Pin, PinWatch
from pamctl.audit.reading import shown
from pamctl.audit.records import (
    COMMITTED,
    END,
    ERASURE,
    ONCE,
    PART_LEDGER_BYTES,
    PRESENT,
    PROMOTED,
    STUB,
    VECTOR,
    VERSION_ID,
    Records,
    records,
)
from pamctl.audit.signatures import SignatureCheck
from pamctl.audit.surroundings import ScopeFolder
from pamctl.audit.transitions import DELETED, EARLIER_NOT_GIVEN, PROMOTION, illegal_step
from pamctl.audit.units import size_of, units
from pamctl.audit.workers import Run
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import StoreLayout


class _Place(NamedTuple):
    """Where records are put, and in how many parts they meet."""

    scratch: Path
    parts: int


def prove(
    layout: StoreLayout,
    scopes: Sequence[ScopeFolder],
    *,
    store_ids: Mapping[str, str | None],
    pins: Mapping[str, tuple[Pin, ...]],
    scratch: Path,
    jobs: int,
    run: Run,
) -> LedgersRead:
    """Prove that nothing is wrong with the ledgers and the versions of `scopes`.

    store_ids: by folder, of the store that the ledger began in, None where nobody knows. pins:
    by folder. scratch: an empty folder. Raises Disorder.
    """
    # Ledgers are measured before versions are looked for: what an entry names was durable
    # before it.
    sizes = {scope.folder: size_of(scope.layout(layout).ledger) for scope in scopes}
    place = _Place(scratch, max(jobs, 1 + sum(sizes.values()) // PART_LEDGER_BYTES))
    folders = {scope.scope_id: scope.folder for scope in scopes}
    tasks: list[tuple[int, str | None, Callable[[], Any]]] = [
        (
            sizes[scope.folder],
            scope.folder,
            partial(
                _read_ledger,
                *(layout, scope, sizes[scope.folder]),
                *(store_ids[scope.folder], pins[scope.folder], place),
            ),
        )
        for scope in scopes
    ]
    for scope, unit in units(layout, scopes):
        weight = sum(size_of(path) for path in unit)
        tasks.append((weight, None, partial(_read_unit, layout, scope, folders, unit, place)))
    # The largest first, so that the last ones to end are short.
    tasks.sort(key=lambda task: -task[0])
    states, watches, findings = {}, {}, Findings()
    results = run([task for _, _, task in tasks])
    for (_, folder, _), result in zip(tasks, results, strict=True):
        if folder is not None:
            states[folder], watches[folder], noticed = result
            findings.merge(noticed)
    for _ in run([partial(_meet, place.scratch, part) for part in range(place.parts)]):
        pass
    _require_descriptors(place.scratch, {scope.folder: scope.scope_id for scope in scopes})
    return LedgersRead(states, watches, findings)


def _read_ledger(
    layout: StoreLayout,
    scope: ScopeFolder,
    size: int,
    store_id: str | None,
    pins: tuple[Pin, ...],
    place: _Place,
) -> tuple[LedgerState, PinWatch, Findings]:
    findings, watch = Findings(), PinWatch(pins)
    path = scope.layout(layout).ledger
    with Records(*place) as written, Facts(place.scratch, 1) as descriptors:
        ledger = OrderlyLedger(
            *(shown(layout.root, path), scope.folder, scope.document, store_id),
            *(written, descriptors, findings),
        )
        state = ledger.read(path, size, watch)
    return state, watch, findings


def _read_unit(
    layout: StoreLayout,
    scope: ScopeFolder,
    folders: Mapping[str, str],
    unit: Sequence[Path],
    place: _Place,
) -> None:
    findings = Findings()
    with Records(*place) as written, Facts(place.scratch, 1) as descriptors:
        versions = OrderlyVersions(
            *(layout.root, scope.folder, scope.scope_id, folders, written, descriptors),
            SignatureCheck.of_store(layout),
        )
        sink = _VectorRecords(written, descriptors)
        for path in unit:
            if path.parent.name == "embeddings":
                from pamctl.audit.vectors import VectorReader

                VectorReader(layout.root, scope.folder, scope.scope_id, sink, findings).read(path)
            elif path.suffix == ".jsonl":
                versions.read_pack(path)
            else:
                versions.read_folder(path)
    if findings.counts:
        disorder("vectors of nothing")


class _VectorRecords:
    """Takes what is said of vectors: spaces are few, and versions are many."""

    def __init__(self, written: Records, descriptors: Facts) -> None:
        self._records = written
        self._descriptors = descriptors

    def put(self, about: str, scope: str, key: str, kind: str, *values: Any) -> None:
        """One fact, as Facts takes it."""
        if about == NAME:
            self._descriptors.put(about, scope, key, kind, *values)
        else:
            version = f"{scope} {key}"
            self._records.put(VECTOR, version, version)


def _meet(scratch: Path, part: int) -> None:
    """Everything in a part fits. Raises Disorder."""
    there: dict[bytes, tuple[int, str]] = {}
    count = 0
    for batch in records(scratch, PRESENT, part):
        count += len(batch)
        for linked, number, states in batch:
            there[linked] = number, states
    if len(there) != count:
        disorder("a version that is there twice")
    objects = _lineages(scratch, part, there)
    if there:
        disorder("a version that no event commits")
    if not _distinct(scratch, END, part, repeated=True) <= objects.keys():
        disorder("a relationship to nothing")
    version_ids = _distinct(scratch, VERSION_ID, part)
    if not _distinct(scratch, VECTOR, part, repeated=True) <= version_ids:
        disorder("a vector of nothing")
    _distinct(scratch, ONCE, part)
    if _distinct(scratch, ERASURE, part) != _distinct(scratch, STUB, part):
        disorder("erasures and stubs that differ")


def _lineages(
    scratch: Path, part: int, there: dict[bytes, tuple[int, str]]
) -> Mapping[str, tuple[int, str]]:
    """The last version of each object, when each follows the one before it; what was met is
    taken from `there`."""
    promotions = _distinct(scratch, PROMOTED, part, repeated=True)
    last: dict[str, tuple[int, str]] = {}
    for batch in records(scratch, COMMITTED, part):
        for about, linked, tx, condition in batch:
            found = there.pop(linked, None)
            if found is None:
                disorder("a version that is not there, or is not what its event says")
            before = last.get(about)
            last[about] = found
            if before is None:
                if found[0] != 1 and condition != EARLIER_NOT_GIVEN:
                    disorder("a first version with another number")
                continue
            if found[0] != before[0] + 1:
                disorder("a version with another number")
            given = PROMOTION if (about, tx) in promotions else condition
            if not _may_follow(before[1], found[1], given):
                disorder("a step that is not allowed")
    return last


@lru_cache(maxsize=4096)
def _may_follow(before: str, after: str, condition: str | None) -> bool:
    states = before.split(" ")
    if states[DELETED] == "deleted":
        return False
    return illegal_step(states, after.split(" "), condition) is None


def _distinct(scratch: Path, kind: str, part: int, *, repeated: bool = False) -> set[Any]:
    """The records of a kind. Raises Disorder for what is there twice, unless it may be
    repeated."""
    distinct: set[Any] = set()
    count = 0
    for batch in records(scratch, kind, part):
        count += len(batch)
        distinct.update(batch)
    if len(distinct) != count and not repeated:
        disorder("something that may be there once")
    return distinct


def _require_descriptors(scratch: Path, scopes: Mapping[str, str]) -> None:
    """Packs, snapshots and spaces fit. Raises Disorder."""
    findings = Findings()
    compare_names(scratch, 0, findings, scopes=scopes)
    if findings.counts:
        disorder("descriptors that do not fit")
