"""The file of a scope's index: how it is opened, brought up to date, emptied and made anew."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pamctl.errors import PamError, StoreDamaged
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
from pamctl.index.erasures import NOTE_CLEARED, NOTE_REMNANTS
from pamctl.index.schema import SCHEMA_VERSION, blank_index
from pamctl.store.records import START, Commit, Position, Transaction

if TYPE_CHECKING:
    from pamctl.index.intake import Intake

_SELECT_POSITION = 'SELECT "offset", entries, sequence, head, head_bytes FROM position'


class IndexFile:
    """What was taken in from the ledger, in a file or in memory, for as long as it is given
    the whole ledger.

    Several processes may use one file. Whatever looks into it may raise ServiceUnavailable;
    after its subclass IndexDamaged the index is empty, and has to be brought up to date
    before it is asked again.

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
        self._prepared: Sequence[Transaction] | None = None

    @classmethod
    def scratch(cls) -> Self:
        """An empty index that is to be another's content; see `become`."""
        index = cls(None)
        index._database = blank_index("")
        return index

    @classmethod
    def made_of(cls, transactions: Iterable[Transaction | Commit]) -> Self:
        """An index of a whole ledger, in no file that has a name; to be looked into, or to be
        another's content. Raises StoreDamaged as `apply` does, and ServiceUnavailable."""
        from pamctl.index.making import make_index

        index = cls(None)
        try:
            index._database = make_index(transactions)
        except sqlite3.IntegrityError as error:
            raise _used_again(START, error) from error
        except sqlite3.DatabaseError as error:
            raise unavailable(error) from error
        return index

    def close(self) -> None:
        """Let go of the file. The index cannot be used afterwards."""
        close_index(self._database, self._path if self._home == "file" else None)

    def shrink(self) -> None:
        """Give back the memory that holds pages of the file, for whoever goes through many
        scopes: each may keep its whole cache otherwise."""
        with contextlib.suppress(sqlite3.DatabaseError):
            self._database.execute("PRAGMA shrink_memory")

    @property
    def is_shared(self) -> bool:
        """Whether others see what this takes in, and this what they do."""
        return self._home == "file"

    def position(self) -> Position:
        """How far the ledger was read: START for a new index, and for one that was found
        damaged and has been emptied."""
        try:
            rows = self._rows(_SELECT_POSITION)
        except IndexDamaged:
            return START
        return Position(*rows[0]) if rows else START

    def apply(self, base: Position, transactions: Sequence[Transaction | Commit]) -> bool:
        """Take in the transactions that follow `base` in the ledger, all or none.

        False, and nothing changed, when the index is not at `base`: another process was
        faster, or the index was damaged and is empty again. `position` tells where to go on.
        An index whose file cannot be written goes on in memory. Raises StoreDamaged for what
        no ledger may hold, such as a version id that was used before.
        """
        from pamctl.index.intake import Intake

        if self._prepared is not None and self._commit_prepared(transactions):
            return True
        if not transactions:
            return self.position() == base
        intake = Intake()
        intake.take(transactions)
        return self.take_in(base, intake, transactions[-1].after)

    def take_in(self, base: Position, intake: Intake, after: Position) -> bool:
        """As `apply`, of the rows that were made of the transactions between two positions."""
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

    def prepare(self, base: Position, transactions: Sequence[Transaction]) -> None:
        """Do what `apply` does but for its last step, so that nobody sees anything of it yet:
        for a writer that waits for the device meanwhile, in a thread of its own. Nothing may
        use the index before `apply` was called with the same transactions, or `abandon`.

        What goes wrong here goes wrong in `apply` again, and is answered there.
        """
        from pamctl.index.intake import Intake
        from pamctl.index.writing import stage

        if self._home == "borrowed file":
            return
        with contextlib.suppress(sqlite3.DatabaseError, PamError):
            intake = Intake()
            intake.take(transactions)
            if stage(self._database, base, intake, transactions[-1].after):
                self._prepared = transactions

    def abandon(self) -> None:
        """Undo what was prepared, if anything was."""
        if self._prepared is not None:
            self._commit_prepared(())

    def _commit_prepared(self, transactions: Sequence[Transaction | Commit]) -> bool:
        """Whether these transactions were what was prepared, and are in the index now. Of
        anything else that was prepared nothing is left."""
        from pamctl.index.writing import withdraw

        prepared, self._prepared = self._prepared, None
        with contextlib.suppress(sqlite3.DatabaseError):
            if prepared is transactions:
                self._database.execute("COMMIT")
                return True
        with contextlib.suppress(sqlite3.DatabaseError):
            withdraw(self._database)
        return False

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

    def become(self, other: IndexFile) -> bool:
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
            raise _used_again(base, error) from error

    def _continue_in_memory(self) -> None:
        copy = memory_copy(self._database)
        self._database.close()
        self._database, self._home = copy, "memory"


def _used_again(base: Position, error: sqlite3.IntegrityError) -> StoreDamaged:
    return StoreDamaged(
        f"the ledger behind byte {base.offset} uses an identifier again: {error}",
        hint="run `pamctl fsck` to see what is damaged",
    )
