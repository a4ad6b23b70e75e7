"""The coprocess: a request a line in, an answer a line out, for as long as input lasts.

Every request is committed, durably, before it is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any

from pamctl import __version__
from pamctl.bindings.lines import (
    Identify,
    Refused,
    Request,
    answer_line,
    error_envelope,
    read_lines,
    understand,
)
from pamctl.bindings.operations import OPERATIONS, Performer, perform
from pamctl.errors import PamError
from pamctl.service.profiles import supported

PROTOCOL_VERSION = 1


def hello() -> dict[str, Any]:
    """The first line, which tells a client what it talks to."""
    return {
        "type": "hello",
        "protocol_version": PROTOCOL_VERSION,
        "adapter": {"name": "pamctl-stdio", "version": __version__},
        "implementation": {"name": "pamctl", "version": __version__},
        "spec_commit": "",
        "profiles_supported": supported(),
    }


def serve(
    performer: Performer,
    requests: IO[bytes],
    answer: Callable[[bytes], None],
    *,
    identify: Identify,
    unexpected: Callable[[Exception], PamError],
    actor: Mapping[str, Any] | None = None,
) -> None:
    """Answers requests until there are no more.

    requests: the stream that they are read from.
    answer: writes one line and flushes it.
    identify: names an operation whose caller did not.
    unexpected: the error to answer when an operation fails in a way that is no PamError;
        a request that trips over a defect must not end the others.
    actor: who asks where a request that need not say so does not; without one, such a
        request is the program's own and no policy is asked about it.
    """
    answer(answer_line(hello()))
    for line in read_lines(requests):
        if line and not line.isspace():
            answer(answer_line(_outcome(performer, line, identify, unexpected, actor)))


def _outcome(
    performer: Performer,
    line: bytes,
    identify: Identify,
    unexpected: Callable[[Exception], PamError],
    actor: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What a line is answered."""
    try:
        request = understand(line)
    except Refused as refusal:
        error = error_envelope(refusal.error, {}, identify)
        return {"request_id": refusal.request_id, "error": error}
    try:
        result = perform(performer, request.operation, _acting(request, actor))
        return {"request_id": request.request_id, "result": result}
    except PamError as cause:
        failure = cause
    except Exception as cause:
        failure = unexpected(cause)
    error = error_envelope(failure, request.arguments, identify)
    return {"request_id": request.request_id, "error": error}


def _acting(request: Request, actor: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of a request with the actor that it may leave out."""
    operation, arguments = OPERATIONS[request.operation], request.arguments
    named = "actor" in arguments or "revoking_actor" in arguments
    if actor is None or named or operation.grouped or not operation.acting:
        return arguments
    return {**arguments, "actor": actor}
