"""Copies of this process, for work that another processor can do: the interpreter uses one,
however many threads there are."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable

# As much as a pipe may hold on Linux without privileges. What is handed over is some megabytes,
# and each time that the pipe is full costs two changes from one process to another.
_PIPE_BYTES = 1024 * 1024
_STANDARD = 3


def is_worth_copying() -> bool:
    """Whether a copy would have a processor of its own, and be whole: locks that a second
    thread holds would stay locked in it for ever."""
    return (os.cpu_count() or 1) > 1 and threading.active_count() == 1


def wide_pipe() -> tuple[int, int]:
    """The ends of a pipe, to read from and to write to, that holds much where the system lets
    it."""
    reading, writing = os.pipe()
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return reading, writing


def begin_copy(work: Callable[[], None], *, keeping: tuple[int, ...]) -> int | None:
    """Have a copy of this process do some work and end, and return its process id; None where
    the system allows no more processes.

    keeping: the descriptors that the copy uses. It keeps no others, so that nobody who waits
        for the end of a pipe, or of what is printed, waits for it.
    """
    try:
        copy = os.fork()
    except OSError:
        return None
    if copy == 0:
        with contextlib.suppress(BaseException):
            _close_all_but(keeping)
            work()
        os._exit(0)
    return copy


def await_end(copy: int) -> None:
    """Wait until a copy has ended."""
    # Where a parent that ignores its children left that to us, the system has reaped it.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(copy, 0)


def _close_all_but(kept: tuple[int, ...]) -> None:
    # What is opened next would take the place of a standard stream that is closed.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(_STANDARD):
        if standard not in kept:
            os.dup2(nowhere, standard)
    after = _STANDARD
    # To os.closerange a range that ends at 0 may be one without an end.
    for descriptor in sorted(one for one in kept if one >= _STANDARD):
        os.closerange(after, descriptor)
        after = descriptor + 1
    os.closerange(after, os.sysconf("SC_OPEN_MAX"))
