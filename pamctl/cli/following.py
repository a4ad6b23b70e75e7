"""Events printed as they come, whoever commits them."""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Mapping
from typing import Any

from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import output
from pamctl.cli.terminal.events import stream
from pamctl.errors import InvalidRequest, ScopeNotFound, SubscriptionClosed
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.rules.subscriptions import AUTOMATIC, WORTH_PASSING_OVER

Json = dict[str, Any]


def follow_log(call: Invocation, request: Json) -> None:
    """Prints the events of a scope, those that are there and then those that come; with a
    limit, that many."""
    if "cursor" in request:
        raise InvalidRequest("a cursor names a page, and following has none", hint="use --after")
    if "snapshot_id" in request:
        raise InvalidRequest("nothing is ever added to a snapshot, so there is nothing to follow")
    if "delegation_id" in request["actor"]:
        # Every look would be a use of it, every use an event, every event worth a look.
        raise InvalidRequest(
            "a log is not followed under a delegation",
            hint="open a subscription under it, and follow that",
        )
    gc.enable()
    left = request.get("limit", math.inf)
    watch = call.store.watch(call.scope_id)
    while left > 0:
        watch.wait(output.pause)
        head = 0
        with contextlib.suppress(ScopeNotFound):  # until its first write
            head = call.store.head(call.scope_id)["sequence"]
        more = True
        while more and left > 0:
            at_most = min(left, PAGE_ITEMS_MAX)
            page = call.perform("log", {**request, "limit": at_most})
            events = page["items"]
            stream(call, events)
            if events:
                request["after"] = events[-1]["sequence"]
            left -= len(events)
            more = page["next_cursor"] is not None
        request["after"] = max(request.get("after", 0), head)


def follow_subscription(call: Invocation, request: Json, limit: int | None) -> None:
    """Prints what a subscription delivers, what waits and then what comes; with a limit, that
    many. Keeps what the subscriber prefers about delivery.

    request: of polls; its cursor is held until the events are printed.
    """
    gc.enable()
    first = call.perform("poll_subscription", {**request, "max_events": 1})
    watch = call.store.watch(first["scope_id"])
    preferences = first.get("delivery", {})
    silence_sec = preferences.get("keepalive_interval_ms", 0) / 1000 or math.inf
    full = min(preferences.get("batching_max_events", PAGE_ITEMS_MAX), PAGE_ITEMS_MAX)
    patience_sec = preferences.get("batching_max_wait_ms", 0) / 1000
    left = math.inf if limit is None else limit
    while left > 0:
        while not watch.wait(output.pause, at_most_sec=silence_sec):
            output.write(b"\n")
        more = True
        while more and left > 0:
            poll = {**request, "max_events": min(left, full)}
            answer = call.perform("poll_subscription", poll)
            deadline = time.monotonic() + patience_sec
            while 0 < len(answer["events"]) < poll["max_events"]:
                rest = deadline - time.monotonic()
                if rest <= 0:
                    break
                watch.wait(output.pause, at_most_sec=rest)
                answer = call.perform("poll_subscription", poll)
            stream(call, answer["events"])
            acknowledge(call, answer, answer["events"])
            left -= len(answer["events"])
            more = answer["more"]
            _go_on(request, answer)


def _go_on(request: Json, answer: Mapping[str, Any]) -> None:
    """Has the next poll begin behind what this one looked at, so that events which are for
    somebody else are not looked at again and again. Now and then it begins at the cursor of
    a subscription that acknowledges by itself, which then moves behind them."""
    events = answer["events"]
    reached = events[-1]["sequence"] if events else answer["acknowledged_sequence"]
    behind = answer["through_sequence"] - reached
    if answer["acknowledgement"] == AUTOMATIC and behind >= WORTH_PASSING_OVER:
        request.pop("after_sequence", None)
    else:
        request["after_sequence"] = answer["through_sequence"]


def request_on(call: Invocation, subscription_id: str, **members: Any) -> Json:
    """The arguments of an operation on a subscription, which is found by its id wherever it
    is, unless a scope is named."""
    return stated(
        {
            "subscription_id": subscription_id,
            "actor": call.actor,
            "operation_id": call.operation_id,
            "scope_id": call.named_scope,
            **members,
        }
    )


def acknowledge(call: Invocation, answer: Mapping[str, Any], events: list[Json]) -> None:
    """Moves the cursor behind what was printed, where nobody else will."""
    if events and answer["acknowledgement"] == AUTOMATIC:
        request = request_on(call, answer["subscription_id"], sequence=events[-1]["sequence"])
        # One that was closed meanwhile delivers nothing again anyway.
        with contextlib.suppress(SubscriptionClosed):
            call.perform("acknowledge_subscription", request)


def stated(members: Mapping[str, Any]) -> Json:
    """The members that were given."""
    return {name: member for name, member in members.items() if member is not None}
