"""Schemas and code agree about every text, and a refusal is always a proper one."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.encoding.identifiers import is_identifier
from pamctl.encoding.timestamps import is_timestamp
from pamctl.errors import PamError
from pamctl.limits import TIMESTAMP_CHARS_MAX
from pamctl.model.documents import check, is_valid
from pamctl.model.envelopes import is_extension_type
from pamctl.model.vocabulary import STANDARD_OBJECT_TYPES
from tests.schemas.test_instances import TABLES

unhurried = settings(derandomize=True, deadline=None, max_examples=400)

NUMBERS = st.integers(0, 99).map(lambda number: f"{number:02}")
TIMESTAMPS = st.builds(
    "{}-{}-{}{}{}:{}:{}{}{}".format,
    st.sampled_from(["2026", "2024", "0000", "0001", "9999", "26"]),
    NUMBERS,
    NUMBERS,
    st.sampled_from("Tt_ "),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.sampled_from(["", ".", ".5", ".123456789", "." + "0" * 50]),
    st.sampled_from(["Z", "z", "", "+00:00", "-23:59", "+24:00", "+02:60", "Z\n"]),
)
PLAUSIBLE = st.from_regex(
    r"20[0-9]{2}-(0[1-9]|1[0-2])-(2[0-9]|3[01])T([01][0-9]|2[0-4]):[0-5][0-9]:(60|[0-5][0-9])Z",
    fullmatch=True,
)
NAMES = st.text(alphabet="abzAZ019.:-+_/#~%é \n", max_size=24)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(TIMESTAMPS | PLAUSIBLE | st.text(max_size=30))
@unhurried
def test_a_timestamp_is_one_for_schema_and_code_alike(text: str) -> None:
    accepted = is_valid("requests/query", {"scope_id": "a:b", "as_of": text})
    assert accepted == (is_timestamp(text) and len(text) <= TIMESTAMP_CHARS_MAX)


@given(NAMES | st.text(max_size=30) | st.from_regex(r"[a-z]{1,3}:[a-z0-9/._-]{1,8}"))
@unhurried
def test_an_identifier_is_one_for_schema_and_code_alike(text: str) -> None:
    assert is_valid("requests/scope_show", {"scope_id": text}) == is_identifier(text)


@given(NAMES | st.sampled_from(STANDARD_OBJECT_TYPES) | st.from_regex(r"[a-z]+(\.[a-z0-9-]+){1,3}"))
@unhurried
def test_an_object_type_is_one_for_schema_and_code_alike(text: str) -> None:
    accepted = is_valid("requests/query", {"scope_id": "a:b", "object_type": text})
    assert accepted == (text in STANDARD_OBJECT_TYPES or is_extension_type(text))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every member and item inside a value, as container and key."""
    found: list[tuple[Any, Any]] = []
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in inner:
        found.append((value, key))
        if isinstance(member, dict | list):
            found += places(member)
    return found


def refusal(name: str, value: Any) -> PamError | None:
    try:
        check(name, value)
    except PamError as error:
        return error
    return None


def assert_stands_in(value: Any, pointer: str) -> None:
    """The pointer names a member of `value`, or one that is missing in an object of it."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    for step in steps[:-1]:
        value = value[int(step)] if isinstance(value, list) else value[step]
    if steps and isinstance(value, list):
        assert 0 <= int(steps[-1]) < len(value)
    elif steps:
        assert isinstance(value, dict)


@given(st.sampled_from(sorted(TABLES)), JSON, st.data())
@unhurried
def test_whatever_is_spoiled_gets_a_pointer_or_passes(name: str, value: Any, data: Any) -> None:
    instance = copy.deepcopy(data.draw(st.sampled_from(TABLES[name].valid)))
    inside = places(instance)
    if inside and data.draw(st.integers(0, 9)):
        container, key = inside[data.draw(st.integers(0, len(inside) - 1))]
        container[key] = value
    else:
        instance = value
    error = refusal(name, instance)
    assert is_valid(name, instance) == (error is None)
    if error is not None:
        assert len(error.message) < 2000
        assert_stands_in(instance, error.details["pointer"])
