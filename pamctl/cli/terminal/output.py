"""What reaches standard output: bytes of data, whole, or a failure that says so.

JSON is canonical (RFC 8785) and ends in one newline, whatever the locale. Tables are for
people, and only drawing one imports rich.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import IO, TYPE_CHECKING, Any

from pamctl.errors import InternalError, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


STATUS_READER_GONE = 141
"""What a shell shows for a program that a closed pipe ended."""


class ReaderGone(Exception):
    """Whoever read standard output has closed it (`| head -1`). Ends the program quietly."""


class Unwritable(Exception):
    """Standard output took no more bytes: a full disk, a closed descriptor."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def error(self) -> InternalError:
        """What the caller is told."""
        return InternalError(
            f"the answer could not be written to standard output: {self.reason}",
            hint="what the command did to the store stands; only its answer is lost",
        )


def write(data: bytes) -> None:
    """Writes all of `data` to standard output and flushes it.

    Raises ReaderGone where the pipe is closed and Unwritable where the bytes cannot be
    written.
    """
    rest = memoryview(data)
    try:
        while rest:
            # Under PYTHONUNBUFFERED, as in many containers, this takes what fits and no more.
            taken = sys.stdout.buffer.write(rest)
            if taken is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            rest = rest[taken:]
        sys.stdout.buffer.flush()
    except BrokenPipeError as cause:
        _forget_pending()
        raise ReaderGone from cause
    except OSError as cause:
        _forget_pending()
        raise Unwritable(cause.strerror or str(cause)) from cause


def _forget_pending() -> None:
    """Lets the interpreter's last flush at exit go nowhere instead of failing again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def pause(seconds: float) -> None:
    """Lets time pass while there is nothing to write.

    Raises ReaderGone as soon as nobody reads standard output any more: without a write,
    nothing else would tell.
    """
    import select
    import time

    try:
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError):  # no poll (Windows), or no descriptor
        time.sleep(seconds)
        return
    if poller.poll(seconds * 1000):
        _forget_pending()
        raise ReaderGone


def end_as_sigpipe() -> int:
    """Ends the process as a closed pipe ends every other program: by SIGPIPE, which a shell
    shows as 141. Where there is no such signal, answers that status."""
    import signal

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    return STATUS_READER_GONE


def is_terminal(stream: IO[Any] | None) -> bool:
    """Whether `stream` is a terminal that a person looks at."""
    return stream is not None and not stream.closed and stream.isatty()


def wants_colour(stream: IO[Any] | None, environment: Mapping[str, str]) -> bool:
    """Whether to colour what goes to `stream`: NO_COLOR says no, FORCE_COLOR says yes, and
    otherwise a terminal that is not `dumb` does."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and environment.get("TERM") != "dumb"


def write_json(value: Any) -> None:
    """Writes `value` as canonical JSON and a newline."""
    from pamctl.encoding.canonical import canonical

    write(canonical(value) + b"\n")


def write_lines(values: Iterable[Any]) -> None:
    """Writes each of `values` as a line of canonical JSON."""
    from pamctl.encoding.canonical import canonical

    write(b"".join(canonical(value) + b"\n" for value in values))


def write_member(value: Any, field: str) -> None:
    """Writes one member of `value`, named plainly or by a JSON Pointer (RFC 6901), and a
    newline: a string as it is, anything else as canonical JSON.

    Raises InvalidRequest where there is no such member.
    """
    member = value
    steps = field[1:].split("/") if field.startswith("/") else [field] if field else []
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~") if field.startswith("/") else step
        if isinstance(member, list) and name.isdecimal() and int(name) < len(member):
            member = member[int(name)]
        elif isinstance(member, dict) and name in member:
            member = member[name]
        else:
            raise _no_member(member, name, field)
    if isinstance(member, str):
        write(member.encode() + b"\n")
    else:
        write_json(member)


def _no_member(value: Any, name: str, field: str) -> InvalidRequest:
    from difflib import get_close_matches

    there = list(value) if isinstance(value, dict) else []
    nearest = get_close_matches(name, there, n=1)
    hint = f"did you mean '{nearest[0]}'?" if nearest else "it has " + ", ".join(there)
    return InvalidRequest(f"there is no member '{field}'", hint=hint if there else None)


def write_text(text: str) -> None:
    """Writes text for people in the encoding of the terminal; what that cannot spell
    becomes an escape."""
    write(text.encode(sys.stdout.encoding, "backslashreplace"))


def printable(text: str) -> str:
    """`text` without the power to command a terminal: every control character but the
    newline and the tab becomes an escape that shows what it was."""
    if text.isprintable():
        return text
    return "".join(
        c if c in "\n\t" or not _is_control(c) else c.encode("unicode_escape").decode()
        for c in text
    )


def _is_control(character: str) -> bool:
    """C0 and C1 controls, lone surrogates, and the marks that turn the direction of text."""
    return (
        character < " "
        or "\x7f" <= character <= "\x9f"
        or "\ud800" <= character <= "\udfff"
        or character in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
        or "\u2066" <= character <= "\u2069"
    )
