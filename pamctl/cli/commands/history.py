"""`pamctl history`: the versions of a memory, or its events. PAMSPEC §10.7."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import options, parameters, verifying
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation, timeline
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
    object_id: parameters.ObjectArgument,
    versions: Annotated[
        bool, typer.Option("--versions", help="Its versions, which is the default.")
    ] = False,
    events: Annotated[bool, typer.Option("--events", help="Its events.")] = False,
    event_class: parameters.EventClasses = None,
    first: Annotated[
        int | None,
        options.sequence_option("--from", "N", "From that version number, or event sequence."),
    ] = None,
    last: Annotated[
        int | None, options.sequence_option("--to", "N", "Up to that one, itself included.")
    ] = None,
    snapshot: parameters.Snapshot = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="What each version changed, as 'diff' shows it.")
    ] = False,
    verify: verifying.Verify = False,
    limit: parameters.Limit = None,
    cursor: parameters.Cursor = None,
) -> None:
    """Show what became of a memory.

    Its versions are shown, or its events, oldest first. What was deleted or redacted
    appears as a tombstone without content.
    """
    events = events or bool(event_class)
    if versions and events:
        raise InvalidRequest("versions and events are two histories", hint="ask for one of them")
    if events and diff:
        raise InvalidRequest("events have no difference", hint="leave out --events or --diff")
    if verify and (events or diff):
        raise InvalidRequest("--verify is of versions alone, and shows them as they are")
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
    answer = call.perform("history", request)
    if verify:
        answer = {**answer, "items": verifying.verified(call, answer["items"])}
    elif diff:
        answer = {**answer, "items": [_changed(call, one, request) for one in answer["items"]]}
    if call.format != "table":
        presentation.show_items(call, answer, ())
    elif verify:
        presentation.show_items(call, answer, verifying.COLUMNS)
    elif events:
        timeline.show_events(call, answer)
    elif diff:
        timeline.show_differences(call, answer)
    else:
        timeline.show_versions(call, answer)


def _changed(call: Invocation, envelope: Mapping[str, Any], request: Mapping[str, Any]) -> Any:
    """What a version changed, as `diff` answers it."""
    asked = {name: request[name] for name in _ASKED if name in request}
    return call.perform("diff", {**asked, "to_sequence": envelope["sequence"]})


_ASKED = ("scope_id", "object_id", "actor", "operation_id", "snapshot_id")
