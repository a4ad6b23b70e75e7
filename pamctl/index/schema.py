"""The tables of a scope's index, and how states are written in them.

`version` has one row a version, with the event that committed it. It is keyed by that event's
ledger sequence (`since`), so that rows are appended and ledger order is the order of the
table; `until` is the sequence at which another version of the object took its place. `event`
has the events that commit no version, in columns of the same names. `mention` says which
objects an event concerns besides the one whose version it commits. `relationship` has the two
ends of every version in `version` that is a relationship's, by the same `since`; a target in
another scope has that scope's id beside it. `idempotency` finds the entry that recorded a
key, `other` every entry of another kind. `position` has one row: how far the ledger was read,
and what was counted on the way. `sweep` has one too: the last
`erasure` entry of which nothing is left in the scope's files, and whether pages of this file
may still hold what was erased.

`text` is the lexical index; its rowid is `since`. It stores what it indexes. Without that
(FTS5's contentless tables) 20,000 conversation turns took 3.5 µs and 100 bytes each instead
of 4.7 µs and 250, but text could then be withdrawn only by giving FTS5 the old text again,
which only the version files hold, at the moment when they are about to be erased; nor could
text be indexed again for a search as of an earlier sequence, or a match be shown in its
sentence.
"""

from __future__ import annotations

import sqlite3

from pamctl.errors import InternalError

SCHEMA_VERSION = 3
"""Kept in SQLite's `user_version`. A change to a table or to what is put in it raises it,
and every index of another number is made anew from the ledger."""

# The place of a state in its tuple is what rows hold: append, never reorder. Nothing is at
# place 0, which stands for a state that is not known.
FAMILIES = ("", "object", "relationship", "delegation")
LIFECYCLE_STATES = ("", "scratch", "candidate", "active", "superseded", "deprecated", "archived")
AVAILABILITY_STATES = ("", "available", "partially_redacted", "redacted", "deleted")
RETENTION_STATES = ("", "retained", "expired", "pending_deletion", "legal_hold")
VALIDATION_STATES = ("", "unverified", "corroborated", "disputed", "rejected")
DIRECTIONALITIES = ("", "directed", "bidirectional", "undirected")

TEXT_COLUMNS = 'strings, names, tokenize = "unicode61 remove_diacritics 2"'
"""Of the FTS5 table. Words are runs of Unicode letters and digits, without case and accents."""

VERSION_COLUMNS = {
    "since": "INTEGER PRIMARY KEY",
    "until": "INTEGER",
    "family": "INTEGER NOT NULL",
    "lifecycle_state": "INTEGER",
    "availability_state": "INTEGER",
    "retention_state": "INTEGER",
    "validation_state": "INTEGER",
    "erased": "INTEGER NOT NULL",
    "sequence": "INTEGER",
    "object_id": "TEXT NOT NULL",
    "version_id": "TEXT NOT NULL",
    "object_type": "TEXT",
    "actor_id": "TEXT",
    "committed_at": "TEXT",
    "recorded_at": "TEXT",
    "observed_at": "TEXT",
    "asserted_at": "TEXT",
    "valid_from": "TEXT",
    "valid_until": "TEXT",
    "schema_id": "TEXT",
    "provenance_id": "TEXT",
    "source_ref": "TEXT",
    "activity": "TEXT",
    "digest": "TEXT",
    "address": "BLOB NOT NULL",
    "pack": "BLOB",
    "offset": "INTEGER NOT NULL",
    "length": "INTEGER NOT NULL",
    "event_type": "TEXT NOT NULL",
    "event_id": "TEXT NOT NULL",
    "event_recorded_at": "TEXT",
    "n": "INTEGER NOT NULL",
    "entry_offset": "INTEGER NOT NULL",
    "entry_length": "INTEGER NOT NULL",
}
"""Of `version`, with their declarations, in the order of the table and of what `intake` makes.
`until` is no part of that: it is set when a later version comes."""

_TABLES = (
    """
    CREATE TABLE position (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        "offset" INTEGER NOT NULL,
        entries INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        head TEXT NOT NULL,
        head_bytes INTEGER NOT NULL,
        objects INTEGER NOT NULL,
        versions INTEGER NOT NULL,
        events INTEGER NOT NULL,
        withdrawals INTEGER NOT NULL
    )
    """,
    "CREATE TABLE version ({})".format(
        ", ".join(f'"{name}" {declared}' for name, declared in VERSION_COLUMNS.items())
    ),
    """
    CREATE TABLE event (
        since INTEGER PRIMARY KEY,
        event_type TEXT NOT NULL,
        event_id TEXT NOT NULL,
        event_recorded_at TEXT,
        n INTEGER NOT NULL,
        entry_offset INTEGER NOT NULL,
        entry_length INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE mention (
        object_id TEXT NOT NULL,
        since INTEGER NOT NULL,
        PRIMARY KEY (object_id, since)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE relationship (
        since INTEGER PRIMARY KEY,
        source_object_id TEXT NOT NULL,
        target_object_id TEXT NOT NULL,
        target_scope_id TEXT,
        directionality INTEGER
    )
    """,
    """
    CREATE TABLE idempotency (
        key TEXT PRIMARY KEY,
        n INTEGER NOT NULL,
        "offset" INTEGER NOT NULL,
        length INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE other (
        kind TEXT NOT NULL,
        n INTEGER NOT NULL,
        "offset" INTEGER NOT NULL,
        length INTEGER NOT NULL,
        PRIMARY KEY (kind, n)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE pack (
        name BLOB PRIMARY KEY,
        versions INTEGER NOT NULL,
        successor BLOB
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE sweep (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        n INTEGER NOT NULL,
        remnants INTEGER NOT NULL
    )
    """,
    f"CREATE VIRTUAL TABLE text USING fts5 ({TEXT_COLUMNS})",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

_INDEXES = (
    "CREATE UNIQUE INDEX version_by_id ON version (version_id)",
    "CREATE INDEX version_by_object ON version (object_id)",
    "CREATE INDEX version_in_a_file ON version (since) WHERE pack IS NULL",
    "CREATE INDEX relationship_by_source ON relationship (source_object_id, target_object_id)",
    "CREATE INDEX relationship_by_target ON relationship (target_object_id)",
)


def blank_index(place: str = ":memory:", *, indexed: bool = True) -> sqlite3.Connection:
    """An empty index, at the start of the ledger: in memory, or with `place` empty in a
    private file that SQLite makes where there is too much of it, and that has no name.

    indexed: whether it has what `make_indexes` makes.

    Raises InternalError where Python's SQLite was built without FTS5.
    """
    from pamctl.store.records import START

    database = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    try:
        for statement in _TABLES:
            database.execute(statement)
    except sqlite3.OperationalError as cause:
        raise InternalError(
            f"the SQLite {sqlite3.sqlite_version} of this Python cannot hold the index: {cause}",
            hint="use a Python whose SQLite has FTS5, as those of python.org and Debian do",
        ) from cause
    database.execute(
        "INSERT INTO position VALUES (1, ?, ?, ?, ?, ?, 0, 0, 0, 0)",
        (START.offset, START.entries, START.sequence, START.head, START.head_bytes),
    )
    database.execute("INSERT INTO sweep VALUES (1, 0, 0)")
    if indexed:
        make_indexes(database)
    return database


def make_indexes(database: sqlite3.Connection) -> None:
    """Make what rows are found by, and what keeps ids apart. Raises sqlite3.IntegrityError for
    an id that is there twice."""
    for statement in _INDEXES:
        database.execute(statement)
