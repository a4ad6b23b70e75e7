"""The index of one scope: what was committed, where it stands, and how to find it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pamctl.index.boundaries import Boundaries
from pamctl.index.erasures import Erasures
from pamctl.index.index_file import IndexFile
from pamctl.index.places import Places
from pamctl.index.rows import ROW_SQL, EntryPlace, VersionRow, version_row
from pamctl.limits import INTEGER_MAX

if TYPE_CHECKING:
    from pamctl.index.names import Names
    from pamctl.index.passage import Passage
    from pamctl.index.relationships import Link, Node
    from pamctl.index.stored import StoredRow
    from pamctl.index.structured_query import Candidate, Match, Page, StructuredQuery

_SELECT_VERSION = f"SELECT {ROW_SQL} FROM version"
_SELECT_COUNTS = "SELECT objects, versions, events FROM position"
_SEQUENCE_AT = """
    SELECT * FROM (
        SELECT since FROM version WHERE coalesce(event_recorded_at, recorded_at) <= ?
        ORDER BY since DESC LIMIT 1
    )
    UNION ALL SELECT * FROM (
        SELECT since FROM event WHERE event_recorded_at <= ? ORDER BY since DESC LIMIT 1
    )
"""


class ScopeIndex(IndexFile):
    """Answers from what `apply` was given.

    `as_of` is a ledger sequence, and the answer what it was just after that event; None is
    now.
    """

    def current(self, object_id: str, as_of: int | None = None) -> VersionRow | None:
        """The version that an object, a relationship or a delegation has, or had as of a
        ledger sequence. Its tombstone too."""
        return self._version(
            "WHERE object_id = ? AND since <= ? ORDER BY since DESC LIMIT 1",
            (object_id, INTEGER_MAX if as_of is None else as_of),
        )

    def version(self, version_id: str) -> VersionRow | None:
        """The version of an identifier, current or not."""
        return self._version("WHERE version_id = ?", (version_id,))

    def history(
        self,
        object_id: str,
        *,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        limit: int | None = None,
        as_of: int | None = None,
    ) -> list[VersionRow]:
        """The versions of an object, oldest first, from one version number to another, both
        included; at most `limit`."""
        found = self._rows(
            f"{_SELECT_VERSION} WHERE object_id = ? AND since <= ? AND sequence BETWEEN ? AND ? "
            "ORDER BY since LIMIT ?",
            (
                object_id,
                INTEGER_MAX if as_of is None else as_of,
                0 if from_sequence is None else from_sequence,
                INTEGER_MAX if to_sequence is None else to_sequence,
                -1 if limit is None else limit,
            ),
        )
        return [version_row(columns) for columns in found]

    def idempotency(self, key: str) -> EntryPlace | None:
        """The entry that recorded the first request with a key."""
        return self._place(
            'SELECT n, "offset", length, NULL FROM idempotency WHERE key = ?', (key,)
        )

    def absent_keys(self, keys: Sequence[str]) -> frozenset[str]:
        """Those of `keys` that no request was recorded with; one look for all of them."""
        return self._absent("SELECT key FROM idempotency WHERE key IN", keys)

    def absent_objects(self, identifiers: Sequence[str]) -> frozenset[str]:
        """Those of `identifiers` that never named anything; one look for all of them."""
        return self._absent("SELECT object_id FROM version WHERE object_id IN", identifiers)

    def _absent(self, found_among: str, wanted: Sequence[str]) -> frozenset[str]:
        from pamctl.encoding.canonical import canonical_plain

        listed = canonical_plain(list(wanted)).decode()
        found = self._rows(f"{found_among} (SELECT value FROM json_each(?))", (listed,))
        return frozenset(wanted).difference(text for (text,) in found)

    def event(self, event_id: str) -> EntryPlace | None:
        """The entry of an event. Looks at all of them: no index is kept for so rare a wish."""
        found = self._events("event_id = ?", (event_id,), limit=1)
        return found[0] if found else None

    def events(
        self,
        after: int = 0,
        *,
        until: int | None = None,
        limit: int | None = None,
        event_classes: Sequence[str] | None = None,
        object_id: str | None = None,
    ) -> list[EntryPlace]:
        """The entries of events behind ledger sequence `after`, up to `until`, in ledger
        order; of some classes only, or of those that concern one object or relationship."""
        condition = "since > ? AND since <= ?"
        values: list[Any] = [after, INTEGER_MAX if until is None else until]
        if event_classes is not None:
            condition += f" AND event_type IN ({', '.join('?' * len(event_classes))})"
            values += event_classes
        if object_id is not None:
            condition += (
                " AND since IN (SELECT since FROM version WHERE object_id = ? "
                "UNION ALL SELECT since FROM mention WHERE object_id = ?)"
            )
            values += (object_id, object_id)
        return self._events(condition, values, limit)

    def count_events(self, event_type: str, object_id: str) -> int:
        """How many events of a class without a version concern one object."""
        ((count,),) = self._rows(
            "SELECT count(*) FROM mention JOIN event USING (since) "
            "WHERE object_id = ? AND event_type = ?",
            (object_id, event_type),
        )
        return int(count)

    def latest(self, kind: str) -> EntryPlace | None:
        """The last entry of a kind that is neither `event` nor `idempotency`."""
        return self._place(
            'SELECT n, "offset", length, NULL FROM other WHERE kind = ? ORDER BY n DESC LIMIT 1',
            (kind,),
        )

    def packs(self) -> dict[str, int]:
        """By name, the packs that the ledger announced, unless another replaced them, and how
        many versions each came with."""
        found = self._rows("SELECT name, versions FROM pack WHERE successor IS NULL")
        return {name.hex(): versions for name, versions in found}

    @property
    def erasures(self) -> Erasures:
        """What is known of erasures."""
        return Erasures(self._rows)

    @property
    def places(self) -> Places:
        """Which versions are files of their own."""
        return Places(self._rows)

    @property
    def boundaries(self) -> Boundaries:
        """What is known of fixed points of the ledger."""
        return Boundaries(self._rows)

    @property
    def names(self) -> Names:
        """What is there by name."""
        from pamctl.index.names import Names

        return Names(self._rows)

    @property
    def passage(self) -> Passage:
        """What is known of all versions, for whoever carries them elsewhere."""
        from pamctl.index.passage import Passage

        return Passage(self._rows)

    def sequence_at(self, instant_key: str) -> int:
        """The ledger sequence of the last event recorded at or before an instant, a key of
        `encoding.timestamps.instant`; 0 when there is none.

        Clocks may be set back: an event before the one it names can claim a later time.
        """
        found = self._rows(_SEQUENCE_AT, (instant_key, instant_key))
        return max((sequence for (sequence,) in found), default=0)

    def counts(self) -> dict[str, int]:
        """How many memory objects there are, deleted ones included, and how many versions
        and events of any family."""
        ((objects, versions, events),) = self._rows(_SELECT_COUNTS)
        return {"objects": objects, "versions": versions, "events": events}

    def search(self, query: StructuredQuery) -> Page:
        """A page of the versions that match, in the query's order. PAMSPEC §11.

        Raises InvalidRequest for what `StructuredQuery` does not allow.
        """
        from pamctl.index.search import search

        try:
            return search(self._database, query)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def matches(self, query: StructuredQuery) -> Iterator[Match]:
        """All that match, in the query's order, as they are asked for; neither `limit` nor
        `count` matter. Raises as `search`, at any step."""
        from pamctl.index.search import matches

        try:
            yield from matches(self._database, query)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def candidates(
        self, query: StructuredQuery, *, after: int = 0, limit: int = -1
    ) -> Iterator[Candidate]:
        """All that the filters of a query accept, in ledger order, whatever its text: behind a
        ledger sequence, and at most `limit` of it. Looked up as they are asked for."""
        from pamctl.index.search import candidates

        try:
            yield from candidates(self._database, query, after, limit)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def candidate_names(self, sequences: Sequence[int]) -> list[tuple[str, str]]:
        """Object id and version id of candidates, by their `since`, in that order."""
        from pamctl.index.search import names

        try:
            return names(self._database, sequences)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def stored(self, query: StructuredQuery, *, after: int = 0, limit: int = -1) -> list[StoredRow]:
        """Where all is that the filters of a query accept and that is not erased, in ledger
        order, whatever its text: behind a ledger sequence, and at most `limit` of it."""
        from pamctl.index.stored import stored

        try:
            return stored(self._database, query, after, limit)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def links(
        self, query: StructuredQuery, *, touching: Collection[str] | None = None
    ) -> list[Link]:
        """The relationships that meet the filters of a query over them, in no order, each
        once; `touching` keeps to those with one of these objects of the scope at an end."""
        from pamctl.index.relationships import links

        try:
            return links(self._database, query, touching)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def links_between(self, one: str, other: str, relationship_type: str) -> list[Link]:
        """The relationships of a type that join two ids now, either way, tombstones among
        them."""
        from pamctl.index.relationships import links_between

        try:
            return links_between(self._database, one, other, relationship_type)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def nodes(self, query: StructuredQuery) -> dict[str, Node]:
        """By id, the memory objects that meet the filters of a query, all of them: for a
        query that names those it is about by `among`."""
        from pamctl.index.relationships import nodes

        try:
            return nodes(self._database, query)
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def _version(self, condition: str, values: Sequence[Any]) -> VersionRow | None:
        found = self._rows(f"{_SELECT_VERSION} {condition}", values)
        return version_row(found[0]) if found else None

    def _place(self, sql: str, values: Sequence[Any]) -> EntryPlace | None:
        found = self._rows(sql, values)
        return EntryPlace(*found[0]) if found else None

    def _events(self, condition: str, values: Sequence[Any], limit: int | None) -> list[EntryPlace]:
        found = self._rows(
            f"SELECT n, entry_offset, entry_length, since FROM version WHERE {condition} "
            f"UNION ALL SELECT n, entry_offset, entry_length, since FROM event WHERE {condition} "
            "ORDER BY since LIMIT ?",
            (*values, *values, -1 if limit is None else limit),
        )
        return [EntryPlace(*columns) for columns in found]
