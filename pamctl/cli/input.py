"""What a command is given: inline on the command line, from a file, or on standard input."""

from __future__ import annotations

import sys
from typing import IO, Any

from pamctl.cli.paths import as_path
from pamctl.cli.terminal import output
from pamctl.encoding import strict_json
from pamctl.errors import InvalidRequest, PamError
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple

STANDARD_INPUT = "-"

_PIECE_BYTES = 1 << 20

_taken: list[str] = []


class Source(NamedTuple):
    """Where a value is: `inline` text or a `file` name, either of which may be `-`."""

    inline: str | None = None
    file: str | None = None

    @property
    def is_given(self) -> bool:
        return self.inline is not None or self.file is not None


def json_value(source: Source, flag: str) -> Any:
    """The JSON value at `source`, read strictly.

    flag: how the value was asked for, for messages (`--content`).

    Raises InvalidRequest where there are two sources or none, where the file cannot be read,
    and for text that is no I-JSON.
    """
    if source.inline is not None and source.file is not None:
        raise InvalidRequest(f"{flag} and {flag}-file are both given", hint="give one of them")
    name = source.inline if source.inline is not None else source.file
    if name is None:
        raise InvalidRequest(f"{flag} is missing", hint=f"give {flag} JSON or {flag}-file FILE")
    if source.inline is not None and name != STANDARD_INPUT:
        return _parse_inline(name, flag)
    return strict_json.parse(read_bytes(name, flag), what=_spoken(name, flag))


def _parse_inline(text: str, flag: str) -> Any:
    try:
        return strict_json.parse(text, what=f"the value of {flag}")
    except InvalidRequest as cause:
        if text[:1].isalpha():
            cause.details["hint"] = f"a string needs quotes of its own: {flag} '\"like this\"'"
        raise


def json_object(source: Source, flag: str) -> dict[str, Any]:
    """As `json_value`, for a value that must be an object."""
    value = json_value(source, flag)
    if not isinstance(value, dict):
        raise InvalidRequest(f"the value of {flag} is not a JSON object", pointer="")
    return value


def read_bytes(name: str, flag: str, limit: int = DOCUMENT_BYTES_MAX) -> bytes:
    """The bytes of a file, or of standard input for `-`: at most one more than `limit`, so
    that a reader can tell that there are too many.

    Raises InvalidRequest where they cannot be read.
    """
    try:
        with open_bytes(name, flag) as stream:
            return stream.read(limit + 1)
    except OSError as cause:
        raise _unreadable(name, flag, cause) from cause


def open_bytes(name: str, flag: str) -> IO[bytes]:
    """The file, or standard input for `-`, opened for reading bytes.

    Raises InvalidRequest where it cannot be opened, where standard input is closed, and
    where another flag has taken it already.
    """
    if name != STANDARD_INPUT:
        try:
            return open(as_path(name), "rb")
        except OSError as cause:
            raise _unreadable(name, flag, cause) from cause
    if _taken:
        raise InvalidRequest(f"{flag} and {_taken[0]} both read standard input")
    _taken.append(flag)
    if sys.stdin is None:
        raise InvalidRequest(f"{flag} reads standard input, which is closed")
    if output.is_terminal(sys.stdin) and sys.stderr is not None:
        print("pamctl: reading from the terminal; Ctrl-D ends it", file=sys.stderr)
    return sys.stdin.buffer


def digest(name: str, flag: str) -> str:
    """SHA-256 of what a file holds, or standard input for `-`, which can be read after that
    all the same. Raises InvalidRequest as `open_bytes` does."""
    import hashlib
    import io
    import tempfile

    running = hashlib.sha256()
    if name != STANDARD_INPUT:
        with open_bytes(name, flag) as stream:
            while piece := stream.read(_PIECE_BYTES):
                running.update(piece)
        return running.hexdigest()
    stream = open_bytes(name, flag)
    kept = tempfile.TemporaryFile()  # noqa: SIM115 - it is standard input from here on
    while piece := stream.read(_PIECE_BYTES):
        running.update(piece)
        kept.write(piece)
    kept.seek(0)
    sys.stdin = io.TextIOWrapper(kept)
    _taken.clear()
    return running.hexdigest()


def _unreadable(name: str, flag: str, cause: OSError) -> PamError:
    reason = cause.strerror or str(cause)
    return InvalidRequest(f"{_spoken(name, flag)} cannot be read: {reason}")


def _spoken(name: str, flag: str) -> str:
    return f"standard input for {flag}" if name == STANDARD_INPUT else f"the file {name}"


def optional_object(file: str | None, flag: str) -> dict[str, Any] | None:
    """The JSON object in the file that `flag` names, or None where the flag is not given."""
    return None if file is None else json_object(Source(file=file), flag)
