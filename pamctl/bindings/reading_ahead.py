"""A copy of this process that reads and judges the next group of a batch.

It hands over the arguments of what is certainly well formed, and of every other line its bytes:
those are understood, and refused, where they would have been without it.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import stat
from collections.abc import Callable
from functools import partial
from typing import IO, Any, Self

from pamctl.bindings.lines import Refused, Request
from pamctl.bindings.operations import OPERATIONS
from pamctl.bindings.questions import Groups, Question, Understand
from pamctl.encoding.canonical import is_plain
from pamctl.errors import PamError, ServiceUnavailable
from pamctl.model.documents import is_valid
from pamctl.process_copies import await_end, begin_copy, is_worth_copying, wide_pipe

_SIZE_BYTES = 8

_Line = tuple[int, bytes]
_Judged = tuple[int, str, dict[str, Any], str | int | None]


class ReadingAhead:
    """What a copy of this process reads of a stream that this one leaves alone from then on.

    ended: whether the last group was the last of all.
    """

    def __init__(self, copy: int, pipe: IO[bytes], understand: Understand) -> None:
        self.ended = False
        self._copy = copy
        self._pipe = pipe
        self._understand = understand

    @classmethod
    def begin(cls, stream: IO[bytes], groups: Groups, understand: Understand) -> Self | None:
        """Copy this process. None where that is not safe, or would gain nothing.

        The stream has to be a file: of what comes as it is made, nobody knows how long the
        copy would wait for it, with or without this process.
        """
        if not _is_file(stream) or not is_worth_copying():
            return None
        reading, writing = wide_pipe()
        work = partial(_read_on, writing, groups, partial(_told, understand))
        copy = begin_copy(work, keeping=(writing, stream.fileno()))
        os.close(writing)
        if copy is None:
            os.close(reading)
            return None
        return cls(copy, open(reading, "rb"), understand)

    def next(self) -> list[Question]:
        """The next group. Raises ServiceUnavailable where the copy is gone."""
        size = int.from_bytes(self._pipe.read(_SIZE_BYTES), "big")
        data = self._pipe.read(size)
        if not size or len(data) < size:
            raise ServiceUnavailable(
                "the process that reads the batch has ended before it was done",
                hint="what was answered is committed; carry out the rest once more",
            )
        group, self.ended = marshal.loads(data)
        return [
            Question(told[0], Request(*told[1:]), told[2], judged=True)
            if len(told) == 4
            else self._understand(*told)
            for told in group
        ]

    def close(self) -> None:
        """Let the copy go, wherever it is: it cannot hand over what it reads any more."""
        self._pipe.close()
        await_end(self._copy)


def _is_file(stream: IO[bytes]) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # bytes in memory
        return False


def _read_on(pipe: int, groups: Groups, told: Callable[[int, bytes], _Line | _Judged]) -> None:
    """What the copy does. Each group is whole before any of it is handed over, so that the
    next one is being read while this one is carried out."""
    with open(pipe, "wb") as out:
        while not groups.ended:
            group = groups.next(told)
            data = marshal.dumps((group, groups.ended))
            out.write(len(data).to_bytes(_SIZE_BYTES, "big"))
            out.write(data)
            out.flush()


def _told(understand: Understand, number: int, line: bytes) -> _Line | _Judged:
    """What is handed over of a line: of a change that is in order, what it asks for."""
    with contextlib.suppress(PamError):
        request = understand(number, line).request
        if not isinstance(request, Refused) and _is_in_order(request):
            return number, request.operation, request.arguments, request.request_id
    return number, line


def _is_in_order(request: Request) -> bool:
    """Whether the service is asked for just this, and will find nothing amiss in its form.
    Raises as `is_plain` does."""
    operation, arguments, _ = request
    return (
        OPERATIONS[operation].as_asked
        and is_valid(f"requests/{operation}", arguments)
        and is_plain(arguments, levels_around=1)
    )
