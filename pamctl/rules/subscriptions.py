"""Which events a subscription is for, how it is delivered, and how far it has got.
PAMSPEC §10.8, §18.3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import InvalidRequest
from pamctl.limits import PAGE_ITEMS_MAX, PREDICATE_MEMBERS_MAX
from pamctl.named_tuples import NamedTuple

AUTOMATIC, EXPLICIT = "automatic", "explicit"
ACKNOWLEDGEMENTS = (AUTOMATIC, EXPLICIT)
"""Whether a poll acknowledges what it delivers, or the subscriber does."""

UNSUBSCRIBED, REVOKED, LAGGED = "unsubscribed", "authorization_revoked", "lag"
"""Why a subscription was closed: by its subscriber, or by the service."""

BACKPRESSURE_POLICIES = ("block", "close_on_lag")
"""Those of PAMSPEC that are kept. `block`: the stream waits for its subscriber, and nothing
else does. `drop_oldest` is not: whoever asks for an event must get it."""

KEEPALIVE_MS_MIN = 100

WORTH_PASSING_OVER = 1000
"""Events that were for somebody else, before a cursor is written again because of them. Until
then they are looked at again by the next poll, which costs less than the write."""

_NOWHERE = object()
_Scalar = str | int | float | bool | None


class Cursor(NamedTuple):
    """How far a subscription has got, in ledger sequences.

    delivered: of the last event that was handed over.
    acknowledged: delivery goes on behind it.
    """

    delivered: int
    acknowledged: int

    def handed_over(self, sequence: int, *, acknowledged: bool) -> Cursor:
        """After events up to one were handed over. It never goes back."""
        return Cursor(
            max(self.delivered, sequence),
            max(self.acknowledged, sequence) if acknowledged else self.acknowledged,
        )

    def passed_over(self, sequence: int) -> Cursor:
        """After everything up to a sequence was looked at and none of it was for the
        subscriber."""
        return Cursor(self.delivered, max(self.acknowledged, sequence))

    def received(self, sequence: int, *, last: int) -> Cursor:
        """After the subscriber acknowledged everything up to a sequence; that it did so
        before is no mistake.

        last: up to which it may. Raises InvalidRequest beyond it: to acknowledge an event
        that one has not seen is to lose it.
        """
        if sequence > last:
            raise InvalidRequest(
                f"nothing behind sequence {last} was delivered yet, so {sequence} cannot be "
                "acknowledged",
                hint="acknowledge the `sequence` of the last event that was dealt with",
                pointer="/sequence",
                delivered_sequence=last,
            )
        return Cursor(max(self.delivered, sequence), max(self.acknowledged, sequence))


def require_filter(chosen: Mapping[str, Any]) -> None:
    """Raises InvalidRequest for a predicate that `matches` could not judge by.

    A predicate is an object: under JSON Pointers into the event, the value that stands there,
    or a list of values of which one does. All of its members have to hold.
    """
    predicate = chosen.get("predicate", {})
    if len(predicate) > PREDICATE_MEMBERS_MAX:
        raise _unfit(
            f"has {len(predicate)} members; at most {PREDICATE_MEMBERS_MAX} are tried "
            "(limits.PREDICATE_MEMBERS_MAX)"
        )
    for pointer, wanted in predicate.items():
        if not pointer.startswith("/"):
            raise _unfit(f"names {pointer[:80]!r}, which is no JSON Pointer into an event")
        values = wanted if isinstance(wanted, list) else [wanted]
        if not values or len(values) > PAGE_ITEMS_MAX:
            raise _unfit(f"has {len(values)} values for {pointer[:80]!r}")
        if not all(isinstance(value, _Scalar) for value in values):
            raise _unfit(f"compares {pointer[:80]!r} with what is neither text, number nor flag")


def _unfit(why: str) -> InvalidRequest:
    return InvalidRequest(
        f"the predicate {why}",
        hint='such as {"/actor/actor_id": "actor:agent:a", "/payload/to": ["disputed"]}',
        pointer="/filter/predicate",
    )


def require_delivery(delivery: Mapping[str, Any]) -> None:
    """Raises InvalidRequest for a delivery preference that could not be kept."""
    if delivery.get("backpressure_policy") == "drop_oldest":
        raise InvalidRequest(
            "drop_oldest would lose events, and every event that was asked for has to be "
            "delivered; the ledger keeps them all for as long as the subscriber takes",
            hint="leave it out to be waited for, or use close_on_lag",
            pointer="/delivery/backpressure_policy",
        )
    if 0 < delivery.get("keepalive_interval_ms", 0) < KEEPALIVE_MS_MIN:
        raise InvalidRequest(
            f"a sign of life comes every {KEEPALIVE_MS_MIN} milliseconds at most",
            pointer="/delivery/keepalive_interval_ms",
        )


def matches(chosen: Mapping[str, Any], event: Mapping[str, Any], object_type: str | None) -> bool:
    """Whether an event passes the filter of a subscription. PAMSPEC §10.8, §18.3.

    object_type: of the object that the event is about; None where it is about none.
    """
    if "event_classes" in chosen and event["event_type"] not in chosen["event_classes"]:
        return False
    if "object_type" in chosen and object_type != chosen["object_type"]:
        return False
    if "object_id" in chosen and chosen["object_id"] not in concerned(event):
        return False
    return all(
        _is_one_of(_member(event, pointer), wanted)
        for pointer, wanted in chosen.get("predicate", {}).items()
    )


def concerned(event: Mapping[str, Any]) -> list[str]:
    """The identifiers of what an event is about: the object or the relationship that it
    names, and of a promotion the object that came of it too."""
    found = [event[name] for name in ("object_id", "relationship_id") if name in event]
    if event["event_type"] == "working_memory_promoted":
        target = event.get("payload", {}).get("target_object_id")
        if isinstance(target, str):
            found.append(target)
    return found


def _member(event: Any, pointer: str) -> Any:
    """What stands at a JSON Pointer (RFC 6901), or _NOWHERE."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(event, dict) and name in event:
            event = event[name]
        elif isinstance(event, list) and name.isascii() and name.isdigit() and len(name) < 10:
            event = event[int(name)] if int(name) < len(event) else _NOWHERE
        else:
            return _NOWHERE
    return event


def _is_one_of(found: Any, wanted: Any) -> bool:
    # JSON's true is no number, though it equals 1 in Python.
    return any(
        found == value and isinstance(found, bool) == isinstance(value, bool)
        for value in (wanted if isinstance(wanted, list) else [wanted])
    )
