"""`pamctl create`: a new memory."""

from typing import Annotated

import typer

from pamctl.cli import input as given
from pamctl.cli import parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidObject,
    ObjectNotFound,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
    UnsupportedObjectType,
    VersionConflict,
)

app = application()


@verb(
    app,
    writing.ASSERTION,
    example="""pamctl create --type claim --content '{"text": "Tea is at four."}'
pamctl create --type observation --content - --idempotency-key turn-17 < turn.json""",
    errors=(
        ObjectNotFound,
        ScopeNotFound,
        VersionConflict,
        DuplicateOperation,
        AccessDenied,
        PolicyDenied,
        InvalidObject,
        UnsupportedObjectType,
        ServiceUnavailable,
    ),
)
def create(
    call: Invocation,
    object_type: Annotated[
        str,
        typer.Option(
            "--type", metavar="TYPE", help="claim, decision, observation ...", show_default=False
        ),
    ],
    content: parameters.Content = None,
    content_file: parameters.ContentFile = None,
    object_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Its identifier; default: a new mem: identifier."),
    ] = None,
    lifecycle: parameters.Lifecycle = None,
    availability: parameters.Availability = None,
    retention: parameters.Retention = None,
    validation: parameters.Validation = None,
    schema_id: parameters.SchemaId = None,
    expect_absent: Annotated[
        bool, typer.Option("--expect-absent", help="Fail where the identifier was used before.")
    ] = False,
    quality_file: parameters.QualityFile = None,
    sign: Annotated[
        str | None,
        typer.Option(
            "--sign",
            metavar="KEY",
            help="Sign with that key of the store's; default: the newest one that the actor is"
            " bound to, if any.",
        ),
    ] = None,
) -> None:
    """Write a new memory.

    It is committed, durably, when the command returns. The answer names the memory and its
    first version; every later change has to name the version that it is made on.
    """
    call.store.signers.preferred = sign
    request = call.request(
        object_type=object_type,
        object_id=object_id,
        lifecycle_state=lifecycle,
        availability_state=availability,
        retention_state=retention,
        validation_state=validation,
        schema_id=schema_id,
        expect_absent=expect_absent or None,
        quality_signals=given.optional_object(quality_file, "--quality-file"),
        provenance=writing.provenance(call, "created"),
        **writing.times(call),
    )
    request["canonical_content"] = given.json_value(
        given.Source(content, content_file), "--content"
    )
    presentation.show_done(call, call.perform("create", request), presentation.committed("created"))
