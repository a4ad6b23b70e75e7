"""A request a line, an answer a line: what `batch` and `stdio` have in common."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from typing import IO, Any

import orjson

from pamctl.bindings.operations import OPERATIONS, find
from pamctl.encoding import strict_json
from pamctl.encoding.canonical import canonical, canonical_plain
from pamctl.errors import InvalidRequest, PamError
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple

_MEMBERS = frozenset(("operation", "arguments", "request_id"))
_CHUNK_BYTES = 1 << 20

PAUSE_SEC = 0.02
"""Input that pauses for longer than this does not keep what came before it waiting."""

PAUSES_MAX = 50
"""Shorter pauses that are put up with before input counts as slow: a second in all."""

Identify = Callable[[], str]
"""Makes a new `op:` identifier."""


class Request(NamedTuple):
    """One line, understood. `request_id` is None where the caller gave none."""

    operation: str
    arguments: dict[str, Any]
    request_id: str | int | None


class Refused(Exception):
    """A line that is no request, the error it deserves, and the request_id if it had one."""

    def __init__(self, error: PamError, request_id: str | int | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.request_id = request_id


def read_lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of `stream`, without their newlines, as they come.

    Before it blocks because the other side is slow it gives None once, so that whoever
    gathers lines can deal with those that came. A line beyond limits.DOCUMENT_BYTES_MAX
    comes cut off, just long enough that `understand` refuses it: no input fills the memory.
    """
    begun = b""
    pauses = 0
    while True:
        if not _is_ready(stream, 0.0):
            pauses += 1
            if pauses > PAUSES_MAX or not _is_ready(stream, PAUSE_SEC):
                pauses = 0
                yield None
        chunk = stream.read1(_CHUNK_BYTES)  # type: ignore[attr-defined]
        if not chunk:
            break
        first, *others = chunk.split(b"\n")
        begun = (begun + first)[: DOCUMENT_BYTES_MAX + 1]
        if others:
            yield begun
            begun = others.pop()
            yield from others
    if begun:
        yield begun


def _is_ready(stream: IO[bytes], wait_sec: float) -> bool:
    """Whether reading `stream` answers at once, or will within `wait_sec` seconds.

    What cannot be asked, such as bytes in memory, is always ready.
    """
    try:
        return bool(select.select([stream], [], [], wait_sec)[0])
    except (OSError, ValueError):
        return True


def understand(line: bytes) -> Request:
    """The request that a line spells. Raises Refused for anything else."""
    try:
        value = strict_json.parse(line, what="the line")
    except PamError as error:
        raise Refused(error) from error
    if type(value) is not dict:
        raise Refused(InvalidRequest("the line is not a JSON object", pointer=""))
    request_id = value.get("request_id")
    if request_id is not None and type(request_id) not in (str, int):
        problem = "request_id is neither a string nor an integer"
        raise Refused(InvalidRequest(problem, pointer="/request_id"))
    operation, arguments = value.get("operation"), value.get("arguments", {})
    if type(operation) is not str or type(arguments) is not dict or not value.keys() <= _MEMBERS:
        raise Refused(_misshapen(value), request_id)
    if operation not in OPERATIONS:
        try:
            find(operation)
        except PamError as error:
            raise Refused(error, request_id) from error
    return Request(operation, arguments, request_id)


def _misshapen(value: dict[str, Any]) -> InvalidRequest:
    """What is wrong with an object that is no request."""
    if "operation" not in value:
        return InvalidRequest("the request has no operation", pointer="/operation")
    if type(value["operation"]) is not str:
        return InvalidRequest("operation is not a string", pointer="/operation")
    if type(value.get("arguments", {})) is not dict:
        return InvalidRequest("arguments is not a JSON object", pointer="/arguments")
    unknown = min(value.keys() - _MEMBERS)[:80]
    return InvalidRequest(
        f"a request has no member '{unknown}'",
        hint="it has operation, arguments and request_id",
        pointer=f"/{unknown}",
    )


def answer_line(outcome: dict[str, Any], *, envelope: bytes | None = None) -> bytes:
    """An answer as one line of canonical JSON.

    envelope: the canonical bytes of the envelope in its result, where they are at hand. The
        rest of such a result is identifiers and counts, which need no second look.
    """
    if envelope is None:
        return canonical(outcome) + b"\n"
    result = {**outcome["result"], "envelope": orjson.Fragment(envelope)}
    return canonical_plain({**outcome, "result": result}) + b"\n"


def error_envelope(
    error: PamError, arguments: dict[str, Any], identify: Identify
) -> dict[str, Any]:
    """The error envelope of an operation, under its own name if its arguments gave one."""
    operation_id = arguments.get("operation_id")
    return error.envelope(operation_id if type(operation_id) is str else identify())
