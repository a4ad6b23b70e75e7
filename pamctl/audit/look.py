"""The look, which says what is wrong with ledgers and versions that were not proven orderly.

Ledgers are read first and versions after: what an entry names was durable before it. What is
wrong with one thing by itself is reported; what it says becomes facts on scratch files. Facts
about the same address meet, then those about the same id or object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pamctl.audit.comparison import compare_addresses, compare_objects
from pamctl.audit.facts import Facts
from pamctl.audit.findings import Findings
from pamctl.audit.ledger import read_ledger
from pamctl.audit.ledger_state import LedgersRead, LedgerState
from pamctl.audit.names import compare_names
from pamctl.audit.pins import Pin, PinWatch
from pamctl.audit.reading import shown
from pamctl.audit.signatures import SignatureCheck
from pamctl.audit.surroundings import ScopeFolder
from pamctl.audit.units import units
from pamctl.audit.vectors import VectorReader
from pamctl.audit.versions import VersionReader
from pamctl.audit.workers import Run
from pamctl.store.layout import StoreLayout


def look(
    layout: StoreLayout,
    scopes: Sequence[ScopeFolder],
    *,
    store_ids: Mapping[str, str | None],
    pins: Mapping[str, tuple[Pin, ...]],
    brought: Mapping[str, int],
    scratch: Path,
    parts: int,
    run: Run,
) -> LedgersRead:
    """Say everything that is wrong with the ledgers and the versions of `scopes`.

    store_ids, pins: as for `orderly.prove`. brought: by folder, the last entry that an import
    brought. scratch: a folder for facts. parts: in how many parts they meet.
    """
    ledgers = [
        partial(
            _read_one_ledger,
            *(layout, scope, store_ids[scope.folder], pins[scope.folder], scratch, parts),
        )
        for scope in scopes
    ]
    states, watches, findings = {}, {}, Findings()
    for scope, (found, state, watch) in zip(scopes, run(ledgers), strict=True):
        findings.merge(found)
        states[scope.folder], watches[scope.folder] = state, watch

    def take(tasks: Iterable[Callable[[], Findings]]) -> None:
        for found in run(list(tasks)):
            findings.merge(found)

    take(
        partial(_read_versions, layout, scope, unit, scratch, parts)
        for scope, unit in units(layout, scopes)
    )
    ids = {scope.folder: scope.scope_id for scope in scopes}
    known: dict[str, Mapping[str, Any]] = {
        "scopes": ids,
        "folders": {scope_id: folder for folder, scope_id in ids.items()},
        "complete": {folder: state.entries for folder, state in states.items()},
        "brought": brought,
    }
    take(partial(_compare_addresses, scratch, part, parts, known) for part in range(parts))
    take(partial(_compare_rest, scratch, part, ids) for part in range(parts))
    return LedgersRead(states, watches, findings)


def _read_one_ledger(
    layout: StoreLayout,
    scope: ScopeFolder,
    store_id: str | None,
    pins: tuple[Pin, ...],
    scratch: Path,
    parts: int,
) -> tuple[Findings, LedgerState, PinWatch]:
    findings, watch = Findings(), PinWatch(pins)
    path = scope.layout(layout).ledger
    with Facts(scratch, parts) as facts:
        state = read_ledger(
            path,
            shown(layout.root, path),
            folder=scope.folder,
            scope=scope.document,
            store_id=store_id,
            facts=facts,
            pins=watch,
            findings=findings,
        )
    return findings, state, watch


def _read_versions(
    layout: StoreLayout,
    scope: ScopeFolder,
    unit: Sequence[Path],
    scratch: Path,
    parts: int,
) -> Findings:
    findings = Findings()
    with Facts(scratch, parts) as facts:
        signatures = SignatureCheck.of_store(layout)
        reader = VersionReader(
            layout.root, scope.folder, scope.scope_id, facts, findings, signatures
        )
        vectors = VectorReader(layout.root, scope.folder, scope.scope_id, facts, findings)
        for path in unit:
            if path.parent.name == "embeddings":
                vectors.read(path)
            elif path.suffix == ".jsonl":
                reader.read_pack(path)
            else:
                reader.read_folder(path)
    return findings


def _compare_addresses(
    scratch: Path, part: int, parts: int, known: Mapping[str, Mapping[str, Any]]
) -> Findings:
    findings = Findings()
    with Facts(scratch, parts) as facts:
        compare_addresses(scratch, part, facts, findings, **known)
    return findings


def _compare_rest(scratch: Path, part: int, ids: Mapping[str, str]) -> Findings:
    findings = Findings()
    compare_names(scratch, part, findings, scopes=ids)
    compare_objects(scratch, part, findings, scopes=ids)
    return findings
