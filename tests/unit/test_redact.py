"""Redaction that hides, what it stops at, and how it is undone. PAMSPEC §9.6, §10.9."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.bindings.operations import perform
from pamctl.service.store import Store

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
OTHER = {"actor_id": "actor:agent:other", "actor_kind": "agent"}
SEEN = {"activity": "observed", "source_ref": "urn:source:1"}
GUEST = {"guest": {"name": "Ada", "phone": "555-0101"}, "seats": [1, 2]}
MARKER = "[REDACTED]"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = pamctl.init_store(tmp_path / ".pam")
    yield store
    store.close()


@pytest.fixture
def create(store: Store) -> Callable[..., dict[str, Any]]:
    def create(content: Any = GUEST, **more: Any) -> dict[str, Any]:
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


def restore(store: Store, made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return store.transition(
        **change(made, dimension="availability", target_state="available", **more)
    )


def govern(store: Store, **members: Any) -> None:
    policy = store.scope_show(scope_id=SCOPE)["policy"]
    store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy={**policy, **members})


class TestWhole:
    def test_leaves_a_tombstone_and_its_event(self, store: Store, create: Any) -> None:
        made = create(quality_signals={"staleness_score": 0.5})
        hidden = store.redact(**change(made, policy_basis="policy:p"))
        envelope = hidden["envelope"]
        assert envelope["availability_state"] == "redacted"
        assert envelope["canonical_content"] == {"tombstone": True}
        assert "quality_signals" not in envelope
        assert envelope["provenance"] == made["envelope"]["provenance"]
        event = store.log(scope_id=SCOPE)["items"][-1]
        assert event["event_type"] == "object_redacted"
        assert event["version_id"] == hidden["version_id"]
        assert event["payload"] == {
            "from": "available",
            "to": "redacted",
            "policy_basis": "policy:p",
        }
        with pytest.raises(errors.ObjectRedacted):
            store.read(scope_id=SCOPE, object_id=made["object_id"])
        with pytest.raises(errors.ObjectRedacted):
            store.update(**change(hidden, provenance=SEEN, canonical_content=1))

    def test_new_provenance_may_be_stated(self, store: Store, create: Any) -> None:
        hidden = store.redact(**change(create(), provenance={"activity": "cleaned"}))
        assert hidden["envelope"]["provenance"]["activity"] == "cleaned"

    def test_is_undone_by_a_transition(self, store: Store, create: Any) -> None:
        made = create(quality_signals={"staleness_score": 0.5})
        shown = restore(store, store.redact(**change(made)))
        assert shown["envelope"]["canonical_content"] == GUEST
        assert shown["envelope"]["quality_signals"] == {"staleness_score": 0.5}
        read = store.read(
            scope_id=SCOPE, object_id=made["object_id"], version_id=made["version_id"]
        )
        assert read == made["envelope"]

    def test_restoring_needs_the_rule_of_the_policy(self, store: Store, create: Any) -> None:
        hidden = store.redact(**change(create()))
        govern(store, overrides=[])
        with pytest.raises(errors.PolicyDenied):
            restore(store, hidden)

    def test_twice_is_refused(self, store: Store, create: Any) -> None:
        hidden = store.redact(**change(create()))
        head = store.head(SCOPE)
        for more in ({}, {"paths": ["/guest"]}):
            with pytest.raises(errors.InvalidStateTransition):
                store.redact(**change(hidden, **more))
        assert store.head(SCOPE) == head

    def test_of_what_was_deleted_is_refused(self, store: Store, create: Any) -> None:
        gone = store.delete(**change(create()))
        for more in ({}, {"erase": True}):
            with pytest.raises(errors.ObjectDeleted):
                store.redact(**change(gone, **more))

    def test_a_stale_expectation_changes_nothing(self, store: Store, create: Any) -> None:
        made = create()
        store.update(**change(made, provenance=SEEN, canonical_content=1))
        head = store.head(SCOPE)
        with pytest.raises(errors.VersionConflict):
            store.redact(**change(made, erase=True))
        assert store.head(SCOPE) == head

    def test_a_redacted_object_may_be_deleted(self, store: Store, create: Any) -> None:
        gone = store.delete(**change(store.redact(**change(create()))))
        assert gone["envelope"]["availability_state"] == "deleted"


class TestMembers:
    def test_masks_them_and_shows_the_rest(self, store: Store, create: Any) -> None:
        made = create()
        hidden = store.redact(**change(made, paths=["/guest/phone", "/seats/0"]))
        left = {"guest": {"name": "Ada", "phone": MARKER}, "seats": [MARKER, 2]}
        assert hidden["envelope"]["canonical_content"] == left
        assert hidden["envelope"]["availability_state"] == "partially_redacted"
        read = store.read(scope_id=SCOPE, object_id=made["object_id"])
        assert read == hidden["envelope"]
        payload = store.log(scope_id=SCOPE)["items"][-1]["payload"]
        assert payload["members"] == 2
        assert "phone" not in repr(payload)
        with pytest.raises(errors.ObjectRedacted):
            store.read(scope_id=SCOPE, object_id=made["object_id"], version_id=made["version_id"])
        found = store.query(scope_id=SCOPE, any_state=True, text="0101")["items"]
        assert found == []

    def test_more_of_them_and_then_all(self, store: Store, create: Any) -> None:
        hidden = store.redact(**change(create(), paths=["/guest/phone"]))
        hidden = store.redact(**change(hidden, paths=["/guest/name", "/guest/phone"]))
        assert hidden["envelope"]["canonical_content"]["guest"] == {
            "name": MARKER,
            "phone": MARKER,
        }
        hidden = store.redact(**change(hidden))
        assert hidden["envelope"]["availability_state"] == "redacted"
        assert restore(store, hidden)["envelope"]["canonical_content"] == GUEST

    @pytest.mark.parametrize(
        "paths", [["/none"], ["/guest/phone", "/seats/2"], ["/seats/-"], ["/guest/name/0"]]
    )
    def test_one_that_names_nothing_is_refused_by_its_number(
        self, store: Store, create: Any, paths: list[str]
    ) -> None:
        made = create()
        head = store.head(SCOPE)
        for erase in (False, True):
            with pytest.raises(errors.InvalidRequest) as refused:
                store.redact(**change(made, paths=paths, erase=erase))
            assert refused.value.details["pointer"] == f"/paths/{len(paths) - 1}"
            assert paths[-1] not in refused.value.message
        assert store.head(SCOPE) == head

    def test_those_that_are_masked_already_are_refused(self, store: Store, create: Any) -> None:
        hidden = store.redact(**change(create(), paths=["/guest/phone"]))
        with pytest.raises(errors.InvalidStateTransition):
            store.redact(**change(hidden, paths=["/guest/phone"]))

    def test_a_member_that_always_looked_so_can_be_redacted(
        self, store: Store, create: Any
    ) -> None:
        hidden = store.redact(**change(create({"a": MARKER}), paths=["/a"]))
        assert hidden["envelope"]["availability_state"] == "partially_redacted"
        assert restore(store, hidden)["envelope"]["canonical_content"] == {"a": MARKER}

    @pytest.mark.parametrize("whole", [False, True])
    def test_restoring_keeps_what_was_updated_meanwhile(
        self, store: Store, create: Any, whole: bool
    ) -> None:
        hidden = store.redact(**change(create(), paths=["/guest/phone"]))
        updated = store.update(**change(hidden, provenance=SEEN, merge_patch={"seats": [3]}))
        assert updated["envelope"]["availability_state"] == "partially_redacted"
        if whole:
            updated = store.redact(**change(updated))
        shown = restore(store, updated)
        assert shown["envelope"]["canonical_content"] == {**GUEST, "seats": [3]}

    def test_restoring_finds_what_was_added_and_hidden_meanwhile(
        self, store: Store, create: Any
    ) -> None:
        hidden = store.redact(**change(create(), paths=["/guest/phone"]))
        updated = store.update(**change(hidden, provenance=SEEN, merge_patch={"pin": "1234"}))
        hidden = store.redact(**change(updated, paths=["/pin"]))
        shown = restore(store, hidden)
        assert shown["envelope"]["canonical_content"] == {**GUEST, "pin": "1234"}

    def test_restored_content_has_to_fit_its_type(self, store: Store, create: Any) -> None:
        content = {"tool_name": "search", "arguments": {}, "requested_by_actor_id": "actor:a"}
        made = create(content, object_type="tool_invocation")
        hidden = store.redact(**change(made, paths=["/requested_by_actor_id", "/arguments"]))
        assert hidden["envelope"]["canonical_content"]["arguments"] == MARKER
        updated = store.update(**change(hidden, provenance=SEEN, merge_patch={"tool_name": 5}))
        with pytest.raises(errors.InvalidObject):
            restore(store, updated)
        updated = store.update(**change(updated, provenance=SEEN, merge_patch={"tool_name": "x"}))
        shown = restore(store, updated)
        assert shown["envelope"]["canonical_content"] == {**content, "tool_name": "x"}
        with pytest.raises(errors.InvalidObject):
            store.update(**change(shown, provenance=SEEN, merge_patch={"tool_name": 5}))

    def test_what_was_never_whole_cannot_be_restored(self, store: Store, create: Any) -> None:
        made = create(availability_state="partially_redacted")
        with pytest.raises(errors.RetentionRestriction):
            restore(store, made)


class TestLegalHold:
    @pytest.fixture
    def held(self, store: Store, create: Any) -> dict[str, Any]:
        return store.transition(
            **change(create(), dimension="retention", target_state="legal_hold")
        )

    @pytest.mark.parametrize("erase", [False, True])
    def test_stops_what_would_hide_or_lose(self, store: Store, held: Any, erase: bool) -> None:
        head = store.head(SCOPE)
        for operation, more in (
            ("redact", {"erase": erase}),
            ("redact", {"erase": erase, "paths": ["/guest/phone"]}),
            ("delete", {"erase": erase}),
        ):
            with pytest.raises(errors.LegalHold):
                store.perform(operation, change(held, **more))
            with pytest.raises(errors.LegalHold), store.group() as group:
                group.perform(operation, change(held, **more))
        assert store.head(SCOPE) == head
        assert store.read(scope_id=SCOPE, object_id=held["object_id"]) == held["envelope"]

    def test_stops_transitions_to_the_same_effect(self, store: Store, held: Any) -> None:
        for state in ("partially_redacted", "redacted", "deleted"):
            with pytest.raises(errors.LegalHold):
                store.transition(**change(held, dimension="availability", target_state=state))

    def test_is_over_when_it_is_released(self, store: Store, held: Any) -> None:
        free = store.transition(**change(held, dimension="retention", target_state="retained"))
        assert store.delete(**change(free, erase=True))["erased_versions"] == 3

    def test_releasing_needs_the_rule_of_the_policy(self, store: Store, held: Any) -> None:
        govern(store, overrides=[])
        for state in ("retained", "expired", "pending_deletion"):
            with pytest.raises(errors.PolicyDenied):
                store.transition(**change(held, dimension="retention", target_state=state))


class TestPolicy:
    def test_may_forbid_to_erase(self, store: Store, create: Any) -> None:
        made = create()
        govern(
            store,
            retention=[
                {"rule_id": "rule:dpo", "may_erase": True, "actors": [HUMAN["actor_id"]]},
                {"rule_id": "rule:no-erasure", "may_erase": False},
            ],
        )
        head = store.head(SCOPE)
        for operation in ("redact", "delete"):
            with pytest.raises(errors.RetentionRestriction) as refused:
                store.perform(operation, change(made, erase=True, actor=OTHER))
            assert refused.value.policy_rule_id == "rule:no-erasure"
        assert store.head(SCOPE) == head
        hidden = store.redact(**change(made, actor=OTHER))
        gone = store.delete(**change(hidden, actor=OTHER))
        with pytest.raises(errors.RetentionRestriction):
            store.delete(**change(gone, erase=True, actor=OTHER))
        assert store.delete(**change(gone, erase=True))["erased_versions"] == 1

    @pytest.mark.parametrize("by", ["delete", "transition"])
    def test_may_erase_whatever_is_deleted(self, store: Store, create: Any, by: str) -> None:
        govern(
            store,
            retention=[
                {"rule_id": "rule:gone", "erase_on_delete": True, "object_types": ["claim"]}
            ],
        )
        made, other = create(), create(object_type="observation")
        if by == "delete":
            gone, kept = store.delete(**change(made)), store.delete(**change(other))
        else:
            to_deleted = {"dimension": "availability", "target_state": "deleted"}
            gone = store.transition(**change(made, **to_deleted))
            kept = store.transition(**change(other, **to_deleted))
        assert gone["erased_versions"] == 1
        assert "erased_versions" not in kept
        event = store.log(scope_id=SCOPE, event_classes=["object_deleted"])["items"][0]
        assert event["payload"]["erasure_rule_id"] == "rule:gone"
        with pytest.raises(errors.ObjectRedacted):
            store.version_bytes(SCOPE, made["version_id"])
        assert store.version_bytes(SCOPE, other["version_id"])

    def test_may_forbid_to_redact(self, store: Store, create: Any) -> None:
        made = create()
        rule = {"rule_id": "rule:r", "effect": "deny", "operations": ["redact"]}
        govern(store, rules=[rule])
        with pytest.raises(errors.AccessDenied):
            store.redact(**change(made))


def test_a_key_makes_it_happen_once(store: Store, create: Any) -> None:
    request = change(create(), paths=["/guest"], erase=True, idempotency_key="k")
    first = store.redact(**request)
    head = store.head(SCOPE)
    again = pamctl.open_store(store.path).redact(**request)
    assert again == {**first, "replayed": True}
    assert store.head(SCOPE) == head
    with pytest.raises(errors.DuplicateOperation):
        store.redact(**{**request, "paths": ["/seats"]})


def test_relationships_too(store: Store, create: Any) -> None:
    related = store.relate(
        scope_id=SCOPE,
        actor=HUMAN,
        provenance=SEEN,
        source_object_id=create()["object_id"],
        target_object_id=create()["object_id"],
        relationship_type="supports",
        directionality="directed",
        canonical_content={"why": "because", "how": "so"},
    )
    request = {
        "scope_id": SCOPE,
        "actor": HUMAN,
        "object_id": related["relationship_id"],
        "expected_version_id": related["version_id"],
    }
    hidden = store.redact(**request, paths=["/why"])
    assert hidden["envelope"]["canonical_content"] == {"why": MARKER, "how": "so"}
    assert hidden["relationship_id"] == related["relationship_id"]
    event = store.log(scope_id=SCOPE)["items"][-1]
    assert (event["event_type"], event["relationship_id"]) == (
        "object_redacted",
        related["relationship_id"],
    )


class TestTarget:
    """The draft's name for what is redacted, as programs may give it."""

    def redact(self, store: Store, made: dict[str, Any], **more: Any) -> dict[str, Any]:
        with store.group() as group:
            result: dict[str, Any] = perform(group, "redact", change(made, **more))
        return result

    def test_holds_paths_or_nothing(self, store: Store, create: Any) -> None:
        hidden = self.redact(store, create(), redaction_target={"paths": ["/guest/phone"]})
        assert hidden["envelope"]["canonical_content"]["guest"]["phone"] == MARKER
        hidden = self.redact(store, create(), redaction_target={})
        assert hidden["envelope"]["availability_state"] == "redacted"

    @pytest.mark.parametrize(
        "more",
        [
            {"redaction_target": "/guest"},
            {"redaction_target": {"fields": ["guest"]}},
            {"redaction_target": {"paths": []}},
            {"redaction_target": {"paths": ["/guest"]}, "paths": ["/guest"]},
        ],
    )
    def test_holds_nothing_else(self, store: Store, create: Any, more: Any) -> None:
        made = create()
        with pytest.raises(errors.InvalidRequest):
            self.redact(store, made, **more)
        assert store.read(scope_id=SCOPE, object_id=made["object_id"]) == made["envelope"]
