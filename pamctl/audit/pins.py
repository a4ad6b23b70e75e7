"""Heads that are kept where a store's writers cannot change them, held against its ledgers.
`store-format/heads-and-pins.md`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pamctl.audit.findings import Findings
from pamctl.audit.reading import kind_of, shown
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import StoreLayout


class Pin(NamedTuple):
    """What somebody knows of a ledger from elsewhere.

    head: 64 hexadecimal digits, None where only the length is known.
    entries: how many entries the ledger had, None where only the head is known.
    source: who says so, in a few words.
    root: root of the Merkle tree over its lines, 64 hexadecimal digits, where a checkpoint is
        what is known: it proves a ledger of which some lines are only digests.
    """

    head: str | None
    entries: int | None
    source: str
    root: str | None = None


class Pins(NamedTuple):
    """What is known of the ledgers from elsewhere, by scope id."""

    by_scope: Mapping[str, tuple[Pin, ...]] = {}

    def of(self, scope_id: str) -> tuple[Pin, ...]:
        """The pins of one scope."""
        return self.by_scope.get(scope_id, ())

    def judge_absent(
        self, findings: Findings, layout: StoreLayout, present: Collection[str]
    ) -> None:
        """Report each scope that is pinned, is not `present` and has no folder in the store."""
        for scope_id, pins in self.by_scope.items():
            scope = layout.scope(scope_id)
            if scope_id in present or kind_of(scope.root) is not None:
                continue
            path = shown(layout.root, scope.ledger)
            message = f"the scope is not there any more, with the ledger that {pins[0].source}"
            findings.add("ledger-missing", message, scope_id=scope_id, path=path)


class PinWatch:
    """Sees the heads of a ledger go by, and says which pins they meet."""

    def __init__(self, pins: tuple[Pin, ...]) -> None:
        self.pins = pins
        self._at: dict[int, str] = {}
        self._counts = {pin.entries for pin in pins if pin.head is not None}
        self._heads = {pin.head for pin in pins if pin.entries is None}
        self._found: dict[str, int] = {}

    def see(self, n: int, head: str) -> None:
        """The line of entry `n` has this digest."""
        if n in self._counts:
            self._at.setdefault(n, head)
        if head in self._heads:
            self._found[head] = n

    def judge(self, findings: Findings, *, entries: int, scope_id: str, path: str) -> bool:
        """Report every pin that does not hold, of a ledger of `entries` entries. True when
        one that holds is of its very end."""
        pinned, broken, last = False, False, 0
        for pin in self.pins:
            fault = self._fault(pin, entries)
            if fault is not None:
                findings.add(fault[0], fault[1], scope_id=scope_id, path=path)
                broken = True
                continue
            at = pin.entries if pin.entries is not None else self._found[str(pin.head)]
            if pin.head is None:
                continue  # so many entries may say anything
            last = max(last, at)
            pinned = pinned or at == entries
        if not pinned and not broken:
            since = f" since entry {last}, which a pin knows" if last else ""
            findings.add(
                "ledger-tail-unpinned",
                f"nothing pins the end of this ledger{since}",
                scope_id=scope_id,
                path=path,
            )
        return pinned and not broken

    def _fault(self, pin: Pin, entries: int) -> tuple[str, str] | None:
        if pin.entries is None:
            if pin.head in self._found:
                return None
            return "ledger-tail-cut", (
                f"the head that {pin.source} is nowhere in the ledger: its tail was cut off, or "
                "something before it was changed; without a count nobody can tell which"
            )
        if pin.entries > entries:
            return "ledger-tail-cut", (
                f"the ledger has {entries} entries, and {pin.entries} is what {pin.source}"
            )
        if pin.head is not None and self._at.get(pin.entries) != pin.head:
            return "ledger-forked", (
                f"entry {pin.entries} is not the one that {pin.source}: something up to there "
                "was changed, or this is another branch"
            )
        return None
