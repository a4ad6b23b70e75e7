"""`pamctl schema`: what a scope demands of content that names a schema id. PAMSPEC §8.2."""

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
    ObjectNotFound,
    ScopeNotFound,
    ServiceUnavailable,
)

app = application(summary="Register what content has to look like.")

SchemaArgument = Annotated[
    str, typer.Argument(metavar="URI", help="Identifier of the schema.", show_default=False)
]


@verb(
    app,
    writing.KEYED,
    example="pamctl schema add https://example.com/schemas/note --schema-file note.json",
    errors=(ScopeNotFound, DuplicateOperation, AccessDenied, ServiceUnavailable),
)
def add(
    call: Invocation,
    schema_id: SchemaArgument,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="JSON", help="The schema; - is standard input."),
    ] = None,
    schema_file: Annotated[
        str | None, typer.Option("--schema-file", metavar="FILE", help="A file that holds it.")
    ] = None,
) -> None:
    """Register a JSON Schema under an id.

    Content that is written with this id as its schema_id is from then on held to the schema
    (JSON Schema, draft 2020-12); what was written before is not judged again. A schema never
    changes: another one needs an id of its own.
    """
    document = given.json_value(given.Source(schema, schema_file), "--schema")
    request = call.request(schema_id=schema_id, schema=document)
    presentation.show_done(call, call.perform("schema_add", request), _added)


@verb(
    app,
    options.SCOPED,
    example="pamctl schema list --json",
    errors=(ScopeNotFound, AccessDenied),
    name="list",
)
def list_schemas(call: Invocation) -> None:
    """List the registered schemas of a scope."""
    presentation.show_items(call, call.perform("schema_list", call.request()), _COLUMNS)


@verb(
    app,
    options.SCOPED,
    example="pamctl schema show https://example.com/schemas/note",
    errors=(ScopeNotFound, ObjectNotFound, AccessDenied),
)
def show(call: Invocation, schema_id: SchemaArgument) -> None:
    """Show a registered schema."""
    found = call.perform("schema_show", call.request(schema_id=schema_id))
    presentation.show(call, found, _card)


def _added(result: Mapping[str, Any]) -> str:
    if result["added"] and not result["replayed"]:
        return f"registered {result['schema_id']} in {result['scope_id']}"
    return f"{result['schema_id']} is registered so already; nothing changed"


def _card(found: Mapping[str, Any]) -> dict[str, str]:
    return {
        "schema id": found["schema_id"],
        "schema": presentation.text_of(found["schema"]),
        "by": found["actor"]["actor_id"],
        "recorded at": found["recorded_at"],
    }


_COLUMNS = (
    Column("SCHEMA", lambda found: str(found["schema_id"])),
    Column("BY", lambda found: str(found["actor"]["actor_id"])),
    Column("RECORDED", lambda found: str(found["recorded_at"]), whole=True),
)
