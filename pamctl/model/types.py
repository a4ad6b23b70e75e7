"""The drafts' data as Python sees it: JSON values, typed by name.

A TypedDict describes what a schema accepts and enforces nothing: pamctl.model.documents
does. Making these takes milliseconds, so they are imported where types are checked and not
where programs start.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypeAlias, TypedDict

from pamctl.model.vocabulary import (
    AvailabilityState,
    Directionality,
    EventType,
    LifecycleState,
    Operation,
    RetentionState,
    ValidationState,
)

JSON: TypeAlias = Any
"""A JSON value: dict, list, str, int, float, bool or None."""


class Attestation(TypedDict, total=False):
    """Vouches for an actor; not authoritative. PAMSPEC §8.1."""

    agent_manifest_ref: str
    manifest_digest: str
    manifest_digest_algorithm: str
    attestation_authority: str
    attestation_method: str
    signature: str
    signature_algorithm: str
    issued_at: str
    not_before: str
    not_after: str
    capabilities_declared: list[str]
    did_ref: str


class Actor(TypedDict):
    """Who is responsible for an operation. PAMSPEC §8.1."""

    actor_id: str
    actor_kind: str
    display_name: NotRequired[str]
    on_behalf_of_actor_id: NotRequired[str]
    delegation_id: NotRequired[str]
    attestation: NotRequired[Attestation]


class ProvenanceStatement(TypedDict):
    """Provenance as a request states it; the service completes it. PAMSPEC §8.6."""

    activity: str
    provenance_id: NotRequired[str]
    actor: NotRequired[Actor]
    recorded_at: NotRequired[str]
    source_ref: NotRequired[str]
    evidence_refs: NotRequired[list[str]]
    observed_at: NotRequired[str]
    transformation_parent: NotRequired[str]
    source_confidence: NotRequired[float]
    integrity_ref: NotRequired[str]


class Provenance(TypedDict):
    """Where a version comes from. PAMSPEC §8.6."""

    provenance_id: str
    actor: Actor
    activity: str
    recorded_at: str
    source_ref: NotRequired[str]
    evidence_refs: NotRequired[list[str]]
    observed_at: NotRequired[str]
    transformation_parent: NotRequired[str]
    source_confidence: NotRequired[float]
    integrity_ref: NotRequired[str]


class Integrity(TypedDict, total=False):
    """Tamper evidence for a version. PAMSPEC §8.7."""

    digest: str
    algorithm: str
    canonicalization_profile: str
    signature: str
    ledger_ref: str


class QualitySignals(TypedDict, total=False):
    """What automatic processes think of an object; numbers from 0 to 1. PAMSPEC §8.1."""

    assessed_confidence: float
    contradiction_score: float
    staleness_score: float
    evidence_strength: float
    source_diversity: float
    last_verified_at: str
    last_verified_by_actor_id: str
    verification_method_id: str
    assessed_at: str
    assessed_by_actor_id: str


class Version(TypedDict):
    """What the envelopes of all three families have in common."""

    spec_version: str
    version_id: str
    scope_id: str
    lifecycle_state: LifecycleState
    availability_state: AvailabilityState
    retention_state: RetentionState
    validation_state: ValidationState
    committed_at: str
    recorded_at: str
    sequence: int
    actor: Actor
    provenance: Provenance
    integrity: NotRequired[Integrity]


class Envelope(Version):
    """One immutable version of a Memory Object. PAMSPEC §8.1."""

    object_id: str
    object_type: str
    canonical_content: JSON
    schema_id: NotRequired[str]
    observed_at: NotRequired[str]
    asserted_at: NotRequired[str]
    valid_from: NotRequired[str]
    valid_until: NotRequired[str]
    relationship_refs: NotRequired[list[str]]
    quality_signals: NotRequired[QualitySignals]


class Relationship(Version):
    """One immutable version of a Relationship Object. PAMSPEC §8.5."""

    relationship_id: str
    relationship_type: str
    source_object_id: str
    target_object_id: str
    directionality: Directionality
    canonical_content: JSON
    target_scope_id: NotRequired[str]
    policy_basis: NotRequired[str]
    observed_at: NotRequired[str]
    asserted_at: NotRequired[str]
    valid_from: NotRequired[str]
    valid_until: NotRequired[str]


class Delegation(Version):
    """One immutable version of a Delegation Object. PAMSPEC §15.4."""

    delegation_id: str
    granting_actor: Actor
    delegated_actor: Actor
    granted_operations: list[Operation]
    policy_basis: str
    not_before: str
    not_after: str
    granted_object_types: NotRequired[list[str]]
    granted_object_ids: NotRequired[list[str]]
    target_scope_id: NotRequired[str]
    revocable: NotRequired[bool]
    usage_limit: NotRequired[int]


class Event(TypedDict):
    """One event of a scope's ledger. PAMSPEC §7.7."""

    event_id: str
    operation_id: str
    scope_id: str
    event_type: EventType
    recorded_at: str
    sequence: int
    actor: Actor
    object_id: NotRequired[str]
    relationship_id: NotRequired[str]
    version_id: NotRequired[str]
    payload: NotRequired[dict[str, JSON]]


