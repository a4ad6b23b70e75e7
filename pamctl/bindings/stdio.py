"""The coprocess: a request a line in, an answer a line out, for as long as input lasts.

Every request is committed, durably, before it is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any

from pamctl import __version__
from pamctl.bindings.lines import (
    Identify,
    Refused,
    answer_line,
    error_envelope,
    read_lines,
    understand,
)
from pamctl.bindings.operations import Performer, perform
from pamctl.errors import PamError

PROTOCOL_VERSION = 1

PROFILES = ("PAMSPEC-Lite",)
"""Conformance profiles of PAMSPEC §18 whose every mandatory requirement is met."""


def hello() -> dict[str, Any]:
    """The first line, which tells a client what it talks to."""
    return {
        "type": "hello",
        "protocol_version": PROTOCOL_VERSION,
        "adapter": {"name": "pamctl-stdio", "version": __version__},
        "implementation": {"name": "pamctl", "version": __version__},
        "spec_commit": "",
        "profiles_supported": list(PROFILES),
    }


def serve(
    performer: Performer,
    requests: IO[bytes],
    answer: Callable[[bytes], None],
    *,
    identify: Identify,
    unexpected: Callable[[Exception], PamError],
) -> None:
    """Answers requests until there are no more.

    requests: the stream that they are read from.
    answer: writes one line and flushes it.
    identify: names an operation whose caller did not.
    unexpected: the error to answer when an operation fails in a way that is no PamError;
        a request that trips over a defect must not end the others.
    """
    answer(answer_line(hello()))
    for line in read_lines(requests):
        if line and not line.isspace():
            answer(answer_line(_outcome(performer, line, identify, unexpected)))


def _outcome(
    performer: Performer,
    line: bytes,
    identify: Identify,
    unexpected: Callable[[Exception], PamError],
) -> dict[str, Any]:
    """What a line is answered."""
    try:
        request = understand(line)
    except Refused as refusal:
        error = error_envelope(refusal.error, {}, identify)
        return {"request_id": refusal.request_id, "error": error}
    try:
        result = perform(performer, request.operation, request.arguments)
        return {"request_id": request.request_id, "result": result}
    except PamError as cause:
        failure = cause
    except Exception as cause:
        failure = unexpected(cause)
    error = error_envelope(failure, request.arguments, identify)
    return {"request_id": request.request_id, "error": error}
