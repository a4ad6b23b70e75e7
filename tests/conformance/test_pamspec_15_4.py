"""PAMSPEC §15.4: delegated authority against confused deputies."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import AccessDenied
from pamctl.model.documents import check as check_document
from pamctl.service.store import Store
from tests.authority import (
    AGENT,
    NO_AGENTS,
    OTHER_AGENT,
    OWNER,
    SCOPE,
    SEEN,
    denial,
    events,
    govern,
    grant,
    on,
    policy,
    remember,
    rule,
    terms,
    under,
)

NOBODY_READS = policy(rule(operations=["read"]))


@pytest.fixture
def made(store: Store) -> Any:
    made = remember(store)
    govern(store, NO_AGENTS)
    return made


def read(store: Store, made: Any, delegation: str) -> Any:
    return store.read(scope_id=SCOPE, object_id=made["object_id"], actor=under(delegation))


def test_15_4_delegated_authority_is_an_object_of_its_own(store: Store) -> None:
    """Identified, versioned, bound to a scope; it names both actors and its bounds."""
    bounds = {
        "granted_object_types": ["claim"],
        "granted_object_ids": ["mem:1"],
        "usage_limit": 2,
        "revocable": True,
    }
    envelope = store.delegations.grant(**terms("read", "update", **bounds))["envelope"]
    check_document("delegation", envelope)
    assert envelope["granting_actor"] == OWNER
    assert envelope["delegated_actor"] == AGENT
    assert envelope["granted_operations"] == ["read", "update"]
    assert {name: envelope[name] for name in bounds} == bounds
    store.delegations.revoke(scope_id=SCOPE, delegation_id=envelope["delegation_id"], actor=OWNER)
    history = store.history(scope_id=SCOPE, object_id=envelope["delegation_id"])["items"]
    assert [version["sequence"] for version in history] == [1, 2]


CHANGES: dict[str, Any] = {
    "create": lambda store, made, actor: store.create(
        scope_id=SCOPE, object_type="claim", canonical_content=1, actor=actor, provenance=SEEN
    ),
    "update": lambda store, made, actor: store.update(
        **on(made, actor, provenance=SEEN, canonical_content=1)
    ),
    "transition": lambda store, made, actor: store.transition(
        **on(made, actor, dimension="lifecycle", target_state="archived")
    ),
    "delete": lambda store, made, actor: store.delete(**on(made, actor)),
}


@pytest.mark.parametrize("operation", CHANGES)
def test_15_4_every_exercise_is_referenced_in_provenance(
    store: Store, made: Any, operation: str
) -> None:
    delegation = grant(store, operation)
    envelope = CHANGES[operation](store, made, under(delegation))["envelope"]
    check_document("envelope", envelope)
    provenance = envelope["provenance"]
    referenced = [provenance["actor"].get("delegation_id"), *provenance.get("evidence_refs", ())]
    assert delegation in referenced
    assert envelope["actor"]["delegation_id"] == delegation


def test_15_4_its_events_lead_from_the_operation_to_the_grant(store: Store, made: Any) -> None:
    delegation = grant(store, "update")
    change = CHANGES["update"](store, made, under(delegation))
    store.delegations.revoke(scope_id=SCOPE, delegation_id=delegation, actor=OWNER)
    told = [event for event in events(store) if event.get("object_id") == delegation]
    assert [event["event_type"] for event in told] == [
        "delegation_granted",
        "delegation_exercised",
        "delegation_revoked",
    ]
    assert told[1]["operation_id"] == change["operation_id"]
    for event in told:
        check_document("event", event)
    assert store.history(scope_id=SCOPE, object_id=delegation, kind="events")["items"] == told


@pytest.mark.parametrize(
    "bounds", [{"not_after": "2025-12-31T23:59:59Z"}, {"not_before": "2027-01-01T00:00:00Z"}]
)
def test_15_4_outside_its_window_it_is_not_effective(
    store: Store, made: Any, bounds: dict[str, str]
) -> None:
    delegation = grant(store, "read", **bounds)
    assert denial(lambda: read(store, made, delegation))
    (item,) = store.delegations.list(scope_id=SCOPE, actor=OWNER)["items"]
    assert item["delegation"]["lifecycle_state"] == "active"
    assert not item["effective"]


def test_15_4_when_its_usage_limit_is_exhausted_it_is_not_effective(
    store: Store, made: Any
) -> None:
    delegation = grant(store, "read", usage_limit=2)
    assert read(store, made, delegation) == read(store, made, delegation)
    denial(lambda: read(store, made, delegation))


def test_15_4_when_its_grantor_holds_it_no_longer_it_is_not_effective(
    store: Store, made: Any
) -> None:
    delegation = grant(store, "read")
    assert read(store, made, delegation)
    govern(store, NOBODY_READS)
    denial(lambda: read(store, made, delegation))


def test_15_4_a_delegation_does_not_itself_grant_authority(store: Store, made: Any) -> None:
    """It is worth what its grantor holds, and to nobody but the actor that it names."""
    govern(store, NOBODY_READS)
    with pytest.raises(AccessDenied):
        grant(store, "read")
    govern(store, NO_AGENTS)
    delegation = grant(store, "read")
    actor = under(delegation, OTHER_AGENT)
    denial(lambda: store.read(scope_id=SCOPE, object_id=made["object_id"], actor=actor))


def test_15_4_an_operation_is_bound_to_the_authority_it_names(store: Store, made: Any) -> None:
    """A deputy with authority of its own acts with that of its principal alone."""
    govern(store, policy())
    delegation = grant(store, "read")
    assert read(store, made, delegation)
    denial(lambda: store.delete(**on(made, under(delegation))))
    assert store.delete(**on(made, AGENT))
