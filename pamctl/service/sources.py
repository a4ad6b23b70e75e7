"""Where time and randomness come from. Everything below takes them as values, so that a
test, or an evaluation run, can repeat an operation byte for byte."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from pamctl.encoding.identifiers import new_identifier
from pamctl.encoding.timestamps import from_nanoseconds
from pamctl.named_tuples import NamedTuple

Clock = Callable[[], int]
"""Nanoseconds since 1970, UTC."""

Entropy = Callable[[int], bytes]
"""That many unpredictable bytes."""


class _Page:
    """Random bytes, and how many of them were given away."""

    __slots__ = ("data", "used")

    def __init__(self) -> None:
        self.data = b""
        self.used = 0


class SystemEntropy(threading.local):
    """The system's randomness, drawn a page at a time: a system call for each identifier
    would be a twentieth of the price of a batch. Each thread and each forked process has a
    page of its own, because two that share one would give two things one name."""

    _PAGE_BYTES = 4096

    def __init__(self) -> None:
        # In one object: each look at an attribute of a thread's own costs a tenth of a draw.
        self._drawn = _Page()

    def __call__(self, length: int) -> bytes:
        page = self._drawn
        start, end = page.used, page.used + length
        if end > len(page.data):
            page.data = os.urandom(max(length, self._PAGE_BYTES))
            start, end = 0, length
        page.used = end
        return page.data[start:end]

    def forget(self) -> None:
        """Begin a new page."""
        self._drawn = _Page()


system_entropy = SystemEntropy()
os.register_at_fork(after_in_child=system_entropy.forget)


class Sources(NamedTuple):
    """A clock and a source of randomness."""

    clock: Clock = time.time_ns
    entropy: Entropy = system_entropy

    def now(self) -> str:
        """The present, as a timestamp in microseconds."""
        return from_nanoseconds(self.clock())

    def identifier(self, scheme: str) -> str:
        """A new identifier: the scheme and 128 random bits."""
        return new_identifier(scheme, self.entropy(16))
