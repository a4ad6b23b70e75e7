"""One writer a scope.

The kernel holds the lock (`flock`), so it ends with the process that took it: a lock file
that is left behind means nothing, and nobody ever has to remove one. What the file says is
only for the message to those who waited in vain.

The kernel gives no turns: whoever lets go and asks again at once would nearly always be
faster than those who look every few milliseconds. So whoever asks first gets in line by
locking the folder that the file is in, and the one who has that is next. It is a courtesy,
of which nothing but fairness depends, and it ends after a second.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path

from pamctl.errors import ServiceUnavailable
from pamctl.limits import LOCK_WAIT_SEC

_PAUSE_MIN_SEC, _PAUSE_MAX_SEC = 0.0005, 0.002
_TURN_WAIT_SEC = 1.0
_HOLDER_BYTES = 20


def exclusive(path: Path, *, wait_sec: float = LOCK_WAIT_SEC) -> AbstractContextManager[None]:
    """Hold the lock at `path`.

    Raises ServiceUnavailable when another process held it for all of `wait_sec` seconds, or
    when no lock can be had here: a read-only file system, or one without `flock`.
    """
    return _Exclusive(path, wait_sec)


class _Exclusive:
    """A class, because every write takes a lock and generators cost it some microseconds."""

    def __init__(self, path: Path, wait_sec: float) -> None:
        self._path = path
        self._wait_sec = wait_sec
        self._descriptor = -1

    def __enter__(self) -> None:
        descriptor = _open(self._path)
        try:
            turn = _take_turn(self._path.parent, min(self._wait_sec, _TURN_WAIT_SEC))
            try:
                _acquire(descriptor, self._path, self._wait_sec)
            finally:
                if turn >= 0:
                    os.close(turn)
        except BaseException:
            os.close(descriptor)
            raise
        holder = b"%-*d" % (_HOLDER_BYTES, os.getpid())
        # A full disk does not make the lock less held.
        with contextlib.suppress(OSError):
            if os.pread(descriptor, _HOLDER_BYTES, 0) != holder:
                os.pwrite(descriptor, holder, 0)
        self._descriptor = descriptor

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as cause:
        raise ServiceUnavailable(
            f"cannot lock {path}: {os.strerror(cause.errno or 0)}",
            hint="the store can be read here, not written",
            path=str(path),
            errno=errno.errorcode.get(cause.errno or 0),
        ) from cause


def _take_turn(folder: Path, wait_sec: float) -> int:
    """Be the next to get the lock in a folder, until the descriptor that this returns is
    closed. After `wait_sec` seconds the lock may be tried all the same: who has the turn may
    have been stopped, and some file systems lock no folders. -1 for a folder that cannot be
    opened."""
    descriptor = -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _lock_within(descriptor, wait_sec)
    except OSError:
        pass
    except BaseException:
        if descriptor >= 0:
            os.close(descriptor)
        raise
    return descriptor


def _lock_within(descriptor: int, wait_sec: float) -> bool:
    """Whether the lock was had within `wait_sec` seconds. Raises OSError where there is none."""
    deadline = time.monotonic() + wait_sec
    pause = _PAUSE_MIN_SEC
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, _PAUSE_MAX_SEC)


def _acquire(descriptor: int, path: Path, wait_sec: float) -> None:
    try:
        acquired = _lock_within(descriptor, wait_sec)
    except OSError as cause:
        raise ServiceUnavailable(
            f"this file system cannot lock {path}: {os.strerror(cause.errno or 0)}",
            hint="keep the store on a local file system; without locks two writers can fork it",
            path=str(path),
        ) from cause
    if not acquired:
        holder = os.pread(descriptor, _HOLDER_BYTES, 0).decode("ascii", "replace").strip()
        raise ServiceUnavailable(
            f"process {holder or 'unknown'} has been writing here for {wait_sec:g} seconds",
            hint="run the same command again when it is done",
            path=str(path),
            holder_pid=holder or None,
        )
