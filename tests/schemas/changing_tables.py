"""The operations that change memories: what they accept as arguments."""

from __future__ import annotations

from typing import Any

from tests.schemas.instances import (
    ACTOR,
    AGENT,
    INTEGRITY,
    INVOCATION,
    LATER,
    NOON,
    QUALITY,
    STATEMENT,
    STATES,
)
from tests.schemas.requests import HERE, KEYED, ROSE, WRITING_FAULTS
from tests.schemas.tables import MISSING, Fault, Table, edited, merged

AT_VERSION: dict[str, Any] = merged(ROSE, KEYED, {"expected_version_id": "ver:1", "actor": ACTOR})

CREATE: dict[str, Any] = merged(
    ROSE,
    STATES,
    KEYED,
    {
        "object_type": "claim",
        "canonical_content": {"statement": "The rose needs pruning."},
        "schema_id": "https://example.org/schemas/claim",
        "actor": AGENT,
        "provenance": STATEMENT,
        "observed_at": NOON,
        "asserted_at": LATER,
        "valid_from": NOON,
        "valid_until": LATER,
        "quality_signals": QUALITY,
        "integrity": INTEGRITY,
        "relationship_refs": ["rel:1"],
        "expect_absent": True,
    },
)

BARE_CREATE = {
    name: CREATE[name]
    for name in ("scope_id", "object_type", "canonical_content", "actor", "provenance")
}

UPDATE = merged(
    AT_VERSION,
    {"provenance": STATEMENT, "canonical_content": None, "quality_signals": QUALITY},
)

METADATA = edited(UPDATE, "/canonical_content", MISSING)

PATCH = [
    {"op": "test", "path": "", "value": {}},
    {"op": "add", "path": "/a~1b/~0/0", "value": None, "comment": "RFC 6902 ignores this"},
    {"op": "move", "from": "/a", "path": "/b"},
]

PATCHED = merged(METADATA, {"json_patch": PATCH})

TRANSITION = merged(
    AT_VERSION,
    {
        "dimension": "lifecycle",
        "target_state": "archived",
        "policy_basis": "policy:1",
        "provenance": STATEMENT,
        "override": "rule:review",
    },
)

RELATIONSHIP_AT_VERSION = merged(
    edited(AT_VERSION, "/object_id", MISSING), {"relationship_id": "rel:1"}
)

RELATE: dict[str, Any] = merged(
    HERE,
    STATES,
    KEYED,
    {
        "relationship_id": "rel:1",
        "source_object_id": "mem:rose",
        "target_object_id": "mem:plan",
        "target_scope_id": "workspace:home",
        "relationship_type": "org.example.garden.shades",
        "directionality": "undirected",
        "canonical_content": None,
        "observed_at": NOON,
        "asserted_at": LATER,
        "valid_from": NOON,
        "valid_until": LATER,
        "integrity": INTEGRITY,
        "policy_basis": "policy:neighbours",
        "actor": ACTOR,
        "provenance": STATEMENT,
    },
)

BARE_RELATE = {
    name: RELATE[name]
    for name in (
        "scope_id",
        "source_object_id",
        "target_object_id",
        "relationship_type",
        "actor",
        "provenance",
    )
}

UPDATE_RELATIONSHIP = merged(RELATIONSHIP_AT_VERSION, {"provenance": STATEMENT})

PROMOTE: dict[str, Any] = merged(
    HERE,
    KEYED,
    {
        "source_object_id": "mem:draft",
        "expected_version_id": "ver:1",
        "target_object_type": "task",
        "target_canonical_content": {"title": "Prune the rose."},
        "target_object_id": "mem:prune",
        "target_schema_id": "urn:example:task",
        "target_lifecycle_state": "candidate",
        "target_validation_state": "unverified",
        "policy_basis": "policy:1",
        "actor": AGENT,
        "provenance": STATEMENT,
    },
)

VERSION_FAULTS = [
    *WRITING_FAULTS,
    Fault("/object_id", MISSING),
    Fault("/expected_version_id", MISSING),
    Fault("/expected_version_id", 1),
]

PROVENANCE_FAULTS = [
    Fault("/provenance/activity", MISSING, code="invalid_object"),
    Fault(
        "/provenance/actor", {"actor_id": "a:b"}, "/provenance/actor/actor_kind", "invalid_object"
    ),
    Fault("/provenance/why", "because", code="invalid_object"),
    Fault("/provenance", "created", code="invalid_object"),
]

