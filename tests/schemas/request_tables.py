"""What the operations accept as arguments."""

from __future__ import annotations

from typing import Any

from pamctl.limits import (
    IDEMPOTENCY_KEY_CHARS_MAX,
    PAGE_ITEMS_MAX,
    TRAVERSAL_DEPTH_MAX,
    WHERE_CHARS_MAX,
)
from tests.schemas.instances import (
    ACTOR,
    AGENT,
    INTEGRITY,
    INVOCATION,
    LATER,
    NOON,
    POLICY,
    QUALITY,
    STATEMENT,
    STATES,
    SUBSCRIPTION,
)
from tests.schemas.tables import MISSING, Fault, Table, edited, merged

HERE = {"scope_id": "workspace:garden"}
ROSE = merged(HERE, {"object_id": "mem:rose"})
KEYED = {"operation_id": "op:1", "idempotency_key": "k" * IDEMPOTENCY_KEY_CHARS_MAX}
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
FILTERS: dict[str, Any] = merged(
    HERE,
    {
        "actor": ACTOR,
        "object_type": ["claim", "org.example.garden.bed"],
        "lifecycle_state": ["active", "candidate"],
        "availability_state": "available",
        "retention_state": "retained",
        "validation_state": "corroborated",
        "any_state": False,
        "schema_id": ["urn:example:bed"],
        "provenance_id": ["prov:1"],
        "actor_id": "actor:local:user",
        "source_ref": ["file:garden.md"],
        "object_id": ["mem:rose"],
        "version_id": ["ver:1"],
        "activity": "observed",
        "actor_kind": "human",
        "on_behalf_of_actor_id": ["actor:local:user"],
        "evidence_ref": ["file:garden.md", "urn:letter"],
        "transformation_parent": "ver:0",
        "source_confidence": {"from": 0.25, "until": 1},
        "integrity_digest": ["ab"],
        "integrity_algorithm": "sha256",
        "integrity_ref": ["urn:seal:1"],
        "relationship_ref": ["rel:1"],
        "where": ["content.height > 2"],
        "related_to": {
            "object_id": "mem:rose",
            "relationship_types": ["supports"],
            "direction": "out",
            "depth": 2,
        },
        "relationship_type": ["supports", "part_of"],
        "relationships": False,
        "text": "rose",
        "embedding_space_id": "space:small:1",
        "vector": [0.5, -1],
        "like_object_id": "mem:rose",
        "hybrid": False,
        "search": "approximate",
        "temporal": {"basis": "observed_at", "from": NOON, "until": LATER},
        "as_of": 12,
        "order_by": ["relevance", "observed_at:desc"],
        "limit": PAGE_ITEMS_MAX,
        "cursor": "c",
        "count": True,
        "explain": False,
        "snippets": True,
        "operation_id": "op:1",
    },
)
GRANT: dict[str, Any] = merged(
    HERE,
    KEYED,
    {
        "granting_actor": ACTOR,
        "delegated_actor": AGENT,
        "granted_operations": ["read", "query"],
        "policy_basis": "policy:helpers",
        "not_before": NOON,
        "not_after": LATER,
        "granted_object_types": ["claim", "org.example.garden.bed"],
        "granted_object_ids": ["mem:rose"],
        "target_scope_id": "workspace:shed",
        "revocable": False,
        "usage_limit": 3,
        "actor": dict(ACTOR),
        "provenance": STATEMENT,
    },
)
GRANTED = (
    *("scope_id", "granting_actor", "delegated_actor", "granted_operations"),
    *("policy_basis", "not_after"),
)
CHECK: dict[str, Any] = merged(
    HERE,
    KEYED,
    {
        "delegation_id": "del:1",
        "delegated_actor_id": "actor:agent:gardener",
        "operation": "read",
        "object_id": "mem:rose",
        "object_type": "claim",
        "actor": ACTOR,
    },
)
CHECKED = ("scope_id", "delegation_id", "delegated_actor_id", "operation")
REVOKE: dict[str, Any] = merged(
    HERE,
    KEYED,
    {
        "delegation_id": "del:1",
        "actor": ACTOR,
        "expected_version_id": "ver:1",
        "policy_basis": "policy:1",
        "provenance": STATEMENT,
    },
)
WRITING_FAULTS = [
    Fault("/scope_id", MISSING),
    Fault("/scope_id", "garden"),
    Fault("/actor", MISSING),
    Fault("/actor/actor_id", MISSING, code="invalid_object"),
    Fault("/actor", "actor:local:user", code="invalid_object"),
    Fault("/operation_id", 4),
    Fault("/idempotency_key", ""),
    Fault("/idempotency_key", "k" * (IDEMPOTENCY_KEY_CHARS_MAX + 1)),
    Fault("/scope", "workspace:garden"),
]
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

