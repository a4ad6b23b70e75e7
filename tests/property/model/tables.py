"""What the model of the draft is made of: states, transitions, versions, events, policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DIMENSIONS = ("lifecycle", "availability", "retention", "validation")
STATES = {
    "lifecycle": ("scratch", "candidate", "active", "superseded", "deprecated", "archived"),
    "availability": ("available", "partially_redacted", "redacted", "deleted"),
    "retention": ("retained", "expired", "pending_deletion", "legal_hold"),
    "validation": ("unverified", "corroborated", "disputed", "rejected"),
}
TRUSTED = {
    "lifecycle": "active",
    "availability": "available",
    "retention": "retained",
    "validation": "corroborated",
}
ALLOWED = {
    "scratch": ("candidate", "archived"),
    "candidate": ("active", "deprecated", "archived"),
    "active": ("superseded", "deprecated", "archived"),
    "superseded": ("archived", "deprecated"),
    "deprecated": ("archived", "active"),
    "archived": ("active", "deprecated"),
    "unverified": ("corroborated", "disputed", "rejected"),
    "corroborated": ("disputed", "rejected", "unverified"),
    "disputed": ("corroborated", "rejected"),
    "rejected": ("disputed", "corroborated"),
    "available": ("partially_redacted", "redacted", "deleted"),
    "partially_redacted": ("available", "redacted", "deleted"),
    "redacted": ("available", "deleted"),
    "deleted": (),
    "retained": ("expired", "pending_deletion", "legal_hold"),
    "expired": ("retained", "pending_deletion", "legal_hold"),
    "pending_deletion": ("retained", "legal_hold"),
    "legal_hold": ("retained", "expired", "pending_deletion"),
}
CONDITIONAL = {
    ("deprecated", "active"),
    ("archived", "active"),
    ("rejected", "corroborated"),
    ("corroborated", "unverified"),
    ("redacted", "available"),
    ("legal_hold", "retained"),
    ("legal_hold", "expired"),
    ("legal_hold", "pending_deletion"),
}
MASKED = "[REDACTED]"
HIDDEN = {"available": 0, "partially_redacted": 1, "redacted": 2, "deleted": 3}
PERMANENT = {
    "invalid_request",
    "object_not_found",
    "object_deleted",
    "object_redacted",
    "invalid_state_transition",
    "policy_denied",
    "legal_hold",
    "retention_restriction",
    "relationship_conflict",
}
"""Refusals that the same request meets again: what a key remembers."""


class Refused(Exception):
    """An operation that ends with an error."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Version:
    """What the model knows of a version.

    word: the content that it shows; None for a tombstone, MASKED for a member that is
        masked, "?" for a mask over all of it.
    whole: the content that a restoration would show.
    since: the ledger sequence of the event that committed it.
    """

    number: int
    states: Mapping[str, str]
    word: str | None
    whole: str
    actor: str
    since: int


@dataclass(frozen=True)
class Event:
    """What the model knows of an event.

    named: the object that it names, a relationship too. also: another that its payload names.
    """

    kind: str
    named: str | None = None
    number: int | None = None
    also: str | None = None


@dataclass(frozen=True)
class Policy:
    """Who is refused what.

    operations: what `actor` may not do; None for anything.
    object_type: where that holds for objects of one type alone.
    granting: whether what the tables make conditional is granted to everybody.
    erasing: whether anybody may erase.
    open: whether relationships may cross, into the other scope and out of it.
    """

    actor: str | None = None
    operations: frozenset[str] | None = None
    object_type: str | None = None
    granting: bool = True
    erasing: bool = True
    open: bool = False

    def restricts(self, actor: str, operation: str) -> bool:
        """Whether an actor is refused an operation on anything at all."""
        return self.refuses(actor, operation, None)

    def refuses(self, actor: str, operation: str, object_type: str | None) -> bool:
        """Whether an operation on an object of a type, or on nothing, is refused."""
        if actor != self.actor:
            return False
        if self.operations is not None and operation not in self.operations:
            return False
        # Where the answer depends on the type, what is absent is refused as well.
        return self.object_type is None or object_type in (None, self.object_type)


@dataclass
class Delegation:
    """What one actor lent another.

    object_ids: what it is restricted to; None for anything.
    parent: the delegation that its grantor acted under.
    """

    grantor: str
    delegate: str
    operations: frozenset[str]
    object_ids: frozenset[str] | None = None
    limit: int | None = None
    revocable: bool = True
    parent: str | None = None
    revoked: bool = False
    used: int = 0
