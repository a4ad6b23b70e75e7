"""`pamctl status`: the store at a glance."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import options
from pamctl.cli.invocation import Invocation
from pamctl.cli.paths import path_text
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import ScopeNotFound

app = application()


@verb(app, options.STORED, example="pamctl status --json", errors=(ScopeNotFound,))
def status(
    call: Invocation,
    profiles: Annotated[
        bool,
        typer.Option(
            "--profiles",
            help="Report the conformance profiles of PAMSPEC that are met; needs no store.",
        ),
    ] = False,
) -> None:
    """Show the store, its scopes and heads.

    Of each scope it tells how much is in it, the head of its ledger, and whether its index
    is up to date.
    """
    if profiles:
        _show_profiles(call)
        return
    state = {**call.perform("status", {}), "path": path_text(call.store.path)}
    if call.format == "table":
        presentation.show(call, state, _store)
        presentation.show_items(call, {"items": state["scopes"], "next_cursor": None}, _SCOPES)
    else:
        presentation.show(call, state, _store)


def _show_profiles(call: Invocation) -> None:
    from pamctl.service.profiles import report

    made = report()
    if call.format == "table":
        presentation.show_items(call, {"items": made["profiles"], "next_cursor": None}, _PROFILES)
        for deviation in made["deviations"]:
            call.note(f"§{deviation['requirement']} is open: {deviation['missing']}")
    else:
        presentation.show(call, made, _store)


def _store(state: Mapping[str, Any]) -> dict[str, str]:
    scopes = state["scopes"]
    counts = {"scopes": len(scopes)}
    for what in ("objects", "versions", "events"):
        counts[what] = sum(scope[what] for scope in scopes)
    totals = ", ".join(f"{n:,} {what[:-1] if n == 1 else what}" for what, n in counts.items())
    return {
        "store": state["path"],
        "identifier": state["store_id"],
        "format": f"version {state['format_version']}",
        "default scope": state["default_scope"],
        "in all": totals,
    }


def _size(scope: Mapping[str, Any]) -> str:
    size = float(scope["ledger_bytes"])
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _index(scope: Mapping[str, Any]) -> str:
    index = scope["index"]
    behind = scope["ledger_sequence"] - index["ledger_sequence"]
    return "fresh" if index["fresh"] and not behind else f"{behind} events behind"


_SCOPES = (
    Column("SCOPE", lambda scope: str(scope["scope_id"])),
    Column("OBJECTS", lambda scope: f"{scope['objects']:,}", whole=True),
    Column("VERSIONS", lambda scope: f"{scope['versions']:,}", whole=True),
    Column("EVENTS", lambda scope: f"{scope['events']:,}", whole=True),
    Column("LEDGER", _size, whole=True),
    Column("INDEX", _index),
    Column("HEAD", lambda scope: str(scope["head"])[:12], whole=True),
)

_PROFILES = (
    Column("PROFILE", lambda profile: str(profile["name"])),
    Column("VERSION", lambda profile: str(profile["version"])),
    Column("MET", lambda profile: "yes" if profile["supported"] else "no"),
    Column("REQUIREMENTS", lambda profile: str(profile["requirements"])),
    Column("OPEN", lambda profile: ", ".join(profile["open"])),
)
