"""Subscriptions, scopes and delegations: what their operations accept as arguments."""

from __future__ import annotations

from typing import Any

from pamctl.limits import PAGE_ITEMS_MAX
from tests.schemas.instances import ACTOR, AGENT, LATER, NOON, POLICY, STATEMENT, SUBSCRIPTION
from tests.schemas.requests import HERE, KEYED, WRITING_FAULTS
from tests.schemas.tables import MISSING, Fault, Table, edited, merged

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

OF_SCOPES: dict[str, Table] = {
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
}
