"""Which versions of a scope are files of their own, for whoever packs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pamctl.named_tuples import NamedTuple


class Loose(NamedTuple):
    """A version that is a file: the ledger sequence that committed it, and whether nothing
    but its stub is left."""

    since: int
    address: str
    version_id: str
    erased: bool


class Places:
    """The places of one scope's versions, as far as its index has read.

    rows: answers a statement of SQL and its values with all its rows.
    """

    def __init__(self, rows: Callable[[str, Sequence[Any]], list[Any]]) -> None:
        self._rows = rows

    def loose(self, after: int, limit: int) -> list[Loose]:
        """At most `limit` versions that are files of their own, in the order in which they
        were committed, behind ledger sequence `after`."""
        found = self._rows(
            "SELECT since, address, version_id, erased FROM version "
            "WHERE pack IS NULL AND since > ? ORDER BY since LIMIT ?",
            (after, limit),
        )
        return [
            Loose(since, f"sha256:{address.hex()}", version_id, erased == 1)
            for since, address, version_id, erased in found
        ]
