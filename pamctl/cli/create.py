"""`pamctl create`: a new memory."""

from typing import Annotated

import typer

from pamctl.cli import input as given
from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.provenance import provenance
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidObject,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
    UnsupportedObjectType,
    VersionConflict,
)

app = application()


@verb(
    app,
    options.SCOPED,
    example="""pamctl create --type claim --content '{"text": "Tea is at four."}'
pamctl create --type observation --content - --idempotency-key turn-17 < turn.json""",
    errors=(
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
    content: options.Content = None,
    content_file: options.ContentFile = None,
    object_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Its identifier; default: a new mem: identifier."),
    ] = None,
    lifecycle: options.Lifecycle = None,
    availability: options.Availability = None,
    retention: options.Retention = None,
    validation: options.Validation = None,
    schema_id: options.SchemaId = None,
    idempotency_key: options.IdempotencyKey = None,
    expect_absent: Annotated[
        bool, typer.Option("--expect-absent", help="Fail where the identifier was used before.")
    ] = False,
    observed_at: options.ObservedAt = None,
    asserted_at: options.AssertedAt = None,
    valid_from: options.ValidFrom = None,
    valid_until: options.ValidUntil = None,
    source: options.Source = None,
    activity: options.Activity = None,
    evidence: options.Evidence = None,
    source_confidence: options.SourceConfidence = None,
    provenance_file: options.ProvenanceFile = None,
    quality_file: options.QualityFile = None,
) -> None:
    """Write a new memory.

    It is committed, durably, when the command returns. The answer names the memory and its
    first version; every later change has to name the version that it is made on.
    """
    request = call.request(
        object_type=object_type,
        object_id=object_id,
        lifecycle_state=lifecycle,
        availability_state=availability,
        retention_state=retention,
        validation_state=validation,
        schema_id=schema_id,
        idempotency_key=idempotency_key,
        expect_absent=expect_absent or None,
        observed_at=observed_at,
        asserted_at=asserted_at,
        valid_from=valid_from,
        valid_until=valid_until,
        quality_signals=given.optional_object(quality_file, "--quality-file"),
        provenance=provenance(
            "created",
            file=provenance_file,
            activity=activity,
            source=source,
            evidence=evidence,
            source_confidence=source_confidence,
            observed_at=observed_at,
        ),
    )
    request["canonical_content"] = given.json_value(
        given.Source(content, content_file), "--content"
    )
    presentation.show_done(call, call.perform("create", request), presentation.committed("created"))
