"""What a scope holds and what was done in it, counted from its ledger and versions.

Everything here is a stranger's: members may be missing or of any type, texts of any length.
What is kept is bounded: counts of everything, and of entries the last ones of each kind.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from pamctl.audit.excerpts import excerpt, short
from pamctl.model.vocabulary import DIMENSIONS, IDENTIFIERS
from pamctl.named_tuples import NamedTuple

NAMED_MAX = 100
"""Entries of one kind, objects and policies that are named one by one; all are counted."""
LATEST_MAX = 40
ACTORS_MAX = 1000
DAYS_MAX = 4000

_FAMILIES = {
    "relationship_id": "relationship",
    "delegation_id": "delegation",
    "object_id": "memory",
}
_SHOWN = ("available", "partially_redacted")
_KEPT_KINDS = {
    "object_redacted": "withdrawn",
    "object_deleted": "withdrawn",
    "delegation_granted": "delegations",
    "delegation_revoked": "delegations",
    "access_denied": "denials",
}


class Entry(NamedTuple):
    """An entry of the ledger for a line of a table: texts, each cut to what a line holds."""

    n: int
    time: str
    actor: str
    kind: str
    subject: str
    detail: str


class Log:
    """The last entries of one kind, and how many there were."""

    def __init__(self, most: int = NAMED_MAX) -> None:
        self.kept: deque[Entry] = deque(maxlen=most)
        self.count = 0

    def add(self, entry: Entry) -> None:
        self.kept.append(entry)
        self.count += 1


class ActorTally:
    """What one actor did."""

    def __init__(self, kind: str, first: str) -> None:
        self.kind = kind
        self.events: Counter[str] = Counter()
        self.first = first
        self.last = ""


class Standing(NamedTuple):
    """What something is, and how it stands. states: in the order of DIMENSIONS."""

    family: str
    type: str
    states: tuple[str, ...]


class Shown(NamedTuple):
    """A memory in the list of the last ones: its newest version, and the beginning of its
    content."""

    sequence: int
    standing: Standing
    content: str


class Inventory:
    """One scope. `ledger` takes its entries in order, then `version` its versions in any, and
    `settle` ends it: then only what is shown is still held."""

    def __init__(self, scope_id: str) -> None:
        self.scope_id = scope_id
        self.about: dict[str, str] = {}
        self.entries = 0
        self.events: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.days: Counter[str] = Counter()
        self.actors: dict[str, ActorTally] = {}
        self.other_actors = 0
        self.transitions: Counter[tuple[str, str, str]] = Counter()
        self.conditions = Log()
        self.policy: Mapping[str, Any] | None = None
        self.policies = Log()
        self.withdrawn = Log()
        self.erasures = Log()
        self.delegations = Log()
        self.denials = Log()
        self.latest = Log(LATEST_MAX)
        self.holds: dict[str, Entry] = {}
        self.standings: Counter[Standing] = Counter()
        self.shown: dict[str, Shown] = {}
        self.undisclosed = 0
        self.withheld = 0
        # Of things there may be very many, of standings there are few: each is held once.
        self._newest: dict[str, tuple[int, Standing]] = {}
        self._held: dict[Standing, Standing] = {}
        self._touched: dict[str, None] = {}
        self._deciding: dict[str, Entry] = {}

    def leaf(self) -> None:
        """Take in an entry of which only the hash is known."""
        self.entries += 1
        self.undisclosed += 1

    def ledger(self, value: Mapping[str, Any]) -> None:
        """Take in the next entry."""
        self.entries += 1
        kind, body = short(value.get("kind")), value.get("body")
        self.kinds[kind] += 1
        body = body if isinstance(body, dict) else {}
        entry = _entry(self.entries, kind, body)
        if kind == "event":
            self._event(entry, body)
        elif kind == "scope":
            self.about = {name: short(body[name]) for name in _ABOUT if name in body}
        elif kind == "policy":
            policy = body.get("policy")
            self.policy = policy if isinstance(policy, dict) else {}
            self.policies.add(entry)
        elif kind == "erasure":
            entry = self._authorized(entry, body)
            self.erasures.add(entry)
        if kind not in ("idempotency", "pack"):
            self.latest.add(entry)
            self._day(entry.time)

    def version(self, envelope: Mapping[str, Any]) -> None:
        """Take in a version, or what is left of one."""
        member = next((name for name in IDENTIFIERS if name in envelope), None)
        if member is None:
            return
        identifier = short(envelope[member], 600)
        sequence = envelope.get("sequence")
        known = self._newest.get(identifier)
        if type(sequence) is not int or (known is not None and known[0] > sequence):
            return
        states = tuple(short(envelope.get(f"{name}_state", "-"), 40) for name in DIMENSIONS)
        family = _FAMILIES[member]
        kind = envelope.get("object_type") or envelope.get("relationship_type") or "-"
        standing = Standing(family, short(kind), states)
        standing = self._held.setdefault(standing, standing)
        self._newest[identifier] = sequence, standing
        if identifier in self._touched and family == "memory":
            open_ = states[DIMENSIONS.index("availability")] in _SHOWN
            content = "" if not open_ else excerpt(envelope.get("canonical_content"))
            self.shown[identifier] = Shown(sequence, standing, content)

    def settle(self) -> None:
        """Count what was taken in. Nothing can be taken in afterwards."""
        self.standings = Counter(standing for _, standing in self._newest.values())
        self._newest.clear()
        self._held.clear()

    def changed_last(self) -> list[tuple[str, Shown]]:
        """The memories that events were about last, the latest first."""
        last = reversed(self._touched)
        return [(name, self.shown[name]) for name in last if name in self.shown]

    def by_state(self) -> dict[str, Counter[str]]:
        """How many memories are in each state, by dimension."""
        found: dict[str, Counter[str]] = {name: Counter() for name in DIMENSIONS}
        for standing, count in self.standings.items():
            if standing.family == "memory":
                for name, state in zip(DIMENSIONS, standing.states, strict=True):
                    found[name][state] += count
        return found

    def by_type(self, family: str) -> Counter[str]:
        """How many things of a family there are, by their type."""
        found: Counter[str] = Counter()
        for standing, count in self.standings.items():
            if standing.family == family:
                found[standing.type] += count
        return found

    def _event(self, entry: Entry, body: Mapping[str, Any]) -> None:
        event_type = entry.kind
        self.events[event_type] += 1
        self._actor(entry, body)
        if "object_id" in body:
            subject = short(body["object_id"], 600)
            self._touched.pop(subject, None)
            self._touched[subject] = None
            if len(self._touched) > NAMED_MAX:
                self._touched.pop(next(iter(self._touched)))
        log = _KEPT_KINDS.get(event_type)
        if log is not None:
            getattr(self, log).add(entry)
        payload = body.get("payload")
        if isinstance(payload, dict) and "erased_versions" in payload:
            self._deciding[short(body.get("event_id"))] = entry
            if len(self._deciding) > NAMED_MAX:
                self._deciding.pop(next(iter(self._deciding)))
        if isinstance(payload, dict) and "to" in payload:
            self._transition(entry, event_type, payload)

    def _transition(self, entry: Entry, event_type: str, payload: Mapping[str, Any]) -> None:
        dimension = "availability"
        if event_type not in ("object_deleted", "object_redacted"):
            dimension = short(payload.get("dimension"), 40)
        step = (dimension, short(payload.get("from", "-"), 40), short(payload["to"], 40))
        if step in self.transitions or len(self.transitions) < NAMED_MAX:
            self.transitions[step] += 1
        if "condition" in payload:
            self.conditions.add(entry)
        if step[2] == "legal_hold":
            self.holds[entry.subject] = entry
        elif step[1] == "legal_hold":
            self.holds.pop(entry.subject, None)

    def _authorized(self, entry: Entry, body: Mapping[str, Any]) -> Entry:
        """The entry of an erasure with who decided it: the entry's own word, or that of the
        event that it names."""
        decided = self._deciding.get(short(body.get("event_id")))
        if decided is None or "actor" in body:
            return entry
        detail = f"{entry.detail}, entry {decided.n:,}: {decided.detail}"
        return entry._replace(actor=decided.actor, detail=detail)

    def _actor(self, entry: Entry, body: Mapping[str, Any]) -> None:
        tally = self.actors.get(entry.actor)
        if tally is None:
            if len(self.actors) >= ACTORS_MAX:
                self.other_actors += 1
                return
            actor = body.get("actor")
            kind = actor.get("actor_kind") if isinstance(actor, dict) else None
            tally = self.actors[entry.actor] = ActorTally(short(kind, 40), entry.time)
        tally.events[entry.kind] += 1
        tally.last = entry.time

    def _day(self, time: str) -> None:
        day = time[:10]
        if day in self.days or len(self.days) < DAYS_MAX:
            self.days[day] += 1


_ABOUT = ("scope_kind", "parent_scope_id", "store_id", "created_at")
_TIMES = ("recorded_at", "erased_at", "created_at")


def _entry(n: int, kind: str, body: Mapping[str, Any]) -> Entry:
    actor = body.get("actor")
    actor_id = actor.get("actor_id") if isinstance(actor, dict) else None
    delegation = actor.get("delegation_id") if isinstance(actor, dict) else None
    who = short(actor_id if actor_id is not None else "-")
    if delegation is not None:
        who = f"{who} under {short(delegation)}"
    time = next((short(body[name], 40) for name in _TIMES if name in body), "-")
    event_type = short(body.get("event_type")) if kind == "event" else kind
    return Entry(n, time, who, event_type, _subject(kind, body), _detail(kind, body))


def _subject(kind: str, body: Mapping[str, Any]) -> str:
    if kind == "erasure":
        return short(body.get("version_id"))
    for name in ("object_id", "relationship_id", "subscription_id", "scope_id"):
        if name in body:
            return short(body[name])
    for name in ("snapshot", "space", "schema"):
        inner = body.get(name)
        if isinstance(inner, dict):
            return short(inner.get(f"{name}_id"))
    return short(body.get("name", "-"))


def _detail(kind: str, body: Mapping[str, Any]) -> str:
    """What else a line of a table says: from where to where, on which basis."""
    if kind == "erasure":
        basis = body.get("policy_basis")
        by = f"event {short(body.get('event_id'))}"
        return f"{by}, {short(basis)}" if basis is not None else by
    payload = body.get("payload")
    if not isinstance(payload, dict):
        return ""
    parts = []
    if "to" in payload:
        parts.append(f"{short(payload.get('from', '-'), 40)} \u2192 {short(payload['to'], 40)}")
    named = ("object_type", "policy_basis", "condition", "policy_rule_id", "members")
    parts += [
        f"{name.replace('_', ' ')} {short(payload[name])}"
        for name in (*named, "erased_versions", "reason", "operation")
        if name in payload
    ]
    return ", ".join(parts)
