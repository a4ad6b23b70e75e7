"""Promotion of working memory, through the Python API. PAMSPEC §10.10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.model.documents import check
from pamctl.model.types import Promoted
from pamctl.rules.authorization import default_policy
from pamctl.service.store import Store

SCOPE = "workspace:default"
AGENT = {"actor_id": "actor:agent:planner", "actor_kind": "agent"}
NOTED = {"activity": "wrote_working_memory", "source_ref": "urn:source:plan"}
PROMOTED = {"activity": "consolidated", "source_confidence": 0.5}
PLAN = {"task_ref": "task:plan:1", "content": ["gather", "draft"]}
FOUR = (
    "object_created",
    "lifecycle_transitioned",
    "relationship_created",
    "working_memory_promoted",
)


@pytest.fixture
def plan(store: Store) -> Callable[..., dict[str, Any]]:
    def plan(**more: Any) -> dict[str, Any]:
        given = {"scope_id": SCOPE, "object_type": "working_memory", "canonical_content": PLAN}
        return store.create(**{**given, "actor": AGENT, "provenance": NOTED, **more})

    return plan


def promotion(source: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "scope_id": SCOPE,
        "source_object_id": source["object_id"],
        "expected_version_id": source["version_id"],
        "target_object_type": "task",
        "target_canonical_content": {"title": "Draft it."},
        "actor": AGENT,
        "provenance": PROMOTED,
        **more,
    }


def move(store: Store, made: dict[str, Any], dimension: str, state: str) -> dict[str, Any]:
    return store.transition(
        scope_id=SCOPE,
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        dimension=dimension,
        target_state=state,
        actor=AGENT,
    )


def read(store: Store, object_id: str, **more: Any) -> dict[str, Any]:
    return store.read(scope_id=SCOPE, object_id=object_id, actor=AGENT, **more)


class TestWhatIsMade:
    def test_the_new_object(self, store: Store, plan: Any) -> None:
        source = plan()
        made = store.promote(**promotion(source, target_object_id="mem:task"))
        assert set(made) == set(Promoted.__annotations__)
        envelope = made["envelope"]
        check("envelope", envelope)
        assert read(store, "mem:task") == envelope
        assert envelope["object_type"] == "task"
        assert envelope["canonical_content"] == {"title": "Draft it."}
        assert envelope["provenance"]["transformation_parent"] == source["version_id"]
        assert envelope["provenance"].items() >= PROMOTED.items()
        states = [envelope[f"{d}_state"] for d in ("lifecycle", "availability", "retention")]
        assert states == ["active", "available", "retained"]
        assert envelope["validation_state"] == "unverified"

    def test_the_source_is_superseded_and_keeps_the_rest(self, store: Store, plan: Any) -> None:
        source = plan()
        made = store.promote(**promotion(source))
        superseded = read(store, source["object_id"])
        check("envelope", superseded)
        assert superseded["version_id"] == made["source_version_id"]
        assert superseded["lifecycle_state"] == "superseded"
        same = ("canonical_content", "provenance", "availability_state", "validation_state")
        assert [superseded[name] for name in same] == [source["envelope"][name] for name in same]

    def test_the_relationship(self, store: Store, plan: Any) -> None:
        source = plan()
        made = store.promote(**promotion(source))
        derived = read(store, made["relationship_id"])
        check("relationship", derived)
        assert derived["version_id"] == made["relationship_version_id"]
        assert derived["relationship_type"] == "derived_from"
        assert derived["directionality"] == "directed"
        assert derived["source_object_id"] == made["object_id"]
        assert derived["target_object_id"] == source["object_id"]
        found = store.query(
            scope_id=SCOPE,
            actor=AGENT,
            any_state=True,
            related_to={"object_id": made["object_id"], "direction": "out"},
        )
        assert [item["object_id"] for item in found["items"]] == [source["object_id"]]

    def test_four_events_of_one_transaction(self, store: Store, plan: Any) -> None:
        source = plan()
        made = store.promote(**promotion(source, policy_basis="policy:weekly"))
        log = store.log(scope_id=SCOPE)["items"][1:]
        for event in log:
            check("event", event)
            assert event["operation_id"] == made["operation_id"]
        assert tuple(event["event_type"] for event in log) == FOUR
        created, superseded, related, promoted = log
        assert created["event_id"] == made["event_id"]
        assert created["version_id"] == made["version_id"]
        assert superseded["object_id"] == source["object_id"]
        assert superseded["version_id"] == made["source_version_id"]
        assert superseded["payload"] == {
            "dimension": "lifecycle",
            "from": "scratch",
            "to": "superseded",
            "policy_basis": "policy:weekly",
        }
        assert related["relationship_id"] == made["relationship_id"]
        assert promoted["event_id"] == made["promotion_event_id"]
        assert "version_id" not in promoted
        assert promoted["payload"] == {
            "source_object_id": source["object_id"],
            "source_version_id": source["version_id"],
            "target_object_id": made["object_id"],
            "target_version_id": made["version_id"],
            "target_object_type": "task",
            "relationship_id": made["relationship_id"],
        }
        scope = store.open_scope(SCOPE)
        transactions = list(scope.ledger.transactions(pamctl.store.records.START))
        assert [entry.kind for entry in transactions[-1].entries] == ["event"] * 4

    def test_the_histories_of_both_tell_of_it(self, store: Store, plan: Any) -> None:
        source = plan()
        made = store.promote(**promotion(source))
        for object_id in (source["object_id"], made["object_id"]):
            told = store.history(scope_id=SCOPE, object_id=object_id, kind="events")["items"]
            assert told[-1]["event_type"] == "working_memory_promoted"

    def test_the_target_is_the_callers(self, store: Store, plan: Any) -> None:
        made = store.promote(
            **promotion(
                plan(),
                target_object_type="com.example.plan",
                target_schema_id="urn:example:plan",
                target_canonical_content=None,
                target_lifecycle_state="candidate",
                target_validation_state="corroborated",
            )
        )
        envelope = made["envelope"]
        assert envelope["object_type"] == "com.example.plan"
        assert envelope["schema_id"] == "urn:example:plan"
        assert envelope["canonical_content"] is None
        assert envelope["lifecycle_state"] == "candidate"
        assert envelope["validation_state"] == "corroborated"

    @pytest.mark.parametrize("state", ["candidate", "active"])
    def test_from_each_state_before_superseded(self, store: Store, plan: Any, state: str) -> None:
        made = store.promote(**promotion(plan(lifecycle_state=state)))
        assert read(store, made["source_object_id"])["lifecycle_state"] == "superseded"

    def test_a_held_source_is_promoted_and_stays_held(self, store: Store, plan: Any) -> None:
        made = store.promote(**promotion(plan(retention_state="legal_hold")))
        assert read(store, made["source_object_id"])["retention_state"] == "legal_hold"
        assert made["envelope"]["retention_state"] == "retained"


class TestOnce:
    def test_a_key_makes_it_happen_once(self, store: Store, plan: Any) -> None:
        request = promotion(plan(), idempotency_key="k")
        made = store.promote(**request)
        head = store.head(SCOPE)
        assert store.promote(**request) == {**made, "replayed": True}
        assert pamctl.open_store(store.path).promote(**request) == {**made, "replayed": True}
        assert store.head(SCOPE) == head
        with pytest.raises(errors.DuplicateOperation):
            store.promote(**{**request, "target_canonical_content": {"title": "Other."}})

    def test_a_replay_shows_what_may_still_be_shown(self, store: Store, plan: Any) -> None:
        request = promotion(plan(), idempotency_key="k")
        made = store.promote(**request)
        store.delete(
            scope_id=SCOPE,
            object_id=made["object_id"],
            expected_version_id=made["version_id"],
            actor=AGENT,
        )
        again = store.promote(**request)
        assert again["envelope"]["canonical_content"] == {"tombstone": True}
        assert again["source_version_id"] == made["source_version_id"]

    def test_twice_without_a_key_is_a_conflict(self, store: Store, plan: Any) -> None:
        request = promotion(plan())
        store.promote(**request)
        with pytest.raises(errors.VersionConflict):
            store.promote(**request)

    def test_within_a_group(self, store: Store) -> None:
        with store.group() as group:
            source = group.perform(
                "create",
                {
                    "scope_id": SCOPE,
                    "object_type": "working_memory",
                    "canonical_content": PLAN,
                    "actor": AGENT,
                    "provenance": NOTED,
                },
            )
            made = group.perform("promote", promotion(source))
        assert read(store, made["object_id"]) == made["envelope"]


class TestRefusals:
    """Nothing of a promotion that is refused is there."""

    @pytest.fixture
    def refused(self, store: Store) -> Callable[..., errors.PamError]:
        def refused(kind: type[errors.PamError], request: dict[str, Any]) -> errors.PamError:
            head, counts = store.head(SCOPE), store.status()["scopes"][0]
            with pytest.raises(kind) as caught:
                store.promote(**request)
            assert store.head(SCOPE) == head
            assert store.status()["scopes"][0] == counts
            return caught.value

        return refused

    def test_what_is_no_working_memory(self, plan: Any, refused: Any) -> None:
        claim = plan(object_type="claim")
        error = refused(errors.InvalidRequest, promotion(claim))
        assert error.policy_rule_id == "promote_source_must_be_working_memory"
        refused(errors.InvalidRequest, promotion({**claim, "version_id": "ver:stale"}))

    def test_to_working_memory_again(self, plan: Any, refused: Any) -> None:
        again = {"target_object_type": "working_memory", "target_canonical_content": PLAN}
        error = refused(errors.InvalidRequest, promotion(plan(), **again))
        assert error.details["pointer"] == "/target_object_type"

    def test_content_that_the_target_type_does_not_have(self, plan: Any, refused: Any) -> None:
        error = refused(
            errors.InvalidObject,
            promotion(
                plan(),
                target_object_type="tool_result",
                target_canonical_content={"secret": "in the content"},
            ),
        )
        assert error.details["pointer"].startswith("/target_canonical_content")
        assert "in the content" not in error.message

    def test_an_extension_type_without_a_schema(self, plan: Any, refused: Any) -> None:
        request = promotion(plan(), target_object_type="com.example.plan")
        refused(errors.InvalidObject, request)

    def test_a_type_that_is_none(self, plan: Any, refused: Any) -> None:
        refused(errors.UnsupportedObjectType, promotion(plan(), target_object_type="plan"))

    def test_content_beyond_the_bound(self, plan: Any, refused: Any) -> None:
        request = promotion(plan(), target_canonical_content="x" * (8 * 1024 * 1024))
        refused(errors.InvalidObject, request)

    def test_what_is_not_there(self, store: Store, plan: Any, refused: Any) -> None:
        plan()
        made = store.promote(**promotion(plan()))
        for nothing in ("mem:nowhere", made["relationship_id"]):
            refused(errors.ObjectNotFound, promotion({**made, "object_id": nothing}))

    def test_a_stale_version(self, store: Store, plan: Any, refused: Any) -> None:
        source = plan()
        move(store, source, "validation", "disputed")
        refused(errors.VersionConflict, promotion(source))

    @pytest.mark.parametrize("state", ["superseded", "deprecated", "archived"])
    def test_what_was_put_away(self, plan: Any, refused: Any, state: str) -> None:
        refused(errors.InvalidStateTransition, promotion(plan(lifecycle_state=state)))

    def test_what_was_deleted(self, store: Store, plan: Any, refused: Any) -> None:
        gone = move(store, plan(), "availability", "deleted")
        refused(errors.ObjectDeleted, promotion(gone))

    def test_what_was_redacted(self, store: Store, plan: Any, refused: Any) -> None:
        gone = move(store, plan(), "availability", "redacted")
        refused(errors.ObjectRedacted, promotion(gone))

    def test_what_is_about_to_go(self, plan: Any, refused: Any) -> None:
        refused(errors.RetentionRestriction, promotion(plan(retention_state="pending_deletion")))

    def test_an_id_that_is_taken(self, plan: Any, refused: Any) -> None:
        source = plan(object_id="mem:plan")
        refused(errors.VersionConflict, promotion(source, target_object_id="mem:plan"))

    def test_another_parent(self, plan: Any, refused: Any) -> None:
        source = plan()
        right = {**PROMOTED, "transformation_parent": source["version_id"]}
        wrong = {**PROMOTED, "transformation_parent": "ver:other"}
        error = refused(errors.InvalidRequest, promotion(source, provenance=wrong))
        assert error.details["pointer"] == "/provenance/transformation_parent"
        promotion(source, provenance=right)


class TestAuthority:
    def govern(self, store: Store, rule: dict[str, Any], **members: Any) -> None:
        policy = {**default_policy(), "rules": [{"rule_id": "rule:kept", **rule}], **members}
        store.scope_policy(scope_id=SCOPE, actor=AGENT, policy=policy)

    @pytest.mark.parametrize("object_type", ["task", "working_memory"])
    def test_promoting_is_an_operation_on_both_types(
        self, store: Store, plan: Any, object_type: str
    ) -> None:
        source = plan()
        kept = {"effect": "deny", "operations": ["promote"], "object_types": [object_type]}
        self.govern(store, kept)
        with pytest.raises(errors.AccessDenied) as denied:
            store.promote(**promotion(source))
        assert denied.value.policy_rule_id == "rule:kept"

    def test_and_needs_no_other_grant(self, store: Store, plan: Any) -> None:
        source = plan()
        granted = {"effect": "allow", "operations": ["promote", "read"]}
        self.govern(store, granted, default_effect="deny")
        made = store.promote(**promotion(source))
        assert made["envelope"]["object_type"] == "task"
        with pytest.raises(errors.AccessDenied):
            plan()

    def test_but_is_no_way_around_a_rule_about_creating(self, store: Store, plan: Any) -> None:
        source = plan()
        kept = {"effect": "deny", "operations": ["create"], "object_types": ["task"]}
        self.govern(store, kept)
        with pytest.raises(errors.AccessDenied):
            store.promote(**promotion(source))
        store.promote(**promotion(source, target_object_type="claim"))

    @pytest.mark.parametrize("hidden", ["task", "working_memory"])
    def test_the_link_is_told_to_those_who_may_see_both(
        self, store: Store, plan: Any, hidden: str
    ) -> None:
        made = store.promote(**promotion(plan()))
        kept = {"effect": "deny", "operations": ["inspect_history"], "object_types": [hidden]}
        self.govern(store, kept)
        told = store.log(scope_id=SCOPE, actor=AGENT)["items"]
        concerned = {event.get("object_id") or event.get("relationship_id") for event in told}
        shown = made["source_object_id" if hidden == "task" else "object_id"]
        assert concerned == {shown}
        assert "working_memory_promoted" not in {event["event_type"] for event in told}
