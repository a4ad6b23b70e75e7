"""`pamctl index`: the derived index, which can always be made again. PAMSPEC §7.8."""

from collections.abc import Mapping
from typing import Any

from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import InternalError, ScopeNotFound, ServiceUnavailable

app = application(summary="Inspect or rebuild the derived index.")

_SCOPED = (options.STORE, options.SCOPE, options.OPERATION_ID, *options.PRINTING)


@verb(app, _SCOPED, example="pamctl index status", errors=(ScopeNotFound,))
def status(call: Invocation) -> None:
    """Show how far the index of each scope has read.

    With --scope or PAM_SCOPE it is the index of that one.
    """
    presentation.show_items(call, {"items": _states(call), "next_cursor": None}, _COLUMNS)


@verb(
    app,
    options.SCOPED,
    example="pamctl index rebuild --scope workspace:default",
    errors=(ScopeNotFound, InternalError, ServiceUnavailable),
)
def rebuild(call: Invocation) -> None:
    """Forget the index and read the ledgers again.

    It is done for every scope, or for the one that --scope or PAM_SCOPE names. Nothing is
    lost by it. The ledger records that it was done, where it can be written.
    """
    for scope in _states(call):
        call.store.rebuild_index(scope_id=scope["scope_id"], actor=call.actor)
    presentation.show_items(call, {"items": _states(call), "next_cursor": None}, _COLUMNS)


def _states(call: Invocation) -> list[dict[str, Any]]:
    """The scopes that are meant, each with the state of its index."""
    scopes = call.perform("status", {})["scopes"]
    named = call.named_scope
    if named is not None and all(scope["scope_id"] != named for scope in scopes):
        raise ScopeNotFound(f"there is no scope {named}")
    return [
        {"scope_id": scope["scope_id"], "index": scope["index"]}
        for scope in scopes
        if named in (None, scope["scope_id"])
    ]


def _index(name: str, scope: Mapping[str, Any]) -> str:
    return presentation.text_of(scope["index"][name])


_COLUMNS = (
    Column("SCOPE", lambda scope: str(scope["scope_id"])),
    Column("INDEX", lambda scope: _index("index_id", scope)),
    Column("SEQUENCE", lambda scope: _index("ledger_sequence", scope)),
    Column("FRESH", lambda scope: _index("fresh", scope)),
)
