"""Checks a bundle by itself: no store, no key, nothing that came with it believed.

All that `check` finds in the ledgers and versions of a store is found here too, and named
alike; what is wrong with the bundle as such besides. Memory is bounded, whatever the file is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from pamctl.audit.bundle_kinds import ASK
from pamctl.audit.comparison import compare_addresses, compare_objects
from pamctl.audit.facts import ADDRESS, PART_LEDGER_BYTES, Facts
from pamctl.audit.finding_kinds import VERDICT
from pamctl.audit.findings import Finding, Findings
from pamctl.audit.ledger import LedgerScan
from pamctl.audit.names import compare_names
from pamctl.audit.pins import Pin, Pins, PinWatch
from pamctl.audit.reading import Line, parsed
from pamctl.audit.versions import VersionReader
from pamctl.crypto.merkle import CompactRange, leaf_hash
from pamctl.encoding.digests import is_sha256_digest, sha256_digest
from pamctl.limits import INTEGER_MAX
from pamctl.model.bundles import Fault, Item, scan_bundle
from pamctl.model.documents import is_valid

Json = dict[str, Any]
Opener = Callable[[], IO[bytes]]
_COMPRESSION_GUESS = 8
_FOLLOWS_FROM_HOLES = frozenset(
    (
        "erasure-without-authority",
        "version-sequence-gap",
        "transition-illegal",
        "relationship-dangling",
        "idempotency-mismatch",
        "version-missing",
    )
)
"""What entries that are not shown or could not be read make of the others, and no fault."""


def verify_bundle(
    opener: Opener, scratch: Path, *, name: str = "-", pins: Pins | None = None
) -> Json:
    """Check the bundle that `opener` opens, from its beginning each time.

    Arguments:
        scratch: an empty folder for what is noted on the way.
        name: of the file, in findings.
        pins: heads that were kept elsewhere, by scope id.

    Returns `valid`, `findings`, `counts` of findings by id, `digest`, `kind` and `withheld` of
    the bundle (None where it does not say), and `scopes`, each with `scope_id`, `store_id`,
    `head`, `entries`, `events`, `versions`, `tail`, and of a selection `root`.
    """
    return _Verification(opener, scratch, name, pins or Pins()).run()


class _Verification:
    """One look at a bundle."""

    def __init__(self, opener: Opener, scratch: Path, name: str, pins: Pins) -> None:
        self._opener = opener
        self._scratch = scratch
        self._name = name
        self._pins = pins
        self._findings = Findings()
        self._header: Json = {"scopes": [], "kind": None, "withheld": None}
        self._digest: str | None = None
        self._scopes: list[_Scope] = []
        self._parts = 1

    def run(self) -> Json:
        with self._opener() as source:
            self._parts = 1 + _size(source) * _COMPRESSION_GUESS // PART_LEDGER_BYTES
            with Facts(self._scratch, self._parts) as facts:
                self._read(source, facts)
        for scope in self._scopes:
            scope.scan.explain(self._again(scope.place))
        self._compare()
        answers = [scope.judge(self._name, self._findings) for scope in self._scopes]
        self._require_scopes()
        return self._answer(answers)

    def _read(self, source: IO[bytes], facts: Facts) -> None:
        scope: _Scope | None = None
        for found in scan_bundle(source):
            if isinstance(found, Fault):
                offset = found.offset
                self._add(f"bundle-{found.cause}", f"line {found.number}: {found.message}", offset)
                if scope is not None and found.cause in ("line-invalid", "line-too-long"):
                    scope.scan.pass_over()
                if scope is not None and found.cause in ("cut", "compression-invalid"):
                    scope.scan.holes = True
            elif found.kind == "header":
                self._header = found.value
            elif found.kind == "scope":
                scope = self._begin(found.value, facts)
            elif found.kind == "footer":
                self._digest = found.value["digest"]
            elif scope is not None:
                scope.take(found)
        for one in self._scopes:
            one.scan.end()

    def _begin(self, scope_id: str, facts: Facts) -> _Scope | None:
        """A scope that the header lists; of others nothing can be said."""
        for told in self._header["scopes"]:
            if told["scope_id"] == scope_id and all(s.scope_id != scope_id for s in self._scopes):
                place = len(self._scopes)
                watch = PinWatch(self._pins.of(scope_id))
                scope = _Scope(place, told, self._name, watch, facts, self._findings)
                self._scopes.append(scope)
                return scope
        return None

    def _again(self, place: int) -> Iterator[Line]:
        """The ledger lines of a scope once more."""
        at = -1
        with self._opener() as source:
            for found in scan_bundle(source):
                if isinstance(found, Fault):
                    continue
                at += found.kind == "scope"
                if at == place and found.kind == "ledger":
                    yield Line(found.offset, found.data, True)

    def _compare(self) -> None:
        ids = {scope.folder: scope.scope_id for scope in self._scopes}
        for part in range(self._parts):
            with Facts(self._scratch, self._parts) as facts:
                compare_addresses(
                    self._scratch,
                    part,
                    facts,
                    self._findings,
                    scopes=ids,
                    complete=dict.fromkeys(ids, INTEGER_MAX),
                    folders={scope_id: folder for folder, scope_id in ids.items()},
                    brought=dict.fromkeys(ids, INTEGER_MAX),
                )
        for part in range(self._parts):
            compare_names(self._scratch, part, self._findings, scopes=ids)
            compare_objects(self._scratch, part, self._findings, scopes=ids)
        # What is compared is called by where it stands in a store.
        for number, finding in enumerate(self._findings.kept):
            if finding.path is not None and finding.path.startswith("scopes/"):
                self._findings.kept[number] = finding._replace(path=self._name)

    def _require_scopes(self) -> None:
        there = {scope.scope_id for scope in self._scopes}
        for scope_id in self._pins.by_scope:
            if scope_id not in there:
                message = f"a head was given for {scope_id}, which is not in the bundle"
                self._findings.add("bundle-scope-absent", message, path=self._name)

    def _add(self, id_: str, message: str, offset: int) -> None:
        self._findings.add(id_, message, path=self._name, offset=offset)

    def _answer(self, scopes: list[Json]) -> Json:
        counts: dict[str, int] = {}
        for (_, id_), count in self._findings.counts.items():
            counts[id_] = counts.get(id_, 0) + count
        return {
            "bundle": self._name,
            "valid": VERDICT.isdisjoint(counts),
            "kind": self._header["kind"],
            "withheld": self._header["withheld"],
            "digest": self._digest,
            "scopes": scopes,
            "findings": [_document(finding) for finding in self._findings.kept],
            "counts": counts,
        }


class _Scope:
    """One scope of a bundle, read line by line."""

    def __init__(
        self,
        place: int,
        told: Json,
        name: str,
        watch: PinWatch,
        facts: Facts,
        findings: Findings,
    ) -> None:
        self.place = place
        self.told = told
        self.scope_id: str = told["scope_id"]
        # A folder of its own in the scratch files; not one that the scope's id could choose.
        self.folder = f"bundled-{place}"
        self._name = name
        self._watch = watch
        self._facts = facts
        self._findings = findings
        members = ("scope_id", "scope_kind", "parent_scope_id")
        scope = {member: told[member] for member in members if member in told}
        store_id = told["store_id"]
        self.scan = LedgerScan(name, self.folder, scope, store_id, facts, watch, findings)
        self._reader = VersionReader(Path(), self.folder, self.scope_id, facts, findings)
        self._entries = 0
        self._committed: str | None = None
        self._tree = CompactRange() if "root" in told else None
        # Of the ledgers that checkpoints are of, by their entries: the roots over these lines.
        self._roots = {pin.entries: "" for pin in watch.pins if pin.root is not None}

    def take(self, item: Item) -> None:
        """The next line of this scope."""
        if item.kind in ("version", "stub"):
            self._version(item)
            return
        if item.kind == "embedding":
            value = parsed(item.data)
            if value is None or not is_valid("bundle-embedding", value):
                self._report("bundle-line-invalid", "no embedding stands here", item.offset)
            return
        self._entries += 1
        self._committed = None
        if item.kind == "leaf":
            self.scan.pass_over()
            leaf = bytes.fromhex(item.value)
        else:
            self.scan.take(Line(item.offset, item.data, True))
            if self._tree is not None and self.scan.n != self._entries:
                message = f"the entry says that it is entry {self.scan.n}, and is {self._entries}"
                self._report("ledger-counters-wrong", message, item.offset)
            value = parsed(item.data)
            version = None if value is None else value.get("version")
            self._committed = str(version) if is_sha256_digest(version) else None
            leaf = leaf_hash(item.data)
        if self._tree is not None:
            self._tree.append(leaf)
            if self._entries in self._roots:
                self._roots[self._entries] = self._tree.root().hex()

    def _version(self, item: Item) -> None:
        """What stands behind a ledger line, which must be what that line commits."""
        address: Any = sha256_digest(item.data)
        if item.kind == "stub":
            value = parsed(item.data) or {}
            named = value.get("withheld", value.get("erased"))
            address = named.get("address") if isinstance(named, dict) else None
        if self._committed is not None and address != self._committed:
            self._findings.add(
                "version-altered",
                "the bytes are not those of the version that the line before commits",
                scope_id=self.scope_id,
                path=self._name,
                offset=item.offset,
                subject=self._committed,
            )
            self._facts.put(ADDRESS, self.folder, self._committed, "damaged")
            return
        self._reader.read_line(item.data, self._name, item.offset)

    def judge(self, name: str, findings: Findings) -> Json:
        """Hold the ledger's end against the header and the pins; what there is to say of it."""
        told, state = self.told, self.scan.state(0)
        answer = {
            "scope_id": self.scope_id,
            "store_id": told["store_id"],
            "head": told["head"] if self._tree is not None else state.head,
            "entries": self._entries,
            "events": state.events,
            "versions": state.versions,
        }
        if self._tree is not None:
            root = self._tree.root().hex()
            answer |= {"root": root, "tail": self._judge_selection(root)}
            findings.drop(self.scope_id, _FOLLOWS_FROM_HOLES | {"ledger-transaction-incomplete"})
            return answer
        if not state.holes:
            found = (state.head, state.entries, state.events)
            if found != (told["head"], told["entries"], told["sequence"]):
                message = "the ledger does not end where the header says"
                self._report("bundle-head-wrong", message, None)
        pinned = self._watch.judge(
            findings, entries=state.entries, scope_id=self.scope_id, path=name
        )
        if state.holes:
            findings.drop(self.scope_id, _FOLLOWS_FROM_HOLES)
        return {**answer, "tail": "pinned" if pinned else "unpinned"}

    def _judge_selection(self, root: str) -> str:
        """A head is the digest of the last line alone, so it proves nothing of a selection that
        does not show all lines: its root does, where a signed checkpoint has it."""
        told = self.told
        if (root, self._entries) != (told["root"], told["entries"]):
            self._report("bundle-root-wrong", "lines or leaves are not those of the root", None)
        for pin in self._watch.pins:
            fault = self._contradiction(pin)
            if fault is not None:
                self._report(*fault, None)
        if any((pin.root, pin.entries) == (root, self._entries) for pin in self._watch.pins):
            return "pinned"
        self._report(
            "ledger-tail-unpinned",
            "a head proves nothing of a selection; a signed checkpoint pins its root",
            None,
        )
        return "unpinned"

    def _contradiction(self, pin: Pin) -> tuple[str, str] | None:
        """The finding, and what it says, where this is not what a pin is of."""
        told, entries = self.told, self.told["entries"]
        if pin.entries is not None and pin.entries > entries:
            message = f"the ledger has {entries} entries, and {pin.entries} is what {pin.source}"
            return "ledger-tail-cut", message
        if pin.root is not None and self._roots[pin.entries] != pin.root:
            return "ledger-forked", f"the first {pin.entries} lines are not what {pin.source}"
        if pin.entries in (None, entries) and pin.head not in (None, told["head"]):
            return "ledger-forked", (
                f"the header names another head than the one that {pin.source}; whether a "
                "selection goes on from there, only a signed checkpoint shows"
            )
        return None

    def _report(self, id_: str, message: str, offset: int | None) -> None:
        self._findings.add(id_, message, scope_id=self.scope_id, path=self._name, offset=offset)


def _document(finding: Finding) -> Json:
    """A finding as JSON; what helps a store does not help a file."""
    told = finding.document()
    if told["severity"] != "notice" and not finding.id.startswith("bundle-"):
        told["remedy"] = ASK
    return told


def _size(source: IO[bytes]) -> int:
    size = source.seek(0, os.SEEK_END)
    source.seek(0)
    return size
