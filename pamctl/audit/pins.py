"""Heads that are kept where a store's writers cannot change them, held against its ledgers.
`store-format/heads-and-pins.md`."""

from __future__ import annotations

from typing import NamedTuple

from pamctl.audit.findings import Findings


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
