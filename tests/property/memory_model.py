"""The draft as a small program: what operations on memories answer, without any storage.

Nothing here is imported from what it is compared with; the tables are written out from PAMSPEC.
A scope is a list of events and a dictionary of histories, a key is an entry in a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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

    word: the content that it shows; None for a tombstone, "?" for a mask.
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
    """What the model knows of an event. named: the object that it names, a relationship too."""

    kind: str
    named: str | None = None
    number: int | None = None


@dataclass(frozen=True)
class Policy:
    """Who is refused what.

    operations: what `actor` may not do; None for anything.
    object_type: where that holds for objects of one type alone.
    granting: whether what the tables make conditional is granted to everybody.
    """

    actor: str | None = None
    operations: frozenset[str] | None = None
    object_type: str | None = None
    granting: bool = True

    def refuses(self, actor: str, operation: str, object_type: str | None) -> bool:
        """Whether an operation on an object of a type, or on nothing, is refused."""
        if actor != self.actor:
            return False
        if self.operations is not None and operation not in self.operations:
            return False
        # Where the answer depends on the type, what is absent is refused as well.
        return self.object_type is None or object_type in (None, self.object_type)


@dataclass
class Scope:
    """A scope of the model."""

    policy: Policy = field(default_factory=Policy)
    types: dict[str, str] = field(default_factory=dict)
    histories: dict[str, list[Version]] = field(default_factory=dict)
    links: dict[tuple[str, str, str], str] = field(default_factory=dict)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    keys: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    # What is there

    def current(self, name: str) -> Version | None:
        return self.histories[name][-1] if name in self.histories else None

    def type_of(self, name: str) -> str | None:
        return self.types.get(name)

    def allow(self, actor: str, operation: str, name: str) -> None:
        """Refuse an actor who may not do this to what a name stands for."""
        if self.policy.refuses(actor, operation, self.type_of(name)):
            raise Refused("access_denied")

    def expected(self, name: str, number: int | None) -> Version:
        """The current version, if it is the one that the caller saw."""
        current = self.current(name)
        if current is None:
            raise Refused("object_not_found")
        if current.states["availability"] == "deleted":
            raise Refused("object_deleted")
        if number != current.number:
            raise Refused("version_conflict")
        return current

    def sealed(self) -> Scope:
        """What a snapshot holds for whoever may look into the past: all of it as it is now."""
        histories = {name: list(history) for name, history in self.histories.items()}
        return Scope(types=dict(self.types), histories=histories)

    # What changes it

    def carry_out(
        self,
        actor: str,
        operation: str,
        key: str | None,
        asked: Any,
        work: Callable[[], Any],
        permit: Callable[[], None],
    ) -> Any:
        """An operation with its authority and its key: the result, or Refused.

        asked: what tells this request from another under the same key.
        """
        try:
            permit()
        except Refused:
            self.events.append(Event("access_denied"))
            raise
        if key is not None and key in self.keys:
            before, outcome = self.keys[key]
            if before != (operation, actor, asked):
                raise Refused("duplicate_operation")
            if isinstance(outcome, Refused):
                raise outcome
            return outcome
        try:
            outcome = work()
        except Refused as refused:
            if refused.code == "access_denied":
                self.events.append(Event("access_denied"))
            elif key is not None and refused.code in PERMANENT:
                self.keys[key] = ((operation, actor, asked), refused)
            raise
        if key is not None:
            self.keys[key] = ((operation, actor, asked), outcome)
        return outcome

    def add(self, name: str, version: Version, kind: str) -> tuple[str, int]:
        self.histories.setdefault(name, []).append(version)
        self.events.append(Event(kind, name, version.number))
        return name, version.number

    def create(
        self, actor: str, name: str, object_type: str, word: str, states: Mapping[str, str]
    ) -> tuple[str, int]:
        current = self.current(name)
        if current is not None:
            gone = current.states["availability"] == "deleted"
            raise Refused("object_deleted" if gone else "version_conflict")
        self.types[name] = object_type
        since = len(self.events) + 1
        return self.add(name, Version(1, dict(states), word, word, actor, since), "object_created")

    def follow(self, actor: str, name: str, kind: str, **changed: Any) -> tuple[str, int]:
        """The next version of what is there."""
        current = self.histories[name][-1]
        states = {**current.states, **changed.pop("states", {})}
        members = {"word": current.word, "whole": current.whole, **changed}
        since = len(self.events) + 1
        return self.add(
            name, Version(current.number + 1, states, actor=actor, since=since, **members), kind
        )

    def changeable(self, current: Version) -> None:
        if current.states["availability"] == "redacted":
            raise Refused("object_redacted")
        if current.states["retention"] == "pending_deletion":
            raise Refused("retention_restriction")

    def update(self, actor: str, name: str, number: int | None, word: str) -> tuple[str, int]:
        self.changeable(self.expected(name, number))
        return self.follow(actor, name, "object_updated", word=word, whole=word)

    def transition(
        self, actor: str, name: str, number: int | None, dimension: str, target: str
    ) -> tuple[str, int]:
        current = self.expected(name, number)
        source = current.states[dimension]
        if target not in STATES[dimension] or target not in ALLOWED[source]:
            raise Refused("invalid_state_transition")
        corrected = (source, target) == ("corroborated", "unverified")
        if (source, target) in CONDITIONAL and not self.policy.granting and not corrected:
            raise Refused("policy_denied")
        changed: dict[str, Any] = {"states": {dimension: target}}
        if dimension == "availability":
            if target != "available" and current.states["retention"] == "legal_hold":
                raise Refused("legal_hold")
            shown = {"available": current.whole, "partially_redacted": "?"}
            changed["word"] = shown.get(target)
        kind = "object_deleted" if target == "deleted" else f"{dimension}_transitioned"
        return self.follow(actor, name, kind, **changed)

    def hide(self, actor: str, name: str, number: int | None, target: str) -> tuple[str, int]:
        """Redact or delete."""
        current = self.expected(name, number)
        if current.states["retention"] == "legal_hold":
            raise Refused("legal_hold")
        if current.states["availability"] == target:
            raise Refused("invalid_state_transition")
        changed = {"states": {"availability": target}, "word": None}
        return self.follow(actor, name, f"object_{target}", **changed)

    def relate(self, actor: str, source: str, target: str, kind: str, name: str) -> str:
        for end in (source, target):
            self.allow(actor, "relate", end)
            if self.current(end) is None:
                raise Refused("object_not_found")
        for end in (source, target):
            if self.histories[end][-1].states["availability"] == "deleted":
                raise Refused("relationship_conflict")
        if (source, kind, target) in self.links:
            raise Refused("relationship_conflict")
        return self.link(source, kind, target, name)

    def link(self, source: str, kind: str, target: str, name: str) -> str:
        self.links[source, kind, target] = name
        self.ends[name] = (source, target)
        self.events.append(Event("relationship_created", name, 1))
        return name

    def promote(
        self, actor: str, source: str, number: int | None, name: str, object_type: str, word: str
    ) -> tuple[str, int]:
        if self.current(source) is None:
            raise Refused("object_not_found")
        if self.types[source] != "working_memory":
            raise Refused("invalid_request")
        current = self.expected(source, number)
        if current.states["lifecycle"] not in ("scratch", "candidate", "active"):
            raise Refused("invalid_state_transition")
        self.changeable(current)
        born = {**TRUSTED, "validation": "unverified"}
        made = self.create(actor, name, object_type, word, born)
        self.follow(actor, source, "lifecycle_transitioned", states={"lifecycle": "superseded"})
        self.link(name, "derived_from", source, f"promotion of {source} to {name}")
        self.events.append(Event("working_memory_promoted", source))
        return made

    # What looks at it

    def shows(self, name: str, version: Version) -> str | None:
        """What a version may still show: nothing, once its object shows less."""
        current = self.histories[name][-1]
        less = HIDDEN[current.states["availability"]] > HIDDEN[version.states["availability"]]
        return None if less else version.word

    def read(
        self, actor: str, name: str, number: int | None, at: int | None
    ) -> tuple[Version, str | None]:
        self.allow(actor, "read", name)
        current = self.current(name)
        if current is None:
            raise Refused("object_not_found")
        history = self.histories[name]
        chosen = [current]
        if number is not None:
            chosen = [version for version in history if version.number == number]
        elif at is not None:
            chosen = [version for version in history if version.since <= at]
        if not chosen:
            raise Refused("object_not_found")
        version, state = chosen[-1], current.states["availability"]
        less = HIDDEN[state] > HIDDEN[version.states["availability"]]
        if less or (number is None and state in ("redacted", "deleted")):
            raise Refused("object_deleted" if state == "deleted" else "object_redacted")
        return version, version.word

    def history(self, actor: str, name: str) -> list[tuple[Version, str | None]]:
        self.allow(actor, "inspect_history", name)
        if self.current(name) is None:
            raise Refused("object_not_found")
        return [(version, self.shows(name, version)) for version in self.histories[name]]

    def log(self, actor: str) -> list[Event]:
        if self.policy.object_type is None and self.policy.refuses(actor, "inspect_history", None):
            raise Refused("access_denied")
        return [event for event in self.events if self.sees(actor, event)]

    def sees(self, actor: str, event: Event) -> bool:
        """Whether an event is about what its reader may know of. To whom not everything is
        shown, what is about no memory is not either."""
        if event.kind.startswith("subscription_"):
            return not self.policy.refuses(actor, "inspect_history", None)
        named = self.ends.get(event.named or "", (event.named,))
        types = [self.types.get(name) for name in named if name is not None]
        return not any(
            self.policy.refuses(actor, "inspect_history", one) for one in types if one is not None
        )

    def query(
        self,
        actor: str,
        wanted: Mapping[str, tuple[str, ...]],
        object_type: str | None,
        word: str | None,
        at: int | None,
    ) -> list[tuple[str, Version, str | None]]:
        """Objects in the order in which their versions were committed."""
        if self.policy.object_type is None and self.policy.refuses(actor, "query", None):
            raise Refused("access_denied")
        found = []
        for name, history in self.histories.items():
            versions = [one for one in history if at is None or one.since <= at]
            if not versions or self.policy.refuses(actor, "query", self.types[name]):
                continue
            version = versions[-1]
            if object_type is not None and self.types[name] != object_type:
                continue
            if any(version.states[dimension] not in wanted[dimension] for dimension in wanted):
                continue
            if word is not None and self.shows(name, version) != word:
                continue
            found.append((name, version, self.shows(name, version)))
        return sorted(found, key=lambda one: one[1].since)
