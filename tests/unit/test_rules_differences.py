"""What is different between two JSON values."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pamctl.rules.differences import changes, comparable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=12,
)


def applied(before: Any, found: list[dict[str, Any]]) -> Any:
    """What `before` becomes by the changes, by the rules of RFC 6901."""
    document = {"": copy.deepcopy(before)}
    # Places of an array are taken away from its end.
    for change in [c for c in found if c["change"] != "removed"] + [
        c for c in reversed(found) if c["change"] == "removed"
    ]:
        steps = change["pointer"].split("/")[1:]
        place: Any = document
        key: Any = ""
        for step in (step.replace("~1", "/").replace("~0", "~") for step in steps):
            place = place[key]
            key = int(step) if isinstance(place, list) else step
        if change["change"] == "removed":
            assert place[key] == change["from"]
            del place[key]
        elif isinstance(place, list) and key == len(place):
            place.append(change["to"])
        else:
            place[key] = change["to"]
    return document[""]


@given(JSON, JSON)
def test_the_changes_lead_from_one_to_the_other(before: Any, after: Any) -> None:
    assert applied(before, changes(before, after)) == after


@given(JSON)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert changes(value, copy.deepcopy(value)) == []


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (1, 1.0, []),
        (1, True, [{"pointer": "", "change": "changed", "from": 1, "to": True}]),
        (False, 0, [{"pointer": "", "change": "changed", "from": False, "to": 0}]),
        (None, False, [{"pointer": "", "change": "changed", "from": None, "to": False}]),
        ({}, [], [{"pointer": "", "change": "changed", "from": {}, "to": []}]),
        ({"a/b": 1}, {"~": 1}, [
            {"pointer": "/a~1b", "change": "removed", "from": 1},
            {"pointer": "/~0", "change": "added", "to": 1},
        ]),
        ({"a": None}, {}, [{"pointer": "/a", "change": "removed", "from": None}]),
        ([1, 2], [1], [{"pointer": "/1", "change": "removed", "from": 2}]),
    ],
)  # fmt: skip
def test_examples(before: Any, after: Any, found: list[dict[str, Any]]) -> None:
    assert changes(before, after) == found


def test_what_says_which_version_it_is_is_no_difference() -> None:
    envelope = {
        "version_id": "ver:1",
        "sequence": 1,
        "committed_at": "x",
        "recorded_at": "x",
        "actor": {},
        "integrity": {},
        "provenance": {"provenance_id": "prov:1", "recorded_at": "x", "actor": {}, "activity": "a"},
        "canonical_content": 1,
    }
    assert comparable(envelope) == {"provenance": {"activity": "a"}, "canonical_content": 1}
