"""Opening a scope's index file, and what to do when SQLite cannot.

The file belongs to whoever may write it; readers of a store that they cannot write use it
as it is, or in memory. Damage is never a reason to fail: the ledger has it all.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from pamctl.errors import ServiceUnavailable
from pamctl.index.schema import SCHEMA_VERSION, blank_index
from pamctl.limits import LOCK_WAIT_SEC
from pamctl.store.plain_files import has_sole_name

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNWRITABLE = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
# The write-ahead log is moved into the file when it has this many pages of 4 KiB: whoever
# writes for long moves it seldom, since many of its pages replace one another.
_LOG_PAGES = 4000
# A log that is left behind, its next reader has to read; this much takes about a millisecond.
_LOG_LEFT_BYTES = 2 * 1024 * 1024
# Kept in memory at most, of whoever reads or writes little; the system keeps the rest.
_CACHE_KIB = 16 * 1024
_PAGES_A_STEP = 1024
_LOOK_AGAIN_SEC = 0.01


class IndexDamaged(ServiceUnavailable):
    """The index was damaged and has been emptied; bring it up to date and ask again."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite says that the file is not, or no longer, a database."""
    return _code(error) in _DAMAGED


def is_unwritable(error: sqlite3.Error) -> bool:
    """Whether the place refuses to be written: no right to, no room, a failing device."""
    return _code(error) in _UNWRITABLE


def unavailable(error: sqlite3.Error) -> Exception:
    """What to raise for an error of SQLite's that nothing here can do anything about.

    Whatever is not a matter of the file is our own mistake, and stays what it is.
    """
    if _code(error) in _BUSY:
        return ServiceUnavailable(
            f"the index stayed locked for {LOCK_WAIT_SEC:.0f} seconds", hint="try again"
        )
    if is_damage(error) or is_unwritable(error):
        return ServiceUnavailable(
            f"the index cannot be used: {error}",
            hint="the index is derived; its file may be deleted and is made anew",
        )
    return error


def _code(error: sqlite3.Error) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def open_index(path: Path) -> sqlite3.Connection | None:
    """The index file at `path`, made where there is none and emptied where it is damaged or
    of another schema. None when the place cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    # SQLite follows links. What a stranger's link names is not to be emptied and written.
    if not has_sole_name(path):
        return None
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return None
    try:
        return _if_ours(path) or _made(path)
    except sqlite3.DatabaseError as error:
        if is_unwritable(error):
            return None
        raise unavailable(error) from error


def open_read_only(path: Path) -> sqlite3.Connection | None:
    """The index file of a folder that cannot be written; None when it is of no use.

    First as SQLite reads a file that others may write. That needs the log and its shared
    memory beside the file, which a closed index or a read-only medium lacks: then as a file
    that nobody changes, without the log. It is then older, and no less true.
    """
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        with contextlib.suppress(sqlite3.DatabaseError):
            database = _if_ours(f"{path.absolute().as_uri()}?{mode}")
            if database is not None:
                return database
    return None


def _if_ours(name: Path | str) -> sqlite3.Connection | None:
    """The database of that path or URI; None where it is damaged or of another schema."""
    try:
        database = _connect(str(name), uri=isinstance(name, str))
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return None
        raise
    try:
        if schema_version(database) == SCHEMA_VERSION:
            return database
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            database.close()
            raise
    database.close()
    return None


def empty_index(database: sqlite3.Connection) -> None:
    """Make whatever `database` holds an empty index, within its file.

    The pages of a new index are written over the old ones under SQLite's own locks, so that
    other processes see one or the other; this works on files that are damaged behind their
    first page. Raises sqlite3.DatabaseError when even the first page makes no sense.
    """
    with contextlib.closing(blank_index()) as blank:
        overwrite(database, blank)


def overwrite(database: sqlite3.Connection, source: sqlite3.Connection) -> None:
    """Put the content of an index in the place of another, in one step for all who use it."""
    deadline = time.monotonic() + LOCK_WAIT_SEC

    def give_up(status: int, remaining: int, total: int) -> None:
        if status in _BUSY and time.monotonic() > deadline:
            raise ServiceUnavailable("another process keeps the index locked")

    _write_ahead(database, deadline)
    source.backup(database, pages=_PAGES_A_STEP, progress=give_up, sleep=_LOOK_AGAIN_SEC)


def _write_ahead(database: sqlite3.Connection, deadline: float) -> None:
    """Have readers go on while one writes; the mode stays with the file. SQLite does not wait
    for those who look into a new file at this moment, as it does everywhere else."""
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_AGAIN_SEC)
        else:
            return


def clear_log(database: sqlite3.Connection) -> bool:
    """Move the log into the file and cut both to what is needed, so that no page of earlier
    content is left in them. False when another process went on reading such pages for longer
    than limits.LOCK_WAIT_SEC."""
    ((busy, _, _),) = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return not busy


def _made(path: Path) -> sqlite3.Connection:
    """The empty index made at `path`, or the one that another process made meanwhile."""
    with _folder_locked(path.parent):
        return _if_ours(path) or _emptied(path)


def replace_file(path: Path) -> sqlite3.Connection:
    """An empty index in the place of a file that could not be emptied. Raises
    ServiceUnavailable where that cannot be done."""
    with _folder_locked(path.parent):
        try:
            return _emptied(path)
        except sqlite3.DatabaseError as error:
            raise unavailable(error) from error


def _emptied(path: Path) -> sqlite3.Connection:
    """The file at `path`, emptied, or a new one where its first page is none of SQLite's."""
    try:
        return _opened_empty(path)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
    # The log first. As long as the file is no database nobody can begin another log, which
    # would go with the old one from under whoever writes it.
    for suffix in ("-wal", "-shm", ""):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    return _opened_empty(path)


def _opened_empty(path: Path) -> sqlite3.Connection:
    database = _connect(str(path))
    try:
        empty_index(database)
    except BaseException:
        database.close()
        raise
    return database


@contextlib.contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    """Keeps two processes from emptying, or deleting, what the other has just made. A file that
    is no database cannot be locked by SQLite, and its name must be free to go."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def close_index(database: sqlite3.Connection, path: Path | None) -> None:
    """Close an index, and leave a short log to whoever opens it next.

    The last to close a database moves its log into the file and waits for the device twice.
    SQLite does not do that where the last connection may only read; so one is held open
    while the other closes. A command that wrote one object ends without waiting.

    path: of a file that was open for writing, None otherwise.
    """
    reader = None
    if path is not None and _log_bytes(path) <= _LOG_LEFT_BYTES:
        with contextlib.suppress(sqlite3.DatabaseError):
            reader = _connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            schema_version(reader)
    database.close()
    if reader is not None:
        reader.close()


def _log_bytes(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0


def memory_copy(database: sqlite3.Connection) -> sqlite3.Connection:
    """The content of an index in memory; an empty index where it cannot be read."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        database.backup(copy, sleep=_LOOK_AGAIN_SEC)
    except sqlite3.DatabaseError:
        copy.close()
        return blank_index()
    return copy


def _connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
    database = sqlite3.connect(
        name,
        timeout=LOCK_WAIT_SEC,
        isolation_level=None,
        uri=uri,
        check_same_thread=False,  # see IndexFile.prepare
    )
    try:
        # The file stays whole whenever the power fails; what may be lost are the last
        # transactions, and the ledger gives those back. So no commit waits for the device.
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database


def schema_version(database: sqlite3.Connection) -> int:
    """The schema that a file says it has; 0 for an empty one."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)
