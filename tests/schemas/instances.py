"""Valid instances of the documents that PAMSPEC and MPR define."""

from __future__ import annotations

from typing import Any

from pamctl.limits import PAGE_ITEMS_MAX
from tests.schemas.tables import merged

NOON = "2026-03-01T12:00:00Z"
NOTE_SCHEMA = "https://example.com/schemas/note"
LATER = "2026-03-01T13:00:00.5+01:00"
ACTOR = {"actor_id": "actor:local:user", "actor_kind": "human"}
AGENT: dict[str, Any] = {
    "actor_id": "actor:agent:gardener",
    "actor_kind": "agent",
    "display_name": "Gardener",
    "on_behalf_of_actor_id": "actor:local:user",
    "delegation_id": "del:gardener:1",
    "attestation": {
        "agent_manifest_ref": "https://example.org/gardener.json",
        "attestation_method": "sigstore",
        "not_before": NOON,
        "not_after": "2026-04-01T12:00:00Z",
        "capabilities_declared": ["read", "create"],
    },
}
STATEMENT = {"activity": "created", "source_ref": "file:garden.md", "source_confidence": 0.75}
PROVENANCE = merged(
    STATEMENT, {"provenance_id": "prov:1", "actor": ACTOR, "recorded_at": NOON, "evidence_refs": []}
)
INTEGRITY = {"digest": "sha256:00", "algorithm": "sha-256", "canonicalization_profile": "rfc8785"}
QUALITY = {"assessed_confidence": 1, "staleness_score": 0.0, "last_verified_at": LATER}
STATES = {
    "lifecycle_state": "active",
    "availability_state": "available",
    "retention_state": "retained",
    "validation_state": "unverified",
}
VERSION: dict[str, Any] = merged(
    STATES,
    {
        "spec_version": "0.1.0-draft",
        "version_id": "ver:1",
        "scope_id": "workspace:garden",
        "committed_at": NOON,
        "recorded_at": NOON,
        "sequence": 1,
        "actor": ACTOR,
        "provenance": PROVENANCE,
    },
)
INVOCATION = {
    "tool_name": "almanac",
    "arguments": {"month": 3},
    "safety_check_outcome": {"outcome": "allowed"},
}
RESULT = {
    "invocation_object_id": "mem:call:1",
    "outcome": "success",
    "result": [1, "two", None],
    "latency_ms": 12,
    "cost": {"amount": 0.002, "currency": "EUR"},
}
WORKING = {"task_ref": "task:prune", "content": None, "promotion_hint": {"confidence": 0.5}}
ENVELOPE: dict[str, Any] = merged(
    VERSION,
    {
        "object_id": "mem:rose",
        "object_type": "claim",
        "canonical_content": {"statement": "The rose needs pruning."},
        "observed_at": NOON,
        "valid_from": LATER,
        "relationship_refs": ["rel:1"],
        "integrity": INTEGRITY,
        "quality_signals": QUALITY,
    },
)
RELATIONSHIP: dict[str, Any] = merged(
    VERSION,
    {
        "relationship_id": "rel:1",
        "relationship_type": "supports",
        "source_object_id": "mem:rose",
        "target_object_id": "mem:plan",
        "directionality": "directed",
        "canonical_content": None,
    },
)
DELEGATION: dict[str, Any] = merged(
    VERSION,
    {
        "delegation_id": "del:gardener:1",
        "granting_actor": ACTOR,
        "delegated_actor": AGENT,
        "granted_operations": ["read", "create"],
        "granted_object_types": ["observation", "org.example.garden.bed"],
        "policy_basis": "policy:helpers",
        "not_before": NOON,
        "not_after": LATER,
        "usage_limit": 3,
    },
)
EVENT: dict[str, Any] = {
    "event_id": "evt:1",
    "operation_id": "op:1",
    "scope_id": "workspace:garden",
    "object_id": "mem:rose",
    "version_id": "ver:1",
    "event_type": "object_created",
    "recorded_at": NOON,
    "sequence": 1,
    "actor": ACTOR,
    "payload": {"anything": {"goes": True}},
}
SPACE = {
    "embedding_space_id": "space:small:1",
    "provider": "local",
    "model": "small",
    "model_revision": "1",
    "dimensions": 384,
    "distance_metric": "cosine",
    "normalization": "l2",
    "preprocessing_profile": "none",
    "embedding_kind": "text",
    "canonicalization_rules": "UTF-8, as it is",
}
QUERY: dict[str, Any] = {
    "operation_id": "op:1",
    "scope_id": "workspace:garden",
    "query": {"kind": "structured", "text": "rose", "filters": {"object_type": ["claim"]}},
    "pagination": {"limit": PAGE_ITEMS_MAX},
    "ordering": {"order_by": ["relevance", "sequence:desc"], "tie_break": ["object_id"]},
}
SNAPSHOT = {
    "snapshot_id": "snap:1",
    "scope_id": "workspace:garden",
    "sealed": True,
    "created_at": NOON,
    "ledger_sequence_high_watermark": 0,
    "included_object_ids": ["mem:rose"],
    "deterministic_clock": {"clock_ref": "clock:frozen", "start_at": NOON, "tick_ms": 1},
    "deterministic_rng_seed": -7,
    "digest": "sha256:00",
    "digest_algorithm": "sha-256",
}
SUBSCRIPTION: dict[str, Any] = {
    "subscription_id": "sub:1",
    "scope_id": "workspace:garden",
    "actor": AGENT,
    "filter": {"event_classes": ["object_created"], "predicate": {"any": 1}},
    "start_sequence": 0,
    "delivery": {"batching_max_events": 10, "backpressure_policy": "block"},
}
POLICY: dict[str, Any] = {
    "policy_version": 1,
    "default_effect": "deny",
    "default_policy_basis": "policy:house",
    "rules": [
        {
            "rule_id": "rule:readers",
            "effect": "allow",
            "actors": ["actor:local:*"],
            "actor_kinds": ["human", "agent"],
            "operations": ["read", "set_policy"],
            "object_types": ["claim"],
            "dimensions": ["lifecycle"],
            "target_states": ["active"],
        }
    ],
    "overrides": [
        {
            "rule_id": "rule:review",
            "dimension": "lifecycle",
            "from": ["deprecated"],
            "to": ["active"],
            "condition": "review",
        }
    ],
    "cross_scope": [
        {
            "rule_id": "rule:shed",
            "direction": "out",
            "scopes": ["workspace:shed"],
            "operations": ["relate"],
            "actors": ["actor:local:*"],
        }
    ],
    "retention": [
        {
            "rule_id": "rule:tidy",
            "object_types": ["observation"],
            "expires_after_sec": 86400,
            "may_erase": True,
            "erase_on_delete": True,
        },
        {"rule_id": "rule:keep", "actors": ["actor:agent:*"], "may_erase": False},
    ],
    "read_audit": True,
}
SCOPE = {"scope_id": "workspace:garden", "scope_kind": "workspace", "policy": POLICY}
ERROR = {
    "code": "version_conflict",
    "message": "It moved on.",
    "retryable": True,
    "operation_id": "",
    "details": {"current_version_id": "ver:2"},
    "policy_rule_id": "rule:1",
}
DIGEST = "sha256:" + "0" * 64
ENTRY: dict[str, Any] = {
    "position": 0,
    "object": {"format_version": 1, "sealed_object_digest": DIGEST},
    "context_fragment_digest": DIGEST,
    "derived_trust": "trusted",
    "authorship": "attested",
    "author_key_id_b64u": "0FMJy9O1Xzs",
    "custody_present": True,
}
UNKNOWN_ENTRY = merged(
    ENTRY,
    {"derived_trust": "unverified", "authorship": "unknown", "author_key_id_b64u": None},
)
NONCLAIMS = dict.fromkeys(
    ("model_use", "action_linkage", "action_authorization", "execution_outcome"), "NOT_ESTABLISHED"
)
RECORD: dict[str, Any] = {
    "@version": "MEMORY-PROJECTION-RECORD-v1",
    "source_profile": "urn:example:profile",
    "projection_id": "urn:example:projection:1",
    "created_at": NOON,
    "adapter": {"id": "urn:example:adapter", "key_id": "key-1"},
    "selection_context": {
        "recall_request_digest": DIGEST,
        "selection_policy_digest": DIGEST,
        "trust_snapshot_digest": DIGEST,
        "trust_evaluated_at": "2026-03-01T12:00:00+00:00",
        "context_frame_profile": "urn:example:frame",
    },
    "delivered": [ENTRY, UNKNOWN_ENTRY],
    "exclusions": {
        "total": 1,
        "by_reason": {
            "authentication_failed": 0,
            "schema_invalid": 0,
            "policy_filtered": 1,
            "context_limit": 0,
        },
    },
    "projection": {"encoding": "utf-8", "byte_length": 12, "digest": DIGEST},
    "nonclaims": NONCLAIMS,
    "proof": {"alg": "Ed25519", "key_id": "key-1", "signature_b64u": "A" * 86},
}
