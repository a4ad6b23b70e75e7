"""`pamctl scope`: the scopes of a store, and their policies. PAMSPEC §7.5."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import AccessDenied, PolicyDenied, ScopeNotFound, ServiceUnavailable

app = application(summary="Create, list and govern scopes.")

ScopeArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Identifier of the scope.", show_default=False)
]


@verb(
    app,
    options.ACTING,
    example="pamctl scope create project:kitchen --parent workspace:default",
    errors=(ScopeNotFound, ServiceUnavailable),
)
def create(
    call: Invocation,
    scope_id: ScopeArgument,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="Default: the ID up to its colon."),
    ] = None,
    parent: Annotated[
        str | None, typer.Option("--parent", metavar="ID", help="The scope it belongs to.")
    ] = None,
) -> None:
    """Make a scope.

    One that is there already is left as it is, and shown.
    """
    arguments = {"scope_id": scope_id, "scope_kind": kind, "parent_scope_id": parent}
    made = call.perform("scope_create", {**arguments, "actor": call.actor})
    presentation.show_done(call, made, lambda scope: f"there is a scope {scope['scope_id']}")


@verb(app, options.STORED, example="pamctl scope list --json", errors=(ScopeNotFound,), name="list")
def list_scopes(call: Invocation) -> None:
    """List the scopes of the store."""
    scopes = call.perform("scope_list", {})["items"]
    presentation.show_items(call, {"items": scopes, "next_cursor": None}, _SCOPES)


@verb(app, options.STORED, example="pamctl scope show workspace:default", errors=(ScopeNotFound,))
def show(call: Invocation, scope_id: ScopeArgument) -> None:
    """Show a scope and the policy in force."""
    presentation.show(call, call.perform("scope_show", {"scope_id": scope_id}), _scope)


@verb(
    app,
    options.ACTING,
    example="pamctl scope policy workspace:default --policy-file policy.json",
    errors=(ScopeNotFound, AccessDenied, PolicyDenied, ServiceUnavailable),
)
def policy(
    call: Invocation,
    scope_id: ScopeArgument,
    document: Annotated[
        str | None,
        typer.Option("--policy", metavar="JSON", help="The policy; - is standard input."),
    ] = None,
    document_file: Annotated[
        str | None, typer.Option("--policy-file", metavar="FILE", help="A file that holds it.")
    ] = None,
) -> None:
    """Show the policy of a scope, or put another in force.

    Every policy that ever was in force stays in the ledger, with who set it and when.
    """
    source = given.Source(document, document_file)
    if not source.is_given:
        shown = call.perform("scope_show", {"scope_id": scope_id})
        presentation.show(call, shown["policy"], _policy)
        return
    arguments = {"scope_id": scope_id, "actor": call.actor}
    arguments["policy"] = given.json_object(source, "--policy")
    governed = call.perform("scope_policy", arguments)
    presentation.show_done(call, governed, lambda scope: f"policy of {scope['scope_id']} is set")


def _scope(scope: Mapping[str, Any]) -> dict[str, str]:
    rows = {name: presentation.text_of(value) for name, value in scope.items()}
    return {name.removesuffix("_id").replace("_", " "): value for name, value in rows.items()}


def _policy(document: Mapping[str, Any]) -> dict[str, str]:
    return {name: presentation.text_of(value) for name, value in document.items()}


_SCOPES = (
    Column("SCOPE", lambda scope: str(scope["scope_id"])),
    Column("KIND", lambda scope: str(scope["scope_kind"])),
    Column("PARENT", lambda scope: str(scope.get("parent_scope_id", "-"))),
)
