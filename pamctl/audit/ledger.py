"""Reads one ledger as data and says everything that is wrong with it by itself.

What entries say about versions, and about each other, becomes facts for `comparison`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pamctl.audit.bodies import Bodies, Place
from pamctl.audit.chain import BREAKS_MAX, Break, causes
from pamctl.audit.facts import Facts
from pamctl.audit.findings import Findings
from pamctl.audit.ledger_state import CHAIN_START, LedgerState
from pamctl.audit.pins import PinWatch
from pamctl.audit.reading import Line, kind_of, lines, open_plain, parsed, repeats_member
from pamctl.encoding.canonical import is_canonical
from pamctl.encoding.digests import sha256_hex

_MEMBERS = {"n", "tx", "i", "of", "kind", "prev", "body"}
_MARKERS = (b"<<<<<<< ", b"||||||| ", b"=======", b">>>>>>> ")
_BOM = b"\xef\xbb\xbf"


def read_ledger(
    path: Path,
    shown: str,
    *,
    folder: str,
    scope: dict[str, Any],
    store_id: str | None,
    facts: Facts,
    pins: PinWatch,
    findings: Findings,
) -> LedgerState:
    """Read the ledger at `path` once, and once more where its chain does not hold.

    shown: its name in findings. folder: of the scope, under which facts are put. scope: the
    scope's `scope.json`.
    """
    descriptor = open_plain(path)
    scope_id = scope["scope_id"]
    if descriptor is None:
        if kind_of(path) is None:
            findings.add("ledger-missing", "there is no ledger", scope_id=scope_id, path=shown)
        return LedgerState(CHAIN_START, 0, 0, 0, 0, 0, True)
    try:
        size = os.fstat(descriptor).st_size
        scan = LedgerScan(shown, folder, scope, store_id, facts, pins, findings)
        for line in lines(descriptor, size):
            scan.take(line)
        scan.end()
        scan.explain(lines(descriptor, size))
        if scan.lines == 0 and not scan.holes:
            scan.report("ledger-missing", "the ledger is empty", None)
            scan.holes = True
        return scan.state(size)
    finally:
        os.close(descriptor)


class LedgerScan:
    """One pass over a ledger, wherever its lines stand.

    path: what findings call the file. folder: under which facts are put.
    """

    def __init__(
        self,
        path: str,
        folder: str,
        scope: dict[str, Any],
        store_id: str | None,
        facts: Facts,
        pins: PinWatch,
        findings: Findings,
    ) -> None:
        self._path = path
        self._scope_id = scope["scope_id"]
        self._pins = pins
        self._findings = findings
        self.breaks: list[Break] = []
        self.holes = False
        self.lines = 0
        # Of the last line that was read, and of the last one that ended a transaction.
        self._head, self._n, self._tx, self._i, self._of = CHAIN_START, 0, 0, 0, 0
        self._whole = (CHAIN_START, 0, 0, 0, 0)
        # False behind a line that could not be read: what follows is taken as it says.
        self._knows_place = True
        self._lost_at: int | None = None
        self._torn = False
        self._bodies = Bodies(folder, scope, store_id, facts, self.report)

    def report(
        self, id_: str, message: str, offset: int | None, subject: str | None = None
    ) -> None:
        """Add a finding about this ledger."""
        self._findings.add(
            id_,
            message,
            scope_id=self._scope_id,
            path=self._path,
            offset=offset,
            subject=subject,
        )
        if id_ in ("ledger-chain-broken", "ledger-forked", "ledger-reordered"):
            self.holes = True

    def explain(self, ledger: Iterator[Line]) -> None:
        """Report what became of a chain that does not hold; `ledger` gives all lines again."""
        if self.breaks:
            found = causes(self.breaks, ledger)
            for one in self.breaks:
                message = "the entry does not follow the line before it"
                self.report(found[one.offset], message, one.offset)

    def pass_over(self) -> None:
        """There is an entry here that is not shown, between those that are."""
        self._n += 1
        self._tx = self._i = self._of = 0
        self._knows_place = False
        self.holes = True

    @property
    def n(self) -> int:
        """The count of the last entry, by its own word."""
        return self._n

    def state(self, size: int) -> LedgerState:
        """What was read, when all was."""
        return LedgerState(*self._whole, size, self.holes, self._bodies.snapshots)

    def take(self, line: Line) -> None:
        """Take in the next line."""
        if not line.ended:
            self._torn = True
            self.holes = True
            if line.data is None:
                self._unreadable("ledger-line-too-long", "the line is longer than any entry", line)
            else:
                self.report(
                    "ledger-torn-tail",
                    f"the ledger ends within a line, {len(line.data)} bytes long",
                    line.offset,
                )
            return
        if line.data is None:
            self._unreadable("ledger-line-too-long", "the line is longer than any entry", line)
            return
        data, value = self._object(line, line.data)
        if value is None:
            return
        if self._lost_at is not None:
            self.report("ledger-bytes-lost", "whole entries stand behind zero bytes", self._lost_at)
            self._lost_at = None
        self._form(value, data, line.offset)
        if not self._place(value, data, line.offset):
            self.holes = True
            self._head = sha256_hex(data)
            self._knows_place = False
            return
        place = Place(self._n, self._tx, line.offset, self._knows_place)
        self._knows_place = True
        self.holes |= not self._bodies.take(value, place)
        if self._i == self._of:
            end = line.offset + len(line.data) + 1
            self._whole = (self._head, self._n, self._bodies.events, self._bodies.versions, end)

    def end(self) -> None:
        """Judge where the ledger ends."""
        entries = self._whole[1]
        if self._lost_at is not None:
            self.holes = True
            self.report("ledger-torn-tail", "the ledger ends in zero bytes", self._lost_at)
        elif self._n != entries and not self._torn:
            self.report(
                "ledger-transaction-incomplete",
                f"the last transaction has {self._i} of {self._of} entries",
                None,
            )

    def _unreadable(self, id_: str, message: str, line: Line) -> None:
        self.report(id_, message, line.offset)
        self.lines += 1
        self.holes = True
        self._knows_place = False

    def _object(self, line: Line, data: bytes) -> tuple[bytes, Any]:
        """The line without what git or an editor added, and the object in it, None for none."""
        if data.startswith(_MARKERS):
            self._unreadable("ledger-line-mangled", "the line is a conflict marker", line)
            return data, None
        bare = data.removeprefix(_BOM).removesuffix(b"\r")
        if bare != data:
            self.report(
                "ledger-line-mangled",
                "the line begins with a byte order mark or ends in a carriage return",
                line.offset,
            )
        value = parsed(bare)
        if value is not None:
            return bare, value
        if b"\x00" in data:
            if self._lost_at is None:
                self._lost_at = line.offset
            self.holes = True
            self._knows_place = False
        else:
            self._unreadable("ledger-line-not-json", "the line is no JSON object", line)
        return bare, None

    def _form(self, value: Any, data: bytes, offset: int) -> None:
        self.lines += 1
        if not is_canonical(value, data):
            if repeats_member(data):
                self.report("ledger-member-repeated", "a member stands twice", offset)
            else:
                self.report("ledger-line-not-canonical", "the line is not canonical JSON", offset)

    def _place(self, value: dict[str, Any], data: bytes, offset: int) -> bool:
        """Check chain and counters, and go on from here; False where there is nothing to go
        on from."""
        counters = [value.get(name) for name in ("n", "tx", "i", "of")]
        prev = value.get("prev")
        if not value.keys() >= _MEMBERS or not isinstance(prev, str):
            self.report("ledger-entry-invalid", "the entry lacks members of every entry", offset)
            return False
        if self._knows_place and prev != self._head:
            if len(self.breaks) < BREAKS_MAX:
                self.breaks.append(Break(offset, prev))
            else:
                self.report("ledger-chain-broken", "the entry does not follow its line", offset)
            self._knows_place = False
        if any(type(counter) is not int for counter in counters):
            self.report("ledger-counters-wrong", "the counters are not integers", offset)
            return False
        n, tx, i, of = (int(counter or 0) for counter in counters)
        within = self._i < self._of
        expected = (
            (self._n + 1, self._tx, self._i + 1, self._of)
            if within
            else (self._n + 1, self._n + 1, 1, of)
        )
        if self._knows_place and ((n, tx, i, of) != expected or i > of):
            self.report(
                "ledger-counters-wrong",
                f"n, tx, i, of are {n}, {tx}, {i}, {of}; by the entry before, n, tx, i should be "
                + ", ".join(str(counter) for counter in expected[:3]),
                offset,
            )
            self._n = self._n + 1
            self._tx, self._i, self._of = (tx, i, of) if i <= of else (self._n, 1, 1)
        else:
            self._n, self._tx, self._i, self._of = n, tx, i, of
        self._head = sha256_hex(data)
        self._pins.see(self._n, self._head)
        return True
