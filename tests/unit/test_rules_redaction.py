"""What a redaction hides of a content, and what a restoration puts back."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.rules.redaction import (
    MARKER,
    holds_text,
    is_shown,
    is_there,
    mask,
    mask_leaves,
    texts_at,
    unmask,
)

CONTENT: dict[str, Any] = {
    "guest": {"name": "Ada", "phone": "555-0101"},
    "a/b": {"~": [1, {"deep": None}, "two"]},
    "": "empty name",
}


@pytest.mark.parametrize(
    ("pointer", "left"),
    [
        ("/guest/phone", {**CONTENT, "guest": {"name": "Ada", "phone": MARKER}}),
        ("/guest", {**CONTENT, "guest": MARKER}),
        ("/a~1b/~0/1/deep", {**CONTENT, "a/b": {"~": [1, {"deep": MARKER}, "two"]}}),
        ("/a~1b/~0/0", {**CONTENT, "a/b": {"~": [MARKER, {"deep": None}, "two"]}}),
        ("/", {**CONTENT, "": MARKER}),
    ],
)
def test_a_pointer_masks_what_it_names_and_nothing_else(pointer: str, left: Any) -> None:
    before = repr(CONTENT)
    assert is_there(CONTENT, pointer)
    assert is_shown(CONTENT, pointer)
    assert mask(CONTENT, [pointer]) == left
    assert not is_shown(left, pointer)
    assert is_there(left, pointer)
    assert repr(CONTENT) == before


@pytest.mark.parametrize(
    "pointer",
    [
        "/none",
        "/guest/name/first",
        "/a~1b/~0/3",
        "/a~1b/~0/01",
        "/a~1b/~0/-",
        "/a~1b/~0/1e0",
        "/a/b",
    ],
)
def test_a_pointer_to_nothing_changes_nothing(pointer: str) -> None:
    assert not is_there(CONTENT, pointer)
    assert not is_shown(CONTENT, pointer)
    assert mask(CONTENT, [pointer]) == CONTENT


def test_pointers_may_overlap_in_any_order() -> None:
    for pointers in (["/guest", "/guest/phone"], ["/guest/phone", "/guest"]):
        assert mask(CONTENT, pointers) == {**CONTENT, "guest": MARKER}


def test_leaves_keep_the_structure() -> None:
    assert mask_leaves(CONTENT) == {
        "guest": {"name": MARKER, "phone": MARKER},
        "a/b": {"~": [MARKER, {"deep": None}, MARKER]},
        "": MARKER,
    }
    assert unmask(mask_leaves(CONTENT), CONTENT) == CONTENT


@pytest.mark.parametrize("pointers", [["/guest"], ["/a~1b/~0/1", "/guest/phone"], ["/a~1b/~0/0"]])
def test_unmasking_undoes_masking(pointers: list[str]) -> None:
    assert unmask(mask(CONTENT, pointers), CONTENT) == CONTENT


def test_unmasking_keeps_what_was_changed_meanwhile() -> None:
    masked = mask({"a": "secret", "b": 1, "c": {"d": "hidden"}}, ["/a", "/c/d"])
    changed = {**masked, "b": 2, "new": MARKER}
    restored = unmask(changed, {"a": "secret", "b": 1, "c": {"d": "hidden"}})
    assert restored == {"a": "secret", "b": 2, "c": {"d": "hidden"}, "new": MARKER}


def test_items_of_an_array_that_was_changed_stay_masked() -> None:
    whole = {"list": ["first", "second", "third"]}
    masked = mask(whole, ["/list/1"])
    assert unmask({"list": masked["list"][1:]}, whole) == {"list": [MARKER, "third"]}
    assert unmask(masked, whole) == whole


def test_numbers_and_booleans_are_not_taken_for_one_another() -> None:
    for later, earlier in (([True, MARKER], [1, "x"]), ([1, MARKER], [1.5, "x"])):
        assert unmask({"list": later}, {"list": earlier}) == {"list": later}


def test_texts_that_tell() -> None:
    content = {"a": ["longer text", "yes", {"a long name": 5}], "b": "other thing"}
    assert texts_at(content, ["/a", "/none"]) == {"longer text", "a long name"}
    assert holds_text({"x": [{"y": "some longer text there"}]}, {"longer text"})
    assert holds_text({"a long name indeed": 1}, {"a long name"})
    assert not holds_text({"x": "text"}, {"longer text"})
    assert texts_at({"a": MARKER}, ["/a"]) == set()
