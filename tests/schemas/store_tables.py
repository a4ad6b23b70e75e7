"""What the documents of the store, of the lines in and out and of a relying party accept."""

from __future__ import annotations

from typing import Any

from pamctl.limits import IDEMPOTENCY_KEY_CHARS_MAX, IDENTIFIER_CHARS_MAX
from tests.schemas.instances import (
    ACTOR,
    DELEGATION,
    DIGEST,
    ENVELOPE,
    ERROR,
    EVENT,
    LATER,
    NOON,
    NOTE_SCHEMA,
    POLICY,
    RELATIONSHIP,
    SNAPSHOT,
    SPACE,
)
from tests.schemas.tables import MISSING, Fault, Table, edited, merged

SALT = "A" * 22
VERSION_FILE: dict[str, Any] = {"envelope": ENVELOPE, "salt": SALT}


def _remainder(envelope: dict[str, Any]) -> dict[str, Any]:
    gone = ("canonical_content", "integrity", "quality_signals")
    kept = {name: member for name, member in envelope.items() if name not in gone}
    kept["provenance"] = {n: m for n, m in kept["provenance"].items() if n != "integrity_ref"}
    return kept


ERASED = {"address": DIGEST, "event_id": "evt:9", "erased_at": LATER}
ERASURE = merged(ERASED, {"version_id": "ver:1", "stub": DIGEST})
ERASED_LATER = merged(ERASURE, {"actor": ACTOR, "operation_id": "op:9", "policy_basis": "p"})
STUB: dict[str, Any] = {"envelope": _remainder(ENVELOPE), "erased": ERASED}


