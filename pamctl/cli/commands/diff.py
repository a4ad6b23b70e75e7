"""`pamctl diff`: what changed between two versions of a memory."""

from typing import Annotated

import typer

from pamctl.cli import options, parameters
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import differences, output
from pamctl.cli.terminal.ink import Ink
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    AccessDenied,
    ObjectNotFound,
    ScopeNotFound,
    SnapshotNotFound,
)
from pamctl.limits import INTEGER_MAX

app = application()

_number = options.whole_number(1, INTEGER_MAX)


@verb(
    app,
    options.SCOPED,
    example="""pamctl diff mem:tea
pamctl diff mem:tea 1 3
pamctl diff mem:tea ver:1 ver:2 --exit-code""",
    errors=(ObjectNotFound, ScopeNotFound, SnapshotNotFound, AccessDenied),
    verdict=True,
)
def diff(
    call: Invocation,
    object_id: parameters.ObjectArgument,
    first: Annotated[
        str | None,
        typer.Argument(metavar="[VERSION]", help="The older one, by its identifier or its number."),
    ] = None,
    second: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="The newer one; default: the newest.")
    ] = None,
    snapshot: parameters.Snapshot = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with status 11 where anything is different.")
    ] = False,
) -> None:
    """Show what changed between two versions.

    Without versions it shows what the last change changed. Members that say which version it
    is, such as its time and its actor, are left out. What was redacted is not shown.
    """
    request = call.request(
        object_id=object_id,
        snapshot_id=snapshot,
        **_named("from", first),
        **_named("to", second),
    )
    answer = call.perform("diff", request)
    if call.format == "table":
        ink = Ink(call)
        ink.write(differences.whole(answer, ink))
    else:
        output.write_json(answer)
    if exit_code and answer["changes"]:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _named(end: str, version: str | None) -> dict[str, int | str]:
    """The member of a request that names a version: numbers have no colon."""
    if version is None:
        return {}
    if version.isascii() and version.isdigit():
        return {f"{end}_sequence": _number(version)}
    return {f"{end}_version_id": version}
