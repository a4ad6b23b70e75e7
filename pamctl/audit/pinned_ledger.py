"""A ledger held against the checkpoint that was signed of it, line by line, once, in bounded
memory; read again only to name what is wrong. `audit.checkpoints`, step 3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pamctl.audit.chain import Break, causes
from pamctl.audit.reading import Line, parsed
from pamctl.audit.refusals import Refused
from pamctl.crypto.checkpoints import Checkpoint, origin_of
from pamctl.crypto.merkle import CompactRange, leaf_hash
from pamctl.encoding.digests import sha256_hex
from pamctl.named_tuples import NamedTuple


class Leaf(NamedTuple):
    """A ledger line of which only the leaf's hash is disclosed, and where that stands."""

    hash: bytes
    offset: int


class Ledger(NamedTuple):
    """A ledger to hold a checkpoint against.

    lines: gives all its lines, as often as it is asked. stated: the origin that is said of it
    beside it, so that it need not be read to be passed over; None where nothing is.
    """

    lines: Callable[[], Iterator[Line | Leaf]]
    stated: str | None = None


def held_against(checkpoint: Checkpoint, ledgers: Iterable[Ledger]) -> dict[str, Any]:
    """Step 3: what the ledger of the checkpoint holds behind it. Raises Refused."""
    others = []
    for ledger in ledgers:
        if ledger.stated not in (None, checkpoint.origin):
            others.append(str(ledger.stated))
            continue
        origin = _origin(ledger)
        if origin == checkpoint.origin:
            return _Reading(checkpoint, ledger).judge()
        others.append(origin or "a ledger without a first entry")
    raise Refused(
        "wrong_log",
        f"there is no ledger here of {checkpoint.origin}",
        ledgers=others[:20],
    )


class _Reading:
    """One ledger, read line by line and held against a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, ledger: Ledger) -> None:
        self._checkpoint = checkpoint
        self._ledger = ledger
        self._tree = CompactRange()
        # Behind a leaf the line before is not known, and with it not the chain.
        self._head: str | None = "0" * 64
        self._undisclosed = 0

    def judge(self) -> dict[str, Any]:
        stated = self._checkpoint
        behind = 0
        for line in self._ledger.lines():
            if self._tree.size == stated.size:
                behind += 1 if isinstance(line, Leaf) else line.ended
            elif isinstance(line, Leaf):
                self._tree.append(line.hash)
                self._head = None
                self._undisclosed += 1
            elif line.ended:
                self._take(line)
        if self._tree.size < stated.size:
            raise Refused(
                "cut",
                f"the ledger has {self._tree.size} entries, and {stated.size} were signed",
                entries=self._tree.size,
            )
        if self._tree.root() != stated.root or not self._same_head():
            raise self._other(behind)
        facts: dict[str, Any] = {
            "entries": stated.size + behind,
            "tail": "unpinned" if behind else "pinned",
            "unpinned_entries": behind,
        }
        if self._undisclosed:
            facts["undisclosed_entries"] = self._undisclosed
        return facts

    def _same_head(self) -> bool:
        return None in (self._checkpoint.head, self._head) or self._checkpoint.head == self._head

    def _other(self, behind: int) -> Refused:
        """What to say of lines that fit each other and not the root."""
        size = self._checkpoint.size
        if self._undisclosed:
            return Refused(
                "edited",
                f"a line or a digest among the first {size} is not the one that was signed",
                entries=size + behind,
            )
        return Refused(
            "forked",
            f"the first {size} entries are a sound ledger, and not the one that was signed",
            entries=size + behind,
            head=self._head,
        )

    def _take(self, line: Line) -> None:
        number = self._tree.size + 1
        value = None if line.data is None else parsed(line.data)
        if line.data is None or value is None:
            raise Refused(
                "edited", f"line {number} is no ledger entry", entry=number, offset=line.offset
            )
        prev, n = value.get("prev"), value.get("n")
        if self._head is not None and prev != self._head:
            self._name_break(line, prev if isinstance(prev, str) else "", n)
        if n != number:
            raise Refused("edited", f"entry {number} counts itself as {n}", entry=number)
        self._head = sha256_hex(line.data)
        self._tree.append(leaf_hash(line.data))

    def _name_break(self, line: Line, prev: str, n: Any) -> None:
        disclosed = (one for one in self._ledger.lines() if isinstance(one, Line))
        cause = causes([Break(line.offset, prev)], disclosed)[line.offset]
        last = self._tree.size
        facts = {"entry": last + 1, "offset": line.offset}
        if cause == "ledger-forked":
            explanation = f"two entries follow one line, the second at {last + 1}"
            raise Refused("forked", explanation, **facts)
        if cause == "ledger-reordered":
            raise Refused("reordered", f"the entry behind {last} follows another line", **facts)
        if type(n) is int and n > last + 1:
            raise Refused("cut", f"entries {last + 1} to {n - 1} are gone", **facts)
        raise Refused(
            "edited",
            f"entry {last} or {last + 1} was changed: the one does not follow the other",
            **facts,
        )


def _origin(ledger: Ledger) -> str | None:
    """The origin that a ledger's first entry gives; where that is not disclosed, what is said
    beside it, which the root then has to bear out."""
    first = next(iter(ledger.lines()), None)
    if isinstance(first, Leaf):
        return ledger.stated
    value = None if first is None or first.data is None else parsed(first.data)
    body = None if value is None else value.get("body")
    if not isinstance(body, dict):
        return None
    return origin_of(str(body.get("store_id")), str(body.get("scope_id")))
