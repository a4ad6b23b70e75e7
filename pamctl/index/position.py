"""How far an index file has read, for those who must not change it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pamctl.index.schema import SCHEMA_VERSION


def position_in_file(path: Path) -> tuple[int, int, str, int] | None:
    """How far the index file at `path` says that it has read: `entries`, `offset`, `head` and
    `head_bytes` of a `store.records.Position`. None for a file that is no index of this schema.
    Neither the file nor its log is changed."""
    log = path.with_name(f"{path.name}-wal")
    # Without a log that holds anything, SQLite need not make the memory that is shared over it.
    mode = "mode=ro" if log.is_file() and log.stat().st_size else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
            ((version,),) = database.execute("PRAGMA user_version").fetchall()
            if version != SCHEMA_VERSION:
                return None
            rows = database.execute(
                'SELECT entries, "offset", head, head_bytes FROM position'
            ).fetchall()
    except sqlite3.DatabaseError:
        return None
    return rows[0] if rows else (0, 0, "", 0)
