"""Subscriptions: opened, closed and listed. PAMSPEC §10.8, §18.3.

A subscription is open when the ledger says that it was opened and does not say that it was
closed. Its files say what it is for and how far it has got. What is delivered, and how, is in
`service.delivery`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.errors import (
    InvalidRequest,
    ObjectNotFound,
    ScopeNotFound,
    ServiceUnavailable,
    SubscriptionClosed,
)
from pamctl.rules.authorization import refused
from pamctl.rules.subscriptions import (
    AUTOMATIC,
    UNSUBSCRIBED,
    Cursor,
    require_delivery,
    require_filter,
)
from pamctl.service.authority import disclosed
from pamctl.service.open_scope import OpenScope
from pamctl.store.subscriptions import KeptCursor, SubscriptionFiles

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.family_arguments import (
        AcknowledgeSubscriptionArguments,
        CloseSubscriptionArguments,
        ListSubscriptionsArguments,
        PollSubscriptionArguments,
    )
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]
Request = Mapping[str, Any]

OPENED, CLOSED = "subscription_opened", "subscription_closed"

SERVICE: Mapping[str, Any] = {"actor_id": "actor:service:pamctl", "actor_kind": "service"}
"""Who closes a subscription when it is not its subscriber."""

CHANNEL = "urn:pamctl:channel:poll_subscription"
"""Where events are to be had: by that operation, in every binding."""


class Subscriptions:
    """The subscriptions of a store's scopes: `store.subscriptions`. They are opened by
    `store.subscribe`."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def poll(self, **arguments: Unpack[PollSubscriptionArguments]) -> Json:
        """The events that wait, oldest first. Raises SubscriptionClosed."""
        result: Json = self._store.perform("poll_subscription", arguments)
        return result

    def acknowledge(self, **arguments: Unpack[AcknowledgeSubscriptionArguments]) -> Json:
        """Have no event up to a ledger sequence delivered again."""
        result: Json = self._store.perform("acknowledge_subscription", arguments)
        return result

    def close(self, **arguments: Unpack[CloseSubscriptionArguments]) -> Json:
        """End a subscription for good. PAMSPEC §10.8, Unsubscribe."""
        result: Json = self._store.perform("close_subscription", arguments)
        return result

    def list(self, **arguments: Unpack[ListSubscriptionsArguments]) -> Json:
        """An actor's subscriptions in a scope, in the order in which they were opened."""
        result: Json = self._store.perform("list_subscriptions", arguments)
        return result


