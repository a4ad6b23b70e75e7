"""The arguments of the operations, as Python sees them. Member names are the draft's;
`schemas/requests/` says the same to everyone else and is what is enforced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict


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


class TransitionArguments(ChangeArguments):
    """PAMSPEC §10.4."""

    dimension: str
    target_state: str
    policy_basis: NotRequired[str]
    provenance: NotRequired[Mapping[str, Any]]
    override: NotRequired[str]


class DeleteArguments(ChangeArguments):
    """PAMSPEC §10.11."""

    policy_basis: NotRequired[str]
    provenance: NotRequired[Mapping[str, Any]]


class Reading(TypedDict):
    """What every operation that only reads takes."""

    scope_id: str
    actor: NotRequired[Mapping[str, Any]]
    operation_id: NotRequired[str]


class ReadArguments(Reading):
    """PAMSPEC §10.2. At most one of version and sequence."""

    object_id: str
    version_id: NotRequired[str]
    at_sequence: NotRequired[int]


class HistoryArguments(Reading):
    """PAMSPEC §10.7. Bounds count versions, or ledger sequences where events are asked for."""

    object_id: str
    kind: NotRequired[str]
    event_classes: NotRequired[Sequence[str]]
    from_sequence: NotRequired[int]
    to_sequence: NotRequired[int]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class LogArguments(Reading):
    """PAMSPEC §7.7."""

    object_id: NotRequired[str]
    after: NotRequired[int]
    event_classes: NotRequired[Sequence[str]]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class QueryArguments(Reading, total=False):
    """PAMSPEC §10.6, §11. Filters of one kind are alternatives; kinds are joined by and."""

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
    text: str
    temporal: Mapping[str, Any]
    as_of: int | str
    order_by: Sequence[str]
    limit: int
    cursor: str
    count: bool
    explain: bool


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
