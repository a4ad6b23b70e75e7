"""How the bodies of ledger entries are understood, by the proof and by the look alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from pamctl.encoding.digests import sha256_hex
from pamctl.encoding.timestamps import instant
from pamctl.model.vocabulary import VERSION_EVENT_TYPES

COMMITTING_EVENTS = frozenset(VERSION_EVENT_TYPES)
"""Events that name a version, all of them."""
EVENTS_THAT_MAY_COMMIT = COMMITTING_EVENTS | {"delegation_granted", "delegation_revoked"}
"""A Delegation Object has versions too; the draft's table of events does not list its events."""
SCOPE_MEMBERS = ("scope_kind", "parent_scope_id")
"""What a ledger's first entry says of its scope as `scope.json` does."""
CLOCK_BACKWARDS = "clock-backwards"


def said_of_clock(now: str, before: str) -> str:
    """The sentence about a time of record that is behind the one before it."""
    return f"recorded at {now}, behind {before}"


def actor_digest(actor: Any) -> str:
    """By what two actors are compared."""
    return sha256_hex(orjson.dumps(actor, option=orjson.OPT_SORT_KEYS))[:32]


def identifier_of(body: Mapping[str, Any]) -> str | None:
    """What an event, or a result, is about. A promotion names its object and a relationship."""
    found = body.get("object_id", body.get("relationship_id"))
    return found if isinstance(found, str) else None


def is_earlier(one: str, other: str) -> bool:
    """Whether a timestamp names an earlier instant than another one; False where one of them is
    none, as in the body of an entry that is open."""
    # Writers spell times so that they order as text; what clients state may be spelled
    # otherwise, and is compared as instants.
    if len(one) == len(other) == 27 and one[-1] == other[-1] == "Z":
        return one < other
    try:
        return instant(one) < instant(other)
    except ValueError:
        return False
