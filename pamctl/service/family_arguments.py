"""The arguments of the operations on delegations, subscriptions, snapshots, Embedding Spaces
and vectors, as Python sees them; see `service.arguments`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from pamctl.service.arguments import Reading, Writing


class GrantDelegationArguments(TypedDict):
    """PAMSPEC §18.2. The granting actor is the one who asks."""

    scope_id: str
    granting_actor: Mapping[str, Any]
    delegated_actor: Mapping[str, Any]
    granted_operations: Sequence[str]
    policy_basis: str
    not_before: NotRequired[str]
    not_after: str
    granted_object_types: NotRequired[Sequence[str]]
    granted_object_ids: NotRequired[Sequence[str]]
    target_scope_id: NotRequired[str]
    revocable: NotRequired[bool]
    usage_limit: NotRequired[int]
    provenance: NotRequired[Mapping[str, Any]]
    actor: NotRequired[Mapping[str, Any]]
    operation_id: NotRequired[str]
    idempotency_key: NotRequired[str]


class CheckDelegationArguments(TypedDict):
    """PAMSPEC §18.2. Without an actor, the delegated actor is the one who asks."""

    delegation_id: str
    scope_id: str
    delegated_actor_id: str
    operation: str
    object_id: NotRequired[str]
    object_type: NotRequired[str]
    actor: NotRequired[Mapping[str, Any]]
    operation_id: NotRequired[str]
    idempotency_key: NotRequired[str]


class RevokeDelegationArguments(TypedDict):
    """PAMSPEC §18.2. `revoking_actor` is another name of `actor`."""

    delegation_id: str
    scope_id: str
    actor: NotRequired[Mapping[str, Any]]
    revoking_actor: NotRequired[Mapping[str, Any]]
    expected_version_id: NotRequired[str]
    policy_basis: NotRequired[str]
    provenance: NotRequired[Mapping[str, Any]]
    operation_id: NotRequired[str]
    idempotency_key: NotRequired[str]


class ListDelegationsArguments(TypedDict):
    """Filters join by and."""

    scope_id: str
    actor: Mapping[str, Any]
    delegated_actor_id: NotRequired[str]
    granting_actor_id: NotRequired[str]
    effective: NotRequired[bool]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    operation_id: NotRequired[str]


class SubscribeArguments(Writing):
    """PAMSPEC §10.8. `filter_spec` and `start_sequence` are other names of the filter and of
    `after_sequence`."""

    filter: NotRequired[Mapping[str, Any]]
    filter_spec: NotRequired[Mapping[str, Any]]
    after_sequence: NotRequired[int]
    start_sequence: NotRequired[int]
    delivery: NotRequired[Mapping[str, Any]]
    acknowledgement: NotRequired[str]


class SubscribedArguments(TypedDict):
    """What every operation on a subscription takes: its id, and for whoever wants it to be
    found only there and for him, scope and actor."""

    subscription_id: str
    scope_id: NotRequired[str]
    actor: NotRequired[Mapping[str, Any]]
    operation_id: NotRequired[str]


class PollSubscriptionArguments(SubscribedArguments):
    """PAMSPEC §18.3."""

    max_events: NotRequired[int]
    after_sequence: NotRequired[int]
    hold: NotRequired[bool]


class AcknowledgeSubscriptionArguments(SubscribedArguments):
    """PAMSPEC §10.8."""

    sequence: int


class CloseSubscriptionArguments(SubscribedArguments):
    """PAMSPEC §10.8, Unsubscribe."""

    idempotency_key: NotRequired[str]


class ListSubscriptionsArguments(Reading):
    """PAMSPEC §10.8."""

    closed: NotRequired[bool]


class SnapshotCreateArguments(Writing, total=False):
    """PAMSPEC §18.11. Without a sequence it is the present; without members, everything."""

    snapshot_id: str
    at_sequence: int
    included_object_ids: Sequence[str]
    included_embedding_space_ids: Sequence[str]
    deterministic_clock: Mapping[str, Any]
    deterministic_rng_seed: int
    evaluation_run_id: str


class SnapshotArguments(Reading):
    """One snapshot."""

    snapshot_id: str


class Paged(Reading, total=False):
    """A page of a list."""

    limit: int
    cursor: str


class SnapshotListArguments(Paged):
    """Of one scope."""


class SnapshotDiffArguments(Paged):
    """PAMSPEC §18.11. The second snapshot may be another scope's."""

    from_snapshot_id: str
    to_snapshot_id: str
    to_scope_id: NotRequired[str]
    object_id: NotRequired[str]


class SchemaAddArguments(Writing):
    """PAMSPEC §8.2. The schema is a JSON Schema, a mapping or a boolean."""

    schema_id: str
    schema: Mapping[str, Any] | bool


class SchemaArguments(Reading):
    """One registered schema."""

    schema_id: str


class SchemaListArguments(Reading):
    """Of one scope."""


class SpaceAddArguments(Writing):
    """PAMSPEC §7.8."""

    space: Mapping[str, Any]


class CheckpointRecordArguments(Writing):
    """checkpoint: the text of a signed note."""

    checkpoint: str


class SpaceArguments(Reading):
    """One Embedding Space."""

    embedding_space_id: str


class SpaceListArguments(Reading):
    """Of one scope."""


class EmbeddingPutArguments(TypedDict):
    """PAMSPEC §7.8. Each with its object, its vector and its space."""

    scope_id: str
    actor: Mapping[str, Any]
    embeddings: Sequence[Mapping[str, Any]]
    operation_id: NotRequired[str]


class EmbeddingDeleteArguments(TypedDict):
    """An object, a space, or an object in a space."""

    scope_id: str
    actor: Mapping[str, Any]
    object_id: NotRequired[str]
    embedding_space_id: NotRequired[str]
    operation_id: NotRequired[str]


class EmbeddingStatusArguments(Reading):
    """Of one space, or of all."""

    embedding_space_id: NotRequired[str]


class EmbeddingExportArguments(Paged):
    """Of one space."""

    embedding_space_id: str


class EmbeddingPendingArguments(Paged):
    """In one space."""

    embedding_space_id: str


class EmbeddingGenerateArguments(TypedDict):
    """By the built-in embedder, in its own space."""

    scope_id: str
    actor: Mapping[str, Any]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    operation_id: NotRequired[str]
