"""Lines for people that no table fits: coloured where that is wanted, never wider than the
terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pamctl.cli.terminal import output

if TYPE_CHECKING:
    from pamctl.cli.invocation import Invocation

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
"""Of ECMA-48, select graphic rendition."""

PIPE_COLUMNS = 100_000
"""Wide enough that nothing is cut in a pipe."""


class Ink:
    """How to write to standard output: in colour or not, and how many columns there are."""

    def __init__(self, call: Invocation) -> None:
        self.coloured = output.wants_colour(sys.stdout, call.environment)
        self.at_terminal = output.is_terminal(sys.stdout)
        self.columns = shutil.get_terminal_size().columns if self.at_terminal else PIPE_COLUMNS

    def paint(self, text: str, *codes: str) -> str:
        """Text in these colours."""
        if not self.coloured or not codes or not text:
            return text
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"

    def fit(self, text: str, taken: int = 0) -> str:
        """The beginning of text as one line that fits behind so many columns."""
        line = output.printable(" ".join(text.split()))
        room = max(self.columns - taken, 10)
        if len(line) * 2 <= room:  # no character is wider than two columns
            return line
        from rich.cells import cell_len, chop_cells

        if cell_len(line) <= room:
            return line
        return chop_cells(line, room - 3)[0] + "..."

    def write(self, lines: Iterable[str]) -> None:
        """Prints lines."""
        output.write_text("".join(f"{line}\n" for line in lines))
