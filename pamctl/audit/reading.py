"""Files of a store that may be anything: opened without following, read in bounded memory."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from hashlib import _Hash

_CHUNK_BYTES = 1 << 20
# Nothing is there, or a link, or a socket.
_NO_FILE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO))


class Line(NamedTuple):
    """A line of a file: where it starts, its bytes without newline (None when it is longer
    than limits.DOCUMENT_BYTES_MAX), and whether a newline ends it."""

    offset: int
    data: bytes | None
    ended: bool


def open_plain(path: Path) -> int | None:
    """A descriptor of a regular file; None where there is nothing, or something else: a
    link, a folder, a pipe. Never waits. Raises OSError for one that may not be read: what a
    check did not see is not sound."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        if cause.errno not in _NO_FILE:
            raise
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return descriptor


def whole(path: Path) -> bytes | None:
    """The bytes of a file, at most one more than limits.DOCUMENT_BYTES_MAX of them."""
    descriptor = open_plain(path)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(DOCUMENT_BYTES_MAX + 1)


def lines(descriptor: int, size: int, digest: _Hash | None = None) -> Iterator[Line]:
    """The lines in the first `size` bytes of a file. A line that is too long is given when its
    end was found, and never held. `digest` is fed with all that was read."""
    offset, at, carried, dropped = 0, 0, b"", 0
    while at < size:
        chunk = os.pread(descriptor, min(_CHUNK_BYTES, size - at), at)
        if not chunk:
            break
        at += len(chunk)
        if digest is not None:
            digest.update(chunk)
        pieces = chunk.split(b"\n")
        pieces[0] = carried + pieces[0]
        carried = pieces.pop()
        for piece in pieces:
            length = dropped + len(piece)
            yield Line(offset, None if length > DOCUMENT_BYTES_MAX else piece, True)
            offset, dropped = offset + length + 1, 0
        if dropped + len(carried) > DOCUMENT_BYTES_MAX:
            carried, dropped = b"", dropped + len(carried)
    if carried or dropped:
        yield Line(offset, None if dropped else carried, False)


def ledger_lines(path: Path) -> Iterator[Line]:
    """The lines of a ledger file; none where there is no such file."""
    descriptor = open_plain(path)
    if descriptor is None:
        return
    try:
        yield from lines(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a writer holds the lock at `path` now. Nothing is made or changed by asking; a
    writer that asks in the same moment, and does not wait, may be told that it is held."""
    descriptor = open_plain(path)
    if descriptor is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks here: then nobody writes here either
        return False
    finally:
        os.close(descriptor)
    return False


def kind_of(path: Path) -> str | None:
    """What stands at a path: file, folder, link, something; None for nothing."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    for test, name in (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "link"),
        (stat.S_ISFIFO, "pipe"),
    ):
        if test(mode):
            return name
    return "special file"


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """What stands in a folder, in order of name; nothing where it is no folder."""
    if kind_of(folder) != "folder":
        return []
    with os.scandir(folder) as found:
        return sorted(found, key=lambda entry: entry.name)


def shown(root: Path, path: Path) -> str:
    """A path below the store as text that is UTF-8 whatever the file's name is."""
    name = os.fsencode(path.relative_to(root)).decode("utf-8", "backslashreplace")
    return name.replace(os.sep, "/")


def parsed(data: bytes) -> Any:
    """The JSON object in `data`; None when it is none."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def repeats_member(data: bytes) -> bool:
    """Whether an object in `data`, which is JSON, has two members of one name."""
    repeated = False

    def members(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len({name for name, _ in pairs}) != len(pairs)

    try:
        json.loads(data, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return False
    return repeated
