"""`pamctl scope`: the scopes of a store, and their policies. PAMSPEC §7.5."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    AccessDenied,
    DuplicateOperation,
    InvalidRequest,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.model.vocabulary import DIMENSIONS, GOVERNED_OPERATIONS

app = application(summary="Create, list and govern scopes.")

ScopeArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Identifier of the scope.", show_default=False)
]


@verb(
    app,
    (*writing.RETRYING, *options.ACTING),
    example="pamctl scope create project:kitchen --parent workspace:default",
    errors=(ScopeNotFound, DuplicateOperation, ServiceUnavailable),
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
    made = once(call, lambda: call.perform("scope_create", {**arguments, "actor": call.actor}))
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
    (*writing.RETRYING, *options.ACTING),
    example="""pamctl scope policy workspace:default --policy-file policy.json
pamctl scope policy workspace:default --test delete --actor actor:agent:tidy
pamctl scope policy workspace:default --policy-file draft.json --test read --type decision""",
    errors=(ScopeNotFound, AccessDenied, PolicyDenied, ServiceUnavailable),
    verdict=True,
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
    operation: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="OPERATION",
            help="Say whether --actor might do that, and by which rule; do nothing.",
            parser=options.one_of("operation", GOVERNED_OPERATIONS),
        ),
    ] = None,
    object_type: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="With --test: on such an object.",
            parser=options.object_type,
        ),
    ] = None,
    dimension: Annotated[
        str | None,
        typer.Option(
            "--dimension",
            metavar="D",
            help="With --test transition: " + ", ".join(DIMENSIONS) + ".",
            parser=options.one_of("dimension", DIMENSIONS),
        ),
    ] = None,
    target_state: Annotated[
        str | None,
        typer.Option("--target-state", metavar="STATE", help="With --test transition: to that."),
    ] = None,
) -> None:
    """Show, set or try out the policy of a scope.

    Every policy that ever was in force stays in the ledger, with who set it and when. With
    --test nothing is changed and nothing recorded; the policy in force decides, or the one
    that is given, and the status is 11 if the answer is no.
    """
    source = given.Source(document, document_file)
    asked = {"object_type": object_type, "dimension": dimension, "target_state": target_state}
    if operation is not None:
        _test(call, scope_id, source, {"operation": operation, **asked})
        return
    if any(asked.values()):
        raise InvalidRequest("--type, --dimension and --target-state go with --test")
    if not source.is_given:
        shown = call.perform("scope_show", {"scope_id": scope_id})
        presentation.show(call, shown["policy"], _policy)
        return
    arguments = {"scope_id": scope_id, "actor": call.actor}
    arguments["policy"] = given.json_object(source, "--policy")
    governed = call.perform("scope_policy", arguments)
    presentation.show_done(call, governed, lambda scope: f"policy of {scope['scope_id']} is set")


def _test(call: Invocation, scope_id: str, source: given.Source, asked: dict[str, Any]) -> None:
    arguments = {"scope_id": scope_id, "actor": call.actor, **asked}
    if source.is_given:
        from pamctl.model.documents import check

        arguments["policy"] = given.json_object(source, "--policy")
        check("policy", arguments["policy"])
    answer = call.perform("scope_policy_test", arguments)
    presentation.show(call, answer, _answer)
    if not answer["allowed"]:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _answer(answer: Mapping[str, Any]) -> dict[str, str]:
    rows = {name.replace("_", " "): presentation.text_of(fact) for name, fact in answer.items()}
    return {**rows, "allowed": "yes" if answer["allowed"] else "NO"}


def _scope(scope: Mapping[str, Any]) -> dict[str, str]:
    rows = {name: presentation.text_of(value) for name, value in scope.items() if name != "policy"}
    named = {name.removesuffix("_id").replace("_", " "): value for name, value in rows.items()}
    return {**named, **_policy(scope["policy"])} if "policy" in scope else named


def _policy(document: Mapping[str, Any]) -> dict[str, str]:
    """A policy in words: what it permits, its access rules one by one, and how many others."""
    rules = document.get("rules", ())
    rows = {"permits": _PERMITS[document["default_effect"] == "allow", bool(rules)]}
    rows |= {rule["rule_id"]: _rule(rule) for rule in rules}
    for name in ("overrides", "cross_scope", "retention"):
        if document.get(name):
            rows[name.replace("_", " ")] = f"{len(document[name])} rules"
    for name in ("default_policy_basis", "read_audit"):
        if name in document:
            rows[name.replace("_", " ")] = presentation.text_of(document[name])
    return rows


def _rule(rule: Mapping[str, Any]) -> str:
    words = [rule["effect"], ", ".join(rule.get("operations", ("everything",)))]
    for member, before in _RULE_WORDS.items():
        if member in rule:
            words += [before, ", ".join(rule[member])]
    return " ".join(words)


_PERMITS = {
    (True, False): "everything to everybody",
    (True, True): "everything that no rule refuses",
    (False, False): "nothing to anybody",
    (False, True): "nothing that no rule allows",
}
"""By whether the default is to allow, and whether there are rules."""

_RULE_WORDS = {
    "object_types": "on",
    "dimensions": "of",
    "target_states": "to",
    "actors": "for",
    "actor_kinds": "for every",
}


_SCOPES = (
    Column("SCOPE", lambda scope: str(scope["scope_id"])),
    Column("KIND", lambda scope: str(scope["scope_kind"])),
    Column("PARENT", lambda scope: str(scope.get("parent_scope_id", "-"))),
)
