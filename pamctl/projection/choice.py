"""Step 3 of MPR §7: every candidate ends in exactly one place.

It is delivered, or it is counted under one of the four reasons of MPR §4.4. Why it ended
there is told to whoever asks, in words, and never enters the record: the record does not
disclose what was left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from pamctl.errors import InternalError, PolicyDenied
from pamctl.limits import PROJECTION_BYTES_MAX, PROJECTION_ENTRIES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.projection.held import Held
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


class Passing(Protocol):
    """Candidates that may be too many to be held: they are read while somebody walks them.

    Their names differ. What a query names and is not among them cannot be read by the time
    that they pass, and is no candidate.
    """

    def __iter__(self) -> Iterator[Candidate]:
        """All of them, each once."""
        ...

    def again(self, names: Sequence[str]) -> Iterator[Candidate]:
        """Some of them once more, in any order; without those that have become unreadable."""
        ...


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

    name: str
    object_id: str | None
    place: str
    why: str


@dataclass(slots=True)
class Choice:
    """chosen: what is delivered, in order. excluded: the four counters. fates: of every
    candidate, those that are delivered first; empty where nobody asked."""

    chosen: list[tuple[Candidate, OpenedSource]] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EXCLUSION_REASONS, 0))
    fates: list[Fate] = field(default_factory=list)

    def count(self, place: str) -> None:
        # A reason that is no counter of the record must not become another one.
        if place not in self.excluded:
            raise InternalError(f"{place} is no reason to exclude")
        self.excluded[place] += 1


Unmet = Callable[[Candidate, OpenedSource], str | None]
"""Says which rule of the policy an object that was found does not meet, or None."""


def choose(
    candidates: Sequence[Candidate] | Passing,
    found: Sequence[str],
    limits: Limits,
    *,
    facts: Facts,
    unmet: Unmet,
    unfound: Unmet | None = None,
) -> Choice:
    """Who is delivered, in order, and who is excluded, for which reason.

    Each candidate is judged as it passes. Of those that are found no more is kept than how
    much room they take, and the best placed as a whole while there is memory for them (see
    `Held`); of the others, nothing.

    Arguments:
        found: names of the candidates that the policy's query finds, in order.
        unmet: the rules that a candidate has to meet besides.
        unfound: why the query does not find one, for the sake of `fates`; without it, there
            are none.

    Raises InternalError when `found` names something twice, or something that is no candidate
    where all of them are at hand; PolicyDenied where the limits say `refuse`; and
    ServiceUnavailable where something was withheld or erased before it could be delivered.
    """
    choice, room = Choice(), _Room(limits, facts)
    ranked = _Ranked(found)
    held = Held(None if isinstance(candidates, Sequence) else candidates.again)
    told = None if unfound is None else _Told(found, unfound)
    for candidate in candidates:
        rank, opened = ranked.seen(candidate.name), candidate.result
        why_not = None
        if isinstance(opened, SourceRefused):
            choice.count(opened.reason)
        elif rank is None or (why_not := unmet(candidate, opened)) is not None:
            choice.count("policy_filtered")
        else:
            ranked.weigh(rank, room.weight(candidate, opened))
            held.keep(rank, candidate, opened)
        if told is not None:
            told.passing(rank, candidate, why_not)
    if isinstance(candidates, Sequence) and not ranked.are_all_seen():
        raise InternalError("the selection names an object that is no candidate")
    wanted: list[int] = []
    for rank, weight in ranked.weighed():
        beyond = room.take(found[rank], weight)
        if beyond is None:
            wanted.append(rank)
            continue
        choice.count("context_limit")
        if told is not None:
            told.beyond(rank, beyond)
    choice.chosen = held.opened(wanted, found)
    del ranked  # which may be large, and so may be what follows
    if told is not None:
        choice.fates = told.fates(wanted)
    return choice


_Weight = tuple[int, int, tuple[Hashable, ...]]
"""What a candidate takes of the limits: bytes, tokens, and its group for each quota. A plain
tuple, because each candidate that is found has one."""


_UNSEEN, _OUT = -1, -2


class _Ranked:
    """The candidates that were found, by their place in the order, from 0."""

    __slots__ = ("_keys", "_ranks", "_sizes", "_tokens")

    def __init__(self, found: Sequence[str]) -> None:
        self._ranks = {name: rank for rank, name in enumerate(found)}
        if len(self._ranks) != len(found):
            raise InternalError("the selection names an object twice")
        self._sizes = array("q", [_UNSEEN]) * len(found)
        self._tokens = array("q", [0]) * len(found)
        self._keys: dict[int, tuple[Hashable, ...]] = {}

    def seen(self, name: str) -> int | None:
        """The place of a candidate that passes; None for one that was not found."""
        rank = self._ranks.get(name)
        if rank is not None:
            if self._sizes[rank] != _UNSEEN:
                raise InternalError("two candidates of a projection have one name")
            self._sizes[rank] = _OUT
        return rank

    def weigh(self, rank: int, weight: _Weight) -> None:
        self._sizes[rank], self._tokens[rank], keys = weight
        if keys:
            self._keys[rank] = keys

    def are_all_seen(self) -> bool:
        return _UNSEEN not in self._sizes

    def weighed(self) -> Iterator[tuple[int, _Weight]]:
        """Those that may be delivered, in order."""
        keys = self._keys
        for rank, (size, tokens) in enumerate(zip(self._sizes, self._tokens, strict=True)):
            if size >= 0:
                yield rank, (size, tokens, keys.get(rank, ()) if keys else ())


class _Told:
    """What is told of each candidate, for whoever asked; no more of it is kept than that."""

    def __init__(self, found: Sequence[str], unfound: Unmet) -> None:
        self._unfound = unfound
        self._refused: list[Fate] = []
        self._others: list[Fate] = []
        # Of those that were found, by rank.
        self._names = found
        self._object_ids: list[str | None] = [None] * len(found)
        self._left_out: list[tuple[str, str] | None] = [None] * len(found)
        self._ends: dict[tuple[str, str], tuple[str, str]] = {}

    def passing(self, rank: int | None, candidate: Candidate, unmet: str | None) -> None:
        """rank: of one that was found. unmet: the rule that it does not meet, if any."""
        opened = candidate.result
        if isinstance(opened, SourceRefused):
            end = self._end(opened.reason, f"the source profile refuses it: {opened}")
            self._refused.append(Fate(candidate.name, candidate.object_id, *end))
        elif rank is None:
            why = self._unfound(candidate, opened) or "the policy's query does not find it"
            end = self._end("policy_filtered", why)
            self._others.append(Fate(candidate.name, candidate.object_id, *end))
        else:
            self._object_ids[rank] = candidate.object_id
            if unmet is not None:
                self._left_out[rank] = self._end("policy_filtered", unmet)

    def beyond(self, rank: int, why: str) -> None:
        """There is no room for one that was found."""
        self._left_out[rank] = self._end("context_limit", why)

    def fates(self, delivered: Sequence[int]) -> list[Fate]:
        """Of those that are delivered, refused, found and left out, and not found."""
        names, object_ids = self._names, self._object_ids
        first = [
            Fate(names[rank], object_ids[rank], DELIVERED, f"position {position}")
            for position, rank in enumerate(delivered)
        ]
        left_out = [
            Fate(names[rank], object_ids[rank], *end)
            for rank, end in enumerate(self._left_out)
            if end is not None
        ]
        return [*first, *self._refused, *left_out, *self._others]

    def _end(self, place: str, why: str) -> tuple[str, str]:
        # Thousands are out for the same reason; it is kept once.
        end = (place, why)
        return self._ends.setdefault(end, end)


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
        self._keys: dict[tuple[Hashable, ...], tuple[Hashable, ...]] = {}
        self._stopped: str | None = None

    def weight(self, candidate: Candidate, opened: OpenedSource) -> _Weight:
        """What an object would take."""
        count = self._limits.count_tokens
        keys: tuple[Hashable, ...] = ()
        if self._limits.quotas:
            facts = self._facts(candidate)
            keys = tuple(quota.key(facts, opened) for quota in self._limits.quotas)
            # Objects of one group share what says so.
            keys = self._keys.setdefault(keys, keys)
        tokens = 0 if count is None else count(opened.fragment)
        return len(opened.fragment), tokens, keys

    def take(self, name: str, weight: _Weight) -> str | None:
        """Takes an object in; or says why there is no room for it."""
        if self._stopped is not None:
            return self._stopped
        size, tokens, keys = weight
        groups = self._groups_of(keys) if keys else ()
        for quota, group, key in groups:
            missed = group.misses(quota, size, tokens)
            if missed is not None:
                return f"the quota of {quota.by} {key!s}: {missed}"
        missed = self._missed(size, tokens)
        if missed is not None:
            return self._at_limit(name, missed)
        self._whole.add(size, tokens)
        for _, group, _ in groups:
            group.add(size, tokens)
        return None

    def _groups_of(self, keys: tuple[Hashable, ...]) -> Sequence[tuple[Quota, _Taken, Hashable]]:
        return [
            (quota, self._groups.setdefault((number, key), _Taken()), key)
            for number, (quota, key) in enumerate(zip(self._limits.quotas, keys, strict=True))
        ]

    def _missed(self, size: int, tokens: int) -> str | None:
        whole = self._whole
        if whole.objects >= self._objects_max or whole.bytes + size > self._bytes_max:
            bounds = Limits(objects=self._objects_max, bytes=self._bytes_max)
            return whole.misses(bounds, size, 0)
        if self._limits.tokens is not None and whole.tokens + tokens > self._limits.tokens:
            return whole.misses(self._limits, 0, tokens)
        return None

    def _at_limit(self, name: str, missed: str) -> str:
        why = f"no room: it takes {missed}"
        if self._limits.at_limit == "refuse":
            raise PolicyDenied(
                f"the policy wants all or nothing, and {name} does not fit: {missed}",
                hint="widen the limits, narrow the filters, or set at_limit to skip or stop",
            )
        if self._limits.at_limit == "stop":
            self._stopped = f"behind {name}, which did not fit; the policy stops there"
        return why
