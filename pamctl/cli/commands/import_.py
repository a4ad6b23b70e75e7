"""`pamctl import`: take over what `pamctl export` carried away."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once, refuse_key
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.terminal.progress import FileProgress
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidObject,
    InvalidRequest,
    LegalHold,
    ScopeNotFound,
    ServiceUnavailable,
    VersionConflict,
)

app = application()


@verb(
    app,
    writing.KEYED,
    example="""pamctl import memory.jsonl
pamctl import --dry-run memory.jsonl.zst
pamctl import tea.jsonl --map-scope workspace:default=workspace:tea""",
    errors=(
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        InvalidObject,
        VersionConflict,
        LegalHold,
        ServiceUnavailable,
    ),
    name="import",
)
def import_(
    call: Invocation,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The bundle; - is standard input.", show_default=False),
    ],
    map_scope: Annotated[
        list[str] | None,
        typer.Option(
            "--map-scope",
            metavar="OLD=NEW",
            help="Record that scope's objects anew in another scope; may be repeated.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check everything, say what would be done, do nothing."),
    ] = False,
) -> None:
    """Take over memory from a file.

    A scope that is new here becomes what it was, byte by byte; one that is here goes on where
    it ends. Importing twice changes nothing. Everything is checked before anything is
    changed, and a scope comes whole or not at all. With --map-scope, objects and histories
    are recorded anew in a scope of yours, with their ids; so can be a selection, and a file of
    plain envelopes and events from another implementation.
    """
    if dry_run:
        refuse_key(call, "--dry-run changes nothing")
    mapping = _mapping(map_scope or [])
    answer = once(call, lambda: _imported(call, file, mapping, dry_run), reads=("file",))
    if call.format == "json":
        presentation.show(call, answer, dict)
    else:
        presentation.show_items(call, {"items": answer["scopes"], "next_cursor": None}, _SCOPES)
        for what, count in answer.get("passed_over", {}).items():
            call.note(f"{what.replace('_', ' ')} that were passed over: {count}")
        if dry_run:
            call.note("nothing was changed: this was a dry run")


def _imported(
    call: Invocation, file: str, mapping: Mapping[str, str], dry_run: bool
) -> Mapping[str, Any]:
    from pamctl.exchange.importing import import_bundle

    with (
        given.open_bytes(file, "FILE") as source,
        FileProgress("read", quiet=call.quiet) as progress,
    ):
        return import_bundle(
            call.store,
            progress.of(source),
            map_scopes=mapping,
            dry_run=dry_run,
            actor=call.actor,
            operation_id=call.flags.get("operation_id"),
        )


def _mapping(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not equals or not old or not new:
            raise InvalidRequest(f"'{pair}' is not OLD=NEW", hint="such as workspace:a=workspace:b")
        if old in found:
            raise InvalidRequest(f"--map-scope names {old} twice")
        found[old] = new
    return found


def _brought(scope: Mapping[str, Any]) -> str:
    withheld = f", {scope['withheld']} without content" if scope["withheld"] else ""
    return f"{scope['entries']} entries, {scope['versions']} versions{withheld}"


_SCOPES = (
    Column("SCOPE", lambda scope: str(scope["scope_id"])),
    Column("WHAT", lambda scope: str(scope["action"])),
    Column("BROUGHT", _brought),
)
