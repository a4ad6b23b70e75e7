"""Puts the rows of an intake into the tables, in one SQLite transaction."""

from __future__ import annotations

import sqlite3

from pamctl.index.erasures import NOTE_REMNANTS
from pamctl.index.intake import FAMILY_OBJECT, MISSING, Intake
from pamctl.index.schema import SCHEMA_VERSION, VERSION_COLUMNS
from pamctl.store.records import Position

_INSERT_VERSION = "INSERT INTO version ({}) VALUES ({})".format(
    ", ".join(f'"{name}"' for name in VERSION_COLUMNS if name != "until"),
    ", ".join(
        f"nullif(?, {MISSING})" if declared in ("INTEGER", "TEXT", "BLOB") else "?"
        for name, declared in VERSION_COLUMNS.items()
        if name != "until"
    ),
)
_INSERT_TEXT = "INSERT INTO text (rowid, strings, names) VALUES (?, ?, ?)"
_INSERT_EVENT = f"INSERT INTO event VALUES (?, ?, ?, nullif(?, {MISSING}), ?, ?, ?)"
_INSERT_LINK = f"""
    INSERT INTO relationship VALUES (?, ?, ?, nullif(?, {MISSING}), nullif(?, {MISSING}))
"""
_INSERT_MENTION = "INSERT OR IGNORE INTO mention VALUES (?, ?)"
# The first use of a key is the one that counts.
_INSERT_KEY = "INSERT OR IGNORE INTO idempotency VALUES (?, ?, ?, ?)"
_INSERT_OTHER = "INSERT INTO other VALUES (?, ?, ?, ?)"
_INSERT_PACK = "INSERT OR IGNORE INTO pack (name, versions) VALUES (?, ?)"
# A pack that an import wrote was announced by no entry, and can be replaced all the same.
_REPLACE_PACK = """
    INSERT INTO pack (successor, name, versions) VALUES (?, ?, 0)
    ON CONFLICT (name) DO UPDATE SET successor = excluded.successor
"""
_MOVE = """
    UPDATE version SET pack = ?, "offset" = ?, length = ? WHERE version_id = ? AND address = ?
"""
_NUMBER = """
    UPDATE version SET sequence = 1 + (
        SELECT count(*) FROM version AS earlier
        WHERE earlier.object_id = version.object_id AND earlier.since < version.since
    ) WHERE since = ?
"""
_SUCCEED = """
    UPDATE version SET until = ?1
    WHERE object_id = ?2 AND family = ?3 AND until IS NULL AND since < ?1
"""
_WITHDRAW = """
    DELETE FROM text WHERE rowid IN (SELECT since FROM version WHERE object_id = ? AND since < ?)
"""
_ERASE_TEXT = """
    DELETE FROM text WHERE rowid IN (
        SELECT since FROM version WHERE version_id = ? AND address = ? AND erased = 0
    )
"""
_ERASE = """
    UPDATE version SET erased = 1, digest = NULL
    WHERE version_id = ? AND address = ? AND erased = 0
"""
_MOVE_ON = """
    UPDATE position SET
        "offset" = ?, entries = ?, sequence = ?, head = ?, head_bytes = ?,
        objects = objects + ?, versions = versions + ?, events = events + ?,
        withdrawals = withdrawals + ?
"""


_STANDING = """
    SELECT user_version, "offset", entries, sequence, head, head_bytes
    FROM pragma_user_version, position
"""


def write(database: sqlite3.Connection, base: Position, intake: Intake, after: Position) -> bool:
    """Add `intake`, which the ledger holds from `base` to `after`. All of it or nothing.

    False, and nothing changed, when the index is not at `base`. Raises sqlite3.DatabaseError,
    an IntegrityError among them for an id that was there already.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        if not _stands_at(database, base):
            database.execute("ROLLBACK")
            return False
        objects = _write_versions(database, intake)
        for statement, rows in (
            (_INSERT_EVENT, intake.events),
            (_INSERT_LINK, intake.links),
            (_INSERT_MENTION, intake.mentions),
            (_INSERT_KEY, intake.keys),
            (_INSERT_OTHER, intake.others),
            (_INSERT_PACK, intake.packs),
            (_INSERT_TEXT, intake.texts),
            # What this intake itself withdraws must be there first.
            (_WITHDRAW, intake.withdrawals),
            (_REPLACE_PACK, intake.replacements),
            (_MOVE, intake.moves),
            (_ERASE_TEXT, intake.erasures),
        ):
            if rows:
                database.executemany(statement, rows)
        if intake.erasures and database.executemany(_ERASE, intake.erasures).rowcount:
            # Deleting rows leaves their bytes in pages that are free, and in the log.
            database.execute(NOTE_REMNANTS)
        counted = (objects, len(intake.versions), len(intake.versions) + len(intake.events))
        withdrawn = len(intake.withdrawals) + len(intake.erasures)
        place = (after.offset, after.entries, after.sequence, after.head, after.head_bytes)
        database.execute(_MOVE_ON, (*place, *counted, withdrawn))
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    return True


def _stands_at(database: sqlite3.Connection, base: Position) -> bool:
    """Whether the index is at `base`, and still of our schema: another release of pamctl may
    have made the file its own since it was opened."""
    row = database.execute(_STANDING).fetchone()
    return row is not None and row[0] == SCHEMA_VERSION and row[1:] == base


def _write_versions(database: sqlite3.Connection, intake: Intake) -> int:
    """Add versions and end those they replace; how many objects are new."""
    if not intake.versions:
        return 0
    database.executemany(_INSERT_VERSION, intake.versions)
    if intake.unnumbered:
        database.executemany(_NUMBER, intake.unnumbered)
    objects: int = sum(version[1] == FAMILY_OBJECT for version in intake.versions)
    for family, successions in intake.successions.items():
        ended = database.executemany(_SUCCEED, successions).rowcount
        if family == FAMILY_OBJECT:
            objects -= ended
    return objects