SUBSCRIBE = merged(
    HERE,
    KEYED,
    {"actor": ACTOR, "delivery": SUBSCRIPTION["delivery"], "acknowledgement": "explicit"},
)
SUBSCRIBED: dict[str, Any] = merged(
    HERE, {"actor": ACTOR, "subscription_id": "sub:1", "operation_id": "op:1"}
)
SUBSCRIBED_FAULTS = [
    Fault("/subscription_id", MISSING),
    Fault("/subscription_id", 1),
    Fault("/scope_id", ""),
    Fault("/actor/actor_id", MISSING, code="invalid_object"),
    Fault("/operation_id", 4),
]

_TABLES: dict[str, Table] = {
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
    "read": Table(
        "invalid_request",
        [
            merged(ROSE, {"version_id": "ver:1", "actor": ACTOR, "operation_id": "op:1"}),
            ROSE,
            merged(ROSE, {"at_sequence": 0}),
            merged(ROSE, {"snapshot_id": "snap:1"}),
        ],
        [
            Fault("/object_id", MISSING),
            Fault("/object_id", None),
            Fault("/at_sequence", 3),
            Fault("/snapshot_id", "snap:1"),
            Fault("", merged(ROSE, {"at_sequence": 1.0}), "/at_sequence"),
            Fault("", merged(ROSE, {"at_sequence": -1}), "/at_sequence"),
            Fault("/actor/actor_kind", MISSING, code="invalid_object"),
            Fault("/version", "ver:1"),
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
    "diff": Table(
        "invalid_request",
        [
            merged(
                ROSE,
                {
                    "actor": ACTOR,
                    "from_version_id": "ver:1",
                    "to_version_id": "ver:2",
                    "snapshot_id": "snap:1",
                    "operation_id": "op:1",
                },
            ),
            merged(ROSE, {"from_sequence": 1, "to_sequence": 9}),
            ROSE,
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/object_id", MISSING),
            Fault("/from_version_id", "one"),
            Fault("/to_sequence", 2),
            Fault("/from_sequence", 0),
            Fault("/exit_code", True),
        ],
    ),
    "history": Table(
        "invalid_request",
        [
            merged(
                ROSE,
                {
                    "actor": ACTOR,
                    "kind": "events",
                    "event_classes": ["object_created"],
                    "from_sequence": 1,
                    "to_sequence": 9,
                    "limit": 1,
                    "cursor": "c",
                    "operation_id": "op:1",
                },
            ),
            ROSE,
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/object_id", MISSING),
            Fault("/kind", "version"),
            Fault("/event_classes", []),
            Fault("/event_classes/0", "created"),
            Fault("/from_sequence", 0),
            Fault("/to_sequence", "9"),
            Fault("/limit", 0),
            Fault("/after", 1),
        ],
    ),
    "query": Table(
        "invalid_request",
        [
            FILTERS,
            HERE,
            merged(HERE, {"as_of": NOON, "temporal": {"basis": "sequence", "from": 0}}),
            merged(HERE, {"lifecycle_state": "active", "limit": 1}),
            merged(HERE, {"temporal": [{"basis": "valid_time", "from": NOON}] * 16}),
            merged(HERE, {"where": "sequence = 1", "object_id": "mem:rose"}),
            merged(HERE, {"embedding_space_id": "space:1", "text": "tea", "hybrid": True}),
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/object_type/0", "claims", code="unsupported_object_type"),
            Fault("/object_type", "claims", code="unsupported_object_type"),
            Fault("/object_type", 5),
            Fault("/lifecycle_state/1", "available"),
            Fault("/lifecycle_state", []),
            Fault("/availability_state", "there"),
            Fault("/availability_state", None),
            Fault("/schema_id/0", "bed"),
            Fault("/actor_id", "user"),
            Fault("/source_ref", ["x"] * (PAGE_ITEMS_MAX + 1)),
            Fault("/object_id", "rose"),
            Fault("/version_id/0", 5),
            Fault("/activity", []),
            Fault("/actor_kind", []),
            Fault("/on_behalf_of_actor_id/0", "user"),
            Fault("/evidence_ref/0", 5),
            Fault("/transformation_parent", None),
            Fault("/source_confidence", {}),
            Fault("/source_confidence", 0.5),
            Fault("/source_confidence/from", -0.1),
            Fault("/source_confidence/until", 1.1),
            Fault("/source_confidence/least", 1),
            Fault("/integrity_digest", None),
            Fault("/integrity_algorithm", ""),
            Fault("/integrity_ref", 5),
            Fault("/relationship_ref/0", "one"),
            Fault("/where", []),
            Fault("/where", ["sequence = 1"] * 33),
            Fault("/where/0", ""),
            Fault("/where/0", "x" * (WHERE_CHARS_MAX + 1)),
            Fault("/where", 5),
            Fault("/snippets", "yes"),
            Fault("/related_to", "mem:rose"),
            Fault("/related_to/object_id", MISSING),
            Fault("/related_to/relationship_types", []),
            Fault("/related_to/direction", "up"),
            Fault("/related_to/depth", 0),
            Fault("/related_to/depth", TRAVERSAL_DEPTH_MAX + 1),
            Fault("/related_to/steps", 1),
            Fault("/relationship_type", ""),
            Fault("/relationships", "all"),
            Fault("/temporal/basis", "noted_at"),
            Fault("/temporal/from", 5),
            Fault("/temporal/basis", "sequence", "/temporal/from"),
            Fault("/temporal", {"basis": "observed_at"}),
            Fault("/temporal", []),
            Fault("/temporal", [{"basis": "observed_at", "from": NOON}] * 17),
            Fault("/temporal", "observed_at"),
            Fault("/temporal/at", NOON),
            Fault("/as_of", -1),
            Fault("/as_of", 12.0),
            Fault("/as_of", "12"),
            Fault("/order_by/0", "relevance:asc"),
            Fault("/embedding_space_id", MISSING),
            Fault("/vector", []),
            Fault("/vector/0", "1"),
            Fault("/like_object_id", "rose"),
            Fault("/hybrid", "yes"),
            Fault("/search", "near"),
            Fault("/limit", PAGE_ITEMS_MAX + 1),
            Fault("/limit", 2.5),
            Fault("/limit", True),
            Fault("/count", "yes"),
            Fault("/actor/name", "User", code="invalid_object"),
            Fault("/filters", {}),
        ],
    ),
    "log": Table(
        "invalid_request",
        [
            merged(
                HERE,
                {
                    "actor": ACTOR,
                    "after": 0,
                    "event_classes": ["object_deleted"],
                    "object_id": "mem:rose",
                    "limit": 5,
                    "cursor": "7",
                    "operation_id": "op:1",
                },
            ),
            HERE,
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/after", -1),
            Fault("/after", 1.0),
            Fault("/event_classes/0", "deleted"),
            Fault("/object_id", "rose"),
            Fault("/follow", True),
        ],
    ),
    "subscribe": Table(
        "invalid_request",
        [
            merged(SUBSCRIBE, {"filter": SUBSCRIPTION["filter"], "after_sequence": 0}),
            merged(SUBSCRIBE, {"filter_spec": {}, "start_sequence": 3}),
            merged(HERE, {"actor": ACTOR}),
        ],
        [
            *WRITING_FAULTS,
            Fault("/filter/event_classes/0", "created"),
            Fault("/filter/event_types", ["object_created"]),
            Fault("/filter/object_id", "rose"),
            Fault("/filter", []),
            Fault("/after_sequence", -1),
            Fault("/after_sequence", 1.0),
            Fault("/delivery/backpressure_policy", "hope"),
            Fault("/delivery/batching_max_events", 0),
            Fault("/acknowledgement", "never"),
            Fault("/subscription_id", "sub:1"),
        ],
    ),
    "unsubscribe": Table(
        "invalid_request",
        [merged(HERE, KEYED, {"actor": ACTOR, "subscription_id": "sub:1"})],
        [
            *WRITING_FAULTS,
            Fault("/subscription_id", MISSING),
            Fault("/subscription_id", "1"),
            Fault("/reason", "bored"),
        ],
    ),
    "close_subscription": Table(
        "invalid_request",
        [
            merged(HERE, KEYED, {"actor": ACTOR, "subscription_id": "sub:1"}),
            {"subscription_id": "sub:1"},
        ],
        [*SUBSCRIBED_FAULTS, Fault("/idempotency_key", "")],
    ),
    "poll_subscription": Table(
        "invalid_request",
        [
            merged(SUBSCRIBED, {"max_events": PAGE_ITEMS_MAX, "after_sequence": 0, "hold": True}),
            {"subscription_id": "sub:1"},
        ],
        [
            *SUBSCRIBED_FAULTS,
            Fault("/max_events", 0),
            Fault("/max_events", PAGE_ITEMS_MAX + 1),
            Fault("/after_sequence", -1),
            Fault("/hold", 1),
            Fault("/limit", 5),
        ],
    ),
    "acknowledge_subscription": Table(
        "invalid_request",
        [merged(SUBSCRIBED, {"sequence": 4})],
        [
            *SUBSCRIBED_FAULTS,
            Fault("/sequence", MISSING),
            Fault("/sequence", -1),
            Fault("/event_id", "evt:1"),
        ],
    ),
    "list_subscriptions": Table(
        "invalid_request",
        [merged(HERE, {"actor": ACTOR, "closed": True, "operation_id": "op:1"}), HERE],
        [Fault("/scope_id", MISSING), Fault("/closed", "yes"), Fault("/state", "open")],
    ),
    "scope_create": Table(
        "invalid_request",
        [
            merged(
                HERE,
                {
                    "scope_kind": "workspace",
                    "parent_scope_id": "workspace:home",
                    "policy": POLICY,
                    "actor": ACTOR,
                },
            ),
            HERE,
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/scope_kind", ""),
            Fault("/parent_scope_id", "home"),
            Fault("/policy/rules/0/effect", "grant"),
            Fault("/actor/actor_id", MISSING, code="invalid_object"),
            Fault("/kind", "workspace"),
        ],
    ),
    "scope_list": Table(
        "invalid_request", [{}], [Fault("/scope_id", "workspace:garden"), Fault("", [])]
    ),
    "scope_show": Table(
        "invalid_request",
        [HERE],
        [Fault("/scope_id", MISSING), Fault("/scope_id", ""), Fault("/actor", ACTOR)],
    ),
    "scope_policy": Table(
        "invalid_request",
        [merged(HERE, KEYED, {"policy": POLICY, "actor": ACTOR})],
        [
            *WRITING_FAULTS,
            Fault("/policy", MISSING),
            Fault("/policy", None),
            Fault("/policy/default_effect", MISSING),
            Fault("/policy/overrides/0/condition", "mood"),
            Fault("/policies", {}),
        ],
    ),
    "scope_policy_test": Table(
        "invalid_request",
        [
            merged(
                HERE,
                {
                    "actor": ACTOR,
                    "operation": "transition",
                    "object_type": "claim",
                    "dimension": "lifecycle",
                    "target_state": "archived",
                    "policy": POLICY,
                    "operation_id": "op:1",
                },
            ),
            merged(HERE, {"actor": ACTOR, "operation": "set_policy"}),
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/actor", MISSING),
            Fault("/actor/actor_kind", MISSING, code="invalid_object"),
            Fault("/operation", MISSING),
            Fault("/operation", "reed"),
            Fault("/dimension", "age"),
            Fault("/target_state", "old"),
            Fault("/policy/default_effect", MISSING),
            Fault("/explain", True),
        ],
    ),
    "grant_delegation": Table(
        "invalid_request",
        [GRANT, {name: GRANT[name] for name in GRANTED}],
        [
            *[Fault(f"/{name}", MISSING) for name in GRANTED],
            Fault("/granting_actor/actor_kind", MISSING, code="invalid_object"),
            Fault("/delegated_actor", "actor:agent:gardener", code="invalid_object"),
            Fault("/granted_operations", [], code="invalid_object"),
            Fault("/granted_operations/1", "obliterate_universe", code="invalid_object"),
            Fault("/granted_operations/1", "read", "/granted_operations", "invalid_object"),
            Fault("/granted_operations/1", "set_policy", code="invalid_object"),
            Fault("/granted_object_types", []),
            Fault("/granted_object_types/0", "claims"),
            Fault("/granted_object_ids/0", "rose"),
            Fault("/target_scope_id", "garden"),
            Fault("/policy_basis", ""),
            Fault("/not_before", "2026-03-01"),
            Fault("/not_after", "2026-03-01T12:00:00"),
            Fault("/revocable", "yes"),
            Fault("/usage_limit", 0),
            Fault("/usage_limit", 1.0),
            Fault("/provenance/activity", MISSING, code="invalid_object"),
            Fault("/idempotency_key", ""),
            Fault("/delegation_id", "del:1"),
        ],
    ),
    "check_delegation": Table(
        "invalid_request",
        [CHECK, {name: CHECK[name] for name in CHECKED}],
        [
            *[Fault(f"/{name}", MISSING) for name in CHECKED],
            Fault("/delegated_actor_id", "gardener"),
            Fault("/operation", "grant_delegation"),
            Fault("/object_id", 1),
            Fault("/object_type", "claims", code="unsupported_object_type"),
            Fault("/actor/actor_id", MISSING, code="invalid_object"),
            Fault("/dry_run", True),
        ],
    ),
    "revoke_delegation": Table(
        "invalid_request",
        [REVOKE, edited(REVOKE, "/actor", MISSING)],
        [
            Fault("/scope_id", MISSING),
            Fault("/delegation_id", MISSING),
            Fault("/actor/actor_id", MISSING, code="invalid_object"),
            Fault("/revoking_actor", ACTOR),
            Fault("/expected_version_id", 1),
            Fault("/policy_basis", ""),
            Fault("/provenance/activity", MISSING, code="invalid_object"),
            Fault("/reason", "done"),
        ],
    ),
    "list_delegations": Table(
        "invalid_request",
        [
            merged(
                HERE,
                {
                    "actor": ACTOR,
                    "delegated_actor_id": "actor:agent:gardener",
                    "granting_actor_id": "actor:local:user",
                    "effective": True,
                    "limit": 5,
                    "cursor": "7",
                    "operation_id": "op:1",
                },
            ),
            merged(HERE, {"actor": ACTOR}),
        ],
        [
            Fault("/scope_id", MISSING),
            Fault("/actor", MISSING),
            Fault("/effective", "yes"),
            Fault("/limit", 0),
            Fault("/delegated_actor_id", "gardener"),
            Fault("/revoked", True),
        ],
    ),
    "status": Table("invalid_request", [{}], [Fault("/verbose", True), Fault("", None)]),
}

REQUEST_TABLES = {f"requests/{operation}": table for operation, table in _TABLES.items()}
