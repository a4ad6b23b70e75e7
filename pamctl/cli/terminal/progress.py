"""How far something has got that may last: for a person at a terminal, and nobody else."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType

from pamctl.cli.terminal import output

_PATIENCE_SEC = 1.0
"""What is over sooner needs no word."""
_BETWEEN_SEC = 0.2


class Progress:
    """A line on standard error that is written over and gone when the `with` is left.

    Shown only where standard error is a terminal on which nothing else is printed and that
    can go back in a line: not with --quiet, not where data go to a terminal too, and not on
    one that is `dumb`.

    what: the things that are counted, in the plural.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._count = 0
        self._begun = time.monotonic()
        self._next = self._begun + _PATIENCE_SEC
        self._shown = False
        self._wanted = (
            not quiet
            and output.is_terminal(sys.stderr)
            and not output.is_terminal(sys.stdout)
            and os.environ.get("TERM") != "dumb"
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def advance(self, count: int) -> None:
        """So many more are done."""
        self._count += count
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next = now + _BETWEEN_SEC
        self._shown = True
        rate = self._count / (now - self._begun)
        line = f"pamctl: {self._count:,} {self._what}, {rate:,.0f} a second"
        # A line that wrapped could not be written over.
        sys.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()
