"""`pamctl promote`: a lasting memory out of working memory."""

from collections.abc import Mapping
from typing import Annotated, Any

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
    InvalidStateTransition,
    ObjectDeleted,
    ObjectNotFound,
    ObjectRedacted,
    PolicyDenied,
    RetentionRestriction,
    ServiceUnavailable,
    UnsupportedObjectType,
    VersionConflict,
)

app = application()


@verb(
    app,
    options.SCOPED,
    example="pamctl promote mem:plan --expect ver:1 --type task "
    """--content '{"title": "Ask for sources."}'""",
    errors=(
        ObjectNotFound,
        VersionConflict,
        DuplicateOperation,
        InvalidStateTransition,
        AccessDenied,
        PolicyDenied,
        RetentionRestriction,
        ObjectRedacted,
        ObjectDeleted,
        InvalidObject,
        UnsupportedObjectType,
        ServiceUnavailable,
    ),
)
def promote(
    call: Invocation,
    object_id: Annotated[
        str,
        typer.Argument(
            metavar="OBJECT", help="Identifier of the working memory.", show_default=False
        ),
    ],
    expect: options.Expect,
    object_type: Annotated[
        str,
        typer.Option(
            "--type", metavar="TYPE", help="claim, decision, task ...", show_default=False
        ),
    ],
    content: options.Content = None,
    content_file: options.ContentFile = None,
    new_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="ID", help="Identifier of the new memory; default: a new one."
        ),
    ] = None,
    lifecycle: options.Lifecycle = None,
    validation: options.Validation = None,
    schema_id: options.SchemaId = None,
    policy_basis: Annotated[
        str | None,
        typer.Option(
            "--policy-basis", metavar="TEXT", help="Why policy allows it; default: the scope's."
        ),
    ] = None,
    idempotency_key: options.IdempotencyKey = None,
    source: options.Source = None,
    activity: options.Activity = None,
    evidence: options.Evidence = None,
    source_confidence: options.SourceConfidence = None,
    provenance_file: options.ProvenanceFile = None,
) -> None:
    """Make a lasting memory of working memory.

    One transaction writes the new memory, supersedes the working memory, which keeps its
    content, and relates the one to the other as derived_from.
    """
    request = call.request(
        source_object_id=object_id,
        expected_version_id=expect,
        target_object_type=object_type,
        target_object_id=new_id,
        target_lifecycle_state=lifecycle,
        target_validation_state=validation,
        target_schema_id=schema_id,
        policy_basis=policy_basis,
        idempotency_key=idempotency_key,
        provenance=provenance(
            "promoted",
            file=provenance_file,
            activity=activity,
            source=source,
            evidence=evidence,
            source_confidence=source_confidence,
        ),
    )
    request["target_canonical_content"] = given.json_value(
        given.Source(content, content_file), "--content"
    )
    presentation.show_done(call, call.perform("promote", request), _sentence)


def _sentence(result: Mapping[str, Any]) -> str:
    return presentation.committed(f"promoted {result['source_object_id']} to")(result)