@dataclass(frozen=True, slots=True)
class Standing:
    """What the ledger says of a subscription.

    opened: the event that opened it.
    closed: the event that closed it, None while it is open.
    """

    opened: Mapping[str, Any]
    closed: Mapping[str, Any] | None = None

    @property
    def acknowledgement(self) -> str:
        """Whether what is delivered counts as acknowledged: one of ACKNOWLEDGEMENTS."""
        return str(self.opened.get("payload", {}).get("acknowledgement", AUTOMATIC))

    def require_open(self, subscription_id: str) -> None:
        """Raises SubscriptionClosed, which says how far delivery went."""
        if self.closed is not None:
            payload = self.closed.get("payload", {})
            raise SubscriptionClosed(
                f"the subscription {subscription_id} was closed at "
                f"{self.closed['recorded_at']} ({payload.get('reason', 'no reason given')})",
                hint="open another one with after_sequence at last_acknowledged_sequence",
                **{**payload, "subscription_id": subscription_id},
            )


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription of a scope, as its files have it."""

    scope: OpenScope
    files: SubscriptionFiles
    descriptor: Mapping[str, Any]

    @property
    def subscription_id(self) -> str:
        return str(self.descriptor["subscription_id"])

    def delivery(self, preference: str, default: Any) -> Any:
        """What the subscriber prefers about delivery."""
        return self.descriptor.get("delivery", {}).get(preference, default)

    def cursor(self) -> Cursor:
        """How far it has got. In a ledger that took the place of the one it got there in, as
        a restored backup does, it has got nowhere: better twice than never."""
        start = self.descriptor["start_sequence"]
        kept = self.files.cursor(self.subscription_id)
        if kept is None or kept.event_id != self._event_id(kept.cursor.acknowledged):
            return Cursor(start, start)
        return kept.cursor

    def put_cursor(self, cursor: Cursor) -> None:
        """Move it, under the lock of the files. Durable when this returns."""
        kept = KeptCursor(cursor, self._event_id(cursor.acknowledged))
        self.files.put_cursor(self.subscription_id, kept)

    def _event_id(self, sequence: int) -> str | None:
        places = self.scope.index.events(sequence - 1, until=sequence, limit=1)
        return self.scope.entry(places[0])["body"]["event_id"] if places else None

    def standing(self) -> Standing | None:
        """What the ledger says of it; None where it knows of no such subscription."""
        places = self.scope.index.events(
            event_classes=(OPENED, CLOSED), object_id=self.subscription_id
        )
        events = [self.scope.entry(place)["body"] for place in places]
        if not events or events[0]["event_type"] != OPENED:
            return None
        closed = next((event for event in events if event["event_type"] == CLOSED), None)
        return Standing(events[0], closed)


def subscribe(desk: Desk, request: Request) -> Change:
    """Stage `subscription_opened`, with the descriptor durable before it.

    Raises AccessDenied for whoever would be delivered nothing, and InvalidRequest for a
    filter, a start or a preference that could not be kept.
    """
    chosen = _either(request, "filter", "filter_spec", {})
    require_filter(chosen)
    delivery = request.get("delivery", {})
    require_delivery(delivery)
    start = _start(desk, request)
    sight = disclosed(desk.policy, request, "subscribe")
    if "object_type" in chosen and sight is not None and not sight.covers(chosen["object_type"]):
        raise refused(request["actor"]["actor_id"], "subscribe", sight.rule_id)
    subscription_id = desk.sources.identifier("sub")
    acknowledgement = request.get("acknowledgement", AUTOMATIC)
    asked = {"subscription_id": subscription_id, "start_sequence": start}
    resolved = {**asked, "filter": chosen, "channel_ref": CHANNEL}
    if delivery:
        resolved["delivery"] = delivery
    descriptor = {"scope_id": desk.scope_id, "actor": request["actor"], **resolved}
    SubscriptionFiles(desk.scope.layout).create(descriptor)
    payload = {**asked, "acknowledgement": acknowledgement}
    change = desk.commit_event(OPENED, request, payload, object_id=subscription_id)
    desk.subscriptions[subscription_id] = Standing(change.entries[0].body)
    del change.result["object_id"]
    change.result |= {**resolved, "acknowledgement": acknowledgement}
    return change


def unsubscribe(desk: Desk, request: Request) -> Change:
    """Stage `subscription_closed`, by the subscriber. Raises ObjectNotFound, or
    SubscriptionClosed where that happened before."""
    return _closing(desk, request, UNSUBSCRIBED)


def close_subscription(store: OpenStore, request: Request) -> Json:
    """Unsubscribe from wherever the subscription is, in the name of its subscriber where the
    request names no actor: whoever knows its id was told it."""
    found, _ = find(store, request)
    actor = request.get("actor", found.descriptor["actor"])
    completed = {**request, "scope_id": found.scope.scope_id, "actor": actor}
    result: Json = store.perform("unsubscribe", completed)
    return result


def close_by_service(store: OpenStore, found: Subscription, reason: str, request: Request) -> None:
    """Close a subscription because it cannot go on. Where nothing can be written here, it
    cannot go on all the same."""
    about = {
        "scope_id": found.scope.scope_id,
        "subscription_id": found.subscription_id,
        "actor": SERVICE,
        "operation_id": request.get("operation_id") or store.asking.identifier("op"),
    }

    def closing(desk: Desk, request: Request) -> Change:
        return _closing(desk, request, reason)

    # Another process may have found out at the same moment.
    with (
        contextlib.suppress(ServiceUnavailable, SubscriptionClosed),
        store.group() as group,
    ):
        group.record(about, closing)


def list_subscriptions(store: OpenStore, request: Request) -> Json:
    """The actor's own subscriptions: those that are open, or with `closed` all of them, each
    with how far it has got."""
    scope = store.scope_to_read(request["scope_id"])
    items: list[tuple[int, Json]] = []
    for found in [] if scope is None else _all(scope):
        if not _is_own(found, request):
            continue
        standing = found.standing()
        if standing is None or (standing.closed is not None and not request.get("closed")):
            continue
        cursor = found.cursor()
        item = {
            **found.descriptor,
            "acknowledgement": standing.acknowledgement,
            "state": "open" if standing.closed is None else "closed",
            "delivered_sequence": cursor.delivered,
            "acknowledged_sequence": cursor.acknowledged,
        }
        items.append((standing.opened["sequence"], item))
    items.sort(key=lambda one: one[0])
    return {"items": [item for _, item in items], "next_cursor": None}


def find(store: OpenStore, request: Request) -> tuple[Subscription, Standing]:
    """The subscription that a request names, in its scope or wherever it is. One of another
    actor's is as absent as one that never was: ObjectNotFound. Raises PolicyDenied for one
    outside the evaluation that is going on: what it delivers is not of the snapshot, and its
    cursor is not the evaluation's to move."""
    subscription_id = request["subscription_id"]
    scope_ids = [request.get("scope_id")]
    if scope_ids == [None]:
        scope_ids = [scope["scope_id"] for scope in store.directory.scopes()]
    for scope_id in scope_ids:
        files = SubscriptionFiles(store.layout.scope(str(scope_id)))
        descriptor = files.descriptor(subscription_id)
        if descriptor is None:
            continue
        with contextlib.suppress(ScopeNotFound):
            scope = store.open_scope(str(scope_id), fresh=True)
            found = Subscription(scope, files, descriptor)
            known = found.standing()
            if _is_own(found, request) and known is not None:
                if store.evaluation is not None:
                    store.evaluation.require_inside(scope.scope_id)
                return found, known
    raise _absent(subscription_id)


