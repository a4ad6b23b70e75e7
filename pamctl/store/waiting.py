"""Other work for the time that the device takes to make something durable."""

from __future__ import annotations

import _thread
import contextlib
import os
from collections.abc import Callable, Iterator


class _Helper:
    """A thread that carries out one work after another."""

    def __init__(self) -> None:
        self._work: Callable[[], None] | None = None
        self._begun = _held_lock()
        self._ended = _held_lock()
        _thread.start_new_thread(self._carry_out_all, ())

    def begin(self, work: Callable[[], None]) -> None:
        """Let the thread carry out some work."""
        self._work = work
        self._begun.release()

    def wait(self) -> None:
        """Wait for the end of it, also where the user interrupts, who is heard afterwards:
        what the thread has in its hands cannot be used before."""
        try:
            self._ended.acquire()
        except KeyboardInterrupt:
            self._ended.acquire()
            raise

    def is_idle(self) -> bool:
        """Whether it can be given other work: what it had ended without an error."""
        return self._work is None

    def _carry_out_all(self) -> None:
        while True:
            self._begun.acquire()
            assert self._work is not None
            try:
                self._work()
                self._work = None
            finally:
                self._ended.release()


def _held_lock() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


# To start a thread takes as long as a tenth of a durable write; so one is kept. None is left
# in a process that was forked.
_idle: list[_Helper] = []
os.register_at_fork(after_in_child=_idle.clear)


def _free_helper() -> _Helper | None:
    """One that was kept, or a new one; None where the system allows no more threads."""
    with contextlib.suppress(IndexError):
        return _idle.pop()
    with contextlib.suppress(RuntimeError):
        return _Helper()
    return None


@contextlib.contextmanager
def doing_meanwhile(work: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Carry out `work` in another thread while the block is carried out; the block ends when
    both are done, whatever it ends with.

    The interpreter runs one of the two at a time, except while one waits for the device or
    for SQLite. So the work begins when the block calls what it is given, which is best done
    right before such a wait, or else when the block ends. Where no thread can be had, `work`
    is not carried out. It must deal with its own errors.
    """
    helper = _free_helper()
    if helper is None:
        yield lambda: None
        return
    waiting = [work]

    def begin() -> None:
        if waiting:
            helper.begin(waiting.pop())

    try:
        yield begin
    finally:
        begin()
        helper.wait()
        if helper.is_idle() and not _idle:
            _idle.append(helper)
