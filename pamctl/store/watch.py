"""Noticing that something was committed to a scope, by whatever process.

A commit ends in bytes at the end of the ledger, so one look at the ledger's length tells. The
kernel would tell by itself (inotify), but not on network file systems, not everywhere, and
only through a library. A look takes three microseconds; with the waking up, twenty looks a
second take a five-hundredth of a processor.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

PAUSE_MIN_SEC, PAUSE_MAX_SEC = 0.005, 0.05
"""Between two looks. It grows while nothing happens, so that what comes soon is seen soon."""


class Watch:
    """Whether a ledger was written to since it was last looked at."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._seen: tuple[int, int, int] | None = (0, 0, 0)

    def changed(self) -> bool:
        """Whether it is another than at the last look; at the first look it is. Whoever reads
        it after that misses nothing."""
        try:
            found = os.stat(self._ledger)
        except FileNotFoundError:  # a scope that its first write will make
            now = None
        else:
            now = (found.st_ino, found.st_size, found.st_mtime_ns)
        before, self._seen = self._seen, now
        return now != before

    def wait(self, pause: Callable[[float], object], *, at_most_sec: float = math.inf) -> bool:
        """Return True as soon as it changed, or False after about `at_most_sec` seconds.

        pause: lets that many seconds pass, or raises to end the waiting.
        """
        left, nap = at_most_sec, PAUSE_MIN_SEC
        while not self.changed():
            if left <= 0:
                return False
            nap = min(nap, left)
            pause(nap)
            left -= nap
            nap = min(2 * nap, PAUSE_MAX_SEC)
        return True
