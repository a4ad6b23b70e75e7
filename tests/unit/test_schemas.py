"""Content schemas: what a scope registers, and what it then holds content to."""

from __future__ import annotations

from typing import Any

import pytest

import pamctl
from pamctl.errors import (
    AccessDenied,
    InvalidObject,
    InvalidRequest,
    ObjectNotFound,
    PamError,
)
from pamctl.limits import CONTENT_SCHEMA_BYTES_MAX
from pamctl.rules.authorization import default_policy
from pamctl.rules.content_schemas import DIALECT
from pamctl.service.store import Store
from tests.conformance.memories import AGENT, HUMAN, SCOPE, Memories

NOTE = "https://example.com/schemas/note"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {"type": "string", "maxLength": 20},
        "stars": {"$ref": "#/$defs/stars"},
        "when": {"format": "date"},
    },
    "additionalProperties": False,
    "$defs": {"stars": {"type": "integer", "minimum": 1, "maximum": 5}},
}
GOOD = {"title": "Beans", "stars": 4}


@pytest.fixture
def memories(store: Store) -> Memories:
    return Memories(store)


@pytest.fixture
def registered(memories: Memories) -> Memories:
    memories.store.schemas.add(scope_id=SCOPE, actor=HUMAN, schema_id=NOTE, schema=SCHEMA)
    return memories


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ("Beans", "/canonical_content"),
        ({"stars": 4}, "/canonical_content"),
        ({"title": "B" * 21}, "/canonical_content/title"),
        ({"title": "Beans", "stars": 6}, "/canonical_content/stars"),
        ({"title": "Beans", "secret": 1}, "/canonical_content"),
        ({"title": "Beans", "when": "soon"}, "/canonical_content/when"),
        (None, "/canonical_content"),
    ],
)
def test_what_names_a_registered_schema_is_held_to_it(
    registered: Memories, content: Any, pointer: str
) -> None:
    before = registered.store.head(SCOPE)
    with pytest.raises(InvalidObject) as refused:
        registered.create(content, schema_id=NOTE)
    assert refused.value.details["pointer"] == pointer
    assert refused.value.details["schema_id"] == NOTE
    assert registered.store.head(SCOPE) == before


def test_a_refusal_shows_the_schema_and_never_the_content(registered: Memories) -> None:
    with pytest.raises(InvalidObject) as refused:
        registered.create({"title": "Beans", "stars": 1234567, "my-secret": 1}, schema_id=NOTE)
    assert "1234567" not in str(refused.value)
    assert "my-secret" not in str(refused.value)
    with pytest.raises(InvalidObject, match='"maxLength": 20 of https:'):
        registered.create({"title": "confidential " * 3}, schema_id=NOTE)


def test_an_update_is_held_to_it_whichever_way_it_comes(registered: Memories) -> None:
    made = registered.create(GOOD, schema_id=NOTE)
    for change in (
        {"canonical_content": {"stars": 3}},
        {"json_patch": [{"op": "replace", "path": "/stars", "value": 9}]},
        {"merge_patch": {"title": None}},
    ):
        with pytest.raises(InvalidObject):
            registered.update(made, **change)
    assert registered.update(made, merge_patch={"stars": 5})["canonical_content"]["stars"] == 5


def test_giving_content_a_schema_id_later_holds_it_to_the_schema(registered: Memories) -> None:
    bad, good = registered.create({"stars": 9}), registered.create(GOOD)
    with pytest.raises(InvalidObject):
        registered.update(bad, schema_id=NOTE)
    assert registered.update(good, schema_id=NOTE)["schema_id"] == NOTE


def test_a_promotion_is_held_to_the_schema_that_it_names(registered: Memories) -> None:
    scratch = registered.create(
        {"task_ref": "task:1", "content": "x"}, object_type="working_memory"
    )
    promote = {
        "source_object_id": scratch["object_id"],
        "expected_version_id": scratch["version_id"],
        "target_object_type": "claim",
        "target_schema_id": NOTE,
        "provenance": {"activity": "promote"},
    }
    with pytest.raises(InvalidObject):
        registered.perform("promote", target_canonical_content={"stars": 0}, **promote)
    assert registered.perform("promote", target_canonical_content=GOOD, **promote)


def test_what_was_written_before_is_not_judged_again(memories: Memories) -> None:
    made = memories.create({"stars": 9}, schema_id=NOTE)
    memories.store.schemas.add(scope_id=SCOPE, actor=HUMAN, schema_id=NOTE, schema=SCHEMA)
    assert memories.read(made) == made
    assert memories.update(made, valid_from="2026-01-01T00:00:00Z")["sequence"] == 2
    with pytest.raises(InvalidObject):
        memories.update(made | memories.read(made), canonical_content={"stars": 8})


def test_a_schema_that_nobody_registered_judges_nothing(registered: Memories) -> None:
    made = registered.create({"stars": 9}, schema_id=NOTE + "/2")
    assert registered.read(made)["canonical_content"] == {"stars": 9}


def test_a_schema_holds_in_its_scope_alone(registered: Memories) -> None:
    other = "workspace:other"
    made = registered.store.create(
        scope_id=other,
        object_type="claim",
        canonical_content={"stars": 9},
        schema_id=NOTE,
        actor=HUMAN,
        provenance={"activity": "note"},
    )
    assert made["envelope"]["schema_id"] == NOTE
    assert registered.store.schemas.list(scope_id=other)["items"] == []


def test_what_is_partly_redacted_is_not_judged_by_its_markers(registered: Memories) -> None:
    made = registered.create(GOOD, schema_id=NOTE)
    hidden = registered.perform(
        "redact",
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        paths=["/title"],
        policy_basis="policy:privacy",
    )
    changed = registered.update(hidden["envelope"], merge_patch={"stars": 2})
    assert changed["canonical_content"]["stars"] == 2


