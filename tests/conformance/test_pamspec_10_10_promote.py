"""PAMSPEC §10.10: Promote, one test a requirement."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pamctl import errors
from pamctl.service.store import Store
from pamctl.store.records import START
from tests.relationships import AGENT, COMMON, HERE, Scope, keep_agents_from
from tests.shared import shared_path

PLAN = {"task_ref": "task:plan", "content": {"steps": ["gather", "draft"]}}


@pytest.fixture
def scope(store: Store) -> Scope:
    return Scope(store)


@pytest.fixture
def plan(scope: Scope) -> dict[str, Any]:
    return scope.create("mem:plan", object_type="working_memory", canonical_content=PLAN)


def promote(scope: Scope, plan: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {
        **COMMON,
        "scope_id": HERE,
        "source_object_id": plan["object_id"],
        "expected_version_id": plan["version_id"],
        "target_object_type": "task",
        "target_canonical_content": {"title": "Draft it."},
    }
    return scope.store.promote(**{**given, **more})


def test_10_10_content_must_conform_to_the_target_type(scope: Scope, plan: Any) -> None:
    """Where the target type has a content schema, other content is no object of it."""
    with pytest.raises(errors.InvalidObject):
        promote(scope, plan, target_object_type="tool_invocation")
    made = promote(
        scope,
        plan,
        target_object_type="tool_invocation",
        target_canonical_content={
            "tool_name": "search",
            "arguments": {},
            "requested_by_actor_id": "actor:agent:helper",
        },
    )
    assert made["envelope"]["object_type"] == "tool_invocation"


@pytest.mark.parametrize("object_type", ["claim", "decision", "task", "summary"])
def test_10_10_it_makes_an_object_of_the_target_type(
    scope: Scope, plan: Any, object_type: str
) -> None:
    """The answer is a new object, which names the promoted version as its parent."""
    made = promote(scope, plan, target_object_type=object_type)
    envelope = scope.read(made["object_id"])
    assert made["object_id"] != plan["object_id"]
    assert envelope["object_type"] == object_type
    assert envelope["provenance"]["transformation_parent"] == plan["version_id"]


def test_10_10_optional_inputs_are_the_callers(scope: Scope, plan: Any) -> None:
    """Id, lifecycle and validation of the new object may be chosen."""
    made = promote(
        scope,
        plan,
        target_object_id="mem:task",
        target_lifecycle_state="candidate",
        target_validation_state="corroborated",
    )
    envelope = made["envelope"]
    assert made["object_id"] == "mem:task"
    assert (envelope["lifecycle_state"], envelope["validation_state"]) == (
        "candidate",
        "corroborated",
    )


def test_10_10_the_source_is_superseded(scope: Scope, plan: Any) -> None:
    """It gets a version whose lifecycle is superseded, and is not deleted."""
    promote(scope, plan)
    source = scope.read("mem:plan")
    assert source["lifecycle_state"] == "superseded"
    assert source["canonical_content"] == PLAN


def test_10_10_all_is_committed_atomically(scope: Scope, plan: Any) -> None:
    """Versions and events are one transaction of the ledger."""
    promote(scope, plan)
    ledger = scope.store.open_scope(HERE).ledger
    last = list(ledger.transactions(START))[-1]
    kinds = [entry.body["event_type"] for entry in last.entries]
    assert kinds == [
        "object_created",
        "lifecycle_transitioned",
        "relationship_created",
        "working_memory_promoted",
    ]
    assert len(last.versions) == 3


def test_10_10_a_refused_promotion_leaves_nothing(scope: Scope, plan: Any) -> None:
    """When the new object cannot be made, the source stays as it is."""
    head = scope.store.head(HERE)
    with pytest.raises(errors.VersionConflict):
        promote(scope, plan, target_object_id="mem:plan")
    assert scope.store.head(HERE) == head


def test_10_10_an_event_links_the_two(scope: Scope, plan: Any) -> None:
    """working_memory_promoted names both objects, and the histories of both tell it."""
    made = promote(scope, plan)
    for object_id in ("mem:plan", made["object_id"]):
        told = scope.store.history(scope_id=HERE, object_id=object_id, kind="events")["items"]
        promoted = told[-1]
        assert promoted["event_type"] == "working_memory_promoted"
        assert promoted["payload"]["source_object_id"] == "mem:plan"
        assert promoted["payload"]["source_version_id"] == plan["version_id"]
        assert promoted["payload"]["target_object_id"] == made["object_id"]
        assert promoted["payload"]["target_version_id"] == made["version_id"]


def test_10_10_a_relationship_leads_from_the_new_object_to_the_source(
    scope: Scope, plan: Any
) -> None:
    """derived_from, directed, and the source's history remains to be inspected."""
    made = promote(scope, plan)
    derived = scope.read(made["relationship_id"])
    assert derived["relationship_type"] == "derived_from"
    assert derived["directionality"] == "directed"
    assert derived["source_object_id"] == made["object_id"]
    assert derived["target_object_id"] == "mem:plan"
    assert [each["lifecycle_state"] for each in scope.versions("mem:plan")] == [
        "scratch",
        "superseded",
    ]


def test_10_10_what_is_no_working_memory_is_an_invalid_request(scope: Scope) -> None:
    """The vector promote-of-non-working-memory."""
    vector = shared_path(
        "vectors", "pamspec", "vectors", "invalid", "promote-of-non-working-memory.json"
    )
    case = json.loads(vector.read_text(encoding="utf-8"))
    request = {**case["instance"], "scope_id": HERE}
    scope.create(request["source_object_id"])
    with pytest.raises(errors.PamError) as refused:
        scope.store.promote(**request)
    assert refused.value.code == case["expected_failure"] == "invalid_request"
    assert refused.value.policy_rule_id == case["semanticRule"]


def test_10_10_errors_object_not_found(scope: Scope, plan: Any) -> None:
    """There has to be such working memory."""
    with pytest.raises(errors.ObjectNotFound):
        promote(scope, plan, source_object_id="mem:nowhere")


def test_10_10_errors_version_conflict(scope: Scope, plan: Any) -> None:
    """It has to be at the version that the caller saw."""
    scope.store.update(**scope.at(plan), provenance={"activity": "x"}, canonical_content=PLAN)
    with pytest.raises(errors.VersionConflict):
        promote(scope, plan)


def test_10_10_errors_access_denied(scope: Scope, plan: Any) -> None:
    """Promoting is an operation that a policy may keep an actor from."""
    scope.govern(keep_agents_from("promote"))
    with pytest.raises(errors.AccessDenied):
        promote(scope, plan, actor=AGENT)


@pytest.mark.parametrize("state", ["superseded", "deprecated", "archived"])
def test_10_10_errors_invalid_state_transition(scope: Scope, state: str) -> None:
    """What was superseded or put away already is not superseded by a promotion."""
    plan = scope.create(
        "mem:old", object_type="working_memory", canonical_content=PLAN, lifecycle_state=state
    )
    with pytest.raises(errors.InvalidStateTransition):
        promote(scope, plan)


def test_10_10_a_repeated_request_is_answered_once(scope: Scope, plan: Any) -> None:
    """A key makes a promotion happen once, and the replay gives the whole answer again."""
    made = promote(scope, plan, idempotency_key="k")
    assert promote(scope, plan, idempotency_key="k") == {**made, "replayed": True}
