"""Step 3 of MPR §7: every candidate ends in exactly one place.

It is delivered, or it is counted under one of the four reasons of MPR §4.4. Why it ended
there is told to whoever asks, in words, and never enters the record: the record does not
disclose what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from pamctl.errors import InternalError, PolicyDenied
from pamctl.limits import PROJECTION_BYTES_MAX, PROJECTION_ENTRIES_MAX
from pamctl.projection.record import EXCLUSION_REASONS
from pamctl.projection.source import OpenedSource, SourceRefused

DELIVERED = "delivered"

CountTokens = Callable[[bytes], int]
"""Tokens in UTF-8 text."""

AtLimit = Literal["skip", "stop", "refuse"]
AT_LIMIT: tuple[str, ...] = get_args(AtLimit)


class Candidate(NamedTuple):
    """One object that may be delivered.

    name: unique among the candidates; it stays with the producer.
    source: the exact bytes of the source object.
    result: what its source profile made of it.
    object_id: what people call it, where that is something else than its name.
    digest: of the source object, where whoever read it has computed it from these bytes.
    """

    name: str
    source: bytes
    result: OpenedSource | SourceRefused
    object_id: str | None = None
    digest: str | None = None


Facts = Callable[[Candidate], Mapping[str, Any]]
"""The envelope that a candidate carries, or whatever its memory format has in its place."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What candidates with the same value of a fact may take together; None for no bound.

    by: names the fact. Candidates without it are one group.
    """

    by: str
    key: Callable[[Mapping[str, Any], OpenedSource], Hashable]
    objects: int | None = None
    bytes: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one projection, which an object fits in whole or not at all.

    objects: delivered entries at most. bytes: of the whole projection at most.
    tokens: at most, the sum over the fragments as `count_tokens` counts each by itself.
    quotas: bounds on each group of candidates.
    at_limit: what becomes of an object that does not fit the bounds of the whole. `skip`
        passes it over, and a later one that fits is taken, so that nobody can crowd all
        others out with one long object; `stop` leaves out all that follow as well; `refuse`
        makes no projection. One that does not fit its quota is always passed over.
    """

    objects: int = PROJECTION_ENTRIES_MAX
    bytes: int = PROJECTION_BYTES_MAX
    tokens: int | None = None
    count_tokens: CountTokens | None = None
    quotas: tuple[Quota, ...] = ()
    at_limit: AtLimit = "skip"


class Fate(NamedTuple):
    """Where a candidate ended. place: `delivered`, or the counter that counts it."""

    candidate: Candidate
    place: str
    why: str


@dataclass(slots=True)
class Choice:
    """chosen: what is delivered, in order. excluded: the four counters. fates: of every
    candidate, those that are delivered first."""

    chosen: list[tuple[Candidate, OpenedSource]] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EXCLUSION_REASONS, 0))
    fates: list[Fate] = field(default_factory=list)

    def deliver(self, candidate: Candidate, opened: OpenedSource) -> None:
        self.fates.append(Fate(candidate, DELIVERED, f"position {len(self.chosen)}"))
        self.chosen.append((candidate, opened))

    def exclude(self, candidate: Candidate, place: str, why: str) -> None:
        # A reason that is no counter of the record must not become another one.
        if place not in self.excluded:
            raise InternalError(f"{place} is no reason to exclude")
        self.excluded[place] += 1
        self.fates.append(Fate(candidate, place, why))


Unmet = Callable[[Candidate, OpenedSource], str | None]
"""Says which rule of the policy an object that was found does not meet, or None."""


