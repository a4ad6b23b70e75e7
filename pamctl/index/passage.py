"""What the index knows of all versions of a scope at once, for whoever carries them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pamctl.index.schema import AVAILABILITY_STATES
from pamctl.named_tuples import NamedTuple
from pamctl.store.carrying import Place

_PAGE_VERSIONS = 8192

_PLACES = """
    SELECT pack, "offset", length, erased, since
    FROM version WHERE since > ? AND since <= ? ORDER BY since LIMIT ?
"""
_ROWS = """
    SELECT since, pack, "offset", length, erased, availability_state, object_id, version_id
    FROM version WHERE since > ? AND since <= ? ORDER BY since LIMIT ?
"""
_WITHDRAWN = """
    SELECT object_id, availability_state FROM version
    WHERE until IS NULL AND (availability_state IS NULL OR availability_state > 1)
"""
_ERASED = """
    SELECT (SELECT count(*) FROM version WHERE erased = 1),
        (SELECT count(*) FROM other WHERE kind = 'erasure')
"""
_EVENT_AGAIN = """
    SELECT event_id FROM (SELECT event_id FROM version UNION ALL SELECT event_id FROM event)
    GROUP BY event_id HAVING count(*) > 1 LIMIT 1
"""
_MISNUMBERED = """
    SELECT object_id FROM version GROUP BY object_id
    HAVING max(sequence) - min(sequence) != count(*) - 1 LIMIT 1
"""


class Carried(NamedTuple):
    """One version: where its bytes are, and whose it is.

    pack: the 32 bytes of its pack's name, None for a file of its own.
    """

    since: int
    pack: bytes | None
    offset: int
    length: int
    erased: int
    availability_state: str | None
    object_id: str
    version_id: str


class Passage:
    """The versions of one scope, as far as its index has read.

    rows: answers a statement of SQL with all its rows.
    """

    def __init__(self, rows: Callable[..., list[Any]]) -> None:
        self._rows = rows

    def places(self, until: int) -> Iterator[Place]:
        """Where every version is that an event up to the ledger sequence `until` committed, in
        the order of the ledger. A page at a time: there may be millions."""
        last = 0
        while page := self._rows(_PLACES, (last, until, _PAGE_VERSIONS)):
            yield from page
            last = page[-1][-1]

    def versions(self, until: int) -> Iterator[Carried]:
        """As `places`, with whose they are."""
        last = 0
        while page := self._rows(_ROWS, (last, until, _PAGE_VERSIONS)):
            for since, pack, offset, length, erased, state, *ids in page:
                known = None if state is None else AVAILABILITY_STATES[state]
                yield Carried(since, pack, offset, length, erased, known, *ids)
            last = page[-1][0]

    def withdrawn(self) -> dict[str, str]:
        """The objects whose content may not, or not all, be had any more, and the availability
        that says so; `deleted` where the version that would say it is gone."""
        return {
            object_id: "deleted" if state is None else AVAILABILITY_STATES[state]
            for object_id, state in self._rows(_WITHDRAWN)
        }

    def came_without_content(self) -> bool:
        """Whether there are versions without content that no entry says were erased: an import
        brought them so."""
        ((erased, entries),) = self._rows(_ERASED)
        return bool(erased > entries)

    def repeated(self, keys: int) -> str | None:
        """What stands twice that may stand once, in a few words; None where nothing does.

        keys: how many records of requests the ledger has.
        """
        for event_id, *_ in self._rows(_EVENT_AGAIN):
            return f"two events have the id {event_id}"
        for object_id, *_ in self._rows(_MISNUMBERED):
            return f"the versions of {object_id} do not count on without gaps"
        ((there,),) = self._rows("SELECT count(*) FROM idempotency")
        return None if there == keys else "two requests have one idempotency key"
