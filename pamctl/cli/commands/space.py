"""`pamctl space`: Embedding Spaces, which say what vectors mean. PAMSPEC §7.8."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    EmbeddingSpaceMismatch,
    ScopeNotFound,
    ServiceUnavailable,
)

app = application(summary="Describe what vectors mean.")

SpaceArgument = Annotated[
    str,
    typer.Argument(metavar="ID", help="Identifier of the Embedding Space.", show_default=False),
]


@verb(
    app,
    writing.KEYED,
    example="pamctl space add --descriptor-file space.json",
    errors=(
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        EmbeddingSpaceMismatch,
        ServiceUnavailable,
    ),
)
def add(
    call: Invocation,
    descriptor: Annotated[
        str | None,
        typer.Option("--descriptor", metavar="JSON", help="The descriptor; - is standard input."),
    ] = None,
    descriptor_file: Annotated[
        str | None,
        typer.Option("--descriptor-file", metavar="FILE", help="A file that holds it."),
    ] = None,
) -> None:
    """Describe an Embedding Space.

    A descriptor has embedding_space_id, provider, model, model_revision, dimensions,
    distance_metric, normalization, preprocessing_profile, embedding_kind and
    canonicalization_rules. It never changes: another model or revision is another space.
    """
    space = given.json_object(given.Source(descriptor, descriptor_file), "--descriptor")
    request = call.request(space=space)
    presentation.show_done(call, call.perform("space_add", request), _added)


@verb(
    app,
    options.SCOPED,
    example="pamctl space list --json",
    errors=(ScopeNotFound, AccessDenied),
    name="list",
)
def list_spaces(call: Invocation) -> None:
    """List the Embedding Spaces of a scope."""
    presentation.show_items(call, call.perform("space_list", call.request()), _COLUMNS)


@verb(
    app,
    options.SCOPED,
    example="pamctl space show space:minilm:1",
    errors=(ScopeNotFound, AccessDenied, EmbeddingSpaceMismatch),
)
def show(call: Invocation, space_id: SpaceArgument) -> None:
    """Show the descriptor of an Embedding Space."""
    space = call.perform("space_show", call.request(embedding_space_id=space_id))
    presentation.show(call, space, _card)


def _added(result: Mapping[str, Any]) -> str:
    space_id = result["space"]["embedding_space_id"]
    if result["added"] and not result["replayed"]:
        return f"described {space_id} in {result['scope_id']}"
    return f"{space_id} is described so already; nothing changed"


def _card(space: Mapping[str, Any]) -> dict[str, str]:
    rows = {name: presentation.text_of(value) for name, value in space.items()}
    return {name.removesuffix("_id").replace("_", " "): value for name, value in rows.items()}


_COLUMNS = (
    Column("SPACE", lambda space: str(space["embedding_space_id"])),
    Column("MODEL", lambda space: f"{space['provider']}/{space['model']}"),
    Column("REVISION", lambda space: str(space["model_revision"])),
    Column("DIMENSIONS", lambda space: str(space["dimensions"]), whole=True),
    Column("METRIC", lambda space: str(space["distance_metric"])),
)
