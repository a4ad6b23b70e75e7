"""The draft as a small program: what operations on memories answer, without any storage.

Nothing here is imported from what it is compared with; the tables are written out from PAMSPEC.
A scope is a list of events and a dictionary of histories, a key is an entry in a dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.property.model.lending import Lending
from tests.property.model.tables import HIDDEN, Event, Refused, Version


@dataclass
class Scope(Lending):
    """A scope of the model, with what can be seen of it.

    is_sealed: whether this is what a snapshot holds.
    """

    is_sealed: bool = False

    def sealed(self) -> Scope:
        """What a snapshot holds for whoever may look into the past: all of it as it is now.
        What is erased later is erased in it too."""
        histories = {name: list(history) for name, history in self.histories.items()}
        return Scope(
            types=dict(self.types), histories=histories, erased=self.erased, is_sealed=True
        )

    def shows(self, name: str, version: Version) -> str | None:
        """What a version may still show: nothing, once its object shows less."""
        current = self.histories[name][-1]
        less = HIDDEN[current.states["availability"]] > HIDDEN[version.states["availability"]]
        return None if less or (name, version.number) in self.erased else version.word

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
        erased = (name, version.number) in self.erased
        if erased and self.is_sealed:
            return version, None
        less = erased or HIDDEN[state] > HIDDEN[version.states["availability"]]
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
        named, also = event.named or "", event.also or ""
        source, target = self.ends.get(named, (named, also))
        there = self.crossing.get(named, self)
        return all(
            place.type_of(end) is None
            or not place.policy.refuses(actor, "inspect_history", place.type_of(end))
            for place, end in ((self, source), (there, target))
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
