"""The lines of a batch, gathered and understood a group at a time.

Of a long file all groups but the first are read by a copy of this process, while this one
carries out the group before: reading a line takes a tenth of what it takes to carry it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, TypeVar

from pamctl.bindings.lines import Refused, Request, read_lines
from pamctl.limits import GROUP_BYTES_MAX, GROUP_OPERATIONS_MAX
from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from pamctl.bindings.reading_ahead import ReadingAhead

_Made = TypeVar("_Made")


class Question(NamedTuple):
    """A line that was read: its number, what it asks or why it is refused, and the arguments
    with the batch's defaults filled in.

    judged: whether the arguments are known to be what the service asks for, and plain as
        `encoding.canonical` has it.
    """

    number: int
    request: Request | Refused
    arguments: dict[str, Any]
    judged: bool = False


Understand = Callable[[int, bytes], Question]
"""Makes a question of a line and its number. The same of the same, whatever came before."""


class Groups:
    """What is made of the lines of a stream that are not empty, a group at a time.

    ended: whether there are no more.
    full: whether the last group ended because it was full, and not because input paused.
    """

    def __init__(self, stream: IO[bytes], *, whole: bool) -> None:
        self.ended = self.full = False
        self._whole = whole
        self._lines = _numbered(stream)

    def next(self, make: Callable[[int, bytes], _Made]) -> list[_Made]:
        """What `make` makes of the numbers and lines of the next group: until it is full, or
        input pauses or ends. All there are where the input is to stay `whole`."""
        group: list[_Made] = []
        bytes_left, operations_left = GROUP_BYTES_MAX, GROUP_OPERATIONS_MAX
        self.full = False
        for number, line in self._lines:
            if line is None:
                if group and not self._whole:
                    return group
                continue
            if not line or line.isspace():
                continue
            group.append(make(number, line))
            bytes_left -= len(line)
            operations_left -= 1
            if (bytes_left <= 0 or operations_left <= 0) and not self._whole:
                self.full = True
                return group
        self.ended = True
        return group


class Questions:
    """The questions of a stream, a group at a time. To be closed.

    ended: whether there are no more.
    full: whether the last group ended because it was full, so that more are to be expected.
    whole: whether all of them are one group.
    """

    def __init__(self, stream: IO[bytes], understand: Understand, *, whole: bool) -> None:
        self.ended = self.full = False
        self._stream = stream
        self._groups = Groups(stream, whole=whole)
        self._understand = understand
        self._ahead: ReadingAhead | None = None
        self._tried = False

    def next(self) -> list[Question]:
        """The next group. Raises ServiceUnavailable where the copy that read it is gone."""
        if self._ahead is not None:
            questions = self._ahead.next()
            self.ended = self._ahead.ended
            self.full = not self.ended
            return questions
        questions = self._groups.next(self._understand)
        self.ended, self.full = self._groups.ended, self._groups.full
        if self.full and not self._tried:
            self._tried = True
            from pamctl.bindings.reading_ahead import ReadingAhead

            self._ahead = ReadingAhead.begin(self._stream, self._groups, self._understand)
        return questions

    def close(self) -> None:
        """Read no more."""
        if self._ahead is not None:
            self._ahead.close()


def _numbered(stream: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Lines and their numbers from 1; a pause of the input bears that of the line before."""
    number = 0
    for line in read_lines(stream):
        number += line is not None
        yield number, line
