"""`pamctl init`: a new store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import passphrases, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.paths import as_path, path_text
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import DuplicateOperation, InvalidRequest, ServiceUnavailable
from pamctl.service.open_store import DEFAULT_SCOPE
from pamctl.service.sources import system_entropy

if TYPE_CHECKING:
    from pamctl.store.keyring import Seal

STORE_NAME = ".pam"

app = application()


@verb(
    app,
    writing.KEYED,
    example="pamctl init\npamctl init ~/notes --scope workspace:notes",
    errors=(DuplicateOperation, ServiceUnavailable),
)
def init(
    call: Invocation,
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[DIR]", help="The folder to make .pam in; default: this one."),
    ] = None,
    no_owner_key: Annotated[
        bool,
        typer.Option(
            "--no-owner-key",
            help="Make no key: what you write is then not signed, and anybody who uses the"
            " store can write in your name.",
        ),
    ] = False,
    encrypt: Annotated[
        bool,
        typer.Option(
            "--encrypt",
            help="Encrypt the owner's key with a passphrase; PAM_KEY_PASSPHRASE where that is"
            " set, else asked for at the terminal.",
        ),
    ] = False,
) -> None:
    """Make a store.

    It is a .pam directory with a default scope in it, and with a key that you are bound to:
    what you write is signed with it. A store that is there already is left as it is, and
    shown.
    """
    path = _place(call, folder)
    made = once(
        call,
        lambda: _made(call, path, owner_key=not no_owner_key, encrypt=encrypt),
        paths=("folder",),
        store=path,
    )
    presentation.show_done(call, made, _sentence)


def _made(call: Invocation, path: Path, *, owner_key: bool, encrypt: bool) -> dict[str, Any]:
    import pamctl

    created = not (path / "store.json").exists()
    store = pamctl.init_store(
        path,
        actor=call.actor,
        default_scope=call.named_scope or call.user.get("default_scope", DEFAULT_SCOPE),
        owner_key=created and owner_key,
        seal=_seal(call, encrypt) if created and owner_key else None,
    )
    return {
        "created": created,
        "default_scope": store.default_scope,
        "format_version": store.config["format_version"],
        "path": path_text(store.path),
        "store_id": store.store_id,
    }


def _seal(call: Invocation, encrypt: bool) -> "Seal | None":
    return passphrases.seal(call.environment, system_entropy, wanted=encrypt)


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