METADATA_FAULTS = [
    Fault("/observed_at", "2026-03-01"),
    Fault("/valid_until", "2026-03-01T12:00:00+24:00"),
    Fault("/quality_signals/evidence_strength", 1.01, code="invalid_object"),
    Fault("/integrity", {"signature": "c2ln"}, "/integrity/algorithm", "invalid_object"),
    Fault("/integrity", {}, code="invalid_object"),
]

CHANGING: dict[str, Table] = {
    "create": Table(
        "invalid_request",
        [
            CREATE,
            BARE_CREATE,
            edited(BARE_CREATE, "/canonical_content", None),
            merged(
                BARE_CREATE, {"object_type": "tool_invocation", "canonical_content": INVOCATION}
            ),
            merged(BARE_CREATE, {"object_type": "org.example.bed", "schema_id": "urn:example:bed"}),
        ],
        [
            *WRITING_FAULTS,
            *PROVENANCE_FAULTS,
            *METADATA_FAULTS,
            Fault("/provenance", MISSING),
            Fault("/object_type", MISSING),
            Fault("/canonical_content", MISSING),
            Fault("/object_type", "claims", code="unsupported_object_type"),
            Fault("/object_type", "Claim", code="unsupported_object_type"),
            Fault("/object_type", "example.claim", code="unsupported_object_type"),
            Fault("/object_type", "", code="unsupported_object_type"),
            Fault("/object_type", 3),
            Fault(
                "",
                merged(BARE_CREATE, {"object_type": "org.example.bed"}),
                "/schema_id",
                "invalid_object",
            ),
            Fault(
                "/object_type", "working_memory", "/canonical_content/statement", "invalid_object"
            ),
            Fault(
                "",
                merged(BARE_CREATE, {"object_type": "tool_result", "canonical_content": "ok"}),
                "/canonical_content",
                "invalid_object",
            ),
            Fault("/lifecycle_state", "activ"),
            Fault("/validation_state", ["corroborated"]),
            Fault("/schema_id", "claim schema"),
            Fault("/relationship_refs", "rel:1"),
            Fault("/expect_absent", 1),
            Fault("/sequence", 1),
        ],
    ),
    "update": Table(
        "invalid_request",
        [
            UPDATE,
            PATCHED,
            merged(METADATA, {"merge_patch": {"statement": None}}),
            merged(METADATA, {"quality_signals": QUALITY, "valid_until": NOON}),
            METADATA,
        ],
        [
            *VERSION_FAULTS,
            *PROVENANCE_FAULTS,
            *METADATA_FAULTS,
            Fault("/provenance", MISSING),
            Fault("/json_patch", PATCH),
            Fault("/merge_patch", {}),
            Fault("", merged(PATCHED, {"merge_patch": 1}), "/merge_patch"),
            Fault("", edited(PATCHED, "/json_patch/0/op", "put"), "/json_patch/0/op"),
            Fault("", edited(PATCHED, "/json_patch/0/value", MISSING), "/json_patch/0/value"),
            Fault("", edited(PATCHED, "/json_patch/1/path", "a"), "/json_patch/1/path"),
            Fault("", edited(PATCHED, "/json_patch/1/path", "/a~2"), "/json_patch/1/path"),
            Fault("", edited(PATCHED, "/json_patch/2/from", MISSING), "/json_patch/2/from"),
            Fault("", edited(PATCHED, "/json_patch", {}), "/json_patch"),
            Fault("/object_type", "decision"),
            Fault("/lifecycle_state", "archived"),
        ],
    ),
    "transition": Table(
        "invalid_request",
        [
            TRANSITION,
            merged(TRANSITION, {"target_state": "redacted"}),
            merged(
                RELATIONSHIP_AT_VERSION, {"dimension": "validation", "target_state": "rejected"}
            ),
        ],
        [
            Fault("/relationship_id", "rel:1"),
            *VERSION_FAULTS,
            *PROVENANCE_FAULTS,
            Fault("/dimension", MISSING),
            Fault("/dimension", "life cycle"),
            Fault("/target_state", MISSING),
            Fault("/target_state", "gone"),
            Fault("/policy_basis", ""),
            Fault("/override", ""),
            Fault("/canonical_content", 1),
        ],
    ),
    "relate": Table(
        "invalid_request",
        [RELATE, BARE_RELATE, UPDATE_RELATIONSHIP],
        [
            *WRITING_FAULTS,
            *PROVENANCE_FAULTS,
            Fault("/provenance", MISSING),
            Fault("/source_object_id", MISSING),
            Fault("/source_object_id", "rose"),
            Fault("/target_object_id", MISSING),
            Fault("/target_scope_id", "home"),
            Fault("/relationship_type", MISSING),
            Fault("/relationship_type", ""),
            Fault("/directionality", "both"),
            Fault("/validation_state", "active"),
            Fault("/valid_from", "2026-03-01"),
            Fault("/integrity", {}, code="invalid_object"),
            Fault("/policy_basis", ""),
            Fault(
                "",
                edited(UPDATE_RELATIONSHIP, "/relationship_id", MISSING),
                "/relationship_id",
            ),
            Fault("/object_id", "mem:rose"),
            Fault("/quality_signals", QUALITY),
        ],
    ),
    "promote": Table(
        "invalid_request",
        [
            PROMOTE,
            merged(PROMOTE, {"target_canonical_content": None}),
            merged(
                PROMOTE,
                {"target_object_type": "tool_invocation", "target_canonical_content": INVOCATION},
            ),
            merged(PROMOTE, {"target_object_type": "org.example.bed"}),
        ],
        [
            *WRITING_FAULTS,
            *PROVENANCE_FAULTS,
            Fault("/provenance", MISSING),
            Fault("/source_object_id", MISSING),
            Fault("/expected_version_id", MISSING),
            Fault("/target_object_type", MISSING),
            Fault("/target_object_type", "note", code="unsupported_object_type"),
            Fault("/target_canonical_content", MISSING),
            Fault(
                "/target_object_type",
                "tool_result",
                "/target_canonical_content/title",
                "invalid_object",
            ),
            Fault(
                "",
                edited(
                    merged(PROMOTE, {"target_object_type": "org.example.bed"}),
                    "/target_schema_id",
                    MISSING,
                ),
                "/target_schema_id",
                "invalid_object",
            ),
            Fault("/target_lifecycle_state", "available"),
            Fault("/target_validation_state", "true"),
            Fault("/target_retention_state", "retained"),
            Fault("/policy_basis", ""),
        ],
    ),
    "delete": Table(
        "invalid_request",
        [
            merged(AT_VERSION, {"policy_basis": "policy:1", "provenance": STATEMENT}),
            merged(AT_VERSION, {"erase": True}),
            AT_VERSION,
            RELATIONSHIP_AT_VERSION,
        ],
        [
            Fault("/relationship_id", "rel:1"),
            *VERSION_FAULTS,
            *PROVENANCE_FAULTS,
            Fault("/policy_basis", 1),
            Fault("/erase", "yes"),
        ],
    ),
    "redact": Table(
        "invalid_request",
        [
            merged(
                AT_VERSION,
                {
                    "paths": ["/name", "/a~1b/~0/0", "/"],
                    "erase": True,
                    "policy_basis": "policy:1",
                    "provenance": STATEMENT,
                },
            ),
            AT_VERSION,
            RELATIONSHIP_AT_VERSION,
        ],
        [
            Fault("/relationship_id", "rel:1"),
            *VERSION_FAULTS,
            *PROVENANCE_FAULTS,
            Fault("/policy_basis", 1),
            Fault("/erase", 1),
            Fault("/paths", []),
            Fault("/paths", "/name"),
            Fault("/paths", ["/name", "/name"]),
            Fault("/paths", [""], "/paths/0"),
            Fault("/paths", ["name"], "/paths/0"),
            Fault("/paths", ["/~2"], "/paths/0"),
        ],
    ),
    "expire": Table(
        "invalid_request",
        [
            merged(HERE, {"actor": ACTOR, "operation_id": "op:1", "dry_run": True, "limit": 9}),
            merged(HERE, {"actor": ACTOR}),
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/actor", MISSING),
            Fault("/dry_run", "yes"),
            Fault("/limit", 0),
            Fault("/object_id", "mem:rose"),
        ],
    ),
}
