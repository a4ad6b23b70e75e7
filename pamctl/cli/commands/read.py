"""`pamctl read`: one memory, now or as it was."""

from typing import Annotated

import typer

from pamctl.cli import options, parameters, verifying
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import output, presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    ObjectDeleted,
    ObjectNotFound,
    ObjectRedacted,
    ScopeNotFound,
    SnapshotNotFound,
)

app = application()


@verb(
    app,
    options.SCOPED,
    example="pamctl read mem:tea\npamctl read mem:tea --print /canonical_content/text",
    errors=(
        ObjectNotFound,
        ScopeNotFound,
        SnapshotNotFound,
        AccessDenied,
        ObjectRedacted,
        ObjectDeleted,
    ),
)
def read(
    call: Invocation,
    object_id: parameters.ObjectArgument,
    version: Annotated[
        str | None, typer.Option("--version", metavar="VERSION", help="That version of it.")
    ] = None,
    at: Annotated[
        int | None,
        options.sequence_option("--at", "SEQUENCE", "As it was at that ledger sequence."),
    ] = None,
    snapshot: parameters.Snapshot = None,
    field: Annotated[
        str | None,
        typer.Option(
            "--print",
            metavar="FIELD",
            help="Print one member of the envelope, by name or JSON Pointer; a string is printed"
            " as it is, anything else as JSON.",
        ),
    ] = None,
    verify: verifying.Verify = False,
) -> None:
    """Read a memory, now or as it was.

    It answers the current version, or the one that is asked for.
    """
    if sum(asked is not None for asked in (version, at, snapshot)) > 1:
        raise InvalidRequest("--version, --at and --snapshot exclude each other")
    if verify and field is not None:
        raise InvalidRequest("--print and --verify exclude each other")
    arguments = call.request(
        object_id=object_id, version_id=version, at_sequence=at, snapshot_id=snapshot
    )
    envelope = call.perform("read", arguments)
    if verify:
        (pair,) = verifying.verified(call, [envelope])
        presentation.show(
            call, pair, lambda pair: presentation.envelope(envelope) | verifying.card(pair)
        )
    elif field is not None:
        output.write_member(envelope, field)
    else:
        presentation.show(call, envelope, presentation.envelope)
