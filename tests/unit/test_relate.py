"""Relationships through the Python API: made, updated, moved through states, deleted.
PAMSPEC §8.5, §10.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pamctl import errors
from pamctl.model.documents import check
from pamctl.model.types import Related
from pamctl.rules.authorization import default_policy
from pamctl.service.store import Store

HERE, THERE = "workspace:default", "workspace:there"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:helper", "actor_kind": "agent"}
SEEN = {"activity": "noted"}
ACROSS = {
    "direction": "out",
    "scopes": [THERE],
    "operations": ["relate"],
    "rule_id": "rule:out",
}


@pytest.fixture
def create(store: Store) -> Callable[..., dict[str, Any]]:
    def create(object_id: str, **more: Any) -> dict[str, Any]:
        given = {"scope_id": HERE, "object_type": "claim", "actor": HUMAN, "provenance": SEEN}
        return store.create(**{**given, "canonical_content": "x", "object_id": object_id, **more})

    return create


@pytest.fixture
def relate(store: Store, create: Any) -> Callable[..., dict[str, Any]]:
    """Relates mem:a to mem:b, unless told otherwise."""
    create("mem:a")
    create("mem:b")

    def relate(**more: Any) -> dict[str, Any]:
        given = {
            "scope_id": HERE,
            "actor": HUMAN,
            "provenance": SEEN,
            "source_object_id": "mem:a",
            "target_object_id": "mem:b",
            "relationship_type": "supports",
        }
        return store.relate(**{**given, **more})

    return relate


def change(made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "scope_id": HERE,
        "relationship_id": made["relationship_id"],
        "expected_version_id": made["version_id"],
        "actor": HUMAN,
        **more,
    }


def govern(store: Store, scope_id: str = HERE, **members: Any) -> None:
    policy = {**default_policy(), **members}
    store.scope_policy(scope_id=scope_id, actor=HUMAN, policy=policy)


def is_of(event: dict[str, Any], made: dict[str, Any]) -> bool:
    """Whether an event names the relationship that an answer is about."""
    return event.get("relationship_id") == made["relationship_id"]


def events(store: Store) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = store.log(scope_id=HERE)["items"]
    return items


class TestCreate:
    def test_answers_what_was_committed(self, store: Store, relate: Any) -> None:
        made = relate(canonical_content={"weight": 1}, observed_at="2026-01-01T10:00:00+02:00")
        assert set(made) == set(Related.__annotations__)
        envelope = made["envelope"]
        check("relationship", envelope)
        assert made["relationship_id"].startswith("rel:")
        assert (made["sequence"], made["ledger_sequence"]) == (1, 3)
        assert envelope["canonical_content"] == {"weight": 1}
        assert envelope["directionality"] == "directed"
        assert envelope["observed_at"] == "2026-01-01T08:00:00Z"
        assert envelope["provenance"]["actor"] == HUMAN
        read = store.read(scope_id=HERE, object_id=made["relationship_id"], actor=HUMAN)
        assert read == envelope

    def test_its_event_names_the_relationship_and_its_version(
        self, store: Store, relate: Any
    ) -> None:
        made = relate()
        event = events(store)[-1]
        check("event", event)
        assert event["event_type"] == "relationship_created"
        assert event["relationship_id"] == made["relationship_id"]
        assert event["version_id"] == made["version_id"]
        assert "object_id" not in event
        assert event["payload"] == {"relationship_type": "supports"}

    def test_states_and_other_members_are_the_callers(self, relate: Any) -> None:
        states = {
            "lifecycle_state": "candidate",
            "retention_state": "legal_hold",
            "validation_state": "corroborated",
        }
        more = {"directionality": "undirected", "policy_basis": "policy:x", "valid_until": None}
        made = relate(relationship_id="rel:mine", canonical_content=None, **states, **more)
        envelope = made["envelope"]
        assert made["relationship_id"] == "rel:mine"
        assert envelope.items() >= {**states, "directionality": "undirected"}.items()
        assert envelope["canonical_content"] is None
        assert envelope["policy_basis"] == "policy:x"

    @pytest.mark.parametrize("name", ["com.example.mentors", "urn:example:mentors", "Mentors of!"])
    def test_a_type_that_nobody_knows_is_kept(self, store: Store, relate: Any, name: str) -> None:
        made = relate(relationship_type=name)
        assert made["envelope"]["relationship_type"] == name
        found = store.query(
            scope_id=HERE, relationships=True, relationship_type=[name], any_state=True
        )
        assert found["items"] == [made["envelope"]]

    @pytest.mark.parametrize("end", ["source_object_id", "target_object_id"])
    def test_ends_have_to_be_memory_objects(self, store: Store, relate: Any, end: str) -> None:
        made = relate()
        head = store.head(HERE)
        for nothing in ("mem:nowhere", made["relationship_id"]):
            with pytest.raises(errors.ObjectNotFound, match=nothing):
                relate(**{end: nothing})
        assert store.head(HERE) == head

    @pytest.mark.parametrize("end", ["a", "b"])
    def test_nothing_is_related_to_what_was_deleted(
        self, store: Store, relate: Any, end: str
    ) -> None:
        version = store.read(scope_id=HERE, object_id=f"mem:{end}")["version_id"]
        store.delete(
            scope_id=HERE, object_id=f"mem:{end}", expected_version_id=version, actor=HUMAN
        )
        with pytest.raises(errors.RelationshipConflict) as conflict:
            relate()
        assert conflict.value.details["object_id"] == f"mem:{end}"

    def test_an_object_may_be_related_to_itself(self, relate: Any) -> None:
        assert relate(target_object_id="mem:a")["sequence"] == 1

    @pytest.mark.parametrize("state", ["redacted", "deleted"])
    def test_nothing_is_born_without_content(self, relate: Any, state: str) -> None:
        with pytest.raises(errors.InvalidRequest):
            relate(availability_state=state)

    def test_an_id_is_never_used_twice(self, store: Store, relate: Any) -> None:
        for taken in ("mem:a", relate(relationship_id="rel:1")["relationship_id"]):
            with pytest.raises(errors.VersionConflict, match="exists already"):
                relate(relationship_id=taken, relationship_type="refutes")
        store.delete(
            scope_id=HERE,
            relationship_id="rel:1",
            expected_version_id=store.read(scope_id=HERE, object_id="rel:1")["version_id"],
            actor=HUMAN,
        )
        with pytest.raises(errors.ObjectDeleted):
            relate(relationship_id="rel:1")
        with pytest.raises(errors.ObjectDeleted):
            store.create(
                scope_id=HERE,
                object_id="rel:1",
                object_type="claim",
                canonical_content=1,
                actor=HUMAN,
                provenance=SEEN,
            )

    def test_a_key_makes_it_happen_once(self, store: Store, relate: Any) -> None:
        made = relate(idempotency_key="k", canonical_content={"é": 1.5})
        head = store.head(HERE)
        again = relate(idempotency_key="k", canonical_content={"é": 1.5})
        assert again == {**made, "replayed": True}
        assert store.head(HERE) == head
        with pytest.raises(errors.DuplicateOperation):
            relate(idempotency_key="k", canonical_content={"é": 2})

    def test_what_is_created_in_a_group_can_be_related_in_it(self, store: Store) -> None:
        common = {"scope_id": HERE, "actor": HUMAN, "provenance": SEEN}
        with store.group() as group:
            for name in ("mem:a", "mem:b"):
                group.perform(
                    "create",
                    {
                        **common,
                        "object_id": name,
                        "object_type": "claim",
                        "canonical_content": 1,
                    },
                )
            request = {
                **common,
                "source_object_id": "mem:a",
                "target_object_id": "mem:b",
                "relationship_type": "supports",
            }
            made = group.perform("relate", request)
            with pytest.raises(errors.RelationshipConflict):
                group.perform("relate", request)
        assert store.read(scope_id=HERE, object_id=made["relationship_id"]) == made["envelope"]


class TestRepeats:
    def test_the_same_twice_is_refused_and_names_the_first(self, store: Store, relate: Any) -> None:
        made = relate()
        head = store.head(HERE)
        with pytest.raises(errors.RelationshipConflict) as conflict:
            relate(canonical_content={"weight": 2})
        assert conflict.value.details["relationship_id"] == made["relationship_id"]
        assert conflict.value.details["current_version_id"] == made["version_id"]
        assert store.head(HERE) == head

    def test_another_time_is_another_fact(self, relate: Any) -> None:
        relate(valid_from="2010-01-01T00:00:00Z", valid_until="2012-01-01T00:00:00Z")
        relate(valid_from="2015-01-01T00:00:00Z")
        with pytest.raises(errors.RelationshipConflict):
            relate(valid_from="2015-01-01T01:00:00+01:00")

    def test_what_no_longer_holds_may_be_said_again(self, store: Store, relate: Any) -> None:
        made = relate()
        store.transition(**change(made, dimension="lifecycle", target_state="archived"))
        again = relate()
        store.delete(**change(again))
        assert relate()["sequence"] == 1

    def test_what_is_staged_counts(self, store: Store, relate: Any) -> None:
        made = relate()
        request = {
            "scope_id": HERE,
            "actor": HUMAN,
            "provenance": SEEN,
            "source_object_id": "mem:a",
            "target_object_id": "mem:b",
            "relationship_type": "supports",
        }
        with store.group() as group:
            group.perform("delete", change(made))
            group.perform("relate", request)
            with pytest.raises(errors.RelationshipConflict):
                group.perform("relate", request)

    def test_one_that_the_actor_may_not_see_does_not_show(self, store: Store, relate: Any) -> None:
        first = relate()
        rules = [
            {
                "rule_id": "rule:types",
                "effect": "allow",
                "operations": ["read"],
                "object_types": ["claim"],
            },
            {"rule_id": "rule:others", "effect": "deny", "operations": ["read"]},
        ]
        govern(store, rules=[{**rule, "actors": ["actor:agent:*"]} for rule in rules])
        second = relate(actor=AGENT)
        assert second["relationship_id"] != first["relationship_id"]


class TestUpdate:
    def test_makes_the_next_version_and_none_of_the_ends(self, store: Store, relate: Any) -> None:
        made = relate()
        ends = [store.read(scope_id=HERE, object_id=name) for name in ("mem:a", "mem:b")]
        updated = store.relate(
            **change(
                made,
                provenance={"activity": "weighed"},
                canonical_content={"weight": 2},
                directionality="bidirectional",
            )
        )
        assert (updated["sequence"], updated["relationship_id"]) == (2, made["relationship_id"])
        envelope = updated["envelope"]
        check("relationship", envelope)
        assert envelope["canonical_content"] == {"weight": 2}
        assert envelope["directionality"] == "bidirectional"
        assert envelope["provenance"]["activity"] == "weighed"
        assert envelope["target_object_id"] == "mem:b"
        event = events(store)[-1]
        assert event["event_type"] == "relationship_updated"
        assert event["payload"]["previous_version_id"] == made["version_id"]
        assert ends == [store.read(scope_id=HERE, object_id=name) for name in ("mem:a", "mem:b")]
        old = store.read(
            scope_id=HERE, object_id=made["relationship_id"], version_id=made["version_id"]
        )
        assert old == made["envelope"]

    def test_may_repeat_what_it_leaves_alone(self, store: Store, relate: Any) -> None:
        made = relate()
        kept = {
            name: made["envelope"][name]
            for name in ("source_object_id", "target_object_id", "relationship_type")
        }
        states = {name: made["envelope"][name] for name in made["envelope"] if "_state" in name}
        updated = store.relate(
            **change(made, provenance=SEEN, target_scope_id=HERE, **kept, **states)
        )
        assert updated["sequence"] == 2

    def test_does_not_make_it_another_relationship(self, store: Store, relate: Any) -> None:
        made = relate()
        for other in (
            {"target_object_id": "mem:a"},
            {"relationship_type": "refutes"},
            {"validation_state": "corroborated"},
        ):
            with pytest.raises(errors.RelationshipConflict):
                store.relate(**change(made, provenance=SEEN, **other))

    def test_a_stale_expectation_changes_nothing(self, store: Store, relate: Any) -> None:
        made = relate()
        updated = store.relate(**change(made, provenance=SEEN, canonical_content=1))
        with pytest.raises(errors.VersionConflict) as conflict:
            store.relate(**change(made, provenance=SEEN, canonical_content=2))
        assert conflict.value.details["current_version_id"] == updated["version_id"]
        assert conflict.value.details["relationship_id"] == made["relationship_id"]

    def test_of_what_is_not_there(self, store: Store, relate: Any) -> None:
        made = relate()
        for other in ("rel:nowhere", "mem:a"):
            with pytest.raises(errors.ObjectNotFound):
                store.relate(**change({**made, "relationship_id": other}, provenance=SEEN))

    def test_goes_on_after_an_end_was_deleted(self, store: Store, relate: Any) -> None:
        made = relate()
        version = store.read(scope_id=HERE, object_id="mem:b")["version_id"]
        store.delete(scope_id=HERE, object_id="mem:b", expected_version_id=version, actor=HUMAN)
        read = store.read(scope_id=HERE, object_id=made["relationship_id"], actor=HUMAN)
        assert read == made["envelope"]
        assert store.relate(**change(made, provenance=SEEN, canonical_content=1))["sequence"] == 2

    def test_is_not_an_update_of_an_object(self, store: Store, relate: Any) -> None:
        made = relate()
        with pytest.raises(errors.ObjectNotFound):
            store.update(
                scope_id=HERE,
                object_id=made["relationship_id"],
                expected_version_id=made["version_id"],
                actor=HUMAN,
                provenance=SEEN,
                canonical_content=1,
            )


class TestStates:
    @pytest.mark.parametrize("member", ["relationship_id", "object_id"])
    def test_move_by_transition(self, store: Store, relate: Any, member: str) -> None:
        made = relate()
        request = change(made, dimension="validation", target_state="corroborated")
        request[member] = request.pop("relationship_id")
        moved = store.transition(**request)
        assert moved["relationship_id"] == made["relationship_id"]
        assert moved["envelope"]["validation_state"] == "corroborated"
        event = events(store)[-1]
        assert event["event_type"] == "validation_transitioned"
        assert event["relationship_id"] == made["relationship_id"]
        assert "object_id" not in event
        check("event", event)

    def test_obey_the_tables(self, store: Store, relate: Any) -> None:
        with pytest.raises(errors.InvalidStateTransition):
            store.transition(
                **change(relate(), dimension="lifecycle", target_state="scratch"),
            )

    def test_a_relationship_is_redacted_and_restored(self, store: Store, relate: Any) -> None:
        made = relate(canonical_content={"secret": 1})
        gone = store.transition(**change(made, dimension="availability", target_state="redacted"))
        assert gone["envelope"]["canonical_content"] == {"tombstone": True}
        with pytest.raises(errors.ObjectRedacted):
            store.read(
                scope_id=HERE,
                object_id=made["relationship_id"],
                version_id=made["version_id"],
            )
        with pytest.raises(errors.ObjectRedacted):
            store.relate(**change(gone, provenance=SEEN, canonical_content=1))
        back = store.transition(**change(gone, dimension="availability", target_state="available"))
        assert back["envelope"]["canonical_content"] == {"secret": 1}

    def test_delete_leaves_a_tombstone(self, store: Store, relate: Any) -> None:
        made = relate(canonical_content={"secret": 1})
        gone = store.delete(**change(made))
        check("relationship", gone["envelope"])
        assert gone["envelope"]["canonical_content"] == {"tombstone": True}
        assert events(store)[-1]["event_type"] == "object_deleted"
        assert events(store)[-1]["relationship_id"] == made["relationship_id"]
        with pytest.raises(errors.ObjectDeleted):
            store.read(scope_id=HERE, object_id=made["relationship_id"])
        with pytest.raises(errors.ObjectDeleted):
            store.delete(**change(gone))
        history = store.history(scope_id=HERE, object_id=made["relationship_id"])["items"]
        assert [each["canonical_content"] for each in history] == [{"tombstone": True}] * 2

    def test_a_hold_stops_what_would_hide_it(self, store: Store, relate: Any) -> None:
        made = relate(retention_state="legal_hold")
        with pytest.raises(errors.LegalHold):
            store.delete(**change(made))

    def test_an_id_is_of_what_the_request_says_it_is(self, store: Store, relate: Any) -> None:
        relate()
        version = store.read(scope_id=HERE, object_id="mem:a")["version_id"]
        with pytest.raises(errors.ObjectNotFound):
            store.delete(
                scope_id=HERE, relationship_id="mem:a", expected_version_id=version, actor=HUMAN
            )


class TestAuthority:
    """An agent that may do everything but what a rule keeps it from."""

    def keep(self, store: Store, *operations: str, **more: Any) -> None:
        rule = {"rule_id": "rule:kept", "effect": "deny", "actors": ["actor:agent:*"]}
        govern(store, rules=[{**rule, "operations": list(operations), **more}])

    def test_relate_is_an_operation_of_its_own(self, store: Store, relate: Any) -> None:
        self.keep(store, "relate")
        with pytest.raises(errors.AccessDenied) as denied:
            relate(actor=AGENT)
        assert denied.value.policy_rule_id == "rule:kept"
        relate()

    @pytest.mark.parametrize("end", ["source_object_id", "target_object_id"])
    def test_types_that_may_not_be_related(
        self, store: Store, create: Any, relate: Any, end: str
    ) -> None:
        create("mem:decision", object_type="decision")
        self.keep(store, "relate", object_types=["decision"])
        with pytest.raises(errors.AccessDenied) as denied:
            relate(actor=AGENT, **{end: "mem:decision"})
        assert denied.value.policy_rule_id == "rule:kept"
        relate(actor=AGENT)

    @pytest.mark.parametrize("end", ["source_object_id", "target_object_id"])
    def test_an_end_that_may_not_be_read_is_as_good_as_absent(
        self, store: Store, create: Any, relate: Any, end: str
    ) -> None:
        create("mem:decision", object_type="decision")
        self.keep(store, "read", object_types=["decision"])
        refusals = []
        for name in ("mem:decision", "mem:nowhere1"):
            with pytest.raises(errors.ObjectNotFound) as refused:
                relate(actor=AGENT, **{end: name})
            refusals.append((refused.value.message.replace(name, "?"), refused.value.details))
        assert refusals[0] == refusals[1]

    def test_a_relationship_to_what_may_not_be_read_is_as_good_as_absent(
        self, store: Store, create: Any, relate: Any
    ) -> None:
        create("mem:decision", object_type="decision")
        made = relate(target_object_id="mem:decision")
        self.keep(store, "read", "inspect_history", "query", object_types=["decision"])
        asked = {**change(made), "actor": AGENT}
        nothing = {**asked, "relationship_id": "rel:nowhere"}
        for attempt in (
            lambda request: store.relate(**request, provenance=SEEN),
            lambda request: store.transition(
                **request, dimension="lifecycle", target_state="archived"
            ),
            lambda request: store.delete(**request),
        ):
            outcomes = []
            for request in (asked, nothing):
                with pytest.raises(errors.PamError) as refused:
                    attempt(request)
                error = refused.value
                message = error.message.replace(request["relationship_id"], "?")
                outcomes.append((error.code, message, error.policy_rule_id, error.details))
            assert outcomes[0] == outcomes[1]
        for look in (store.read, store.history):
            outcomes = []
            for object_id in (made["relationship_id"], "rel:nowhere"):
                with pytest.raises(errors.PamError) as refused:
                    look(scope_id=HERE, object_id=object_id, actor=AGENT)
                error = refused.value
                outcomes.append((error.code, error.message.replace(object_id, "?"), error.details))
            assert outcomes[0] == outcomes[1]
        assert store.read(scope_id=HERE, object_id=made["relationship_id"], actor=HUMAN)

    def test_a_relationship_opens_no_way_to_what_it_names(
        self, store: Store, create: Any, relate: Any
    ) -> None:
        create("mem:decision", object_type="decision")
        self.keep(store, "read", object_types=["decision"])
        relate(target_object_id="mem:decision")
        with pytest.raises(errors.AccessDenied):
            store.read(scope_id=HERE, object_id="mem:decision", actor=AGENT)


class TestAcrossScopes:
    @pytest.fixture
    def there(self, store: Store, create: Any) -> None:
        store.scope_create(scope_id=THERE, actor=HUMAN)
        create("mem:far", scope_id=THERE)

    def grant(self, store: Store) -> None:
        govern(store, cross_scope=[ACROSS])
        inwards = {**ACROSS, "direction": "in", "scopes": [HERE], "rule_id": "rule:in"}
        govern(store, THERE, cross_scope=[inwards])

    def across(self, **more: Any) -> dict[str, Any]:
        return {
            "target_object_id": "mem:far",
            "target_scope_id": THERE,
            "policy_basis": "p:1",
        } | more

    def test_takes_a_grant_of_both_policies(self, store: Store, relate: Any, there: None) -> None:
        refusals = []
        for step in ("nothing", "out", "in", "both"):
            if step == "out":
                govern(store, cross_scope=[ACROSS])
            elif step == "in":
                self.grant(store)
                govern(store)
            elif step == "both":
                self.grant(store)
                break
            with pytest.raises(errors.PolicyDenied) as denied:
                relate(**self.across())
            refusals.append(denied.value)
        assert {error.policy_rule_id for error in refusals} == {"cross_scope_policy_required"}
        made = relate(**self.across())
        check("relationship", made["envelope"])
        assert made["envelope"]["target_scope_id"] == THERE
        assert made["envelope"]["policy_basis"] == "p:1"
        assert events(store)[-1]["payload"] == {
            "relationship_type": "supports",
            "policy_basis": "p:1",
            "policy_rule_id": "rule:out",
            "target_policy_rule_id": "rule:in",
        }

    def test_says_on_what_basis(self, store: Store, relate: Any, there: None) -> None:
        self.grant(store)
        with pytest.raises(errors.PolicyDenied) as denied:
            relate(**self.across(policy_basis=None))
        assert denied.value.details["pointer"] == "/policy_basis"

    def test_a_scope_that_is_not_there_is_refused_like_one_that_grants_nothing(
        self, store: Store, relate: Any, there: None
    ) -> None:
        govern(store, cross_scope=[{**ACROSS, "scopes": ["workspace:*"]}])
        messages = []
        for scope_id in (THERE, "workspace:nowhere"):
            with pytest.raises(errors.PolicyDenied) as denied:
                relate(**self.across(target_scope_id=scope_id))
            messages.append(denied.value.message.replace(scope_id, "?"))
        assert messages[0] == messages[1]
        with pytest.raises(errors.ScopeNotFound):
            store.scope_show(scope_id="workspace:nowhere")

    def test_the_target_has_to_be_there_and_readable(
        self, store: Store, relate: Any, there: None
    ) -> None:
        self.grant(store)
        with pytest.raises(errors.ObjectNotFound, match=THERE):
            relate(**self.across(target_object_id="mem:b"))
        rules = [{"rule_id": "rule:kept", "effect": "deny", "operations": ["read"]}]
        inwards = {**ACROSS, "direction": "in", "scopes": [HERE], "rule_id": "rule:in"}
        govern(store, THERE, cross_scope=[inwards], rules=rules)
        with pytest.raises(errors.ObjectNotFound, match=THERE):
            relate(**self.across())

    def test_a_deleted_target_is_refused(self, store: Store, relate: Any, there: None) -> None:
        self.grant(store)
        version = store.read(scope_id=THERE, object_id="mem:far")["version_id"]
        store.delete(scope_id=THERE, object_id="mem:far", expected_version_id=version, actor=HUMAN)
        with pytest.raises(errors.RelationshipConflict):
            relate(**self.across())

    def test_is_seen_by_those_who_may_read_the_target_there(
        self, store: Store, relate: Any, there: None
    ) -> None:
        self.grant(store)
        made = relate(**self.across())
        look = {"scope_id": HERE, "object_id": made["relationship_id"]}
        assert store.read(**look, actor=AGENT) == made["envelope"]
        listed = {"scope_id": HERE, "relationships": True, "any_state": True, "count": True}
        assert store.query(**listed, actor=AGENT)["total"] == 1
        kept = {"rule_id": "rule:kept", "effect": "deny", "actors": ["actor:agent:*"]}
        govern(store, THERE, rules=[kept])
        with pytest.raises(errors.ObjectNotFound):
            store.read(**look, actor=AGENT)
        assert store.query(**listed, actor=AGENT)["total"] == 0
        assert store.query(**listed, actor=HUMAN)["total"] == 1

    def test_events_about_it_are_for_those_who_may_look_there(
        self, store: Store, relate: Any, there: None
    ) -> None:
        self.grant(store)
        made = relate(**self.across())
        store.delete(**change(made))
        named = {"scope_id": HERE, "after": 0}
        about = [event for event in store.log(**named, actor=AGENT)["items"] if is_of(event, made)]
        assert [event["event_type"] for event in about] == [
            "relationship_created",
            "object_deleted",
        ]
        kept = {"rule_id": "rule:kept", "effect": "deny", "actors": ["actor:agent:*"]}
        govern(store, THERE, rules=[kept])
        assert not [
            event for event in store.log(**named, actor=AGENT)["items"] if is_of(event, made)
        ]
        assert [event for event in store.log(**named, actor=HUMAN)["items"] if is_of(event, made)]

    def test_an_update_needs_the_grants_too(self, store: Store, relate: Any, there: None) -> None:
        self.grant(store)
        made = relate(**self.across())
        updated = store.relate(**change(made, provenance=SEEN, canonical_content=1))
        assert updated["envelope"]["policy_basis"] == "p:1"
        govern(store)
        with pytest.raises(errors.PolicyDenied):
            store.relate(**change(updated, provenance=SEEN, canonical_content=2))

    def test_ones_own_scope_is_no_other(self, relate: Any) -> None:
        made = relate(target_scope_id=HERE)
        assert "target_scope_id" not in made["envelope"]

    def test_what_a_group_creates_there_can_be_related_from_here(
        self, store: Store, relate: Any, there: None
    ) -> None:
        self.grant(store)
        common = {"actor": HUMAN, "provenance": SEEN}
        with store.group() as group:
            near = {"object_type": "claim", "canonical_content": 1, "object_id": "mem:new"}
            group.perform("create", {"scope_id": THERE, **common, **near})
            made = group.perform(
                "relate",
                {
                    "scope_id": HERE,
                    **common,
                    "source_object_id": "mem:a",
                    "relationship_type": "supports",
                    **self.across(target_object_id="mem:new"),
                },
            )
        assert store.read(scope_id=HERE, object_id=made["relationship_id"]) == made["envelope"]
