"""The arguments of the operations, as Python sees them. Member names are the draft's;
`schemas/requests/` says the same to everyone else and is what is enforced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, Required, TypedDict


class Writing(TypedDict):
    """What every operation that changes a scope takes."""

    scope_id: str
    actor: Mapping[str, Any]
    operation_id: NotRequired[str]
    idempotency_key: NotRequired[str]


class Assertions(TypedDict, total=False):
    """Metadata that a client may state about a version. PAMSPEC §8.1."""

    schema_id: str
    observed_at: str
    asserted_at: str
    valid_from: str
    valid_until: str
    quality_signals: Mapping[str, Any]
    integrity: Mapping[str, Any]


class CreateArguments(Writing, Assertions):
    """PAMSPEC §10.1."""

    object_type: str
    canonical_content: Any
    provenance: Mapping[str, Any]
    object_id: NotRequired[str]
    lifecycle_state: NotRequired[str]
    availability_state: NotRequired[str]
    retention_state: NotRequired[str]
    validation_state: NotRequired[str]
    relationship_refs: NotRequired[Sequence[str]]
    expect_absent: NotRequired[bool]


class ChangeArguments(Writing):
    """What every operation on a version that the caller saw takes. PAMSPEC §12."""

    object_id: str
    expected_version_id: str


class UpdateArguments(ChangeArguments, Assertions):
    """PAMSPEC §10.3. At most one of the three ways to give content."""

    provenance: Mapping[str, Any]
    canonical_content: NotRequired[Any]
    json_patch: NotRequired[Sequence[Mapping[str, Any]]]
    merge_patch: NotRequired[Any]


class AddressedArguments(Writing):
    """Of operations on an object, or on a relationship: one of the two identifiers."""

    object_id: NotRequired[str]
    relationship_id: NotRequired[str]
    expected_version_id: str


class TransitionArguments(AddressedArguments):
    """PAMSPEC §10.4."""

    dimension: str
    target_state: str
    policy_basis: NotRequired[str]
    provenance: NotRequired[Mapping[str, Any]]
    override: NotRequired[str]


class RedactArguments(AddressedArguments):
    """PAMSPEC §10.9. paths: JSON Pointers of the members to redact; without them, all."""

    paths: NotRequired[Sequence[str]]
    erase: NotRequired[bool]
    policy_basis: NotRequired[str]
    provenance: NotRequired[Mapping[str, Any]]


class DeleteArguments(AddressedArguments):
    """PAMSPEC §10.11."""

    erase: NotRequired[bool]
    policy_basis: NotRequired[str]
    provenance: NotRequired[Mapping[str, Any]]


class RelateArguments(Writing, total=False):
    """PAMSPEC §10.5. An update names the relationship and the version; a new relationship
    has to have its two objects and its type."""

    provenance: Required[Mapping[str, Any]]
    relationship_id: str
    expected_version_id: str
    source_object_id: str
    target_object_id: str
    target_scope_id: str
    relationship_type: str
    directionality: str
    canonical_content: Any
    lifecycle_state: str
    availability_state: str
    retention_state: str
    validation_state: str
    observed_at: str
    asserted_at: str
    valid_from: str
    valid_until: str
    integrity: Mapping[str, Any]
    policy_basis: str


class PromoteArguments(Writing):
    """PAMSPEC §10.10."""

    source_object_id: str
    expected_version_id: str
    target_object_type: str
    target_canonical_content: Any
    provenance: Mapping[str, Any]
    target_object_id: NotRequired[str]
    target_schema_id: NotRequired[str]
    target_lifecycle_state: NotRequired[str]
    target_validation_state: NotRequired[str]
    policy_basis: NotRequired[str]


class ExpireArguments(TypedDict):
    """PAMSPEC §9.6."""

    scope_id: str
    actor: Mapping[str, Any]
    operation_id: NotRequired[str]
    dry_run: NotRequired[bool]
    limit: NotRequired[int]


class Reading(TypedDict):
    """What every operation that only reads takes."""

    scope_id: str
    actor: NotRequired[Mapping[str, Any]]
    operation_id: NotRequired[str]


class ReadArguments(Reading):
    """PAMSPEC §10.2. At most one of version, sequence and snapshot."""

    object_id: str
    version_id: NotRequired[str]
    at_sequence: NotRequired[int]
    snapshot_id: NotRequired[str]


class HistoryArguments(Reading):
    """PAMSPEC §10.7. Bounds count versions, or ledger sequences where events are asked for."""

    object_id: str
    kind: NotRequired[str]
    snapshot_id: NotRequired[str]
    event_classes: NotRequired[Sequence[str]]
    from_sequence: NotRequired[int]
    to_sequence: NotRequired[int]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class DiffArguments(Reading):
    """What history shows of two versions, compared. A version is named by its id or by its
    number in the history."""

    object_id: str
    from_version_id: NotRequired[str]
    to_version_id: NotRequired[str]
    from_sequence: NotRequired[int]
    to_sequence: NotRequired[int]
    snapshot_id: NotRequired[str]


class LogArguments(Reading):
    """PAMSPEC §7.7."""

    object_id: NotRequired[str]
    snapshot_id: NotRequired[str]
    after: NotRequired[int]
    event_classes: NotRequired[Sequence[str]]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class QueryArguments(Reading, total=False):
    """PAMSPEC §10.6, §11. Filters of one kind are alternatives; kinds are joined by and.
    where: expressions of `rules.where_grammar`, joined by and too."""

    object_id: Sequence[str]
    version_id: Sequence[str]
    object_type: Sequence[str]
    lifecycle_state: Sequence[str]
    availability_state: Sequence[str]
    retention_state: Sequence[str]
    validation_state: Sequence[str]
    any_state: bool
    schema_id: Sequence[str]
    provenance_id: Sequence[str]
    actor_id: Sequence[str]
    source_ref: Sequence[str]
    activity: Sequence[str]
    actor_kind: Sequence[str]
    on_behalf_of_actor_id: Sequence[str]
    evidence_ref: Sequence[str]
    transformation_parent: Sequence[str]
    source_confidence: Mapping[str, float]
    integrity_digest: Sequence[str]
    integrity_algorithm: Sequence[str]
    integrity_ref: Sequence[str]
    relationship_ref: Sequence[str]
    where: Sequence[str]
    related_to: Mapping[str, Any]
    relationship_type: Sequence[str]
    relationships: bool
    text: str
    embedding_space_id: str
    vector: Sequence[float]
    like_object_id: str
    hybrid: bool
    search: str
    temporal: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    as_of: int | str
    snapshot_id: str
    order_by: Sequence[str]
    limit: int
    cursor: str
    count: bool
    explain: bool
    snippets: bool


class ScopeArguments(TypedDict):
    """PAMSPEC §7.5. The kind defaults to the scope id's scheme."""

    scope_id: str
    actor: NotRequired[Mapping[str, Any]]
    scope_kind: NotRequired[str]
    parent_scope_id: NotRequired[str]
    policy: NotRequired[Mapping[str, Any]]


class PolicyArguments(Writing):
    """PAMSPEC §7.5."""

    policy: Mapping[str, Any]


class PolicyTestArguments(TypedDict):
    """An action to be judged by the scope's policy, or by one that is given."""

    scope_id: str
    actor: Mapping[str, Any]
    operation: str
    object_type: NotRequired[str]
    dimension: NotRequired[str]
    target_state: NotRequired[str]
    policy: NotRequired[Mapping[str, Any]]
