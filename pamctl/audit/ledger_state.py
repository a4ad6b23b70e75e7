"""What has to be known of a ledger when it was read, by whoever read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from pamctl.audit.findings import Findings
    from pamctl.audit.pins import PinWatch

CHAIN_START = "0" * 64
"""What the first entry of a ledger says of the line before it."""


class LedgerState(NamedTuple):
    """What a ledger holds, up to its last complete transaction.

    end: bytes up to there.
    size: bytes that were read, to tell whether somebody wrote meanwhile.
    holes: whether entries could not be read or are gone, so that what others say of them
        cannot be held against the others.
    snapshots: how many are sealed in it.
    """

    head: str
    entries: int
    events: int
    versions: int
    end: int
    size: int
    holes: bool
    snapshots: int = 0


class LedgersRead(NamedTuple):
    """What a proof or a look says of ledgers and of what they name; by the folders of scopes."""

    states: Mapping[str, LedgerState]
    watches: Mapping[str, PinWatch]
    findings: Findings
