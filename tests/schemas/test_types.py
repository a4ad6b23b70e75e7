"""The TypedDicts say what the schemas say."""

from __future__ import annotations

from typing import Any, NotRequired, get_origin, get_type_hints

import pytest

from pamctl.model import types, vocabulary
from pamctl.model.documents import schema
from pamctl.model.envelopes import (
    DEFAULT_RETRIEVAL,
    is_extension_type,
    tombstone_content,
)

PAIRS = [
    (types.Attestation, "actor", "/properties/attestation"),
    (types.Actor, "actor", ""),
    (types.ProvenanceStatement, "provenance", "/$defs/statement"),
    (types.Integrity, "integrity", ""),
    (types.QualitySignals, "quality-signals", ""),
    (types.Relationship, "relationship", "/$defs/version"),
    (types.Envelope, "envelope", "/$defs/version"),
    (types.Delegation, "delegation", ""),
    (types.Event, "event", ""),
]


def members(kind: Any) -> tuple[set[str], set[str]]:
    """All members of a TypedDict, and those that have to be there."""
    hints = get_type_hints(kind, include_extras=True)
    if not kind.__total__:
        return set(hints), set()
    return set(hints), {name for name, hint in hints.items() if get_origin(hint) is not NotRequired}


@pytest.mark.parametrize(("kind", "name", "at"), PAIRS, ids=lambda value: str(value)[-40:])
def test_a_typed_dict_has_the_members_of_its_schema(kind: Any, name: str, at: str) -> None:
    document = schema(name)
    part: Any = document
    for step in at.split("/")[1:]:
        part = part[step]
    required = set(part.get("required", ()))
    if at == "/$defs/version":
        required |= set(document["required"])
    assert members(kind) == (set(part["properties"]), required)


def test_complete_provenance_demands_more_than_a_statement() -> None:
    document = schema("provenance")
    every = set(document["$defs"]["statement"]["properties"])
    assert members(types.Provenance) == (every, set(document["required"]))


@pytest.mark.parametrize(
    "name",
    ["org.example.note", "a.b.c", "a.b-c.d-e", "urn:example:note", "https://e.org/t#frag", "x:y"],
)
def test_extension_types(name: str) -> None:
    assert is_extension_type(name)


@pytest.mark.parametrize(
    "name",
    [
        "claim",
        "working_memory",
        "example.note",
        "Org.example.note",
        "org.example.1",
        "URN:x:y",
        "https://e.org/a b",
        "urn:",
        "",
        "org.example.note\n",
        "x:" + "y" * 511,
        None,
        3,
    ],
)
def test_what_is_no_extension_type(name: object) -> None:
    assert not is_extension_type(name)


def test_conservative_retrieval_names_a_state_of_every_dimension() -> None:
    assert list(DEFAULT_RETRIEVAL) == [f"{dimension}_state" for dimension in vocabulary.DIMENSIONS]
    for dimension, states in vocabulary.STATES.items():
        assert DEFAULT_RETRIEVAL[f"{dimension}_state"] in states


def test_a_tombstone_is_a_new_value_each_time() -> None:
    tombstone_content()["tombstone"] = False
    assert tombstone_content() == {"tombstone": True}
