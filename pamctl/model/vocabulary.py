"""The drafts' vocabularies: states, types, operations, events, and ours beside them.

Their one source in the code; tests hold the schemas to it.
"""

from __future__ import annotations

from typing import Literal, get_args

SPEC_VERSION = "0.1.0-draft"
"""The revision of the object model in every envelope. PAMSPEC §8.1."""

LifecycleState = Literal["scratch", "candidate", "active", "superseded", "deprecated", "archived"]
AvailabilityState = Literal["available", "partially_redacted", "redacted", "deleted"]
RetentionState = Literal["retained", "expired", "pending_deletion", "legal_hold"]
ValidationState = Literal["unverified", "corroborated", "disputed", "rejected"]
Dimension = Literal["lifecycle", "availability", "retention", "validation"]
Directionality = Literal["directed", "bidirectional", "undirected"]

StandardObjectType = Literal[
    "claim",
    "decision",
    "task",
    "artifact",
    "observation",
    "entity",
    "summary",
    "tool_invocation",
    "tool_result",
    "working_memory",
]

Operation = Literal[
    "create",
    "read",
    "update",
    "transition",
    "relate",
    "query",
    "inspect_history",
    "redact",
    "delete",
    "promote",
    "subscribe",
    "unsubscribe",
]

EventType = Literal[
    "object_created",
    "object_updated",
    "lifecycle_transitioned",
    "availability_transitioned",
    "retention_transitioned",
    "validation_transitioned",
    "relationship_created",
    "relationship_updated",
    "provenance_updated",
    "embedding_generated",
    "index_rebuilt",
    "access_denied",
    "object_redacted",
    "object_deleted",
    "working_memory_promoted",
    "tool_invoked",
    "tool_completed",
    "subscription_opened",
    "subscription_closed",
    "delegation_granted",
    "delegation_revoked",
    "delegation_exercised",
]

TemporalBasis = Literal[
    "observed_at", "asserted_at", "valid_time", "committed_at", "recorded_at", "sequence"
]

Direction = Literal["out", "in", "both"]

OrderField = Literal[
    "sequence",
    "ledger_sequence",
    "committed_at",
    "recorded_at",
    "observed_at",
    "asserted_at",
    "valid_from",
    "valid_until",
    "object_id",
    "object_type",
    "version_id",
    "schema_id",
    "actor_id",
    "provenance_id",
    "source_ref",
    "activity",
    "lifecycle_state",
    "availability_state",
    "retention_state",
    "validation_state",
    "integrity_digest",
    "source_confidence",
    "transformation_parent",
    "relevance",
]

EntryKind = Literal[
    "event",
    "scope",
    "policy",
    "idempotency",
    "erasure",
    "snapshot",
    "schema",
    "space",
    "checkpoint",
    "pack",
    "import",
    "merge",
]

IDENTIFIERS = ("object_id", "relationship_id", "delegation_id")
"""The member that names what an envelope is a version of; each has one of them."""

LIFECYCLE_STATES: tuple[LifecycleState, ...] = get_args(LifecycleState)
AVAILABILITY_STATES: tuple[AvailabilityState, ...] = get_args(AvailabilityState)
RETENTION_STATES: tuple[RetentionState, ...] = get_args(RetentionState)
VALIDATION_STATES: tuple[ValidationState, ...] = get_args(ValidationState)
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
"""The four dimensions; `f"{dimension}_state"` is the member of an envelope. PAMSPEC §9."""

DIRECTIONALITIES: tuple[Directionality, ...] = get_args(Directionality)
"""Of relationships. PAMSPEC §8.5."""

STATES: dict[Dimension, tuple[str, ...]] = {
    "lifecycle": LIFECYCLE_STATES,
    "availability": AVAILABILITY_STATES,
    "retention": RETENTION_STATES,
    "validation": VALIDATION_STATES,
}
"""The states of each dimension. PAMSPEC §9.1-§9.4."""

STANDARD_OBJECT_TYPES: tuple[StandardObjectType, ...] = get_args(StandardObjectType)
"""PAMSPEC §8.2."""

OPERATIONS: tuple[Operation, ...] = get_args(Operation)
"""The operations of PAMSPEC §10, which policies and delegations name."""

GOVERNED_OPERATIONS: tuple[str, ...] = (
    *OPERATIONS,
    "set_policy",
    "grant_delegation",
    "check_delegation",
    "revoke_delegation",
    "list_delegations",
    "create_snapshot",
    "add_schema",
    "add_space",
    "record_checkpoint",
    "put_embedding",
    "delete_embedding",
    "export",
    "import",
)
"""What the rules of a policy name: the operations, and those over authority itself."""

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
"""PAMSPEC §7.7, §10.8, §10.10, §15.4."""

VERSION_EVENT_TYPES: tuple[EventType, ...] = (
    *EVENT_TYPES[:9],
    "object_redacted",
    "object_deleted",
)
"""Events that come with a new version. PAMSPEC §8.4."""

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
"""Which way relationships are followed: from source to target, the other way, or either."""

TEMPORAL_BASES: tuple[TemporalBasis, ...] = get_args(TemporalBasis)
"""Which time a temporal filter means. PAMSPEC §11."""

ORDER_FIELDS: tuple[OrderField, ...] = get_args(OrderField)
"""What a query can be ordered by; each may be followed by `:desc`. States are in the order of
the drafts, not of the alphabet."""

ENTRY_KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
"""Kinds of ledger entries."""
