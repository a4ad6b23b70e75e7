"""`pamctl update`: a new version of a memory."""

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
    InvalidRequest,
    ObjectDeleted,
    ObjectNotFound,
    ObjectRedacted,
    PolicyDenied,
    RetentionRestriction,
    ServiceUnavailable,
    VersionConflict,
)

app = application()


@verb(
    app,
    options.SCOPED,
    example="""pamctl update mem:tea --expect ver:1 --merge-patch '{"text": "Tea is at five."}'
pamctl update mem:tea --expect ver:1 --patch '[{"op": "remove", "path": "/note"}]'""",
    errors=(
        ObjectNotFound,
        VersionConflict,
        DuplicateOperation,
        AccessDenied,
        PolicyDenied,
        RetentionRestriction,
        ObjectRedacted,
        ObjectDeleted,
        InvalidObject,
        ServiceUnavailable,
    ),
)
def update(
    call: Invocation,
    object_id: options.ObjectArgument,
    expect: options.Expect,
    content: options.Content = None,
    content_file: options.ContentFile = None,
    patch: Annotated[
        str | None,
        typer.Option("--patch", metavar="JSON-PATCH", help="RFC 6902; - is standard input."),
    ] = None,
    patch_file: Annotated[
        str | None, typer.Option("--patch-file", metavar="FILE", help="A file that holds one.")
    ] = None,
    merge_patch: Annotated[
        str | None,
        typer.Option("--merge-patch", metavar="JSON", help="RFC 7396; - is standard input."),
    ] = None,
    merge_patch_file: Annotated[
        str | None,
        typer.Option("--merge-patch-file", metavar="FILE", help="A file that holds one."),
    ] = None,
    schema_id: options.SchemaId = None,
    idempotency_key: options.IdempotencyKey = None,
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
    """Write a new version of a memory.

    The new content is given whole, or as a patch of the current one; without any, the new
    version changes the other members that are given. Versions are never overwritten.
    """
    request = call.request(
        object_id=object_id,
        expected_version_id=expect,
        schema_id=schema_id,
        idempotency_key=idempotency_key,
        observed_at=observed_at,
        asserted_at=asserted_at,
        valid_from=valid_from,
        valid_until=valid_until,
        quality_signals=given.optional_object(quality_file, "--quality-file"),
        provenance=provenance(
            "updated",
            file=provenance_file,
            activity=activity,
            source=source,
            evidence=evidence,
            source_confidence=source_confidence,
            observed_at=observed_at,
        ),
    )
    request |= _content(
        canonical_content=given.Source(content, content_file),
        json_patch=given.Source(patch, patch_file),
        merge_patch=given.Source(merge_patch, merge_patch_file),
    )
    presentation.show_done(call, call.perform("update", request), presentation.committed("updated"))


_FLAGS = {
    "canonical_content": "--content",
    "json_patch": "--patch",
    "merge_patch": "--merge-patch",
}


def _content(**sources: given.Source) -> dict[str, Any]:
    """The one way in which the content is given, or nothing."""
    ways = [name for name, source in sources.items() if source.is_given]
    if len(ways) > 1:
        flags = " and ".join(_FLAGS[name] for name in ways)
        raise InvalidRequest(f"{flags} exclude each other", hint="give one of them")
    return {name: given.json_value(sources[name], _FLAGS[name]) for name in ways}
