"""The index of one scope: what was committed, where it stands, and how to find it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pamctl.errors import StoreDamaged
from pamctl.index.boundaries import Boundaries
from pamctl.index.database import (
    IndexDamaged,
    clear_log,
    close_index,
    empty_index,
    is_damage,
    is_unwritable,
    memory_copy,
    open_index,
    open_read_only,
    overwrite,
    replace_file,
    schema_version,
    unavailable,
)
from pamctl.index.erasures import NOTE_CLEARED, NOTE_REMNANTS, Erasures
from pamctl.index.rows import ROW_SQL, EntryPlace, VersionRow, version_row
from pamctl.index.schema import SCHEMA_VERSION, blank_index
from pamctl.limits import INTEGER_MAX
from pamctl.store.records import START, Position, Transaction

if TYPE_CHECKING:
    from pamctl.index.intake import Intake
    from pamctl.index.relationships import Link, Node
    from pamctl.index.structured_query import Page, StructuredQuery

_SELECT_VERSION = f"SELECT {ROW_SQL} FROM version"
_SELECT_COUNTS = "SELECT objects, versions, events FROM position"
_SELECT_POSITION = 'SELECT "offset", entries, sequence, head, head_bytes FROM position'
_SEQUENCE_AT = """
    SELECT * FROM (
        SELECT since FROM version WHERE coalesce(event_recorded_at, recorded_at) <= ?
        ORDER BY since DESC LIMIT 1
    )
    UNION ALL SELECT * FROM (
        SELECT since FROM event WHERE event_recorded_at <= ? ORDER BY since DESC LIMIT 1
    )
"""


class ScopeIndex:
    """Answers from what `apply` was given, for as long as it is given the whole ledger.

    Several processes may use one file. Every look-up may raise ServiceUnavailable; after its
    subclass IndexDamaged the index is empty, and has to be brought up to date before it is
    asked again. `as_of` is a ledger sequence, and the answer what it was just after that
    event; None is now.

    Arguments:
        path: the index file; its folder is made where it is missing. Where it cannot be
            written, an index that is there is used as it is and continued in memory.
            None keeps the index in memory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._home: Literal["file", "borrowed file", "memory"] = "memory"
        database = None
        if path is not None:
            database = open_index(path)
            self._home = "file"
            if database is None:
                database = open_read_only(path)
                self._home = "borrowed file"
        if database is None:
            database = blank_index()
            self._home = "memory"
        self._database = database

    @classmethod
    def scratch(cls) -> ScopeIndex:
        """An empty index that is to be another's content; see `become`."""
        index = cls(None)
        index._database = blank_index("")
        return index

    def close(self) -> None:
        """Let go of the file. The index cannot be used afterwards."""
        close_index(self._database, self._path if self._home == "file" else None)

    def position(self) -> Position:
        """How far the ledger was read: START for a new index, and for one that was found
        damaged and has been emptied."""
        try:
            rows = self._rows(_SELECT_POSITION)
        except IndexDamaged:
            return START
        return Position(*rows[0]) if rows else START

    def apply(self, base: Position, transactions: Sequence[Transaction]) -> bool:
        """Take in the transactions that follow `base` in the ledger, all or none.

        False, and nothing changed, when the index is not at `base`: another process was
        faster, or the index was damaged and is empty again. `position` tells where to go on.
        An index whose file cannot be written goes on in memory. Raises StoreDamaged for what
        no ledger may hold, such as a version id that was used before.
        """
        from pamctl.index.intake import Intake

        if not transactions:
            return self.position() == base
        intake = Intake()
        intake.take(transactions)
        after = transactions[-1].after
        if self._home == "borrowed file":
            self._continue_in_memory()
        try:
            return self._write(base, intake, after)
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                self.reset()
                return False
            if self._home == "memory" or not is_unwritable(error):
                raise unavailable(error) from error
        self._continue_in_memory()
        return self._write(base, intake, after)

    def reset(self) -> None:
        """Forget everything: the position is START. Nothing of what the index held is left
        in its files, as far as `clear_log` can see to that."""
        if self._home == "file" and self._path is not None:
            try:
                empty_index(self._database)
                clear_log(self._database)
                return
            except sqlite3.DatabaseError as error:
                self._database.close()
                if is_damage(error):
                    self._database = replace_file(self._path)
                    return
                if not is_unwritable(error):
                    raise unavailable(error) from error
        else:
            self._database.close()
        self._database, self._home = blank_index(), "memory"

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
    def boundaries(self) -> Boundaries:
        """What is known of fixed points of the ledger."""
        return Boundaries(self._rows)

    def become(self, other: ScopeIndex) -> bool:
        """Hold what `other` holds, which was made anew and is closed by this, and nothing of
        what was there before. Whoever else uses the file sees the one or the other.

        False when the file may go on holding it, because another process goes on looking at
        it or it cannot be written here; `erasures` says so then.
        """
        if self._home != "file":
            self._database.close()
            self._database, self._home = other._database, "memory"
            return self._path is None or not self._path.exists()
        with contextlib.closing(other._database) as made:
            try:
                # Noted first: whoever dies before the log is cleared leaves word of it.
                made.execute(NOTE_REMNANTS)
                overwrite(self._database, made)
                cleared = clear_log(self._database)
                if cleared:
                    self._database.execute(NOTE_CLEARED)
            except sqlite3.DatabaseError as error:
                raise unavailable(error) from error
        return cleared

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

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._database.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._recovered(error) from error

    def _recovered(self, error: sqlite3.DatabaseError) -> Exception:
        """What to raise for `error`, once a file that cannot be read was made anew."""
        if is_damage(error) or self._is_anothers():
            self.reset()
            return IndexDamaged("the index was damaged and has been emptied", hint="try again")
        return unavailable(error)

    def _is_anothers(self) -> bool:
        """Whether another release of pamctl has made the file its own since it was opened."""
        try:
            return schema_version(self._database) != SCHEMA_VERSION
        except sqlite3.DatabaseError:
            return False

    def _write(self, base: Position, intake: Intake, after: Position) -> bool:
        from pamctl.index.writing import write

        try:
            return write(self._database, base, intake, after)
        except sqlite3.IntegrityError as error:
            raise StoreDamaged(
                f"the ledger behind byte {base.offset} uses an identifier again: {error}",
                hint="run `pamctl fsck` to see what is damaged",
            ) from error

    def _continue_in_memory(self) -> None:
        copy = memory_copy(self._database)
        self._database.close()
        self._database, self._home = copy, "memory"
