"""Where time and randomness come from. Everything below takes them as values, so that a
test, or an evaluation run, can repeat an operation byte for byte."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from pamctl.encoding.identifiers import new_identifier
from pamctl.encoding.timestamps import from_nanoseconds

Clock = Callable[[], int]
"""Nanoseconds since 1970, UTC."""

Entropy = Callable[[int], bytes]
"""That many unpredictable bytes."""


@dataclass(frozen=True, slots=True)
class Sources:
    """A clock and a source of randomness."""

    clock: Clock = time.time_ns
    entropy: Entropy = os.urandom

    def now(self) -> str:
        """The present, as a timestamp in microseconds."""
        return from_nanoseconds(self.clock())

    def identifier(self, scheme: str) -> str:
        """A new identifier: the scheme and 128 random bits."""
        return new_identifier(scheme, self.entropy(16))
