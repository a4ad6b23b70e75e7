"""What became of a ledger whose chain does not hold: forked, reordered, or broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pamctl.audit.reading import Line, parsed
from pamctl.encoding.digests import sha256_hex
from pamctl.named_tuples import NamedTuple


class Break(NamedTuple):
    """An entry that does not follow the line before it: the offset of its line, and the
    digest of the line that it says is before it."""

    offset: int
    prev: str


BREAKS_MAX = 1000
"""Breaks of one ledger that are looked into; the rest are counted as broken. A ledger with
more was not damaged, it was replaced."""


def causes(breaks: Sequence[Break], ledger: Iterator[Line]) -> dict[int, str]:
    """The id of the finding for each break, by its offset; `ledger` gives all lines again.

    Two entries that follow one line are a fork. An entry that follows a line which stands
    elsewhere was moved, or that line was. Of the rest, the line before was changed or is gone.
    """
    wanted = {one.prev for one in breaks}
    there: set[str] = set()
    followers: dict[str, int] = dict.fromkeys(wanted, 0)
    for line in ledger:
        if line.data is None:
            continue
        digest = sha256_hex(line.data)
        if digest in wanted:
            there.add(digest)
        value = parsed(line.data)
        prev = value.get("prev") if value is not None else None
        if isinstance(prev, str) and prev in followers:
            followers[prev] += 1
    found = {}
    for one in breaks:
        if followers[one.prev] > 1:
            found[one.offset] = "ledger-forked"
        elif one.prev in there:
            found[one.offset] = "ledger-reordered"
        else:
            found[one.offset] = "ledger-chain-broken"
    return found
