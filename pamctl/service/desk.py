"""Where a change to a scope is worked out: the facts, what is staged on top of them, and
the means to stage more. One desk serves one scope for as long as its lock is held."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pamctl.encoding.base64url import encode
from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidObject, ObjectDeleted, ObjectNotFound, VersionConflict
from pamctl.limits import CONTENT_BYTES_MAX
from pamctl.model.vocabulary import IDENTIFIERS
from pamctl.named_tuples import NamedTuple
from pamctl.rules.authorization import DEFAULT_POLICY_BASIS
from pamctl.service.envelopes import evaluated, signed
from pamctl.service.open_scope import OpenScope
from pamctl.service.sources import Sources
from pamctl.store.commit import NewEntry, NewVersion
from pamctl.store.versions import SALT_BYTES

if TYPE_CHECKING:
    from pamctl.crypto.keys import PrivateKey


def identifying(envelope: Mapping[str, Any]) -> str:
    """Which of IDENTIFIERS an envelope has."""
    if "object_id" in envelope:  # nearly all
        return "object_id"
    return next(name for name in IDENTIFIERS if name in envelope)


def _named_by_event(member: str, identifier: str) -> dict[str, str]:
    """The member by which an event or an error names something that `member` identifies."""
    # PAMSPEC's event has no member for a delegation; it is the object of its events.
    return {"relationship_id" if member == "relationship_id" else "object_id": identifier}


def policy_basis(desk: Desk, request: Mapping[str, Any]) -> str:
    """The basis that the caller states, or else the one that the scope's policy names."""
    default = desk.policy.get("default_policy_basis", DEFAULT_POLICY_BASIS)
    return str(request.get("policy_basis", default))


@dataclass(slots=True)
class Change:
    """What an operation wants to commit, and what it will answer.

    entries: the entries of one transaction, each event with its version.
    salt: of the version that the request is about, which salts the idempotency record too;
        None where the request makes no version.
    """

    entries: list[NewEntry]
    result: dict[str, Any]
    salt: str | None = None

    def joined(self, *others: Change) -> Change:
        """This change and others, to be committed as one transaction; its answer is this one's."""
        entries = [*self.entries, *(entry for other in others for entry in other.entries)]
        return Change(entries, self.result, self.salt)


class StagedEvent(NamedTuple):
    """The address of a staged version, and the event that commits it."""

    address: str
    event_id: str
    sequence: int


