"""What the index knows of fixed points of the ledger: which descriptors it holds, and what
was current where a snapshot stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pamctl.index.rows import EntryPlace
from pamctl.rules.snapshots import Member

_PAGE_MEMBERS = 5_000

_MEMBERS = """
    SELECT version.object_id, version.version_id, version.address,
        relationship.source_object_id, relationship.target_object_id,
        relationship.target_scope_id
    FROM version LEFT JOIN relationship ON relationship.since = version.since
    WHERE version.object_id > ? AND version.family IN (1, 2)
        AND version.since <= ? AND (version.until IS NULL OR version.until > ?)
    ORDER BY version.object_id LIMIT ?
"""
# 1 and 2 are the places of `object` and `relationship` in schema.FAMILIES, and 1 that of
# `available` in schema.AVAILABILITY_STATES.
_WITHDRAWN = "SELECT EXISTS (SELECT 1 FROM version WHERE since > ? AND availability_state IS NOT 1)"


class Boundaries:
    """The fixed points of one scope's ledger, as far as its index has read.

    rows: answers a statement of SQL with all its rows.
    """

    def __init__(self, rows: Callable[..., list[Any]]) -> None:
        self._rows = rows

    def entries(self, kind: str) -> list[EntryPlace]:
        """All entries of a kind that is neither `event` nor `idempotency`, oldest first."""
        found = self._rows(
            'SELECT n, "offset", length, NULL FROM other WHERE kind = ? ORDER BY n', (kind,)
        )
        return [EntryPlace(*columns) for columns in found]

    def members(self, as_of: int) -> Iterator[Member]:
        """What every object and every relationship was just after an event, tombstones
        included, in the order of their ids. A page at a time: there may be millions."""
        last = ""
        while True:
            found = self._rows(_MEMBERS, (last, as_of, as_of, _PAGE_MEMBERS))
            for object_id, version_id, address, source, target, elsewhere in found:
                ends: tuple[str, ...] = ()
                if source is not None:
                    ends = (source,) if elsewhere is not None else (source, target)
                yield Member(object_id, version_id, "sha256:" + address.hex(), ends)
            if len(found) < _PAGE_MEMBERS:
                return
            last = found[-1][0]

    def text_withdrawn_since(self, sequence: int) -> bool:
        """Whether text that was in the index just after an event may have left it since."""
        ((withdrawn,),) = self._rows(_WITHDRAWN, (sequence,))
        return bool(withdrawn)
