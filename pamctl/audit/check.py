"""Checks a whole store: read-only, in parallel, in bounded memory.

1. The surroundings: `store.json`, folders, keys, and what is where it does not belong.
2. Ledgers, version files and packs are proven to be orderly, by as many processes as are asked
   for: `orderly`. That is all for a store in which nothing is wrong.
3. Where there is no proof, everything is read again, by those who say what is wrong: `look`.
4. Snapshots are held against ledgers in which nothing is wrong, and ledgers against pins.

Whoever writes meanwhile is not waited for: where something is found and a ledger has grown,
all of it is done again, because a version may have been seen without its entry. Where writers
never rest, what looks like one that died is not reported.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pamctl.audit.custody import Custody, read_custody
from pamctl.audit.disorder import Disorder
from pamctl.audit.facts import PART_LEDGER_BYTES
from pamctl.audit.finding_kinds import VERDICT
from pamctl.audit.findings import Findings
from pamctl.audit.ledger_state import LedgerState
from pamctl.audit.orderly import prove
from pamctl.audit.pins import Pins, PinWatch
from pamctl.audit.reading import is_locked, kind_of, parsed, whole
from pamctl.audit.surroundings import ScopeFolder, Surroundings, UnknownVersion
from pamctl.audit.units import size_of
from pamctl.audit.workers import Workers
from pamctl.errors import ScopeNotFound, StoreNotFound
from pamctl.store.layout import StoreLayout

_ATTEMPTS = 3
_PARALLEL_LEDGER_BYTES = 1024 * 1024
# What is found of these in a scope whose ledger has holes follows from the holes.
_CONSEQUENCES = frozenset(
    (
        "version-orphaned",
        "erasure-without-authority",
        "version-sequence-gap",
        "transition-illegal",
        "relationship-dangling",
        "idempotency-mismatch",
        "subscription-invalid",
        "descriptor-invalid",
        "embedding-orphaned",
    )
)
# What these are of a scope that is written to all the while, is its writer at work.
_UNDER_WAY = frozenset(
    (
        "version-orphaned",
        "leftover-file",
        "ledger-torn-tail",
        "ledger-transaction-incomplete",
        "custody-unfinished",
    )
)


def check_store(
    root: Path,
    scratch: Path,
    *,
    scope_id: str | None = None,
    jobs: int = 1,
    pins: Pins | None = None,
) -> dict[str, Any]:
    """Check the store at `root` and say all that was found.

    Arguments:
        scratch: an empty folder for what is noted on the way; about as large as the ledgers.
        scope_id: the one scope to check; else all.
        jobs: how many processes read and compare.
        pins: heads that were kept elsewhere.

    Returns `findings`, `scopes` (each with `scope_id`, `head`, `entries`, `events`,
    `versions`, `bytes`, `tail`), `clean`, `counts` of findings by id, and `store_id`. Nothing in
    the store is changed. Raises StoreNotFound where there is none, and ScopeNotFound.
    """
    layout = StoreLayout(root)
    if kind_of(layout.store_file) is None and kind_of(layout.scopes) is None:
        raise StoreNotFound(f"there is no store at {root}", hint="name one with --store DIR")
    for _ in range(_ATTEMPTS):
        work = scratch / "check"
        work.mkdir()
        once = _Check(layout, work, scope_id, jobs, pins or Pins())
        answer = once.run()
        shutil.rmtree(work)
        if answer["clean"] or not once.written_meanwhile():
            return answer
    return once.answer_beside_writers()


def identity(root: Path) -> tuple[str | None, list[str]]:
    """What the store at `root` says it is: its id, and the ids of its scopes. Nothing is
    believed by that, but pins have to be looked up by something."""
    layout = StoreLayout(root)
    config = parsed(whole(layout.store_file) or b"") or {}
    store_id = config.get("store_id")
    scopes = Surroundings(layout, Findings()).scopes()
    return store_id if isinstance(store_id, str) else None, [scope.scope_id for scope in scopes]


class _Check:
    """One look at everything."""

    def __init__(
        self, layout: StoreLayout, scratch: Path, scope_id: str | None, jobs: int, pins: Pins
    ) -> None:
        self._layout = layout
        self._scratch = scratch
        self._scope_id = scope_id
        self._jobs = jobs
        self._pins = pins
        self._findings = Findings()
        self._states: dict[str, LedgerState] = {}
        self._store_id: str | None = None
        self._scopes: Sequence[ScopeFolder] = ()
        self._tails: dict[str, str] = {}
        self._custody: dict[str, Custody] = {}
        self._parts = 1
        self._workers = Workers(1)

    def run(self) -> dict[str, Any]:
        """Check, and say what was found."""
        around = Surroundings(self._layout, self._findings)
        try:
            config = around.store_file()
        except UnknownVersion as unknown:
            self._findings.add("format-version-unknown", str(unknown), path="store.json")
            return self._answer()
        store_id = None if config is None else config.get("store_id")
        self._store_id = store_id = store_id if isinstance(store_id, str) else None
        around.root()
        around.keys()
        around.projections()
        everything = around.scopes()
        chosen = [s for s in everything if self._scope_id in (None, s.scope_id)]
        if self._scope_id is not None and not chosen:
            raise ScopeNotFound(f"there is no scope {self._scope_id}")
        if self._scope_id is None:
            self._pins.judge_absent(self._findings, self._layout, {s.scope_id for s in everything})
        for scope in chosen:
            around.scope_folder(scope)
            self._custody[scope.folder] = read_custody(self._layout, scope, self._findings)
        self._divide(chosen)
        with self._workers:
            watches = self._prove(chosen, store_id)
            if watches is None:
                watches = self._look(chosen, store_id)
            self._look_at_snapshots(chosen)
        self._scopes = chosen
        for scope in chosen:
            state = self._states[scope.folder]
            around.subscriptions(scope, state.events)
            self._tails[scope.scope_id] = self._judge_tail(scope, state, watches[scope.folder])
        around.still_left_over()
        return self._answer()

    def written_meanwhile(self) -> list[str]:
        """The scopes that have a writer at work, or whose ledger is not as long any more as it
        was when it was read."""
        found = []
        for scope in self._scopes:
            place = scope.layout(self._layout)
            # In this order: a writer that lets go in between has committed before.
            writing = is_locked(place.lock)
            grown = kind_of(place.ledger) == "file"
            grown = grown and size_of(place.ledger) != self._states[scope.folder].size
            if writing or grown:
                found.append(scope.scope_id)
        return found

    def answer_beside_writers(self) -> dict[str, Any]:
        """The answer without what a writer at work looks like, where one was at work."""
        for scope_id in self.written_meanwhile():
            self._findings.drop(scope_id, _UNDER_WAY)
        return self._answer()

    def _divide(self, scopes: Sequence[ScopeFolder]) -> None:
        """Divide the work. Processes cost more to start than a small store takes to read."""
        size = sum(size_of(scope.layout(self._layout).ledger) for scope in scopes)
        self._parts = 1 + size // PART_LEDGER_BYTES
        if self._jobs > 1 and size >= _PARALLEL_LEDGER_BYTES:
            self._parts = max(self._jobs, self._parts)
            self._workers = Workers(self._jobs)

    def _prove(
        self, scopes: Sequence[ScopeFolder], store_id: str | None
    ) -> Mapping[str, PinWatch] | None:
        """Prove that nothing is wrong with what is read; None where there is no proof."""
        scratch = self._scratch / "orderly"
        scratch.mkdir()
        try:
            proven = prove(
                self._layout,
                scopes,
                store_ids=self._store_ids(scopes, store_id),
                pins={scope.folder: self._pins.of(scope.scope_id) for scope in scopes},
                scratch=scratch,
                jobs=self._jobs,
                run=self._workers.run,
            )
        except Disorder:
            return None
        finally:
            shutil.rmtree(scratch)
        self._states.update(proven.states)
        self._findings.merge(proven.findings)
        return proven.watches

    def _look(self, scopes: Sequence[ScopeFolder], store_id: str | None) -> Mapping[str, PinWatch]:
        """Say what is wrong with what could not be proven."""
        from pamctl.audit.look import look

        found = look(
            self._layout,
            scopes,
            store_ids=self._store_ids(scopes, store_id),
            pins={scope.folder: self._pins.of(scope.scope_id) for scope in scopes},
            brought={folder: one.to_entry for folder, one in self._custody.items()},
            scratch=self._scratch,
            parts=self._parts,
            run=self._workers.run,
        )
        self._states.update(found.states)
        self._findings.merge(found.findings)
        return found.watches

    def _store_ids(
        self, scopes: Sequence[ScopeFolder], store_id: str | None
    ) -> Mapping[str, str | None]:
        """The store that the ledger of each folder began in, as far as anybody knows."""
        return {scope.folder: self._custody[scope.folder].store_id or store_id for scope in scopes}

    def _look_at_snapshots(self, scopes: Sequence[ScopeFolder]) -> None:
        damaged = {scope_id for scope_id, id_ in self._findings.counts if id_ in VERDICT}
        tasks: list[Callable[[], Findings]] = []
        for scope in scopes:
            state = self._states[scope.folder]
            if state.snapshots and not state.holes and scope.scope_id not in damaged:
                from pamctl.audit.snapshots import check_snapshots

                scratch = self._scratch / f"snapshots-{len(tasks)}"
                scratch.mkdir()
                place = scope.layout(self._layout)
                asked = (self._layout.root, scope.scope_id, place, state.end, scratch)
                tasks.append(partial(check_snapshots, *asked))
        for findings in self._workers.run(tasks):
            self._findings.merge(findings)

    def _judge_tail(self, scope: ScopeFolder, state: LedgerState, watch: PinWatch) -> str:
        before = sum(self._findings.counts.get((scope.scope_id, id_), 0) for id_ in _BEYOND)
        pinned = watch.judge(
            self._findings,
            entries=state.entries,
            scope_id=scope.scope_id,
            path=f"scopes/{scope.folder}/ledger.jsonl",
        )
        after = sum(self._findings.counts.get((scope.scope_id, id_), 0) for id_ in _BEYOND)
        if state.holes or after > before:
            self._findings.drop(scope.scope_id, _CONSEQUENCES)
        return "pinned" if pinned else "unpinned"

    def _answer(self) -> dict[str, Any]:
        counts: dict[str, int] = {}
        for (_, id_), count in self._findings.counts.items():
            counts[id_] = counts.get(id_, 0) + count
        return {
            "store_id": self._store_id,
            "findings": [finding.document() for finding in self._findings.kept],
            "counts": counts,
            "scopes": [
                {
                    "scope_id": scope.scope_id,
                    "head": self._states[scope.folder].head,
                    "entries": self._states[scope.folder].entries,
                    "events": self._states[scope.folder].events,
                    "versions": self._states[scope.folder].versions,
                    "bytes": self._states[scope.folder].end,
                    "tail": self._tails[scope.scope_id],
                }
                for scope in self._scopes
            ],
            "clean": VERDICT.isdisjoint(counts),
        }


_BEYOND = ("ledger-tail-cut", "ledger-forked")
