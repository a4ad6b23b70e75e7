"""Opening what a store has for reading, and nothing else: a store may come from a stranger.

A link would let it choose what is read, a pipe would make its reader wait for ever, a device
would never end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from pamctl.errors import StoreDamaged


def open_plain(path: Path) -> int:
    """A descriptor of the regular file at `path`, to read from.

    Raises FileNotFoundError where there is nothing, StoreDamaged where there is something
    else, and OSError for what the system refuses.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer that never comes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        if cause.errno in (errno.ELOOP, errno.ENXIO):
            raise not_plain(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise not_plain(path)
    return descriptor


def plain_status(path: Path) -> os.stat_result:
    """What the system says of the regular file at `path`. Raises as `open_plain` does."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise not_plain(path)
    return status


def plain_size(path: Path) -> int:
    """Bytes of the regular file at `path`. Raises as `open_plain` does."""
    return plain_status(path).st_size


def require_own_folder(path: Path) -> bool:
    """Whether a folder of the store is there. Raises StoreDamaged where a link, or what is no
    folder, stands for it: what is moved and written there would go elsewhere."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise StoreDamaged(
            f"{path} is no folder of the store's own; nothing was read or written there",
            hint="a link has no place in a store; see where this one comes from",
            path=str(path),
        )
    return True


def has_sole_name(path: Path) -> bool:
    """Whether the file at `path`, if there is one, may be written in place: it has no other
    name. Raises StoreDamaged where something else stands there."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(status.st_mode):
        raise not_plain(path)
    return status.st_nlink == 1


def require_sole_name(descriptor: int, path: Path) -> os.stat_result:
    """What the system says of a file that is about to be written in place. Raises
    StoreDamaged for one that has another name: whatever stands there, a copy made by links or
    a stranger's choice, would change."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise not_plain(path)
    if status.st_nlink > 1:
        raise StoreDamaged(
            f"{path} has another name (a hard link), and to write here would change that too; "
            "nothing was written",
            hint="make it a file of its own: copy it, and move the copy to its place",
            path=str(path),
        )
    return status


def not_plain(path: Path) -> StoreDamaged:
    """What to answer where a link, a pipe, a device or a folder stands for a file."""
    return StoreDamaged(
        f"{path} is no regular file; it was not opened",
        hint="a link or a special file has no place in a store; see where this one comes from",
        path=str(path),
    )