def choose(
    candidates: Sequence[Candidate],
    found: Sequence[str],
    limits: Limits,
    *,
    facts: Facts,
    unmet: Unmet,
    unfound: Unmet,
) -> Choice:
    """Who is delivered, in order, and who is excluded, for which reason.

    Arguments:
        found: names of the candidates that the policy's query finds, in order.
        unmet: the rules that a candidate has to meet besides.
        unfound: why the query does not find one; asked for the sake of `fates` alone.

    Raises InternalError when `found` names something twice, or something that is no
    candidate, and PolicyDenied where the limits say `refuse`.
    """
    choice = Choice()
    usable: dict[str, tuple[Candidate, OpenedSource]] = {}
    for candidate in candidates:
        if isinstance(candidate.result, SourceRefused):
            why = f"the source profile refuses it: {candidate.result}"
            choice.exclude(candidate, candidate.result.reason, why)
        else:
            usable[candidate.name] = (candidate, candidate.result)
    names = {candidate.name for candidate in candidates}
    if len(set(found)) != len(found) or not names >= set(found):
        raise InternalError("the selection names an object twice, or one that is no candidate")
    room = _Room(limits, facts)
    for name in found:
        if name not in usable:
            continue
        candidate, opened = usable.pop(name)
        why_not = unmet(candidate, opened)
        if why_not is not None:
            choice.exclude(candidate, "policy_filtered", why_not)
            continue
        why_not = room.take(candidate, opened)
        if why_not is not None:
            choice.exclude(candidate, "context_limit", why_not)
        else:
            choice.deliver(candidate, opened)
    for candidate, opened in usable.values():
        why = unfound(candidate, opened) or "the policy's query does not find it"
        choice.exclude(candidate, "policy_filtered", why)
    choice.fates.sort(key=lambda fate: fate.place != DELIVERED)
    return choice


class _Taken:
    """What was taken so far."""

    __slots__ = ("bytes", "objects", "tokens")

    def __init__(self) -> None:
        self.objects = self.bytes = self.tokens = 0

    def misses(self, bounds: Limits | Quota, size: int, tokens: int) -> str | None:
        """Which bound another object would break; None where it fits."""
        asked = (("objects", 1), ("bytes", size), ("tokens", tokens))
        for what, more in asked:
            most, taken = getattr(bounds, what), getattr(self, what)
            if most is not None and taken + more > most:
                return f"{more} {what}, and {most - taken} of {most} are left"
        return None

    def add(self, size: int, tokens: int) -> None:
        self.objects += 1
        self.bytes += size
        self.tokens += tokens


class _Room:
    """What is left of the limits."""

    def __init__(self, limits: Limits, facts: Facts) -> None:
        self._limits = limits
        self._facts = facts
        self._objects_max = min(limits.objects, PROJECTION_ENTRIES_MAX)
        self._bytes_max = min(limits.bytes, PROJECTION_BYTES_MAX)
        self._whole = _Taken()
        self._groups: dict[tuple[int, Hashable], _Taken] = {}
        self._stopped: str | None = None

    def take(self, candidate: Candidate, opened: OpenedSource) -> str | None:
        """Takes an object in; or says why there is no room for it."""
        if self._stopped is not None:
            return self._stopped
        size = len(opened.fragment)
        count = self._limits.count_tokens
        tokens = 0 if count is None else count(opened.fragment)
        groups = self._groups_of(candidate, opened)
        for quota, group, key in groups:
            missed = group.misses(quota, size, tokens)
            if missed is not None:
                return f"the quota of {quota.by} {key!s}: {missed}"
        missed = self._missed(size, tokens)
        if missed is not None:
            return self._at_limit(candidate, missed)
        self._whole.add(size, tokens)
        for _, group, _ in groups:
            group.add(size, tokens)
        return None

    def _groups_of(
        self, candidate: Candidate, opened: OpenedSource
    ) -> list[tuple[Quota, _Taken, Hashable]]:
        if not self._limits.quotas:
            return []
        facts, groups = self._facts(candidate), []
        for number, quota in enumerate(self._limits.quotas):
            key = quota.key(facts, opened)
            groups.append((quota, self._groups.setdefault((number, key), _Taken()), key))
        return groups

    def _missed(self, size: int, tokens: int) -> str | None:
        whole = self._whole
        if whole.objects >= self._objects_max or whole.bytes + size > self._bytes_max:
            bounds = Limits(objects=self._objects_max, bytes=self._bytes_max)
            return whole.misses(bounds, size, 0)
        if self._limits.tokens is not None and whole.tokens + tokens > self._limits.tokens:
            return whole.misses(self._limits, 0, tokens)
        return None

    def _at_limit(self, candidate: Candidate, missed: str) -> str:
        why = f"no room: it takes {missed}"
        if self._limits.at_limit == "refuse":
            raise PolicyDenied(
                f"the policy wants all or nothing, and {candidate.name} does not fit: {missed}",
                hint="widen the limits, narrow the filters, or set at_limit to skip or stop",
            )
        if self._limits.at_limit == "stop":
            self._stopped = f"behind {candidate.name}, which did not fit; the policy stops there"
        return why