def test_registering_the_same_again_adds_nothing_and_another_is_refused(
    registered: Memories,
) -> None:
    again = registered.store.schemas.add(
        scope_id=SCOPE, actor=AGENT, schema_id=NOTE, schema=dict(reversed(SCHEMA.items()))
    )
    assert again["added"] is False
    with pytest.raises(InvalidRequest, match="never changes"):
        registered.store.schemas.add(scope_id=SCOPE, actor=HUMAN, schema_id=NOTE, schema=True)
    shown = registered.store.schemas.show(scope_id=SCOPE, schema_id=NOTE)
    assert (shown["schema"], shown["actor"]) == (SCHEMA, HUMAN)


def test_in_one_group_a_schema_counts_from_its_place_on(store: Store) -> None:
    memory = {
        "scope_id": SCOPE,
        "object_type": "claim",
        "canonical_content": {"stars": 9},
        "schema_id": NOTE,
        "actor": HUMAN,
        "provenance": {"activity": "note"},
    }
    registration = {"scope_id": SCOPE, "actor": HUMAN, "schema_id": NOTE, "schema": SCHEMA}
    with store.group() as group:
        group.perform("create", memory)
        group.perform("schema_add", registration)
        with pytest.raises(InvalidObject):
            group.perform("create", memory)
    assert len(store.query(scope_id=SCOPE, actor=HUMAN, any_state=True)["items"]) == 1


def test_it_holds_in_another_process_and_after_a_rebuild(registered: Memories) -> None:
    anew = pamctl.open_store(registered.store.path)
    anew.rebuild_index(scope_id=SCOPE)
    with pytest.raises(InvalidObject):
        Memories(anew).create("x", schema_id=NOTE)
    assert [item["schema_id"] for item in anew.schemas.list(scope_id=SCOPE)["items"]] == [NOTE]


BRANCHING: dict[str, Any] = {
    "$defs": {
        str(level): {"allOf": [{"$ref": f"#/$defs/{level + 1}"}, {"$ref": f"#/$defs/{level + 1}"}]}
        for level in range(40)
    }
    | {"40": {}},
    "$ref": "#/$defs/0",
}


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "strin"}, "/schema/type"),
        ({"pattern": "("}, "/schema/pattern"),
        ({"properties": {"a": {"minimum": "5"}}}, "/schema/properties/a/minimum"),
        ({"$ref": "https://example.com/other"}, "/schema/$ref"),
        ({"$ref": "#anchor"}, "/schema/$ref"),
        ({"$ref": "#/$defs/none"}, "/schema/$defs/none"),
        ({"$ref": 5}, "/schema/$ref"),
        ({"$ref": "#"}, "/schema"),
        ({"properties": {"a": {"$ref": "#"}}}, "/schema"),
        ({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, "/schema/$defs/a"),
        ({"$dynamicRef": "#x"}, "/schema/$dynamicRef"),
        ({"items": {"$id": "https://example.com/inner"}}, "/schema/items/$id"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "/schema/$schema"),
        ({"description": "x" * CONTENT_SCHEMA_BYTES_MAX}, "/schema"),
        ("object", "/schema"),
        (None, "/schema"),
    ],
)
def test_what_cannot_be_judged_by_is_not_registered(
    memories: Memories, schema: Any, pointer: str
) -> None:
    before = memories.store.head(SCOPE)
    with pytest.raises(InvalidRequest) as refused:
        memories.perform("schema_add", schema_id=NOTE, schema=schema)
    assert refused.value.details["pointer"] == pointer
    assert memories.store.head(SCOPE) == before


def test_a_schema_that_would_take_forever_is_not_registered(memories: Memories) -> None:
    with pytest.raises(InvalidRequest, match="CONTENT_SCHEMA_PARTS_MAX"):
        memories.perform("schema_add", schema_id=NOTE, schema=BRANCHING)


@pytest.mark.parametrize("schema", [True, {}, {"$schema": DIALECT}])
def test_a_schema_that_asks_for_nothing_is_one(memories: Memories, schema: Any) -> None:
    memories.perform("schema_add", schema_id=NOTE, schema=schema)
    assert memories.create(["anything"], schema_id=NOTE)["canonical_content"] == ["anything"]


def test_false_lets_nothing_pass(memories: Memories) -> None:
    memories.perform("schema_add", schema_id=NOTE, schema=False)
    with pytest.raises(InvalidObject, match="does not meet the schema"):
        memories.create("anything", schema_id=NOTE)


def test_registering_is_governed_and_denials_tell_nothing(registered: Memories) -> None:
    rule = {"rule_id": "no-schemas", "effect": "deny", "operations": ["add_schema", "query"]}
    policy = {**default_policy(), "rules": [{**rule, "actors": [AGENT["actor_id"]]}]}
    registered.store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy=policy)
    asked: dict[str, Any] = {"scope_id": SCOPE, "actor": AGENT}
    told = set()
    for schema_id in (NOTE, NOTE + "/none"):
        for operation, more in (("schema_add", {"schema": True}), ("schema_show", {})):
            with pytest.raises(PamError) as refused:
                registered.store.perform(operation, {**asked, "schema_id": schema_id, **more})
            assert isinstance(refused.value, AccessDenied)
            told.add((operation, str(refused.value)))
    assert len(told) == 2


def test_an_unknown_schema_is_not_found(memories: Memories) -> None:
    with pytest.raises(ObjectNotFound):
        memories.store.schemas.show(scope_id=SCOPE, schema_id=NOTE)
