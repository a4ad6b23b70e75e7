"""`pamctl stdio`: a coprocess that answers requests for as long as its input lasts."""

import gc
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from pamctl.bindings import stdio as binding
from pamctl.cli import failures, options
from pamctl.cli import input as given
from pamctl.cli.invocation import Invocation, new_operation_id
from pamctl.cli.paths import as_path
from pamctl.cli.terminal import output
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidRequest, PamError, ScopeNotFound, ServiceUnavailable

if TYPE_CHECKING:
    from pamctl.service.store import Store

app = application()


@verb(
    app,
    options.SERVING,
    example="""pamctl stdio --ephemeral
{"operation": "status", "request_id": 1}""",
    errors=(ScopeNotFound, ServiceUnavailable),
)
def stdio(
    call: Invocation,
    ephemeral: Annotated[
        bool,
        typer.Option(
            "--ephemeral", help="Serve a new store in a temporary folder, removed at the end."
        ),
    ] = False,
) -> None:
    """Serve operations as a coprocess.

    A request is a line on standard input, its answer a line on standard output. The first
    line that is printed says what this is and what it supports. It ends when its input does.

    A request says who asks, in its actor. One that reads may leave that out: --actor then
    applies.
    """
    gc.enable()
    with _served(call, ephemeral=ephemeral) as store, given.open_bytes("-", "stdio") as requests:
        binding.serve(
            store,
            requests,
            output.write,
            identify=new_operation_id,
            unexpected=_defect,
            actor=call.actor,
        )


def _defect(cause: Exception) -> PamError:
    return failures.as_error(cause)


@contextmanager
def _served(call: Invocation, *, ephemeral: bool) -> "Iterator[Store]":
    """The store to serve."""
    if not ephemeral:
        yield call.store
        return
    if call.flags["store"] is not None:
        raise InvalidRequest("--ephemeral and --store exclude each other")
    import pamctl

    # A client ends a coprocess with SIGTERM; the folder must go then too.
    signal.signal(signal.SIGTERM, _end)
    with tempfile.TemporaryDirectory(prefix="pamctl-") as folder:
        yield pamctl.init_store(as_path(folder) / ".pam")


def _end(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)
