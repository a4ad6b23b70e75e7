"""An index of a whole ledger at once, which takes two thirds of what taking it in by and by does.

Nothing looks into it before it is whole. So indexes are made when the rows are there, then what
rows do to others is done, and the lexical index comes last and never holds what was withdrawn.
Nothing can be taken back: there is no journal.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterable

from pamctl.index.intake import Intake
from pamctl.index.schema import blank_index, make_indexes
from pamctl.index.writing import (
    LAID_BY,
    LEXICAL,
    MOVE,
    TextTable,
    index_text,
    insert_rows,
    move_on,
    settle,
)
from pamctl.store.records import START, Commit, Transaction, portions

# Few enough that what was read is still in the processor's cache when it is taken apart and
# let go of: with a thousand, all of it took a sixth longer.
_ENTRIES_AT_ONCE = 64
_ROWS_AT_ONCE = 1024
# More than this of either makes no difference.
_CACHE_KIB = 16 * 1024
_WORDS_BYTES = 8 * 1024 * 1024
# What FTS5 begins with, for whoever writes to the index afterwards.
_WORDS_BYTES_USUAL, _MERGED_USUAL = 1024 * 1024, 4


def make_index(transactions: Iterable[Transaction | Commit]) -> sqlite3.Connection:
    """An index of all transactions of a ledger, in a private file without a name.

    Raises StoreDamaged as `Intake.take` and for what reading the ledger finds;
    sqlite3.DatabaseError, an IntegrityError among them for an id that is there twice.
    """
    database = blank_index("", indexed=False)
    collecting = gc.isenabled()
    # Nothing here is let go of in cycles, and to look for them takes a tenth of the time.
    gc.disable()
    try:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        _tune_words(database, _WORDS_BYTES, 0)
        database.execute("BEGIN")
        texts = _text_table(database)
        _fill(database, transactions, texts)
        if texts is LAID_BY:
            index_text(database)
        database.execute("COMMIT")
        _tune_words(database, _WORDS_BYTES_USUAL, _MERGED_USUAL)
    except BaseException:
        database.close()
        raise
    finally:
        if collecting:
            gc.enable()
    return database


def _text_table(database: sqlite3.Connection) -> TextTable:
    """Where text goes first. A SQLite that defends itself, as that of macOS does, lets nobody
    write but FTS5 where FTS5 keeps its text."""
    try:
        database.execute("DELETE FROM text_content")
    except sqlite3.OperationalError:
        return LEXICAL
    return LAID_BY


def _fill(
    database: sqlite3.Connection,
    transactions: Iterable[Transaction | Commit],
    texts: TextTable,
) -> None:
    """All but the index of what was laid by."""
    database.execute("CREATE TEMP TABLE move (pack, place, length, version_id, address)")
    intake, after = Intake(), START
    counted = [0, 0, 0]

    def insert() -> None:
        for place, count in enumerate(insert_rows(database, intake, texts)):
            counted[place] += count
        intake.drop_rows()
        database.executemany("INSERT INTO move VALUES (?, ?, ?, ?, ?)", intake.moves)
        intake.moves.clear()  # a pack may move all there is

    for portion in portions(transactions, _ENTRIES_AT_ONCE):
        intake.take(portion)
        after = portion[-1].after
        if intake.rows() >= _ROWS_AT_ONCE:
            insert()
    insert()
    make_indexes(database)
    objects, versions, events = counted
    objects -= settle(database, intake, texts)
    database.executemany(MOVE, database.execute("SELECT * FROM move ORDER BY rowid"))
    database.execute("DROP TABLE move")
    move_on(database, after, (objects, versions, events, intake.withdrawn()))


def _tune_words(database: sqlite3.Connection, bytes_sorted: int, merged: int) -> None:
    """How many bytes of words the lexical index sorts before it writes them, and from how many
    pieces on it merges them; 0 for never."""
    for name, value in (("hashsize", bytes_sorted), ("automerge", merged)):
        database.execute("INSERT INTO text (text, rank) VALUES (?, ?)", (name, value))
