"""`pamctl batch`: many operations, committed in groups."""

import gc
from typing import Annotated

import typer

from pamctl.bindings import batch as binding
from pamctl.cli import input as given
from pamctl.cli import options
from pamctl.cli.invocation import Invocation, new_operation_id
from pamctl.cli.terminal import output
from pamctl.cli.terminal.progress import Progress
from pamctl.cli.verbs import application, verb
from pamctl.errors import CODES, InvalidRequest

app = application()


@verb(
    app,
    options.SCOPED,
    example="""pamctl batch turns.jsonl > results.jsonl
echo '{"operation": "read", "arguments": {"object_id": "mem:tea"}}' | pamctl batch""",
    errors=CODES,
)
def batch(
    call: Invocation,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="JSON Lines of requests; - is standard input.")
    ] = given.STANDARD_INPUT,
    atomic: Annotated[
        bool, typer.Option("--atomic", help="Commit every operation or none; hold it in memory.")
    ] = False,
    continue_on_error: Annotated[
        bool, typer.Option("--continue-on-error", help="Go on behind an operation that failed.")
    ] = False,
    derive_keys: Annotated[
        bool,
        typer.Option(
            "--retry-key-from-content",
            help="Make an idempotency key from every change that comes without one: the same"
            " line is done once.",
        ),
    ] = False,
) -> None:
    """Carry out many operations, one a line.

    A line is a JSON object:

        {"operation": "create", "arguments": {...}, "request_id": "optional"}

    Arguments may leave out scope_id and actor; --scope and --actor then apply. Operations
    are committed in groups, and a result line, with the number of its input line, is printed
    when it is durable. The first operation that fails ends the batch: those before it stand.
    Input of any size takes the memory of one group, unless the batch is atomic.
    """
    if atomic and continue_on_error:
        raise InvalidRequest(
            "--atomic and --continue-on-error are both given",
            hint="an atomic batch is undone by the first operation that fails; give one of them",
        )
    # A batch makes many objects and few cycles; collecting seldom saves a twentieth.
    gc.set_threshold(1_000_000)
    gc.enable()
    terms = binding.Terms(
        defaults={"scope_id": call.scope_id, "actor": call.actor},
        atomic=atomic,
        continue_on_error=continue_on_error,
        key=call.retry_key if derive_keys else None,
    )
    progress = Progress("operations", quiet=call.quiet)

    def emit(lines: bytes) -> None:
        output.write(lines)
        progress.advance(lines.count(b"\n"))

    with given.open_bytes(file, "the batch") as requests, progress:
        tally = binding.run(call.store, requests, emit, terms=terms, identify=new_operation_id)
    call.detail(f"{tally.done} operations done, {tally.failed} failed")
    if tally.error is not None:
        call.operation_id = tally.operation_id
        tally.error.details["operations_failed"] = tally.failed
        raise tally.error
