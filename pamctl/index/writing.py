"""Puts the rows of an intake into the tables, in one SQLite transaction."""

from __future__ import annotations

import sqlite3
import time

from pamctl.index.erasures import NOTE_REMNANTS
from pamctl.index.intake import FAMILY_OBJECT, MISSING, Intake
from pamctl.index.schema import SCHEMA_VERSION, VERSION_COLUMNS
from pamctl.named_tuples import NamedTuple
from pamctl.store.records import Position

_TAKEN_IN = [name for name in VERSION_COLUMNS if name != "until"]
# To call nullif() would take twice as long.
_INSERT_VERSION = "INSERT INTO version ({}) VALUES ({})".format(
    ", ".join(f'"{name}"' for name in _TAKEN_IN),
    ", ".join(
        f"CASE ?{place} WHEN {MISSING} THEN NULL ELSE ?{place} END"
        if VERSION_COLUMNS[name] in ("INTEGER", "TEXT", "BLOB")
        else f"?{place}"
        for place, name in enumerate(_TAKEN_IN, 1)
    ),
)
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
MOVE = """
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
    DELETE FROM {} WHERE rowid IN (SELECT since FROM version WHERE object_id = ? AND since < ?)
"""
_ERASE_TEXT = """
    DELETE FROM {} WHERE rowid IN (
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


class TextTable(NamedTuple):
    """How text gets into a table and out of it."""

    insert: str
    withdraw: str
    erase: str


LEXICAL = TextTable(
    "INSERT INTO text (rowid, strings, names) VALUES (?, ?, ?)",
    _WITHDRAW.format("text"),
    _ERASE_TEXT.format("text"),
)
LAID_BY = TextTable(
    "INSERT INTO text_content (id, c0, c1) VALUES (?, ?, ?)",
    _WITHDRAW.format("text_content"),
    _ERASE_TEXT.format("text_content"),
)
"""Where FTS5 keeps the text that it has indexed; what is put there itself waits for
`index_text`."""

# With a smaller cache whoever writes many versions writes their pages more than once.
_LARGE_CACHE = "PRAGMA cache_size = -32768"
_MANY = 256
_LOOK_AGAIN_MS = 20

_STANDING = """
    SELECT user_version, "offset", entries, sequence, head, head_bytes
    FROM pragma_user_version, position
"""


def write(database: sqlite3.Connection, base: Position, intake: Intake, after: Position) -> bool:
    """Add `intake`, which the ledger holds from `base` to `after`. All of it or nothing.

    False, and nothing changed, when the index is not at `base`. Raises sqlite3.DatabaseError,
    an IntegrityError among them for an id that was there already.
    """
    if not _begin(database, base) or not _stage(database, base, intake, after):
        return False
    try:
        database.execute("COMMIT")
    except BaseException:
        withdraw(database)
        raise
    return True


def withdraw(database: sqlite3.Connection) -> None:
    """Undo what is staged, if anything is."""
    if database.in_transaction:
        database.execute("ROLLBACK")


def stage(database: sqlite3.Connection, base: Position, intake: Intake, after: Position) -> bool:
    """As `write`, without the last step: the transaction stays open, to be committed or to be
    withdrawn. Where this returns False or raises, there is none."""
    database.execute("BEGIN IMMEDIATE")
    return _stage(database, base, intake, after)


def _stage(database: sqlite3.Connection, base: Position, intake: Intake, after: Position) -> bool:
    try:
        if not _stands_at(database, base):
            database.execute("ROLLBACK")
            return False
        if len(intake.versions) > _MANY:
            database.execute(_LARGE_CACHE)
        objects, versions, events = insert_rows(database, intake)
        objects -= settle(database, intake)
        move_on(database, after, (objects, versions, events, intake.withdrawn()))
        if intake.texts:
            # The lexical index keeps words back until a transaction ends, or another begins.
            database.execute("SAVEPOINT words")
            database.execute("RELEASE words")
    except BaseException:
        withdraw(database)
        raise
    return True


def _begin(database: sqlite3.Connection, base: Position) -> bool:
    """Begin to write, once whoever writes has done so. False where the index is not at `base`
    any more by then: where one writes after the other, SQLite lets somebody who waits for the
    lock starve, and each of them does what he is waiting for."""
    ((usual,),) = database.execute("PRAGMA busy_timeout").fetchall()
    deadline = time.monotonic() + usual / 1000
    database.execute(f"PRAGMA busy_timeout = {_LOOK_AGAIN_MS}")
    try:
        while True:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                if not _stands_at(database, base):
                    return False
                if time.monotonic() > deadline:
                    raise
            else:
                return True
    finally:
        database.execute(f"PRAGMA busy_timeout = {usual}")


def _stands_at(database: sqlite3.Connection, base: Position) -> bool:
    """Whether the index is at `base`, and still of our schema: another release of pamctl may
    have made the file its own since it was opened."""
    row = database.execute(_STANDING).fetchone()
    return row is not None and row[0] == SCHEMA_VERSION and row[1:] == base


def insert_rows(
    database: sqlite3.Connection, intake: Intake, texts: TextTable = LEXICAL
) -> tuple[int, int, int]:
    """Add the rows of `intake`, and leave what they do to others to `settle`. Returns how many
    are versions of memory objects, how many are versions, and how many events there were."""
    for statement, rows in (
        (_INSERT_VERSION, intake.versions),
        (_INSERT_EVENT, intake.events),
        (_INSERT_LINK, intake.links),
        (_INSERT_MENTION, intake.mentions),
        (_INSERT_KEY, intake.keys),
        (_INSERT_OTHER, intake.others),
        (_INSERT_PACK, intake.packs),
        (texts.insert, intake.texts),
    ):
        if rows:
            database.executemany(statement, rows)
    of_objects = sum([version[1] == FAMILY_OBJECT for version in intake.versions])
    return of_objects, len(intake.versions), len(intake.versions) + len(intake.events)


def index_text(database: sqlite3.Connection) -> None:
    """Make the lexical index of all text that was laid by."""
    database.execute("INSERT INTO text (text) VALUES ('rebuild')")


def settle(database: sqlite3.Connection, intake: Intake, texts: TextTable = LEXICAL) -> int:
    """Do what `intake` says of rows that are there: which versions are replaced, withdrawn,
    moved or erased. It may say that of many insertions, because all of it tells from where in
    the ledger on it counts. Returns how many versions of memory objects were replaced."""
    if intake.unnumbered:
        database.executemany(_NUMBER, intake.unnumbered)
    ended = {
        family: database.executemany(_SUCCEED, successions).rowcount
        for family, successions in intake.successions.items()
    }
    for statement, rows in (
        (texts.withdraw, intake.withdrawals),
        (_REPLACE_PACK, intake.replacements),
        (MOVE, intake.moves),
        (texts.erase, intake.erasures),
    ):
        if rows:
            database.executemany(statement, rows)
    if intake.erasures and database.executemany(_ERASE, intake.erasures).rowcount:
        # Deleting rows leaves their bytes in pages that are free, and in the log.
        database.execute(NOTE_REMNANTS)
    return ended.get(FAMILY_OBJECT, 0)


def move_on(
    database: sqlite3.Connection, after: Position, counted: tuple[int, int, int, int]
) -> None:
    """Note that the ledger was read up to `after`, and how many objects, versions, events and
    withdrawals came on the way."""
    place = (after.offset, after.entries, after.sequence, after.head, after.head_bytes)
    database.execute(_MOVE_ON, (*place, *counted))
