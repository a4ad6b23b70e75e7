"""`pamctl evaluate`: a command that can be run again with the same outcome. PAMSPEC §18.11."""

import os
import signal
import subprocess
from typing import Annotated, Any

import typer

from pamctl.cli import writing
from pamctl.cli.invocation import EVALUATION_VARIABLE, Invocation
from pamctl.cli.once import once
from pamctl.cli.paths import path_text
from pamctl.cli.verbs import application, verb
from pamctl.encoding.canonical import canonical
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidRequest,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
    SnapshotNotFound,
)

app = application()

SOURCE_VARIABLE = "PAM_EVALUATION_SOURCE"
"""Tells the command which scope the snapshot is of."""


@verb(
    app,
    writing.KEYED,
    example="pamctl evaluate --snapshot snap:run-1 -- ./agent.sh --quick",
    errors=(
        ScopeNotFound,
        SnapshotNotFound,
        DuplicateOperation,
        AccessDenied,
        PolicyDenied,
        ServiceUnavailable,
    ),
)
def evaluate(
    call: Invocation,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="What to run.", show_default=False),
    ],
    snapshot: Annotated[
        str,
        typer.Option(
            "--snapshot", metavar="ID", help="The snapshot, of --scope.", show_default=False
        ),
    ],
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="ID",
            help="The scope to write to, which must not be there yet; default: evaluation: and"
            " the run of the snapshot.",
        ),
    ] = None,
) -> None:
    """Run a command so that it can be repeated.

    Whatever pamctl the command calls works in a scope of the evaluation, PAM_SCOPE, with the
    clock, the seed and the run of the snapshot. The snapshot's own scope,
    PAM_EVALUATION_SOURCE, can be read, as the snapshot has it; nothing else can be read, and
    nothing else written. Two runs write the same ledger, byte for byte.

    It ends with the status of the command. Under a key that was used before, the command is not
    run again.
    """
    if call.environment.get(EVALUATION_VARIABLE):
        raise InvalidRequest("an evaluation cannot hold another one")
    done = once(call, lambda: _evaluated(call, command, snapshot, into))
    told = f"{done['scope_id']} ends at sequence {done['sequence']}, head {done['head']}"
    call.note(f"{told}; it was run before" if done["replayed"] else told)
    if done["status"]:
        raise typer.Exit(done["status"])


def _evaluated(
    call: Invocation, command: list[str], snapshot: str, into: str | None
) -> dict[str, Any]:
    """Where the evaluation's scope ends, and the status of the command."""
    from pamctl.service.evaluation import as_document, begin

    evaluation = begin(
        call.store,
        source_scope_id=call.scope_id,
        snapshot_id=snapshot,
        scope_id=into,
        actor=call.actor,
    )
    said = {
        "PAM_STORE": path_text(call.store.path.resolve()),
        "PAM_SCOPE": evaluation.scope_id,
        SOURCE_VARIABLE: evaluation.source_scope_id,
        EVALUATION_VARIABLE: canonical(as_document(evaluation)).decode(),
    }
    if call.flags.get("actor") is not None:
        said["PAM_ACTOR"] = call.flags["actor"]
    in_locale = {name: os.fsdecode(value.encode("utf-8")) for name, value in said.items()}
    environment = {**call.environment, **in_locale}
    status = _run(command, environment)
    head = call.store.head(evaluation.scope_id)
    ended = {"sequence": head["sequence"], "head": head["head"]}
    return {"scope_id": evaluation.scope_id, "status": status, **ended}


def _run(command: list[str], environment: dict[str, str]) -> int:
    """The exit status of a command; of one that a signal ended, 128 and its number."""
    # Ctrl-C goes to the command too, and it decides what that means.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [os.fsdecode(word.encode()) for word in command],
            env=environment,
            check=False,
            restore_signals=True,
            preexec_fn=_heed_interrupts,
        )
    except OSError as cause:
        raise InvalidRequest(f"cannot run '{command[0]}': {cause.strerror}") from cause
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - done.returncode if done.returncode < 0 else done.returncode


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
