"""Why a record is refused: the closed list of reasons, and a verdict's shape."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, get_args

Reason = Literal[
    "record_invalid",
    "signature_invalid",
    "adapter_key_not_pinned",
    "adapter_key_revoked",
    "adapter_key_expired",
    "adapter_key_not_yet_valid",
    "adapter_mismatch",
    "source_profile_mismatch",
    "context_frame_profile_mismatch",
    "projection_stale",
    "trust_snapshot_stale",
    "timestamp_order_invalid",
    "projection_replay",
    "recall_request_digest_mismatch",
    "selection_policy_digest_mismatch",
    "trust_snapshot_digest_mismatch",
    "source_object_digest_mismatch",
    "native_source_result_mismatch",
    "fragment_digest_mismatch",
    "projection_fragment_concatenation_mismatch",
    "projection_length_mismatch",
    "projection_digest_mismatch",
    "projection_not_utf8",
    "delivered_order_invalid",
    "exclusion_count_mismatch",
    "nonclaim_invalid",
    "material_missing",
]
REASONS: tuple[str, ...] = get_args(Reason)
"""Every reason a verdict can give. Scripts rely on it: a reason is never renamed."""

Scope = Literal["SIGNED_ENVELOPE_ONLY", "FULL_PROJECTION_AND_NATIVE_SOURCE_RESULTS"]
ENVELOPE_ONLY: Scope = "SIGNED_ENVELOPE_ONLY"
FULL: Scope = "FULL_PROJECTION_AND_NATIVE_SOURCE_RESULTS"


class Verdict(TypedDict):
    """The answer about one record.

    record: what the caller calls it: a path, or the projection id.
    valid: whether everything in `verification_scope` holds.
    verification_scope: what was verified, or was to be.
    reason: why it is refused; None when it is valid.
    details: facts that let a person act; never content.
    """

    record: str
    valid: bool
    verification_scope: Scope
    reason: Reason | None
    details: dict[str, Any]


class Refusal(Exception):
    """A step of the verifier says no. `verify` turns it into a verdict; it goes no further."""

    def __init__(self, reason: Reason, problem: str, **details: Any) -> None:
        super().__init__(problem)
        self.reason: Reason = reason
        self.details = {"problem": problem, **details}
