"""What a scope of the model holds, and how operations change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.property.model.tables import (
    ALLOWED,
    CONDITIONAL,
    MASKED,
    PERMANENT,
    STATES,
    TRUSTED,
    Event,
    Policy,
    Refused,
    Version,
)


@dataclass
class Memories:
    """What is in a scope of the model, and what changes it.

    erased: the versions whose content is gone, by name and number; snapshots share it.
    replayed: whether the last answer was one that a key remembered.
    """

    policy: Policy = field(default_factory=Policy)
    types: dict[str, str] = field(default_factory=dict)
    histories: dict[str, list[Version]] = field(default_factory=dict)
    links: dict[tuple[str, str, str], str] = field(default_factory=dict)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    crossing: dict[str, Memories] = field(default_factory=dict)
    erased: set[tuple[str, int]] = field(default_factory=set)
    replayed: bool = False
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
        self.replayed = False
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
            self.replayed = True
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
            if target == "available":
                self.restorable(name)
            shown = {"available": current.whole, "partially_redacted": "?"}
            changed["word"] = shown.get(target)
        kind = "object_deleted" if target == "deleted" else f"{dimension}_transitioned"
        return self.follow(actor, name, kind, **changed)

    def restorable(self, name: str) -> None:
        """Refuse what lacks a part of what it would show again."""
        for version in reversed(self.histories[name]):
            if version.states["availability"] in ("redacted", "deleted"):
                continue
            if (name, version.number) in self.erased:
                break
            if version.states["availability"] == "available":
                return
        raise Refused("retention_restriction")

    def contents(self, name: str) -> list[Version]:
        """The versions that still have their content."""
        return [
            version
            for version in self.histories[name]
            if version.states["availability"] not in ("redacted", "deleted")
            and (name, version.number) not in self.erased
        ]

    def erase(self, name: str, versions: list[Version]) -> None:
        self.erased |= {(name, version.number) for version in versions}

    def redact(
        self, actor: str, name: str, number: int | None, *, member: bool, erase: bool
    ) -> tuple[str, int]:
        """Hide all of it, or the member that holds the word."""
        current = self.expected(name, number)
        if current.states["retention"] == "legal_hold":
            raise Refused("legal_hold")
        if erase and not self.policy.erasing:
            raise Refused("retention_restriction")
        doomed = self.contents(name) if erase else []
        if member:
            doomed = [version for version in doomed if version.word not in (MASKED, "?")]
            if current.states["availability"] == "redacted":
                raise Refused("invalid_state_transition")
        word = current.word if current.word == "?" else MASKED
        shown = word if member else None
        state = "partially_redacted" if member else "redacted"
        if not doomed and (state, shown) == (current.states["availability"], current.word):
            raise Refused("invalid_state_transition")
        states = {"availability": state}
        made = self.follow(actor, name, "object_redacted", states=states, word=shown)
        self.erase(name, doomed)
        return made

    def delete(self, actor: str, name: str, number: int | None, *, erase: bool) -> tuple[str, int]:
        """The tombstone; of what has one, the erasure of what it held."""
        present = self.current(name)
        gone = present is not None and present.states["availability"] == "deleted"
        if present is not None and gone and erase:
            if not self.policy.erasing:
                raise Refused("retention_restriction")
            if not self.contents(name):
                raise Refused("object_deleted")
            if present.number != number:
                raise Refused("version_conflict")
            self.erase(name, self.contents(name))
            return name, present.number
        current = self.expected(name, number)
        if current.states["retention"] == "legal_hold":
            raise Refused("legal_hold")
        if erase and not self.policy.erasing:
            raise Refused("retention_restriction")
        doomed = self.contents(name) if erase else []
        states = {"availability": "deleted"}
        made = self.follow(actor, name, "object_deleted", states=states, word=None)
        self.erase(name, doomed)
        return made

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

    def relate_across(
        self, actor: str, source: str, there: Memories, target: str, kind: str, name: str
    ) -> str:
        """A relationship into another scope, which both policies have to let pass."""
        if not (self.policy.open and there.policy.open):
            raise Refused("policy_denied")
        for place, end in ((self, source), (there, target)):
            hidden = place.policy.refuses(actor, "read", place.type_of(end))
            if place.current(end) is None or hidden:
                restricted = self.policy.restricts(actor, "relate")
                raise Refused("access_denied" if restricted else "object_not_found")
        self.allow(actor, "relate", source)
        for place, end in ((self, source), (there, target)):
            if place.histories[end][-1].states["availability"] == "deleted":
                raise Refused("relationship_conflict")
        if (source, kind, f"there {target}") in self.links:
            raise Refused("relationship_conflict")
        self.crossing[name] = there
        made = self.link(source, kind, f"there {target}", name)
        self.ends[name] = (source, target)
        return made

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
        self.events.append(Event("working_memory_promoted", source, also=name))
        return made
