"""The operations that change one object, through the Python API. PAMSPEC §10, §12."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.service.store import Store

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
OTHER = {"actor_id": "actor:agent:other", "actor_kind": "agent"}
SEEN = {"activity": "observed", "source_ref": "urn:source:1", "source_confidence": 0.5}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = pamctl.init_store(tmp_path / ".pam")
    yield store
    store.close()


@pytest.fixture
def create(store: Store) -> Callable[..., dict[str, Any]]:
    def create(content: Any = {"statement": "Tea is at four."}, **more: Any) -> dict[str, Any]:  # noqa: B006
        given = {"scope_id": SCOPE, "object_type": "claim", "actor": HUMAN, "provenance": SEEN}
        return store.create(**{**given, "canonical_content": content, **more})

    return create


def change(made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "scope_id": SCOPE,
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "actor": HUMAN,
        **more,
    }


def reopened(store: Store) -> Store:
    return pamctl.open_store(store.path)


class TestCreate:
    def test_answers_what_was_committed(self, store: Store, create: Any) -> None:
        made = create(object_id="mem:tea:1", observed_at="2026-01-01T10:00:00+02:00")
        envelope = made["envelope"]
        assert envelope["object_id"] == made["object_id"] == "mem:tea:1"
        assert (made["sequence"], made["ledger_sequence"], made["replayed"]) == (1, 1, False)
        assert envelope["observed_at"] == "2026-01-01T08:00:00Z"
        assert envelope["provenance"]["actor"] == HUMAN
        assert envelope["provenance"]["source_confidence"] == 0.5
        assert store.read(scope_id=SCOPE, object_id="mem:tea:1") == envelope
        assert reopened(store).read(scope_id=SCOPE, object_id="mem:tea:1") == envelope

    def test_defaults_are_those_of_the_draft(self, create: Any) -> None:
        envelope = create()["envelope"]
        states = [envelope[f"{d}_state"] for d in ("lifecycle", "availability", "retention")]
        assert states == ["active", "available", "retained"]
        assert envelope["validation_state"] == "unverified"

    def test_working_memory_begins_as_scratch(self, create: Any) -> None:
        made = create({"task_ref": "task:1", "content": []}, object_type="working_memory")
        assert made["envelope"]["lifecycle_state"] == "scratch"

    def test_an_id_is_never_used_twice(self, store: Store, create: Any) -> None:
        made = create(object_id="mem:tea:1")
        with pytest.raises(errors.VersionConflict) as conflict:
            create(object_id="mem:tea:1")
        assert conflict.value.details["current_version_id"] == made["version_id"]
        store.delete(**change(made))
        with pytest.raises(errors.ObjectDeleted):
            create(object_id="mem:tea:1")

    @pytest.mark.parametrize("state", ["redacted", "deleted"])
    def test_nothing_is_born_without_content(self, create: Any, state: str) -> None:
        with pytest.raises(errors.InvalidRequest):
            create(availability_state=state)

    def test_content_may_be_any_json_value(self, store: Store, create: Any) -> None:
        for content in (None, False, 0, "", [], {}, [None], 1.5, "\u2028", {"\U0001f375": 1}):
            made = create(content)
            read = store.read(scope_id=SCOPE, object_id=made["object_id"])
            assert read["canonical_content"] == content

    def test_content_beyond_the_bound_is_refused_by_name(self, create: Any) -> None:
        with pytest.raises(errors.InvalidObject, match="CONTENT_BYTES_MAX"):
            create("x" * (8 * 1024 * 1024))

    @pytest.mark.parametrize(
        "content", [float("nan"), 2**53, {"a": [float("inf")]}, {1: 2}, "\ud800", {"a": {1, 2}}]
    )
    def test_what_json_cannot_carry_is_refused(
        self, store: Store, create: Any, content: Any
    ) -> None:
        with pytest.raises((errors.InvalidObject, errors.InvalidRequest)):
            create(content)
        assert store.head(SCOPE)["sequence"] == 0


class TestUpdate:
    def test_makes_the_next_version(self, store: Store, create: Any) -> None:
        made = create()
        updated = store.update(**change(made, provenance=SEEN, canonical_content={"a": 1}))
        assert updated["sequence"] == 2
        assert updated["version_id"] != made["version_id"]
        assert updated["envelope"]["canonical_content"] == {"a": 1}
        old = store.read(scope_id=SCOPE, object_id=made["object_id"], version_id=made["version_id"])
        assert old == made["envelope"]

    def test_a_stale_expectation_changes_nothing_and_says_what_was_missed(
        self, store: Store, create: Any
    ) -> None:
        made = create()
        updated = store.update(
            **change(made, actor=OTHER, provenance=SEEN, canonical_content={"a": 1})
        )
        head = store.head(SCOPE)
        with pytest.raises(errors.VersionConflict) as conflict:
            store.update(**change(made, provenance=SEEN, canonical_content={"a": 2}))
        details = conflict.value.details
        assert details["current_version_id"] == updated["version_id"]
        assert details["expected_version_id"] == made["version_id"]
        assert details["changed_by"] == OTHER["actor_id"]
        assert store.head(SCOPE) == head

    def test_by_json_patch(self, store: Store, create: Any) -> None:
        made = create({"a": {"b": 1}, "list": [1, 2]})
        patch = [
            {"op": "test", "path": "/a/b", "value": 1.0},
            {"op": "replace", "path": "/a/b", "value": 2},
            {"op": "add", "path": "/list/-", "value": 3},
            {"op": "remove", "path": "/list/0"},
        ]
        updated = store.update(**change(made, provenance=SEEN, json_patch=patch))
        assert updated["envelope"]["canonical_content"] == {"a": {"b": 2}, "list": [2, 3]}
        assert made["envelope"]["canonical_content"] == {"a": {"b": 1}, "list": [1, 2]}

    @pytest.mark.parametrize(
        "patch",
        [
            [{"op": "test", "path": "/a", "value": True}],
            [{"op": "remove", "path": "/missing"}],
            [
                {"op": "replace", "path": "/a", "value": 2},
                {"op": "add", "path": "/x/y", "value": 1},
            ],
        ],
    )
    def test_a_patch_applies_whole_or_not_at_all(
        self, store: Store, create: Any, patch: list[Any]
    ) -> None:
        made = create({"a": 1})
        with pytest.raises(errors.InvalidRequest):
            store.update(**change(made, provenance=SEEN, json_patch=patch))
        assert store.read(scope_id=SCOPE, object_id=made["object_id"]) == made["envelope"]

    def test_by_merge_patch(self, store: Store, create: Any) -> None:
        made = create({"a": 1, "b": {"c": 1, "d": 2}})
        updated = store.update(**change(made, provenance=SEEN, merge_patch={"b": {"c": None}}))
        assert updated["envelope"]["canonical_content"] == {"a": 1, "b": {"d": 2}}

    def test_of_provenance_alone_is_an_event_of_its_own(self, store: Store, create: Any) -> None:
        made = create()
        store.update(**change(made, provenance={"activity": "corrected"}))
        events = store.log(scope_id=SCOPE)["items"]
        assert [event["event_type"] for event in events] == ["object_created", "provenance_updated"]

    def test_two_ways_to_give_content_are_refused(self, store: Store, create: Any) -> None:
        made = create()
        with pytest.raises(errors.InvalidRequest):
            store.update(**change(made, provenance=SEEN, canonical_content=1, merge_patch={}))

    def test_typed_content_stays_typed(self, store: Store, create: Any) -> None:
        made = create({"tool_name": "search", "arguments": {}}, object_type="tool_invocation")
        with pytest.raises(errors.InvalidObject):
            store.update(**change(made, provenance=SEEN, merge_patch={"tool_name": None}))


class TestTransition:
    def test_makes_a_version_and_the_event_of_its_dimension(
        self, store: Store, create: Any
    ) -> None:
        made = create(lifecycle_state="candidate")
        moved = store.transition(
            **change(made, dimension="lifecycle", target_state="active", policy_basis="policy:p")
        )
        assert moved["envelope"]["lifecycle_state"] == "active"
        assert moved["envelope"]["provenance"] == made["envelope"]["provenance"]
        event = store.log(scope_id=SCOPE)["items"][-1]
        assert event["event_type"] == "lifecycle_transitioned"
        assert event["payload"] == {
            "dimension": "lifecycle",
            "from": "candidate",
            "to": "active",
            "policy_basis": "policy:p",
        }

    def test_what_the_table_forbids_changes_nothing(self, store: Store, create: Any) -> None:
        made = create()
        with pytest.raises(errors.InvalidStateTransition) as refused:
            store.transition(**change(made, dimension="lifecycle", target_state="scratch"))
        assert refused.value.details["allowed"] == ["superseded", "deprecated", "archived"]
        assert store.read(scope_id=SCOPE, object_id=made["object_id"]) == made["envelope"]

    def test_redacting_hides_and_restoring_shows(self, store: Store, create: Any) -> None:
        made = create({"secret": "x"})
        hidden = store.transition(**change(made, dimension="availability", target_state="redacted"))
        assert hidden["envelope"]["canonical_content"] == {"tombstone": True}
        with pytest.raises(errors.ObjectRedacted):
            store.read(scope_id=SCOPE, object_id=made["object_id"])
        with pytest.raises(errors.ObjectRedacted):
            store.read(scope_id=SCOPE, object_id=made["object_id"], version_id=made["version_id"])
        shown = store.transition(
            **change(hidden, dimension="availability", target_state="available")
        )
        assert shown["envelope"]["canonical_content"] == {"secret": "x"}

    def test_a_scope_without_the_rule_refuses(self, store: Store, create: Any) -> None:
        made = create(lifecycle_state="deprecated")
        policy = store.scope_show(scope_id=SCOPE)["policy"] | {"overrides": []}
        store.scope_policy(scope_id=SCOPE, policy=policy, actor=HUMAN)
        with pytest.raises(errors.PolicyDenied):
            store.transition(**change(made, dimension="lifecycle", target_state="active"))


class TestDelete:
    def test_leaves_a_tombstone_that_nothing_leaves(self, store: Store, create: Any) -> None:
        made = create({"secret": "x"})
        gone = store.delete(**change(made, policy_basis="policy:p"))
        assert gone["envelope"]["canonical_content"] == {"tombstone": True}
        assert gone["envelope"]["availability_state"] == "deleted"
        with pytest.raises(errors.ObjectDeleted):
            store.read(scope_id=SCOPE, object_id=made["object_id"])
        for state in ("available", "redacted", "partially_redacted"):
            with pytest.raises(errors.ObjectDeleted):
                store.transition(**change(gone, dimension="availability", target_state=state))
        with pytest.raises(errors.ObjectDeleted):
            store.update(**change(gone, provenance=SEEN, canonical_content=1))
        with pytest.raises(errors.ObjectDeleted):
            store.delete(**change(gone))

    def test_withholds_what_earlier_versions_held(self, store: Store, create: Any) -> None:
        made = create({"secret": "x"})
        gone = store.delete(**change(made))
        versions = store.history(scope_id=SCOPE, object_id=made["object_id"])["items"]
        assert [v["version_id"] for v in versions] == [made["version_id"], gone["version_id"]]
        assert "secret" not in repr(versions)
        with pytest.raises(errors.ObjectDeleted):
            store.read(scope_id=SCOPE, object_id=made["object_id"], version_id=made["version_id"])
        with pytest.raises(errors.ObjectDeleted):
            store.read(scope_id=SCOPE, object_id=made["object_id"], at_sequence=1)

    def test_a_legal_hold_stops_it_on_every_path(self, store: Store, create: Any) -> None:
        made = create(retention_state="legal_hold")
        with pytest.raises(errors.LegalHold):
            store.delete(**change(made))
        for state in ("deleted", "redacted", "partially_redacted"):
            with pytest.raises(errors.LegalHold):
                store.transition(**change(made, dimension="availability", target_state=state))


class TestIdempotency:
    def test_a_repeat_answers_the_first_result(self, store: Store, create: Any) -> None:
        made = create(idempotency_key="k")
        head = store.head(SCOPE)
        again = create(idempotency_key="k", operation_id="op:other")
        assert again == {**made, "replayed": True}
        assert reopened(store).head(SCOPE) == head

    def test_survives_a_restart(self, store: Store, create: Any) -> None:
        made = create(idempotency_key="k")
        again = reopened(store).create(
            scope_id=SCOPE,
            object_type="claim",
            actor=HUMAN,
            provenance=SEEN,
            canonical_content={"statement": "Tea is at four."},
            idempotency_key="k",
        )
        assert again["version_id"] == made["version_id"]

    def test_the_same_key_with_another_request_is_refused(self, store: Store, create: Any) -> None:
        made = create(idempotency_key="k")
        with pytest.raises(errors.DuplicateOperation):
            create({"statement": "Tea is at five."}, idempotency_key="k")
        with pytest.raises(errors.DuplicateOperation):
            store.delete(**change(made, idempotency_key="k"))

    def test_on_every_operation_that_changes_state(self, store: Store, create: Any) -> None:
        made = create()
        steps = [
            (store.update, {"provenance": SEEN, "canonical_content": 1, "idempotency_key": "u"}),
            (
                store.transition,
                {"dimension": "lifecycle", "target_state": "archived", "idempotency_key": "t"},
            ),
            (store.delete, {"idempotency_key": "d"}),
        ]
        for operation, more in steps:
            request = change(made, **more)
            first = operation(**request)
            assert operation(**request)["version_id"] == first["version_id"]
            made = first

    def test_a_stable_refusal_is_replayed(self, store: Store, create: Any) -> None:
        made = create()
        request = change(
            made, dimension="lifecycle", target_state="scratch", idempotency_key="never"
        )
        with pytest.raises(errors.InvalidStateTransition) as first:
            store.transition(**request)
        head = store.head(SCOPE)
        with pytest.raises(errors.InvalidStateTransition) as second:
            reopened(store).transition(**request)
        assert second.value.message == first.value.message
        assert store.head(SCOPE) == head
        with pytest.raises(errors.DuplicateOperation):
            store.transition(**{**request, "target_state": "archived"})

    def test_a_refusal_that_may_pass_does_not_use_up_the_key(
        self, store: Store, create: Any
    ) -> None:
        made = create()
        updated = store.update(**change(made, provenance=SEEN, canonical_content=1))
        with pytest.raises(errors.VersionConflict):
            store.update(**change(made, provenance=SEEN, canonical_content=2, idempotency_key="k"))
        merged = store.update(
            **change(updated, provenance=SEEN, canonical_content=2, idempotency_key="k")
        )
        assert merged["replayed"] is False

    def test_a_key_says_nothing_in_another_scope(self, store: Store, create: Any) -> None:
        made = create(idempotency_key="k")
        other = create({"other": 1}, idempotency_key="k", scope_id="workspace:other")
        assert other["replayed"] is False
        assert other["object_id"] != made["object_id"]

    def test_a_replay_after_deletion_shows_the_tombstone(self, store: Store, create: Any) -> None:
        made = create({"secret": "x"}, idempotency_key="k")
        store.delete(**change(made))
        again = create({"secret": "x"}, idempotency_key="k")
        assert again["replayed"] is True
        assert "secret" not in repr(again)


class TestScopes:
    def test_an_object_is_seen_in_its_scope_alone(self, store: Store, create: Any) -> None:
        made = create()
        create(scope_id="workspace:other")
        for operation in (
            lambda: store.read(scope_id="workspace:other", object_id=made["object_id"]),
            lambda: store.history(scope_id="workspace:other", object_id=made["object_id"]),
            lambda: store.delete(**{**change(made), "scope_id": "workspace:other"}),
            lambda: store.read(scope_id="workspace:never", object_id=made["object_id"]),
        ):
            with pytest.raises(errors.ObjectNotFound):
                operation()

    def test_one_not_declared_reads_as_empty(self, store: Store) -> None:
        assert store.query(scope_id="workspace:never")["items"] == []
        assert store.log(scope_id="workspace:never")["items"] == []
        assert [s["scope_id"] for s in store.scope_list()["items"]] == [SCOPE]

    def test_names_that_differ_by_case_stay_apart(self, store: Store, create: Any) -> None:
        create(scope_id="workspace:Tea")
        create(scope_id="workspace:tea")
        assert len(list(store.layout.scopes.iterdir())) == 3


class TestGroup:
    def request(self, number: int, **more: Any) -> dict[str, Any]:
        return {
            "scope_id": SCOPE,
            "object_type": "claim",
            "canonical_content": {"number": number},
            "actor": HUMAN,
            "provenance": SEEN,
            "object_id": f"mem:number:{number}",
            **more,
        }

    def test_commits_together_and_each_sees_those_before(self, store: Store) -> None:
        with store.group() as group:
            made = [group.perform("create", self.request(n)) for n in range(10)]
            group.perform("update", change(made[3], provenance=SEEN, canonical_content="later"))
            with pytest.raises(errors.VersionConflict):
                group.perform("create", self.request(3))
        assert store.head(SCOPE)["sequence"] == 11
        assert (
            reopened(store).read(scope_id=SCOPE, object_id="mem:number:3")["canonical_content"]
            == "later"
        )

    def test_reading_in_a_group_sees_what_is_staged(self, store: Store) -> None:
        with store.group() as group:
            group.perform("create", self.request(1))
            read = group.perform("read", {"scope_id": SCOPE, "object_id": "mem:number:1"})
        assert read["canonical_content"] == {"number": 1}

    def test_an_atomic_group_is_all_or_nothing(self, store: Store) -> None:
        before = store.head(SCOPE)
        with pytest.raises(errors.VersionConflict), store.group(atomic=True) as group:
            group.perform("create", self.request(1))
            group.perform("create", self.request(1))
        assert store.head(SCOPE) == before

    def test_keys_hold_within_a_group(self, store: Store) -> None:
        with store.group() as group:
            first = group.perform("create", self.request(1, idempotency_key="k"))
            second = group.perform("create", self.request(1, idempotency_key="k"))
            with pytest.raises(errors.DuplicateOperation):
                group.perform("create", self.request(2, idempotency_key="k"))
        assert second == {**first, "replayed": True}
        assert store.head(SCOPE)["sequence"] == 1

    def test_spans_scopes(self, store: Store) -> None:
        with store.group() as group:
            for number in range(6):
                group.perform("create", self.request(number, scope_id=f"workspace:{number % 3}"))
        assert [store.head(f"workspace:{n}")["sequence"] for n in range(3)] == [2, 2, 2]

    def test_a_commit_that_failed_on_the_way_is_not_forgotten(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        with pytest.raises(errors.ServiceUnavailable), store.group() as group:
            group.perform("create", self.request(1))
            monkeypatch.setattr("os.fsync", refuse)
            with pytest.raises(errors.ServiceUnavailable):
                group.perform("read", {"scope_id": SCOPE, "object_id": "mem:number:1"})
            monkeypatch.undo()
        assert store.head(SCOPE)["sequence"] == 0

    def test_an_atomic_group_only_changes(self, store: Store) -> None:
        with pytest.raises(errors.InvalidRequest), store.group(atomic=True) as group:
            group.perform("create", self.request(1))
            group.perform("read", {"scope_id": SCOPE, "object_id": "mem:number:1"})
        assert store.head(SCOPE)["sequence"] == 0
