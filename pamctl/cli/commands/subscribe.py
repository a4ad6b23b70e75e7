"""`pamctl subscribe`: the events of a scope, delivered at least once. PAMSPEC §10.8, §18.3."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from pamctl.cli import input as given
from pamctl.cli import options, parameters, writing
from pamctl.cli.following import acknowledge, follow_subscription, request_on, stated
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.terminal import output, presentation
from pamctl.cli.terminal.events import EVENT_COLUMNS
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    ObjectDeleted,
    ObjectNotFound,
    PamError,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.limits import INTEGER_MAX

app = application(summary="Be told of what happens in a scope.")

SubscriptionArgument = Annotated[
    str,
    typer.Argument(
        metavar="SUBSCRIPTION", help="Identifier of the subscription.", show_default=False
    ),
]
_milliseconds = options.whole_number(0, INTEGER_MAX)
_ON_ONE: tuple[type[PamError], ...] = (
    ObjectNotFound,
    ScopeNotFound,
    AccessDenied,
    ObjectDeleted,
    ServiceUnavailable,
)
_END = "end"


def _sequence_or_end(text: str) -> int | str:
    return text if text == _END else options.whole_number(0, INTEGER_MAX)(text)


ObjectType = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="Only events of objects of that type."),
]
ObjectId = Annotated[
    str | None, typer.Option("--object", metavar="ID", help="Only events of that object.")
]
Predicate = Annotated[
    str | None,
    typer.Option(
        "--predicate",
        metavar="JSON",
        help="Only events in which these values, or one of a list, stand at these pointers.",
    ),
]
After = Annotated[
    Any,
    typer.Option(
        "--after",
        metavar="N",
        parser=_sequence_or_end,
        help="Events behind that sequence, or from now on (end); default: all.",
    ),
]
Acknowledgement = Annotated[
    Literal["automatic", "explicit"] | None,
    typer.Option(
        "--ack",
        help="Whether an event is done with when it is printed, which is the default, or"
        " when 'subscribe ack' says so.",
    ),
]
BatchEvents = Annotated[
    int | None,
    typer.Option(
        "--batch-events",
        metavar="N",
        parser=options.whole_number(1, INTEGER_MAX),
        help="At most that many at a time.",
    ),
]
BatchWait = Annotated[
    int | None,
    typer.Option(
        "--batch-wait",
        metavar="MS",
        parser=_milliseconds,
        help="Followed: wait so long for a batch to fill.",
    ),
]
Keepalive = Annotated[
    int | None,
    typer.Option(
        "--keepalive",
        metavar="MS",
        parser=_milliseconds,
        help="Followed: print an empty line when nothing happened for so long.",
    ),
]
Backpressure = Annotated[
    Literal["block", "close_on_lag", "drop_oldest"] | None,
    typer.Option(
        "--backpressure",
        help="When you are slow: block waits for you, which is the default; close_on_lag"
        " closes in the end; drop_oldest is refused, as no event may be lost.",
    ),
]
PrintField = Annotated[
    str | None,
    typer.Option(
        "--print",
        metavar="FIELD",
        # Known beforehand: a subscription whose id was never told would be of no use.
        parser=options.one_of("member of the answer", ("subscription_id", "start_sequence")),
        help="Print that member of the answer alone: subscription_id, start_sequence.",
    ),
]


@verb(
    app,
    writing.KEYED,
    example="""pamctl subscribe open --event-class object_created --type decision --ack explicit
