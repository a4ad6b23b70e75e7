"""What the index knows of erasures: which there are, and whether something of what they were
to remove may still be in the scope's files, or in pages of the index that it no longer uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pamctl.index.rows import EntryPlace

if TYPE_CHECKING:
    from pamctl.store.leftovers import Addresses

NOTE_REMNANTS = "UPDATE sweep SET remnants = 1"
NOTE_CLEARED = "UPDATE sweep SET remnants = 0"

_DUE = """
    SELECT other.n, "offset", length, NULL FROM other, sweep
    WHERE kind = 'erasure' AND other.n > sweep.n ORDER BY other.n
"""
_ARE_DUE = """
    SELECT remnants OR EXISTS (SELECT 1 FROM other WHERE kind = 'erasure' AND n > sweep.n)
    FROM sweep
"""
_ADDRESSES = "SELECT address, erased, since FROM version WHERE since > ? ORDER BY since LIMIT ?"
_PAGE_VERSIONS = 8192
_SWEPT = """
    UPDATE sweep SET n = coalesce((SELECT max(n) FROM other WHERE kind = 'erasure'), 0)
"""


class Erasures:
    """The erasures of one scope, as far as its index has read.

    rows: answers a statement of SQL, and its values, with all its rows.
    """

    def __init__(self, rows: Callable[..., list[Any]]) -> None:
        self._rows = rows

    def are_due(self) -> bool:
        """Whether something may be left that has to be swept away."""
        ((due,),) = self._rows(_ARE_DUE)
        return bool(due)

    def due(self) -> list[EntryPlace]:
        """The `erasure` entries behind the last one that was swept up after."""
        return [EntryPlace(*columns) for columns in self._rows(_DUE)]

    def have_remnants(self) -> bool:
        """Whether pages of the index may hold what was erased since they were written."""
        ((remnants,),) = self._rows("SELECT remnants FROM sweep")
        return bool(remnants)

    def note_swept(self) -> None:
        """Note that nothing is left in the scope's files of what the ledger, as far as it
        was read, says was erased."""
        self._rows(_SWEPT)

    def addresses(self) -> Addresses:
        """The addresses of all versions of the scope."""
        from pamctl.store.leftovers import Addresses

        every, erased, last = set[bytes](), set[bytes](), 0
        while page := self._rows(_ADDRESSES, (last, _PAGE_VERSIONS)):
            every.update(address for address, _, _ in page)
            erased.update(address for address, gone, _ in page if gone)
            last = page[-1][-1]
        return Addresses(every, erased)

    def replaced_packs(self) -> dict[str, str]:
        """By name, the packs that the ledger says were replaced, and by which."""
        found = self._rows("SELECT name, successor FROM pack WHERE successor IS NOT NULL")
        return {name.hex(): successor.hex() for name, successor in found}
