"""`pamctl init`: a new store."""

from pathlib import Path
from typing import Annotated

import typer

from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.paths import as_path, path_text
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidRequest, ServiceUnavailable

STORE_NAME = ".pam"

app = application()


@verb(
    app,
    options.SCOPED,
    example="pamctl init\npamctl init ~/notes --scope workspace:notes",
    errors=(ServiceUnavailable,),
)
def init(
    call: Invocation,
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[DIR]", help="The folder to make .pam in; default: this one."),
    ] = None,
) -> None:
    """Make a store.

    It is a .pam directory with a default scope in it. A store that is there already is left
    as it is, and shown.
    """
    import pamctl

    path = _place(call, folder)
    created = not (path / "store.json").exists()
    scope = call.named_scope
    store = (
        pamctl.init_store(path, actor=call.actor)
        if scope is None
        else pamctl.init_store(path, actor=call.actor, default_scope=scope)
    )
    made = {
        "created": created,
        "default_scope": store.config["default_scope"],
        "format_version": store.config["format_version"],
        "path": path_text(store.path),
        "store_id": store.store_id,
    }
    presentation.show_done(call, made, _sentence)


def _place(call: Invocation, folder: str | None) -> Path:
    """The `.pam` directory to make."""
    if folder is None:
        return (call.named_store_path or Path(STORE_NAME)).absolute()
    if call.flags["store"] is not None:
        raise InvalidRequest("DIR and --store both say where", hint="give one of them")
    return as_path(folder).absolute() / STORE_NAME


def _sentence(made: dict[str, object]) -> str:
    begin = "made a store in" if made["created"] else "there is a store in"
    return f"{begin} {made['path']}, default scope {made['default_scope']}"
