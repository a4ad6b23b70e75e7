"""`pamctl history`: the versions of a memory, or its events. PAMSPEC §10.7."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import options, presentation
from pamctl.cli.events import EVENT_COLUMNS
from pamctl.cli.invocation import Invocation
from pamctl.cli.presentation import Column, moment
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    ObjectNotFound,
    ScopeNotFound,
    SnapshotNotFound,
)

app = application()


@verb(
    app,
    options.SCOPED,
    example="pamctl history mem:tea\npamctl history mem:tea --events --event-class object_updated",
    errors=(ObjectNotFound, ScopeNotFound, SnapshotNotFound, AccessDenied),
)
def history(
    call: Invocation,
    object_id: options.ObjectArgument,
    versions: Annotated[
        bool, typer.Option("--versions", help="Its versions, which is the default.")
    ] = False,
    events: Annotated[bool, typer.Option("--events", help="Its events.")] = False,
    event_class: options.EventClasses = None,
    first: Annotated[
        int | None,
        options.sequence_option("--from", "N", "From that version number, or event sequence."),
    ] = None,
    last: Annotated[
        int | None, options.sequence_option("--to", "N", "Up to that one, itself included.")
    ] = None,
    snapshot: options.Snapshot = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
) -> None:
    """Show what became of a memory.

    Its versions are shown, or its events, oldest first. What was deleted or redacted
    appears as a tombstone without content.
    """
    events = events or bool(event_class)
    if versions and events:
        raise InvalidRequest("versions and events are two histories", hint="ask for one of them")
    request = call.request(
        object_id=object_id,
        kind="events" if events else "versions",
        event_classes=event_class,
        from_sequence=first,
        to_sequence=last,
        snapshot_id=snapshot,
        limit=limit,
        cursor=cursor,
    )
    columns = EVENT_COLUMNS if events else _VERSIONS
    presentation.show_items(call, call.perform("history", request), columns)


def _content(envelope: Mapping[str, Any]) -> str:
    return presentation.excerpt(envelope.get("canonical_content"))


_VERSIONS = (
    Column("N", lambda envelope: str(envelope["sequence"]), whole=True),
    Column("VERSION", lambda envelope: str(envelope["version_id"])),
    Column("COMMITTED", lambda envelope: moment(envelope["committed_at"]), whole=True),
    Column("STATES", presentation.states),
    Column("ACTOR", lambda envelope: str(envelope["actor"]["actor_id"])),
    Column("ACTIVITY", lambda envelope: str(envelope["provenance"]["activity"])),
    Column("CONTENT", _content),
)
