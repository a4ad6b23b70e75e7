"""`pamctl update`: a new version of a memory."""

from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidObject, InvalidRequest, ObjectRedacted

app = application()


@verb(
    app,
    writing.ASSERTION,
    example="""pamctl update mem:tea --expect ver:1 --merge-patch '{"text": "Tea is at five."}'
pamctl update mem:tea --expect ver:1 --patch '[{"op": "remove", "path": "/note"}]'""",
    errors=(*writing.ERRORS, ObjectRedacted, InvalidObject),
)
def update(
    call: Invocation,
    object_id: parameters.ObjectArgument,
    expect: parameters.Expect,
    content: parameters.Content = None,
    content_file: parameters.ContentFile = None,
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
    schema_id: parameters.SchemaId = None,
    quality_file: parameters.QualityFile = None,
) -> None:
    """Write a new version of a memory.

    The new content is given whole, or as a patch of the current one; without any, the new
    version changes the other members that are given. Versions are never overwritten.
    """
    request = call.request(
        object_id=object_id,
        expected_version_id=expect,
        schema_id=schema_id,
        quality_signals=given.optional_object(quality_file, "--quality-file"),
        provenance=writing.provenance(call, "updated"),
        **writing.times(call),
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
