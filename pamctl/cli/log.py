"""`pamctl log`: the Event Ledger of a scope. PAMSPEC §7.7."""

from typing import Annotated

import typer

from pamctl.cli import options, presentation
from pamctl.cli.events import EVENT_COLUMNS
from pamctl.cli.invocation import Invocation
from pamctl.cli.verbs import application, verb
from pamctl.errors import AccessDenied, ScopeNotFound

app = application()


@verb(
    app,
    options.SCOPED,
    example="pamctl log --after 120 --event-class object_created --format jsonl",
    errors=(ScopeNotFound, AccessDenied),
)
def log(
    call: Invocation,
    after: Annotated[
        int | None, options.sequence_option("--after", "N", "Events behind that sequence.")
    ] = None,
    event_class: options.EventClasses = None,
    object_id: Annotated[
        str | None, typer.Option("--object", metavar="ID", help="Events of that memory.")
    ] = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
) -> None:
    """Show the events of a scope.

    They are in the order of its ledger, each with the version that it committed.
    """
    request = call.request(
        after=after, event_classes=event_class, object_id=object_id, limit=limit, cursor=cursor
    )
    presentation.show_items(call, call.perform("log", request), EVENT_COLUMNS)
