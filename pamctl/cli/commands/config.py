"""`pamctl config`: what holds unless a flag says otherwise, and where it is said."""

import contextlib
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import options, settings, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once, refuse_key
from pamctl.cli.paths import as_path, path_text
from pamctl.cli.settings import SETTINGS
from pamctl.cli.terminal import output, presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    DuplicateOperation,
    InvalidObject,
    InvalidRequest,
    ObjectNotFound,
    ScopeNotFound,
    ServiceUnavailable,
)

app = application()


@verb(
    app,
    (*writing.RETRYING, *options.STORED),
    example="""pamctl config --show-origin
pamctl config format table
pamctl config auto_create_scopes false
pamctl config actor --unset""",
    errors=(ObjectNotFound, ScopeNotFound, DuplicateOperation, ServiceUnavailable),
)
def config(
    call: Invocation,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A setting; without one, all that have a value."),
    ] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="What to set it to.")
    ] = None,
    user: Annotated[
        bool, typer.Option("--user", help="Of the user, where a store can have it too.")
    ] = False,
    unset: Annotated[bool, typer.Option("--unset", help="Take the setting away.")] = False,
    show_origin: Annotated[
        bool, typer.Option("--show-origin", help="Say where each value comes from.")
    ] = False,
) -> None:
    """Show or set what holds by default.

    A flag wins over the environment, that over the store, and that over the user's file,
    ~/.config/pamctl/config.json. What concerns a store is kept in the store; who acts and how
    to print is never taken from there.
    """
    if value is None and not unset:
        refuse_key(call, "what is set is only shown")
    if name is None:
        if unset or user:
            raise InvalidRequest("--unset and --user say more of a setting", hint="name one")
        _list(call, show_origin)
    elif unset or value is not None:
        if unset and value is not None:
            raise InvalidRequest("--unset takes no value")
        _set(call, name, value, user=user)
    else:
        _show(call, name, show_origin)


def _list(call: Invocation, show_origin: bool) -> None:
    items = [found for name in SETTINGS if (found := call.setting(name)) is not None]
    columns = _COLUMNS if show_origin else _COLUMNS[:2]
    if not show_origin:
        items = [_without_origin(item) for item in items]
    presentation.show_items(call, {"items": items, "next_cursor": None}, columns)


def _show(call: Invocation, name: str, show_origin: bool) -> None:
    settings.find(name)
    found = call.setting(name)
    if found is None:
        raise ObjectNotFound(f"'{name}' is not set", hint=f"pamctl config {name} VALUE sets it")
    if call.format != "table":
        output.write_json(found if show_origin else _without_origin(found))
    else:
        origin = f"  ({found['origin']})" if show_origin else ""
        text = f"{presentation.text_of(found['value'])}{origin}"
        output.write_text(output.printable(text) + "\n")


def _set(call: Invocation, name: str, text: str | None, *, user: bool) -> None:
    done = once(call, lambda: _is_set(call, name, text, user=user))
    presentation.show_done(call, done, _sentence)


def _is_set(call: Invocation, name: str, text: str | None, *, user: bool) -> dict[str, Any]:
    setting = settings.find(name)
    if user and not setting.of_user:
        raise InvalidRequest(f"'{name}' is a setting of a store", hint="leave out --user")
    value = None if text is None else _parsed(name, text)
    if user or not setting.of_store:
        _set_user(call, name, value)
        place = path_text(settings.user_file(call.environment))
    else:
        from pamctl.store.configuration import configure

        configure(call.store.layout, {name: value})
        place = path_text(call.store.layout.store_file)
    return {"name": name, "origin": place, "value": value}


def _set_user(call: Invocation, name: str, value: Any) -> None:
    said = settings.user_settings(call.environment)
    if value is None:
        said.pop(name, None)
    else:
        said[name] = value
    settings.save_user_settings(call.environment, said)


def _parsed(name: str, text: str) -> Any:
    """The value that a word on the command line stands for."""
    value: Any = text
    if SETTINGS[name].kind is not str:
        from pamctl.encoding import strict_json

        # What is no JSON is a word, and no value of such a setting.
        with contextlib.suppress(InvalidRequest):
            value = strict_json.parse(text)
    settings.require_value(name, value)
    if name in ("actor", "default_scope"):
        from pamctl.model.documents import check

        try:
            check("actor", {"actor_id": value, "actor_kind": "human"})
        except InvalidObject as fault:
            problem = fault.message.removeprefix("/actor_id of the actor ")
            raise InvalidRequest(f"the value of '{name}' {problem}") from fault
    if name == "store":
        return path_text(as_path(value).absolute())
    return value


def _without_origin(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": found["name"], "value": found["value"]}


def _sentence(done: Mapping[str, Any]) -> str:
    if done["value"] is None:
        return f"{done['name']} is no longer set in {done['origin']}"
    return f"{done['name']} is {presentation.text_of(done['value'])} in {done['origin']}"


_COLUMNS = (
    Column("NAME", lambda one: str(one["name"]), whole=True),
    Column("VALUE", lambda one: presentation.text_of(one["value"])),
    Column("ORIGIN", lambda one: str(one["origin"])),
)
