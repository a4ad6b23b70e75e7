"""What the store hands upwards: positions, entries, transactions, versions.

Named tuples, because a batch makes a hundred thousand of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from pamctl.named_tuples import NamedTuple

CHAIN_START = "0" * 64
"""`prev` of a ledger's first entry, and the head of an empty ledger."""


class Position(NamedTuple):
    """A boundary between two transactions of a ledger; everything before it has been read.

    offset: bytes of the ledger before the boundary.
    entries: ledger entries before it, which is also `n` of the last one.
    sequence: `sequence` of the last event before it.
    head: SHA-256 of the last line before it, 64 hexadecimal digits.
    head_bytes: length of that line with its newline, so that it can be found and checked.
    """

    offset: int = 0
    entries: int = 0
    sequence: int = 0
    head: str = CHAIN_START
    head_bytes: int = 0


START = Position()


class Entry(NamedTuple):
    """One ledger line and where it stands. `offset` and `length` exclude the newline."""

    n: int
    tx: int
    kind: str
    body: Mapping[str, Any]
    version: str | None
    offset: int
    length: int


class StoredVersion(NamedTuple):
    """One version and where its bytes are.

    address: `sha256:` and the digest of the bytes.
    envelope: the envelope; of an erased version what its stub kept of it, None where nothing
        is left.
    pack: the name of the pack that holds it, None for a file of its own.
    offset, length: where it stands in the pack, newline excluded; of a file, 0 and its size.
    erased: whether what stands there is a stub.
    """

    address: str
    envelope: Mapping[str, Any] | None
    pack: str | None
    offset: int
    length: int
    erased: bool = False


class Transaction(NamedTuple):
    """The entries that were committed together, with the versions that they name.

    after: the position behind the last entry.
    versions: by address, one for each entry that has a `version`.
    moved: where versions stand now that earlier transactions committed; of their envelopes
        there is the `version_id`.
    """

    entries: tuple[Entry, ...]
    versions: Mapping[str, StoredVersion]
    after: Position
    moved: tuple[StoredVersion, ...] = ()


class Commit(NamedTuple):
    """A transaction of one event that commits a version, and of nothing else but perhaps the
    record of a key, as far as an index takes it in.

    event: its sequence, class, id and time.
    line: `n`, offset and length of its entry.
    named: the object and the relationship that it names.
    version: with its envelope.
    key: with `n`, offset and length of its entry.
    end: the members of the position behind it.
    """

    event: tuple[int, str, str, str]
    line: tuple[int, int, int]
    named: tuple[str | None, str | None]
    version: StoredVersion
    key: tuple[str, int, int, int] | None
    end: tuple[int, int, int, str, int]

    @property
    def after(self) -> Position:
        """The position behind it."""
        return Position(*self.end)


_Read = TypeVar("_Read", bound="Transaction | Commit")


def portions(transactions: Iterable[_Read], weight: int) -> Iterator[list[_Read]]:
    """Transactions, so many at a time that they fit in memory: as soon as they have so many
    entries and moved versions."""
    portion: list[_Read] = []
    held = 0
    for transaction in transactions:
        portion.append(transaction)
        if isinstance(transaction, Transaction):
            held += len(transaction.entries) + len(transaction.moved)
        else:
            held += 1 if transaction.key is None else 2
        if held >= weight:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion
