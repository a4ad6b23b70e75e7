"""`pamctl pack`: version files become packs."""

from typing import Any

from pamctl.cli import options, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import DuplicateOperation, ScopeNotFound, ServiceUnavailable

app = application()


@verb(
    app,
    (*writing.RETRYING, options.STORE, options.SCOPE, options.OPERATION_ID, *options.PRINTING),
    example="""pamctl pack
pamctl pack --scope workspace:default""",
    errors=(ScopeNotFound, DuplicateOperation, ServiceUnavailable),
)
def pack(call: Invocation) -> None:
    """Move version files into packs.

    Small packs are merged, and copies are removed that an earlier packing left when it was
    interrupted. What can be read before can be read all the while and afterwards; readers do
    not wait. Every scope is packed, or the one that --scope or PAM_SCOPE names.

    Writing packs by itself once thousands of files have gathered, so nobody has to run this:
    it is for a store that is about to be copied or put under git.
    """
    presentation.show_items(call, once(call, lambda: _packed(call)), _COLUMNS)


def _packed(call: Invocation) -> dict[str, Any]:
    scopes = [scope["scope_id"] for scope in call.perform("scope_list", {})["items"]]
    named = call.named_scope
    if named is not None and named not in scopes:
        raise ScopeNotFound(f"there is no scope {named}")
    items: list[dict[str, Any]] = [
        call.store.pack(scope_id=scope) for scope in scopes if named in (None, scope)
    ]
    return {"items": items, "next_cursor": None}


_COLUMNS = (
    Column("SCOPE", lambda scope: str(scope["scope_id"])),
    Column("FILES", lambda scope: str(scope["files"]), whole=True),
    Column("PACKS MERGED", lambda scope: str(scope["packs_merged"]), whole=True),
    Column("PACKS MADE", lambda scope: str(scope["packs_made"]), whole=True),
    Column("VERSIONS", lambda scope: str(scope["versions"]), whole=True),
)
