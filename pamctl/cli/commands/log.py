"""`pamctl log`: the Event Ledger of a scope. PAMSPEC §7.7."""

from typing import Annotated

import typer

from pamctl.cli import options, parameters
from pamctl.cli.following import follow_log
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation, timeline
from pamctl.cli.verbs import application, verb
from pamctl.errors import AccessDenied, ScopeNotFound, SnapshotNotFound

app = application()


@verb(
    app,
    options.SCOPED,
    example="""pamctl log --after 120 --event-class object_created --format jsonl
pamctl log --follow --event-class object_deleted""",
    errors=(ScopeNotFound, SnapshotNotFound, AccessDenied),
)
def log(
    call: Invocation,
    after: Annotated[
        int | None, options.sequence_option("--after", "N", "Events behind that sequence.")
    ] = None,
    event_class: parameters.EventClasses = None,
    object_id: Annotated[
        str | None, typer.Option("--object", metavar="ID", help="Events of that memory.")
    ] = None,
    snapshot: parameters.Snapshot = None,
    limit: parameters.Limit = None,
    cursor: parameters.Cursor = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Go on with events as they come; --limit ends it after so many."
        ),
    ] = False,
) -> None:
    """Show the events of a scope.

    They are in the order of its ledger, each with the version that it committed. Followed,
    they come one a line, and nobody remembers how far it got: 'subscribe' does.
    """
    request = call.request(
        after=after,
        event_classes=event_class,
        object_id=object_id,
        snapshot_id=snapshot,
        limit=limit,
        cursor=cursor,
    )
    if follow:
        follow_log(call, request)
    else:
        answer = call.perform("log", request)
        if call.format == "table":
            timeline.show_events(call, answer)
        else:
            presentation.show_items(call, answer, ())
