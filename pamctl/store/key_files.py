"""Reading the file of a private key: only where it is a plain file that nobody else can
reach, and without a look at what is in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pamctl.errors import InvalidRequest, StoreDamaged
from pamctl.store.plain_files import open_plain

PEM_BYTES_MAX = 16384


def read_private(path: Path) -> bytes:
    """The bytes of a private key's file, judged by what was opened.

    Raises FileNotFoundError where there is none, and InvalidRequest where others can read or
    write it, or it cannot be read at all.
    """
    try:
        descriptor = open_plain(path)
    except FileNotFoundError:
        raise
    except (OSError, StoreDamaged) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is no regular file"
        raise InvalidRequest(
            f"the private key {path} cannot be read: {reason}",
            hint="it must be a file of yours, not a link",
        ) from cause
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & 0o077:
            raise InvalidRequest(
                f"others can read or write the private key {path} (mode {mode:04o}); "
                "it was not used",
                hint=f"run `chmod 600 {path}`, and make a new key if somebody may have read it",
            )
        return os.read(descriptor, PEM_BYTES_MAX)
    finally:
        os.close(descriptor)
