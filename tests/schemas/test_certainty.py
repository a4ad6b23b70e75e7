"""What is taken for certainly valid is what the validator takes as well, whatever is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pamctl.model import documents
from pamctl.model.certainty import Certainty
from pamctl.model.documents import URN, schema
from tests.schemas.tables import MISSING, edited
from tests.schemas.test_instances import TABLES

CERTAINTY = Certainty(schema, URN)
ODD = (
    MISSING,
    None,
    True,
    0,
    1,
    1.0,
    0.5,
    -0.5,
    -1,
    2**60,
    "",
    "x\n",
    "a:b\n",
    "\ud800",
    [],
    ["a", "a"],
    {},
    {"x": 1},
)

FOUND_OFTEN = ("store", "scope", "event", "ledger-entry", "version-file", "relationship")
"""What nearly every check of a store meets."""


def _places(value: Any, at: str = "") -> Iterator[str]:
    yield at
    if isinstance(value, dict):
        for name, member in value.items():
            if "/" not in name and "~" not in name:
                yield from _places(member, f"{at}/{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places(item, f"{at}/{number}")


def _is_valid(name: str, value: Any) -> bool:
    """By the validator."""
    validator = documents._validators.get(name) or documents._compile(name)
    try:
        return validator.is_valid(value)
    except ValueError:
        return False


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_is_certain_is_valid(name: str) -> None:
    for instance in TABLES[name].valid[:2]:
        for place in _places(instance):
            for odd in ODD:
                if odd is MISSING and not place:
                    continue
                changed = edited(instance, place, odd) if place else odd
                if CERTAINTY.is_valid(name, changed):
                    assert _is_valid(name, changed), (place, odd)
    for fault in TABLES[name].faults:
        assert not CERTAINTY.is_valid(name, edited(TABLES[name].valid[0], fault.at, fault.value))


@pytest.mark.parametrize("name", FOUND_OFTEN)
def test_most_documents_of_a_store_are_certain(name: str) -> None:
    assert any(CERTAINTY.is_valid(name, instance) for instance in TABLES[name].valid)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), (1, 2), 2**63, "\udfff", b"x", {1: 2}, [[[[[[[]]]]]]] * 3000],
    ids=lambda value: repr(value)[:20],
)
def test_of_what_is_no_plain_value_nothing_is_certain(value: Any) -> None:
    anything = Certainty(lambda _: {}, URN)
    assert anything.is_valid("any", {"x": [1, 0.5, "é", None, True]})
    assert not anything.is_valid("any", value)
    assert not anything.is_valid("any", {"x": [value]})


@pytest.mark.parametrize(
    "part",
    [
        {"unevaluatedProperties": False},
        {"not": {"patternProperties": {}}},
        {"pattern": r"^\d$"},
        {"pattern": "^a$|b"},
        {"pattern": "(?i)a"},
        {"format": "uri"},
        {"const": [1]},
        {"pattern": "^[a&&b]$"},
        {"$ref": "https://example.org/schema"},
    ],
    ids=str,
)
def test_what_is_not_known_is_left_to_the_validator(part: dict[str, Any]) -> None:
    assert not Certainty(lambda _: part, URN).is_valid("any", "1")
    assert not Certainty(lambda _: {"anyOf": [part, True]}, URN).is_valid("any", "1")


def test_the_end_of_a_text_is_no_newline() -> None:
    digits = Certainty(lambda _: {"pattern": "^[0-9]+$"}, URN)
    assert digits.is_valid("any", "12")
    assert not digits.is_valid("any", "12\n")


def test_after_the_first_documents_the_validator_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    document = TABLES["store"].valid[0]
    monkeypatch.setattr(documents, "_validators", {})
    monkeypatch.setattr(documents, "_early_left", 2)
    for validators in ([], [], ["store"], ["store"]):
        assert documents.is_valid("store", document)
        assert list(documents._validators) == validators
    monkeypatch.setattr(documents, "_validators", {})
    monkeypatch.setattr(documents, "_early_left", 2)
    assert not documents.is_valid("store", {})
    assert list(documents._validators) == ["store"]