def _entry(kind: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    place = {"n": 4, "tx": 3, "i": 2, "of": 2, "prev": "0" * 64}
    return merged(place, {"kind": kind, "body": body}, more)


GOVERNED = {"policy": POLICY, "actor": ACTOR, "recorded_at": NOON}
DONE: dict[str, Any] = {
    "key": "k" * IDEMPOTENCY_KEY_CHARS_MAX,
    "operation": "create",
    "request_digest": DIGEST,
    "result": {"object_id": "mem:rose", "version_id": "ver:1", "ledger_sequence": 1},
}
FAILED = merged(DONE, {"error": ERROR, "salt": SALT})
del FAILED["result"]
IMPORTED = {
    "bundle": DIGEST,
    "origin": {"scope_id": "workspace:garden", "store_id": "store:1", "head": "0" * 64},
    "imported_at": NOON,
    "actor": ACTOR,
    "operation_id": "op:1",
    "from_entry": 3,
    "to_entry": 9,
}
FIRST = {
    "store_id": "store:1",
    "scope_id": "workspace:garden",
    "scope_kind": "workspace",
    "created_at": NOON,
}
BY_ACTOR = {"actor": ACTOR, "recorded_at": NOON}
ENTRY = _entry("event", EVENT, version=DIGEST)
QUIET_EVENT = edited(edited(EVENT, "/version_id", MISSING), "/event_type", "access_denied")


def _body_fault(kind: str, body: dict[str, Any], at: str) -> Fault:
    """A whole entry of another kind, at fault at the pointer."""
    return Fault("", _entry(kind, body), at)


KEY = {
    "public_key_hex": "0a" * 32,
    "status": "active",
    "valid_from": NOON,
    "valid_to": None,
    "adapter_id": "urn:example:adapter",
}
TRUST: dict[str, Any] = {
    "adapter_keys": {"key-1": KEY},
    "max_projection_age_sec": 300,
    "max_trust_age_sec": 0,
    "max_clock_skew_sec": 5,
    "expected_source_profile": None,
    "single_use": True,
}

SELECTION: dict[str, Any] = {
    "filters": {"object_type": ["claim"], "lifecycle_state": "active", "where": ["sequence > 1"]},
    "text": "request",
    "order_by": ["committed_at:desc"],
    "trust": {"derived_trust": ["self", "trusted"], "custody_present": False},
    "provenance": {"evidence_at_least": 1, "source_confidence": {"at_least": 0.5}},
    "quality": {"assessed_confidence": {"at_least": 0.5, "at_most": 1}},
    "limits": {"objects": 8, "bytes": 4000, "tokens": 1000},
    "tokenizer": "o200k_base",
    "quotas": [{"by": "source_ref", "objects": 2}],
    "at_limit": "stop",
}

STORE_TABLES: dict[str, Table] = {
    "version-file": Table(
        "internal_error",
        [
            VERSION_FILE,
            {"envelope": RELATIONSHIP, "salt": SALT},
            {"envelope": DELEGATION, "salt": "_-" * 10 + "_g"},
        ],
        [
            Fault("/salt", MISSING),
            Fault("/salt", "A" * 21 + "B"),
            Fault("/salt", "A" * 24),
            Fault("/envelope", MISSING),
            Fault("/envelope/canonical_content", MISSING),
            Fault("/envelope/scope_id", MISSING),
            Fault("/envelope/relationship_id", "rel:1", "/envelope/object_id"),
            Fault("/erased", ERASED),
        ],
    ),
    "erasure-stub": Table(
        "internal_error",
        [
            STUB,
            {"envelope": _remainder(RELATIONSHIP), "erased": ERASED},
            {"envelope": _remainder(DELEGATION), "erased": ERASED},
        ],
        [
            Fault("/envelope/canonical_content", "left over"),
            Fault("/envelope/integrity", {"ledger_ref": "x"}),
            Fault("/envelope/quality_signals", {"staleness_score": 1}),
            Fault("/envelope/provenance/integrity_ref", "sha256:x"),
            Fault("/envelope/sequence", MISSING),
            Fault("/erased", MISSING),
            Fault("/erased/address", MISSING),
            Fault("/erased/address", "sha256:00"),
            Fault("/erased/event_id", MISSING),
            Fault("/erased/erased_at", "now"),
            Fault("/salt", SALT),
        ],
    ),
    "ledger-entry": Table(
        "internal_error",
        [
            ENTRY,
            _entry("event", QUIET_EVENT),
            _entry("scope", FIRST),
            _entry("scope", merged(FIRST, {"parent_scope_id": "workspace:home"})),
            _entry("policy", GOVERNED),
            _entry("idempotency", DONE),
            _entry("idempotency", FAILED),
            _entry("idempotency", merged(DONE, {"salt": SALT, "result": {"policy": POLICY}})),
            _entry("erasure", ERASURE),
            _entry("erasure", ERASED_LATER),
            _entry("snapshot", merged(BY_ACTOR, {"snapshot": SNAPSHOT, "sealed_at_sequence": 3})),
            _entry(
                "schema", merged(BY_ACTOR, {"schema_id": NOTE_SCHEMA, "schema": {"type": "object"}})
            ),
            _entry("space", merged(BY_ACTOR, {"space": SPACE})),
            _entry("checkpoint", merged(BY_ACTOR, {"checkpoint": "a\n1\nb\n"})),
            _entry("pack", {"name": "f" * 64, "versions": 4096}),
            _entry("pack", {"name": "f" * 64, "versions": 1, "replaces": "e" * 64}),
            _entry("pack", {"name": "f" * 64, "versions": 2, "loose": 2}),
            _entry("import", IMPORTED),
            _entry("merge", {}),
        ],
        [
            Fault("/n", MISSING),
            Fault("/n", 0),
            Fault("/tx", 1.0),
            Fault("/i", "2"),
            Fault("/of", MISSING),
            Fault("/prev", "0" * 63),
            Fault("/kind", "gossip"),
            Fault("/body", MISSING),
            Fault("/body/event_type", "object_made"),
            Fault("/body/event_id", MISSING),
            Fault("/version", MISSING),
            Fault("/version", "00" * 32),
            Fault("/time", NOON),
            Fault(
                "", _entry("pack", {"name": "f" * 64, "versions": 1}, version=DIGEST), "/version"
            ),
            _body_fault("pack", {"name": "f" * 64}, "/body/versions"),
            _body_fault("pack", {"name": "../../x", "versions": 1}, "/body/name"),
            _body_fault("scope", edited(FIRST, "/store_id", MISSING), "/body/store_id"),
            _body_fault("policy", edited(GOVERNED, "/actor", MISSING), "/body/actor"),
            _body_fault(
                "policy",
                edited(GOVERNED, "/policy/default_effect", 1),
                "/body/policy/default_effect",
            ),
            _body_fault("idempotency", edited(DONE, "/key", ""), "/body/key"),
            _body_fault("idempotency", edited(DONE, "/result", MISSING), "/body/result"),
            _body_fault(
                "idempotency", edited(DONE, "/result/envelope", ENVELOPE), "/body/result/envelope"
            ),
            _body_fault("idempotency", edited(FAILED, "/salt", MISSING), "/body/salt"),
            _body_fault("idempotency", edited(FAILED, "/result", {}), "/body/result"),
            _body_fault("erasure", edited(ERASURE, "/event_id", MISSING), "/body/event_id"),
            _body_fault("erasure", edited(ERASURE, "/stub", MISSING), "/body/stub"),
            _body_fault("erasure", edited(ERASED_LATER, "/actor", "me"), "/body/actor"),
            _body_fault(
                "erasure", edited(ERASED_LATER, "/policy_basis", MISSING), "/body/policy_basis"
            ),
            _body_fault(
                "pack", {"name": "f" * 64, "versions": 1, "replaces": "x"}, "/body/replaces"
            ),
            _body_fault("pack", {"name": "f" * 64, "versions": 1, "loose": 0}, "/body/loose"),
            _body_fault("snapshot", BY_ACTOR | {"sealed_at_sequence": 3}, "/body/snapshot"),
            _body_fault(
                "snapshot", merged(BY_ACTOR, {"snapshot": SNAPSHOT}), "/body/sealed_at_sequence"
            ),
            _body_fault("schema", merged(BY_ACTOR, {"schema_id": NOTE_SCHEMA}), "/body/schema"),
            _body_fault(
                "schema", merged(BY_ACTOR, {"schema_id": "x", "schema": {}}), "/body/schema_id"
            ),
            _body_fault(
                "space", merged(BY_ACTOR, {"space": {}}), "/body/space/canonicalization_rules"
            ),
        ],
    ),
    "store": Table(
        "internal_error",
        [
            {
                "format": "pam-store",
                "format_version": 1,
                "store_id": "store:1",
                "created_at": NOON,
                "default_scope": "workspace:default",
                "auto_create_scopes": False,
                "max_projection_age_sec": 300,
            }
        ],
        [
            Fault("/format", "git"),
            Fault("/format_version", 2),
            Fault("/format_version", MISSING),
            Fault("/store_id", "1"),
            Fault("/auto_create_scopes", "no"),
            Fault("/max_projection_age_sec", -1),
            Fault("/default_scope", ""),
            Fault("/color", "red"),
        ],
    ),
    "selection-policy": Table(
        "invalid_request",
        [
            SELECTION,
            {},
            {"quotas": [{"by": "actor_id", "objects": 0}], "at_limit": "refuse"},
            {"quality": {"staleness_score": {"at_most": 1, "missing": "accept"}}},
        ],
        [
            Fault("/filter", {}),
            Fault("/filters/object_id", "mem:x"),
            Fault("/filters/lifecycle_state", "asleep"),
            Fault("/text", None),
            Fault("/order_by", "sequence"),
            Fault("/trust", {}),
            Fault("/trust/derived_trust/0", "owner"),
            Fault("/trust/custody_present", 1),
            Fault("/provenance/evidence_at_least", -1),
            Fault("/provenance/source_confidence", {}),
            Fault("/quality/assessed_confidence/at_least", 1.5),
            Fault("/quality/last_verified_at", {"at_least": 1}),
            Fault("/limits/objects", 1.0),
            Fault("/limits/words", 1),
            Fault("/tokenizer", "words"),
            Fault("/quotas/0/by", MISSING),
            Fault("/quotas/0/objects", MISSING, "/quotas/0"),
            Fault("/quotas/0/by", "canonical_content"),
            Fault("/at_limit", "truncate"),
        ],
    ),
    "trust-policy": Table(
        "invalid_request",
        [
            TRUST,
            {"adapter_keys": {}, "max_projection_age_sec": 1, "max_trust_age_sec": 1},
            edited(
                TRUST,
                "/adapter_keys/key-1",
                {"public_key_pem": "-----BEGIN", "status": "revoked", "revoked_at": LATER},
            ),
            edited(
                TRUST,
                "/adapter_keys/key-1",
                {
                    "public_key_spki_b64u": "M" * 59,
                    "status": "compromised",
                    "key_id": "key-1",
                    "alg": "Ed25519",
                },
            ),
        ],
        [
            Fault("/adapter_keys", MISSING),
            Fault("/max_projection_age_sec", MISSING),
            Fault("/max_trust_age_sec", MISSING),
            Fault("/max_trust_age_sec", 1.5),
            Fault("/adapter_keys/key-1/status", MISSING),
            Fault("/adapter_keys/key-1/status", "fine"),
            Fault("/adapter_keys/key-1/public_key_hex", MISSING, "/adapter_keys/key-1"),
            Fault("/adapter_keys/key-1/public_key_pem", "-----BEGIN", "/adapter_keys/key-1"),
            Fault("/adapter_keys/key-1/public_key_hex", "0a"),
            Fault("/adapter_keys/key-1/valid_from", "2026-03-01T12:00:00"),
            Fault("/adapter_keys/key-1/alg", "RSA"),
            Fault("/adapter_keys/key-1/adapter_id", "adapter one"),
            Fault("/adapter_keys/" + "k" * 1025, KEY, "/adapter_keys"),
            Fault("/expected_source_profile", ""),
            Fault("/single_use", 1),
            Fault("/max_age", 3),
        ],
    ),
    "batch-request": Table(
        "invalid_request",
        [
            {"operation": "create", "arguments": {"anything": 1}, "request_id": "r1"},
            {"operation": "status"},
            {"operation": "status", "request_id": 7},
        ],
        [
            Fault("/operation", MISSING),
            Fault("/operation", ""),
            Fault("/arguments", []),
            Fault("/request_id", {}),
            Fault("/request_id", "r" * (IDENTIFIER_CHARS_MAX + 1)),
            Fault("/method", "create"),
            Fault("", ["create"]),
        ],
    ),
    "subscription-cursor": Table(
        "internal_error",
        [
            {
                "subscription_id": "sub:1",
                "delivered_sequence": 4,
                "acknowledged_sequence": 3,
                "acknowledged_event_id": "evt:3",
            },
            {"subscription_id": "sub:1", "delivered_sequence": 2, "acknowledged_sequence": 0},
        ],
        [
            Fault("/subscription_id", MISSING),
            Fault("/delivered_sequence", MISSING),
            Fault("/acknowledged_sequence", -1),
            Fault("/acknowledged_event_id", 3),
            Fault("/sequence", 3),
        ],
    ),
    "batch-result": Table(
        "invalid_object",
        [
            {"line": 1, "request_id": "r1", "result": {"items": []}},
            {"request_id": None, "error": edited(ERROR, "/operation_id", MISSING)},
            {"line": 3, "error": ERROR},
        ],
        [
            Fault("/result", MISSING, ""),
            Fault("/error", ERROR, ""),
            Fault("/line", 0),
            Fault("", {"error": edited(ERROR, "/code", "oops")}, "/error/code"),
            Fault("/status", "ok"),
        ],
    ),
}
