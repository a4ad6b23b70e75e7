"""PAMSPEC §8.2: the type system."""

from typing import Any

import pytest

import pamctl
from pamctl.errors import InvalidObject, InvalidRequest, UnsupportedObjectType
from tests.conformance.memories import Memories

CONTENTS: dict[str, Any] = {
    "claim": "tea",
    "decision": {"chosen": "tea"},
    "task": ["buy", "tea"],
    "artifact": None,
    "observation": 4,
    "entity": True,
    "summary": 0.5,
    "tool_invocation": {
        "tool_name": "kettle",
        "arguments": {"cups": 2},
    },
    "tool_result": {
        "invocation_object_id": "mem:invocation",
        "outcome": "success",
    },
    "working_memory": {"task_ref": "task:tea", "content": {"step": 1}},
}
EXTENSIONS = ("com.example.note", "https://example.org/types/note", "urn:example:note")
SCHEMA = "urn:example:schema:note:v1"


@pytest.mark.parametrize("object_type", CONTENTS)
def test_8_2_the_standard_types_are_there(memories: Memories, object_type: str) -> None:
    made = memories.create(CONTENTS[object_type], object_type=object_type)
    assert memories.read(made) == made
    assert made["object_type"] == object_type


@pytest.mark.parametrize(
    ("object_type", "content"),
    [
        ("tool_invocation", {"arguments": {}}),
        ("tool_result", {"outcome": "success"}),
        ("working_memory", {"content": {}}),
    ],
)
def test_8_2_content_of_some_types_is_held_to_their_schema(
    memories: Memories, object_type: str, content: Any
) -> None:
    with pytest.raises(InvalidObject):
        memories.create(content, object_type=object_type)
    made = memories.create(CONTENTS[object_type], object_type=object_type)
    with pytest.raises(InvalidObject):
        memories.update(made, canonical_content=content)


@pytest.mark.parametrize("object_type", EXTENSIONS)
def test_8_2_an_extension_type_needs_a_schema_id(memories: Memories, object_type: str) -> None:
    with pytest.raises(InvalidObject):
        memories.create(object_type=object_type)
    made = memories.create(object_type=object_type, schema_id=SCHEMA)
    assert (made["object_type"], made["schema_id"]) == (object_type, SCHEMA)


@pytest.mark.parametrize("object_type", ["note", "Claim", "relationship", "x y", ""])
def test_8_2_any_other_word_is_no_type(memories: Memories, object_type: str) -> None:
    with pytest.raises((UnsupportedObjectType, InvalidObject)):
        memories.create(object_type=object_type, schema_id=SCHEMA)


@pytest.mark.parametrize("object_type", EXTENSIONS)
def test_8_2_an_envelope_is_returned_whatever_its_type_means(
    memories: Memories, object_type: str
) -> None:
    """What nobody here can interpret is returned whole: members, order of arrays, numbers."""
    content = {"é": [1.5, None, {"deep": ["", 0]}], "unknown": {"": False}}
    made = memories.create(content, object_type=object_type, schema_id=SCHEMA)
    anew = Memories(pamctl.open_store(memories.store.path))
    assert anew.read(made) == made
    assert anew.read(made)["canonical_content"] == content
    assert anew.found(object_type=[object_type]) == [made]
    changed = anew.update(made, merge_patch={"added": 1})
    assert changed["object_type"] == object_type
    assert changed["canonical_content"] == {**content, "added": 1}


def test_8_2_a_type_does_not_change(memories: Memories) -> None:
    made = memories.create()
    with pytest.raises(InvalidRequest):
        memories.update(made, object_type="decision")


def test_8_2_working_memory_is_born_as_scratch_and_not_found_by_default(
    memories: Memories,
) -> None:
    made = memories.create(
        CONTENTS["working_memory"], object_type="working_memory", validation_state="corroborated"
    )
    assert made["lifecycle_state"] == "scratch"
    assert memories.perform("query")["items"] == []
    assert memories.found() == [made]


@pytest.mark.parametrize(
    "content", [None, False, 0, -1.5, "", "text", [], [1, [2]], {}, {"": None}, 2**53 - 1]
)
def test_8_2_content_may_be_any_json_value(memories: Memories, content: Any) -> None:
    made = memories.create(content)
    assert memories.read(made)["canonical_content"] == content