def open_standing(found: Subscription) -> tuple[Standing, int]:
    """What the ledger says of an open subscription, and the sequence up to which it was open
    for certain: what comes behind that may come behind its end.

    Raises SubscriptionClosed.
    """
    head = found.scope.refresh().sequence
    known = found.standing()
    if known is None:
        raise _absent(found.subscription_id)
    known.require_open(found.subscription_id)
    return known, head


def _closing(desk: Desk, request: Request, reason: str) -> Change:
    subscription_id = request["subscription_id"]
    files = SubscriptionFiles(desk.scope.layout)
    descriptor = files.descriptor(subscription_id)
    if descriptor is None:
        raise _absent(subscription_id)
    found = Subscription(desk.scope, files, descriptor)
    known = desk.subscriptions.get(subscription_id) or found.standing()
    if known is None or (reason == UNSUBSCRIBED and not _is_own(found, request)):
        raise _absent(subscription_id)
    known.require_open(subscription_id)
    cursor = found.cursor()
    payload = {
        "subscription_id": subscription_id,
        "reason": reason,
        "last_delivered_sequence": cursor.delivered,
        "last_acknowledged_sequence": cursor.acknowledged,
    }
    change = desk.commit_event(CLOSED, request, payload, object_id=subscription_id)
    desk.subscriptions[subscription_id] = Standing(known.opened, change.entries[0].body)
    del change.result["object_id"]
    change.result |= payload
    return change


def _start(desk: Desk, request: Request) -> int:
    """The ledger sequence behind which delivery begins."""
    start: int = _either(request, "after_sequence", "start_sequence", 0)
    if start > desk.sequence:
        raise InvalidRequest(
            f"the ledger of {desk.scope_id} ends at sequence {desk.sequence}; a subscription "
            f"behind {start} would pass over events that are still to come",
            pointer="/after_sequence" if "after_sequence" in request else "/start_sequence",
            ledger_sequence=desk.sequence,
        )
    return start


def _either(request: Request, name: str, other: str, default: Any) -> Any:
    """One argument that has two names."""
    if name in request and other in request and request[name] != request[other]:
        raise InvalidRequest(
            f"{name} and {other} are two names of one argument, and they differ",
            hint="give one of them",
            pointer=f"/{other}",
        )
    return request.get(name, request.get(other, default))


def _all(scope: OpenScope) -> list[Subscription]:
    files = SubscriptionFiles(scope.layout)
    return [Subscription(scope, files, descriptor) for descriptor in files.descriptors()]


def _is_own(found: Subscription, request: Request) -> bool:
    """Whether a subscription is the request's actor's. Without an actor it is the program's
    own look, or somebody's who was told the id."""
    actor = request.get("actor")
    return actor is None or actor["actor_id"] == found.descriptor["actor"]["actor_id"]


def _absent(subscription_id: str) -> ObjectNotFound:
    return ObjectNotFound(
        f"there is no subscription {subscription_id}",
        hint="`pamctl subscribe list` shows those that are yours",
    )