pamctl subscribe open --after end --predicate '{"/payload/to": "disputed"}'""",
    errors=(
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        PolicyDenied,
        ServiceUnavailable,
    ),
    name="open",
)
def open_subscription(
    call: Invocation,
    event_class: parameters.EventClasses = None,
    object_type: ObjectType = None,
    object_id: ObjectId = None,
    predicate: Predicate = None,
    after: After = None,
    ack: Acknowledgement = None,
    max_events: BatchEvents = None,
    max_wait: BatchWait = None,
    keepalive: Keepalive = None,
    backpressure: Backpressure = None,
    print_field: PrintField = None,
) -> None:
    """Subscribe to events.

    They wait for 'subscribe poll' or 'subscribe follow', for as long as it takes, in the
    order of the ledger. Which of them you may see is asked when they are delivered.
    """
    chosen = {
        "event_classes": event_class or None,
        "object_type": object_type,
        "object_id": object_id,
        "predicate": None
        if predicate is None
        else given.json_object(given.Source(predicate), "--predicate"),
    }
    preferences = {
        "batching_max_events": max_events,
        "batching_max_wait_ms": max_wait,
        "keepalive_interval_ms": keepalive,
        "backpressure_policy": backpressure,
    }
    if after == _END:
        after = _end(call)
    request = call.request(
        filter=stated(chosen),
        after_sequence=after,
        acknowledgement=ack,
        delivery=stated(preferences) or None,
    )
    opened = call.perform("subscribe", request)
    if print_field is not None:
        output.write_member(opened, print_field)
    else:
        presentation.show_done(call, opened, _opened)


@verb(
    app,
    options.SCOPED,
    example="pamctl subscribe poll sub:tea --limit 10 --format jsonl",
    errors=_ON_ONE,
)
def poll(
    call: Invocation,
    subscription_id: SubscriptionArgument,
    limit: parameters.Limit = None,
    after: Annotated[
        int | None,
        options.sequence_option(
            "--after",
            "N",
            "This once, events behind that sequence; to look ahead acknowledges nothing.",
        ),
    ] = None,
) -> None:
    """Print the events that wait.

    Where the subscription acknowledges by itself, they count as acknowledged once they are
    printed. Whoever is killed before that gets them again.
    """
    request = request_on(call, subscription_id, max_events=limit, after_sequence=after)
    answer = call.perform("poll_subscription", {**request, "hold": True})
    events = answer.pop("events")
    acknowledged = answer.pop("acknowledged_sequence")
    del answer["through_sequence"]
    presentation.show_items(call, {**answer, "items": events, "next_cursor": None}, EVENT_COLUMNS)
    if answer["more"] and call.format != "json":
        call.note("more may wait: poll again")
    if after is None or after <= acknowledged:
        acknowledge(call, answer, events)


@verb(
    app,
    writing.KEYED,
    example="pamctl subscribe ack sub:tea 120",
    errors=(*_ON_ONE, DuplicateOperation),
)
def ack(
    call: Invocation,
    subscription_id: SubscriptionArgument,
    sequence: Annotated[
        int,
        typer.Argument(
            metavar="SEQUENCE",
            help="Sequence of the last event that is done with.",
            parser=options.whole_number(0, INTEGER_MAX),
            show_default=False,
        ),
    ],
) -> None:
    """Acknowledge events.

    Those up to that sequence are not delivered again.
    """
    request = request_on(call, subscription_id, sequence=sequence)
    done = once(call, lambda: call.perform("acknowledge_subscription", request))
    presentation.show_done(
        call,
        done,
        lambda one: f"{one['subscription_id']} goes on behind {one['acknowledged_sequence']}",
    )


@verb(
    app,
    options.SCOPED,
    example="""pamctl subscribe follow sub:tea | while read -r event; do ...; done""",
    errors=_ON_ONE,
)
def follow(
    call: Invocation,
    subscription_id: SubscriptionArgument,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            parser=options.whole_number(1, INTEGER_MAX),
            help="End after that many events.",
        ),
    ] = None,
) -> None:
    """Print events as they come, one a line.

    Those that wait come first. It goes on until it is interrupted, or the subscription is
    closed, which is an error that says how far it got.
    """
    request = request_on(call, subscription_id, hold=True)
    follow_subscription(call, request, limit)


@verb(
    app,
    writing.KEYED,
    example="pamctl subscribe close sub:tea",
    errors=(*_ON_ONE, DuplicateOperation),
)
def close(
    call: Invocation,
    subscription_id: SubscriptionArgument,
) -> None:
    """Close a subscription for good.

    Nothing is delivered to it any more. The answer, and the event in the ledger, say how far
    it got.
    """
    request = request_on(call, subscription_id)
    closed = call.perform("close_subscription", request)
    presentation.show_done(
        call,
        closed,
        lambda one: (
            f"closed {one['subscription_id']}, delivered up to event"
            f" {one['last_delivered_sequence']}"
        ),
    )


@verb(
    app,
    options.SCOPED,
    example="pamctl subscribe list --all",
    errors=(ScopeNotFound, AccessDenied),
    name="list",
)
def list_subscriptions(
    call: Invocation,
    closed: Annotated[bool, typer.Option("--all", help="Show those that were closed too.")] = False,
) -> None:
    """List your subscriptions in a scope."""
    request = call.request(closed=closed or None)
    presentation.show_items(call, call.perform("list_subscriptions", request), _SUBSCRIPTIONS)


def _end(call: Invocation) -> int:
    try:
        sequence: int = call.store.head(call.scope_id)["sequence"]
    except ScopeNotFound:
        return 0
    return sequence


def _opened(opened: Mapping[str, Any]) -> str:
    what = f"opened {opened['subscription_id']}, delivering behind event {opened['start_sequence']}"
    if opened["replayed"]:
        return f"{what} (done before under this idempotency key; nothing changed)"
    return f"{what} of {opened['scope_id']}"


_SUBSCRIPTIONS = (
    Column("SUBSCRIPTION", lambda one: str(one["subscription_id"]), whole=True),
    Column("STATE", lambda one: str(one["state"])),
    Column("ACKNOWLEDGED", lambda one: str(one["acknowledged_sequence"]), whole=True),
    Column("BY", lambda one: str(one["acknowledgement"])),
    Column("FILTER", lambda one: presentation.text_of(one["filter"])),
)