class Committed(TypedDict):
    """The answer of an operation that changed one object.

    `sequence` is the version's number in the object's history, `ledger_sequence` the
    event's in the scope. `replayed` tells that an earlier request with the same
    idempotency key did the work. PAMSPEC §10, §12.
    """

    event_id: str
    ledger_sequence: int
    object_id: str
    operation_id: str
    replayed: bool
    scope_id: str
    sequence: int
    version_id: str
    envelope: Envelope


class Related(TypedDict):
    """The answer of an operation that changed a relationship; otherwise as `Committed`."""

    event_id: str
    ledger_sequence: int
    relationship_id: str
    operation_id: str
    replayed: bool
    scope_id: str
    sequence: int
    version_id: str
    envelope: Relationship


class Promoted(Committed):
    """The answer of a promotion: what `Committed` says of the new object, and which version
    superseded its source, and which relationship joins the two. PAMSPEC §10.10."""

    promotion_event_id: str
    relationship_id: str
    relationship_version_id: str
    source_object_id: str
    source_version_id: str


class Versions(TypedDict):
    """A page of versions, oldest first. PAMSPEC §10.7."""

    items: list[Envelope]
    next_cursor: str | None


class Events(TypedDict):
    """A page of events, in ledger order. PAMSPEC §10.7."""

    items: list[Event]
    next_cursor: str | None


class QueryResult(TypedDict):
    """A page of envelopes, and what it was answered from. PAMSPEC §10.6, §11.

    `ledger_sequence` is the last event that the answer takes into account; `index` says
    how the derived index stood; `total` counts the matches on all pages, where that was
    asked for, and `explanation` says of each item why it stands where it does, `plan` how the
    answer was come by, `snippets` where in each item the text was found.
    """

    items: list[Envelope]
    next_cursor: str | None
    scope_id: str
    ledger_sequence: int
    index: NotRequired[dict[str, JSON]]
    total: NotRequired[int]
    explanation: NotRequired[list[dict[str, JSON]]]
    plan: NotRequired[dict[str, JSON]]
    snippets: NotRequired[list[dict[str, JSON]]]


class ScopeStatus(TypedDict):
    """One scope in numbers. `head` is the SHA-256 of the ledger's last line."""

    scope_id: str
    scope_kind: str
    objects: int
    versions: int
    events: int
    head: str
    entries: int
    ledger_sequence: int
    ledger_bytes: int
    index: dict[str, JSON]


class StoreStatus(TypedDict):
    """A store in numbers."""

    store_id: str
    path: str
    format_version: int
    default_scope: str
    scopes: list[ScopeStatus]