@dataclass(slots=True)
class Desk:
    """Facts about one scope, with what is staged counted in.

    plain_request: whether the request in hand is plain, as `encoding.canonical` has it; then
        so is an envelope that holds nothing older than the request.
    absent: identifiers that are known to name nothing, unless it is staged.
    neighbour: another scope of the store as this group of operations knows it, to be looked
        at and not to be changed from here; None for one that is not there.
    scope_ids: the scopes of the store.
    signer: the key of an actor that is bound to one, for an operation.
    staged_events: by version id, what commits the versions that are staged.
    erased: addresses that what is staged erases.
    exercised: by delegation id, how often it was exercised by what is staged.
    subscriptions: by id, the standing of those that are opened or closed by what is staged.
    descriptors: by kind and id, the snapshots, Embedding Spaces and content schemas that are
        staged.
    evaluation_run_id: of the evaluation that is going on; it goes into the provenance of
        every version and into every event (PAMSPEC §18.11).
    """

    scope: OpenScope
    sources: Sources
    policy: Mapping[str, Any]
    sequence: int
    plain_request: bool = False
    neighbour: Callable[[str], Desk | None] = field(default=lambda scope_id: None)
    scope_ids: Callable[[], Iterable[str]] = field(default=tuple)
    signer: Callable[[str, str], PrivateKey | None] = field(default=lambda actor, operation: None)
    absent: Set[str] = frozenset()
    staged_objects: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    staged_versions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    staged_events: dict[str, StagedEvent] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    exercised: dict[str, int] = field(default_factory=dict)
    subscriptions: dict[str, Any] = field(default_factory=dict)
    descriptors: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    evaluation_run_id: str | None = None
    _staged_links: dict[frozenset[str], list[str]] = field(default_factory=dict)

    @property
    def scope_id(self) -> str:
        return self.scope.scope_id

    def current(self, object_id: str) -> Mapping[str, Any] | None:
        """The envelope that an object has now, None when the scope has no such object."""
        staged = self.staged_objects.get(object_id)
        if staged is not None:
            return staged
        row = self.scope.index.current(object_id)
        return None if row is None else self.scope.envelope(row)

    def exists(self, object_id: str) -> bool:
        """Whether the scope has, or once had, an object of this id."""
        if object_id in self.staged_objects:
            return True
        return object_id not in self.absent and self.scope.index.current(object_id) is not None

    def glance(self, object_id: str) -> tuple[str, str] | None:
        """The type and the availability that a memory object has now, without its version;
        None where there is no such object, or nothing left that tells."""
        staged = self.staged_objects.get(object_id)
        if staged is not None:
            object_type = staged.get("object_type")
            return object_type and (object_type, staged["availability_state"])
        row = self.scope.index.current(object_id)
        if row is None or row.family != "object" or row.object_type is None:
            return None
        return row.object_type, row.availability_state or "deleted"

    def joining(self, one: str, other: str, relationship_type: str) -> Iterator[Mapping[str, Any]]:
        """The current envelopes of the relationships of a type between two objects, either
        way, unless they were deleted."""
        staged = self._staged_links.get(frozenset((one, other)), ())
        for link in self.scope.index.links_between(one, other, relationship_type):
            if link.relationship_id not in staged and not link.deleted:
                row = self.scope.index.current(link.relationship_id)
                if row is not None:
                    yield self.scope.envelope(row)
        for relationship_id in staged:
            yield self.staged_objects[relationship_id]

    def expect(
        self,
        object_id: str,
        expected_version_id: str,
        *,
        families: Container[str] = ("object_id",),
    ) -> Mapping[str, Any]:
        """The current envelope of an object that is still at the version the caller saw.

        families: of IDENTIFIERS, what it may be a version of.

        Raises ObjectNotFound, ObjectDeleted, or VersionConflict, which says what the caller
        missed (PAMSPEC §12).
        """
        current = self.current(object_id)
        if current is None or identifying(current) not in families:
            raise ObjectNotFound(f"there is no object {object_id} in {self.scope_id}")
        named = _named_by_event(identifying(current), object_id)
        if current["availability_state"] == "deleted":
            raise ObjectDeleted(
                f"{object_id} was deleted at {current['committed_at']}",
                version_id=current["version_id"],
                **named,
            )
        if current["version_id"] != expected_version_id:
            raise VersionConflict(
                f"{object_id} is no longer at {expected_version_id}: version "
                f"{current['sequence']} was written by {current['actor']['actor_id']} "
                f"at {current['committed_at']}",
                hint=f"fetch it with `pamctl read {object_id}`, merge, and try again",
                expected_version_id=expected_version_id,
                current_version_id=current["version_id"],
                changed_by=current["actor"]["actor_id"],
                changed_at=current["committed_at"],
                **named,
            )
        return current

    def commit_version(
        self,
        envelope: Mapping[str, Any],
        event_type: str,
        request: Mapping[str, Any],
        payload: Mapping[str, Any],
        *,
        plain: bool = False,
    ) -> Change:
        """Stage a version, of whatever family, and the event that commits it.

        plain: whether the envelope is known to be plain, as `encoding.canonical` has it.
        """
        if self.evaluation_run_id is not None:
            envelope = evaluated(envelope, self.evaluation_run_id)
        key = self.signer(envelope["actor"]["actor_id"], event_type)
        if key is not None:
            envelope = signed(envelope, key, plain=plain)
        salt = self.sources.entropy(SALT_BYTES)
        version = NewVersion.seal(envelope, salt, plain=plain)
        if len(version.data) > CONTENT_BYTES_MAX:
            _require_bounded(envelope.get("canonical_content"))
        member = identifying(envelope)
        identifier = envelope[member]
        named = _named_by_event(member, identifier)
        event = self.event(
            event_type,
            request,
            payload,
            recorded_at=envelope["recorded_at"],
            version_id=envelope["version_id"],
            **named,
        )
        self.staged_objects[identifier] = envelope
        self.staged_versions[envelope["version_id"]] = envelope
        self.staged_events[envelope["version_id"]] = StagedEvent(
            version.address, event["event_id"], event["sequence"]
        )
        if member == "relationship_id":
            ends = frozenset((envelope["source_object_id"], envelope["target_object_id"]))
            staged = self._staged_links.setdefault(ends, [])
            if identifier not in staged:
                staged.append(identifier)
        result = {
            "envelope": envelope,
            "event_id": event["event_id"],
            "ledger_sequence": event["sequence"],
            member: identifier,
            "operation_id": request["operation_id"],
            "replayed": False,
            "scope_id": self.scope_id,
            "sequence": envelope["sequence"],
            "version_id": envelope["version_id"],
        }
        return Change([NewEntry("event", event, version)], result, encode(salt))

    def event(
        self,
        event_type: str,
        request: Mapping[str, Any],
        payload: Mapping[str, Any],
        *,
        recorded_at: str,
        **named: str,
    ) -> dict[str, Any]:
        """The next event of the ledger. `named`: object_id, relationship_id, version_id."""
        self.sequence += 1
        event: dict[str, Any] = {
            "event_id": self.sources.identifier("evt"),
            "operation_id": request["operation_id"],
            "scope_id": self.scope_id,
            "event_type": event_type,
            "recorded_at": recorded_at,
            "sequence": self.sequence,
            "actor": request["actor"],
            **named,
        }
        if self.evaluation_run_id is not None:
            payload = {**payload, "evaluation_run_id": self.evaluation_run_id}
        if payload:
            event["payload"] = payload
        return event

    def commit_event(
        self,
        event_type: str,
        request: Mapping[str, Any],
        payload: Mapping[str, Any],
        **named: str,
    ) -> Change:
        """Stage an event that commits no version (PAMSPEC §8.4)."""
        event = self.event(event_type, request, payload, recorded_at=self.sources.now(), **named)
        result = {
            "event_id": event["event_id"],
            "ledger_sequence": event["sequence"],
            "operation_id": request["operation_id"],
            "replayed": False,
            "scope_id": self.scope_id,
            **named,
        }
        return Change([NewEntry("event", event)], result)


def _require_bounded(content: Any) -> None:
    """Raises InvalidObject for content beyond limits.CONTENT_BYTES_MAX."""
    size = len(canonical(content))
    if size > CONTENT_BYTES_MAX:
        raise InvalidObject(
            f"the content takes {size} bytes; at most {CONTENT_BYTES_MAX} are accepted "
            "(limits.CONTENT_BYTES_MAX)",
            hint="store it as a file and keep a reference to it",
            pointer="/canonical_content",
        )
