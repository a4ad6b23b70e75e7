"""`pamctl promote`: a lasting memory out of working memory."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    InvalidObject,
    InvalidStateTransition,
    ObjectRedacted,
    UnsupportedObjectType,
)

app = application()


@verb(
    app,
    writing.CHANGE,
    example="pamctl promote mem:plan --expect ver:1 --type task "
    """--content '{"title": "Ask for sources."}'""",
    errors=(
        *writing.ERRORS,
        InvalidStateTransition,
        ObjectRedacted,
        InvalidObject,
        UnsupportedObjectType,
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
    expect: parameters.Expect,
    object_type: Annotated[
        str,
        typer.Option(
            "--type", metavar="TYPE", help="claim, decision, task ...", show_default=False
        ),
    ],
    content: parameters.Content = None,
    content_file: parameters.ContentFile = None,
    new_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="ID", help="Identifier of the new memory; default: a new one."
        ),
    ] = None,
    lifecycle: parameters.Lifecycle = None,
    validation: parameters.Validation = None,
    schema_id: parameters.SchemaId = None,
    policy_basis: Annotated[
        str | None,
        typer.Option(
            "--policy-basis", metavar="TEXT", help="Why policy allows it; default: the scope's."
        ),
    ] = None,
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
        provenance=writing.provenance(call, "promoted"),
    )
    request["target_canonical_content"] = given.json_value(
        given.Source(content, content_file), "--content"
    )
    presentation.show_done(call, call.perform("promote", request), _sentence)


def _sentence(result: Mapping[str, Any]) -> str:
    return presentation.committed(f"promoted {result['source_object_id']} to")(result)
