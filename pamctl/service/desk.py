"""Where a change to a scope is worked out: the facts, what is staged on top of them, and
the means to stage more. One desk serves one scope for as long as its lock is held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pamctl.encoding.base64url import encode
from pamctl.errors import ObjectDeleted, ObjectNotFound, VersionConflict
from pamctl.service.open_scope import OpenScope
from pamctl.service.sources import Sources
from pamctl.store.commit import NewEntry, NewVersion
from pamctl.store.versions import SALT_BYTES

IDENTIFIERS = ("object_id", "relationship_id", "delegation_id")
"""The member that names what an envelope is a version of, by its family."""


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


@dataclass(slots=True)
class Desk:
    """Facts about one scope, with what is staged counted in.

    plain_request: whether the request in hand is plain, as `encoding.canonical` has it; then
        so is an envelope that holds nothing older than the request.
    """

    scope: OpenScope
    sources: Sources
    policy: Mapping[str, Any]
    sequence: int
    plain_request: bool = False
    staged_objects: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    staged_versions: dict[str, Mapping[str, Any]] = field(default_factory=dict)

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
        return object_id in self.staged_objects or (self.scope.index.current(object_id) is not None)

    def expect(self, object_id: str, expected_version_id: str) -> Mapping[str, Any]:
        """The current envelope of an object that is still at the version the caller saw.

        Raises ObjectNotFound, ObjectDeleted, or VersionConflict, which says what the caller
        missed (PAMSPEC §12).
        """
        current = self.current(object_id)
        if current is None or "object_id" not in current:
            raise ObjectNotFound(f"there is no object {object_id} in {self.scope_id}")
        if current["availability_state"] == "deleted":
            raise ObjectDeleted(
                f"{object_id} was deleted at {current['committed_at']}",
                object_id=object_id,
                version_id=current["version_id"],
            )
        if current["version_id"] != expected_version_id:
            raise VersionConflict(
                f"{object_id} is no longer at {expected_version_id}: version "
                f"{current['sequence']} was written by {current['actor']['actor_id']} "
                f"at {current['committed_at']}",
                hint=f"fetch it with `pamctl read {object_id}`, merge, and try again",
                object_id=object_id,
                expected_version_id=expected_version_id,
                current_version_id=current["version_id"],
                changed_by=current["actor"]["actor_id"],
                changed_at=current["committed_at"],
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
        salt = self.sources.entropy(SALT_BYTES)
        version = NewVersion.seal(envelope, salt, plain=plain)
        member = next(name for name in IDENTIFIERS if name in envelope)
        identifier = envelope[member]
        # PAMSPEC's event has no member for a delegation; it is the object of its events.
        named = {"relationship_id" if member == "relationship_id" else "object_id": identifier}
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
