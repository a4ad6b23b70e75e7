"""The events of a subscription, delivered at least once and in the order of the ledger.
PAMSPEC §10.8, §18.3.

Whether an event is for the subscriber is asked when it is delivered, by the filter of the
subscription and by the policy that is then in force.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from pamctl import limits
from pamctl.errors import AccessDenied, InvalidRequest, ServiceUnavailable
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.rules import subscriptions as rules
from pamctl.rules.authorization import refused
from pamctl.rules.delegation import DELEGATION_RULE, Use
from pamctl.rules.subscriptions import AUTOMATIC, EXPLICIT, LAGGED, REVOKED, Cursor, matches
from pamctl.service.authority import ActingRequest, governed_type
from pamctl.service.chains import effective_chain, now_at
from pamctl.service.disclosure import shown_events
from pamctl.service.subscriptions import (
    Standing,
    Subscription,
    close_by_service,
    find,
    open_standing,
)

if TYPE_CHECKING:
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]
Judge = Callable[[Mapping[str, Any]], bool]

_EVENTS_DEFAULT = 100


class _Batch(NamedTuple):
    """What a look at the ledger found.

    through: ledger sequence up to which everything was looked at.
    """

    events: list[Json]
    through: int


def poll_subscription(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """The events that wait for the subscriber, oldest first; none where none do.

    Delivery begins behind what was acknowledged or, for this once, behind `after_sequence`;
    the answer's `through_sequence` says up to where everything was looked at. What is asked
    for ahead of what was acknowledged is not acknowledged by that.
    Where the subscription acknowledges by itself, the cursor is durable behind what is
    answered before it is answered; with `hold` it stays, and `acknowledge_subscription` moves
    it once the events have got to where they must.

    Raises SubscriptionClosed, ObjectNotFound, and AccessDenied for a subscriber who lost the
    authority; the service has then closed the subscription.
    """
    found, known = find(store, request)
    try:
        return _poll(store, found, known.acknowledgement, request)
    except AccessDenied as denied:
        close_by_service(store, found, REVOKED, request)
        cursor = found.cursor()
        denied.details |= {
            "subscription_id": found.subscription_id,
            "last_delivered_sequence": cursor.delivered,
            "last_acknowledged_sequence": cursor.acknowledged,
        }
        raise


def acknowledge_subscription(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """Move the cursor behind the event of a ledger sequence. Durable when this returns. To
    acknowledge something again changes nothing. Raises InvalidRequest for what was not
    delivered yet, SubscriptionClosed and ObjectNotFound."""
    found, known = find(store, request)
    with found.files.lock():
        _, head = open_standing(found)
        cursor = found.cursor()
        last = cursor.delivered if known.acknowledgement == EXPLICIT else head
        moved = cursor.received(request["sequence"], last=last)
        if moved != cursor:
            found.put_cursor(moved)
    return {
        "subscription_id": found.subscription_id,
        "scope_id": found.scope.scope_id,
        "acknowledged_sequence": moved.acknowledged,
    }


def _poll(
    store: OpenStore, found: Subscription, acknowledgement: str, request: Mapping[str, Any]
) -> Json:
    automatic = acknowledgement == AUTOMATIC
    held = automatic and request.get("hold", False)
    at_most = min(
        request.get("max_events", _EVENTS_DEFAULT),
        found.delivery("batching_max_events", PAGE_ITEMS_MAX),
    )
    asked = _asked_start(found, request)
    looked_at = 0
    while True:
        # What only looks needs no lock, and has to work where nothing can be written.
        with contextlib.nullcontext() if held else found.files.lock():
            known, head = open_standing(found)
            cursor = moved = found.cursor()
            judge = _judge(store, found)
            _require_pace(store, found, known, judge, request)
            start = max(looked_at, cursor.acknowledged if asked is None else asked)
            batch = _gather(found, judge, start, head, at_most)
            if batch.events and not held:
                last = batch.events[-1]["sequence"]
                # Whoever looks ahead has not seen what is in between.
                ahead = asked is not None and asked > cursor.acknowledged
                moved = cursor.handed_over(last, acknowledged=automatic and not ahead)
                if moved != cursor:
                    found.put_cursor(moved)
        looked_at = batch.through
        if batch.events or looked_at >= head:
            break
    if not batch.events and asked is None:
        moved = _pass_over(found, cursor, looked_at)
    answer = {
        "subscription_id": found.subscription_id,
        "scope_id": found.scope.scope_id,
        "events": batch.events,
        "acknowledgement": acknowledgement,
        "acknowledged_sequence": moved.acknowledged,
        "through_sequence": looked_at,
        "more": looked_at < head,
    }
    if "delivery" in found.descriptor:
        answer["delivery"] = found.descriptor["delivery"]
    return answer


def _asked_start(found: Subscription, request: Mapping[str, Any]) -> int | None:
    after: int | None = request.get("after_sequence")
    start = found.descriptor["start_sequence"]
    if after is not None and after < start:
        raise InvalidRequest(
            f"the subscription begins behind sequence {start}",
            hint="open another one that begins earlier",
            pointer="/after_sequence",
        )
    return after


def _judge(store: OpenStore, found: Subscription) -> Judge:
    """Whether an event is for the subscriber, by the filter and by what the policy lets him
    see now. Raises AccessDenied where that is nothing."""
    subscriber = _subscriber(store, found)
    is_shown = shown_events(store, found.scope, subscriber, "subscribe")
    chosen, index = found.descriptor["filter"], found.scope.index
    types: dict[str, str | None] = {}

    def judge(event: Mapping[str, Any]) -> bool:
        object_type = None
        if "object_type" in chosen and "object_id" in event:
            object_id = event["object_id"]
            if object_id not in types:
                types[object_id] = governed_type(index.current(object_id))
            object_type = types[object_id]
        return matches(chosen, event, object_type) and is_shown(event)

    return judge


def _subscriber(store: OpenStore, found: Subscription) -> Mapping[str, Any]:
    """A request by the subscriber, as policies judge one. Under a delegation it is a part of
    the use that opened the subscription, which has to be allowed still. Raises AccessDenied."""
    actor = found.descriptor["actor"]
    request = {"scope_id": found.scope.scope_id, "actor": actor}
    if "delegation_id" not in actor:
        return request
    desk = store.group().desk(found.scope, found.scope.position.sequence)
    use = Use(actor["actor_id"], "subscribe", desk.scope_id, now_at(desk))
    chain = effective_chain(desk, actor["delegation_id"], use, counted=True)
    if chain is None:
        raise refused(actor["actor_id"], "subscribe", DELEGATION_RULE)
    return ActingRequest(request, chain.delegations, desk.policy)


def _gather(found: Subscription, judge: Judge, after: int, until: int, at_most: int) -> _Batch:
    """The next events behind a sequence, up to another, that are for the subscriber, as far
    as one look goes."""
    events: list[Json] = []
    for looked_at, event in enumerate(_events(found, after, until), start=1):
        if judge(event):
            events.append(event)
        if len(events) == at_most or looked_at == limits.SUBSCRIPTION_SCAN_EVENTS_MAX:
            return _Batch(events, event["sequence"])
    return _Batch(events, max(after, until))


def _events(found: Subscription, after: int, until: int) -> Iterator[Json]:
    """The events that can be for the subscriber, as far as the index knows."""
    chosen, scope = found.descriptor["filter"], found.scope
    while True:
        places = scope.index.events(
            after,
            until=until,
            limit=PAGE_ITEMS_MAX,
            event_classes=chosen.get("event_classes"),
            object_id=chosen.get("object_id"),
        )
        for place in places:
            event = scope.entry(place)["body"]
            after = event["sequence"]
            yield event
        if len(places) < PAGE_ITEMS_MAX:
            scope.require_whole()
            return


def _require_pace(
    store: OpenStore, found: Subscription, known: Standing, judge: Judge, request: Mapping[str, Any]
) -> None:
    """Close a subscription whose subscriber would rather be closed than lag, when more than
    limits.SUBSCRIPTION_LAG_EVENTS_MAX events wait that came since it was opened. Raises
    SubscriptionClosed."""
    if found.delivery("backpressure_policy", "block") != "close_on_lag":
        return
    since = max(found.cursor().acknowledged, known.opened["sequence"])
    head = found.scope.position
    most = limits.SUBSCRIPTION_LAG_EVENTS_MAX
    if head.sequence - since <= most:
        return
    waiting = filter(judge, _events(found, since, head.sequence))
    if next(islice(waiting, most, None), None) is not None:
        close_by_service(store, found, LAGGED, request)
        open_standing(found)


def _pass_over(found: Subscription, seen: Cursor, through: int) -> Cursor:
    """Move the cursor that was `seen` behind events which were not for the subscriber, now
    and then. Where it is now."""
    if through - seen.acknowledged >= rules.WORTH_PASSING_OVER:
        with contextlib.suppress(ServiceUnavailable), found.files.lock():
            # Another process may have moved it, and gone back over what it saw.
            if found.cursor() == seen:
                seen = seen.passed_over(through)
                found.put_cursor(seen)
    return seen
