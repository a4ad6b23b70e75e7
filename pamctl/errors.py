"""Every error pamctl can answer with: one root, one class a code.

A class carries the code of PAMSPEC §14, whether the same request may succeed later, and
the exit status that the command line turns it into. The tables in the documentation are
generated from these classes.
"""

from __future__ import annotations

from typing import Any, ClassVar


class PamError(Exception):
    """Root of all errors that reach a caller. PAMSPEC §14.

    Arguments:
        message: one sentence for a person: what was wrong, and where.
        hint: what to do about it; travels in `details` as `hint`.
        policy_rule_id: the rule that decided, where a rule did.
        details: scope-safe facts. Never content, and nothing that confirms the existence
            of what the actor may not see.
    """

    code: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False
    exit_status: ClassVar[int] = 1
    meaning: ClassVar[str] = "Unexpected failure of the implementation."

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        policy_rule_id: str | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.policy_rule_id = policy_rule_id
        self.details: dict[str, Any] = {k: v for k, v in details.items() if v is not None}
        if hint is not None:
            self.details["hint"] = hint

    def envelope(self, operation_id: str = "") -> dict[str, Any]:
        """The error envelope of PAMSPEC §14, ready to be serialized."""
        answer: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            "operation_id": operation_id,
            "details": self.details,
        }
        if self.policy_rule_id is not None:
            answer["policy_rule_id"] = self.policy_rule_id
        return answer


class InternalError(PamError):
    code = "internal_error"
    exit_status = 1
    meaning = "Unexpected failure of the implementation."


class InvalidRequest(PamError):
    code = "invalid_request"
    exit_status = 2
    meaning = "The shape or the parameters of the request are invalid."


class ObjectNotFound(PamError):
    code = "object_not_found"
    exit_status = 3
    meaning = "The object is absent or not visible in the scope."


class ScopeNotFound(PamError):
    code = "scope_not_found"
    exit_status = 3
    meaning = "The scope, or the store that would hold it, is absent or not visible."


class SnapshotNotFound(PamError):
    code = "snapshot_not_found"
    exit_status = 3
    meaning = "The snapshot does not exist or is not visible."


class VersionConflict(PamError):
    code = "version_conflict"
    retryable = True
    exit_status = 4
    meaning = "The expected version is stale or mismatched; fetch, merge and try again."


class DuplicateOperation(PamError):
    code = "duplicate_operation"
    exit_status = 5
    meaning = "The idempotency key was used before with another request."


class InvalidStateTransition(PamError):
    code = "invalid_state_transition"
    exit_status = 6
    meaning = "The requested transition is not allowed."


class RelationshipConflict(PamError):
    code = "relationship_conflict"
    exit_status = 6
    meaning = "The relationship operation conflicts with state or policy."


class AccessDenied(PamError):
    code = "access_denied"
    exit_status = 7
    meaning = "The actor lacks authorization."


class PolicyDenied(PamError):
    code = "policy_denied"
    exit_status = 7
    meaning = "A policy blocks the operation."


class RetentionRestriction(PamError):
    code = "retention_restriction"
    exit_status = 8
    meaning = "Retention policy restricts redaction, deletion or export."


class LegalHold(PamError):
    code = "legal_hold"
    exit_status = 8
    meaning = "A legal hold blocks the operation."


class ObjectRedacted(PamError):
    code = "object_redacted"
    exit_status = 9
    meaning = "The content of the object is redacted for this request."


class ObjectDeleted(PamError):
    code = "object_deleted"
    exit_status = 9
    meaning = "The object has been deleted; a tombstone remains."


class InvalidObject(PamError):
    code = "invalid_object"
    exit_status = 10
    meaning = "The envelope or the content of the object violates the model."


class UnsupportedObjectType(PamError):
    code = "unsupported_object_type"
    exit_status = 10
    meaning = "The object type is not supported."


class EmbeddingSpaceMismatch(PamError):
    code = "embedding_space_mismatch"
    exit_status = 10
    meaning = "The query or comparison uses incompatible Embedding Spaces."


class ServiceUnavailable(PamError):
    code = "service_unavailable"
    retryable = True
    exit_status = 75
    meaning = "The operation cannot be completed now; try again."


class SubscriptionClosed(ObjectDeleted):
    """A subscription was closed. `details` say why, and how far delivery went, so that
    another one can go on from there."""


class StoreNotFound(ScopeNotFound):
    """There is no `.pam` directory here or above: exit status 3."""


class UnknownFormat(InvalidRequest):
    """The store, or a file in it, has a format version that this pamctl does not know."""


class StoreDamaged(InternalError):
    """Stored bytes do not say what they must; `pamctl fsck` tells what and where."""


CODES: tuple[type[PamError], ...] = (
    InternalError,
    InvalidRequest,
    ObjectNotFound,
    ScopeNotFound,
    SnapshotNotFound,
    VersionConflict,
    DuplicateOperation,
    InvalidStateTransition,
    RelationshipConflict,
    AccessDenied,
    PolicyDenied,
    RetentionRestriction,
    LegalHold,
    ObjectRedacted,
    ObjectDeleted,
    InvalidObject,
    UnsupportedObjectType,
    EmbeddingSpaceMismatch,
    ServiceUnavailable,
)
"""One class for each of the nineteen codes of PAMSPEC §14, in order of exit status."""

EXIT_CHECK_FAILED = 11
"""A check ran and its verdict is no."""

EXIT_INTERRUPTED = 130
"""Ended by Ctrl-C."""
