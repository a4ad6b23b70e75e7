"""What the store hands upwards: positions, entries, transactions, versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CHAIN_START = "0" * 64
"""`prev` of a ledger's first entry, and the head of an empty ledger."""


@dataclass(frozen=True, slots=True)
class Position:
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One ledger line and where it stands. `offset` and `length` exclude the newline."""

    n: int
    tx: int
    kind: str
    body: Mapping[str, Any]
    version: str | None
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One version and where its bytes are.

    address: `sha256:` and the digest of the bytes.
    envelope: the envelope, None where it was erased and only a stub is left.
    pack: the name of the pack that holds it, None for a file of its own.
    offset, length: where it stands in the pack, newline excluded; of a file, 0 and its size.
    """

    address: str
    envelope: Mapping[str, Any] | None
    pack: str | None
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """The entries that were committed together, with the versions that they name.

    after: the position behind the last entry.
    versions: by address, one for each entry that has a `version`.
    """

    entries: tuple[Entry, ...]
    versions: Mapping[str, StoredVersion]
    after: Position
