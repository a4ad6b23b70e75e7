"""Canonical JSON against the examples that RFC 8785 prints, and what it refuses."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from pamctl.encoding.canonical import canonical, is_plain
from pamctl.errors import InvalidObject
from pamctl.limits import DEPTH_MAX, INTEGER_MAX

# RFC 8785 Appendix B: an IEEE 754 double in hexadecimal, and how it is spelled.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "spelled"), NUMBERS.items())
def test_the_numbers_of_rfc_8785_appendix_b(bits: str, spelled: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == spelled.encode()


# The rest of that table: spelled as integers that I-JSON cannot carry.
@pytest.mark.parametrize(
    "bits",
    [
        "4340000000000000",
        "c340000000000000",
        "4430000000000000",
        "444b1ae4d6e2ef4e",
        "444b1ae4d6e2ef4f",
    ],
)
def test_a_float_that_would_be_an_unsafe_integer_is_refused(bits: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    with pytest.raises(InvalidObject, match="2\\^53"):
        canonical({"n": number})


@pytest.mark.parametrize(
    ("number", "spelled"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e15, "1000000000000000"),
        (9007199254740991.0, "9007199254740991"),
        (0.0001, "0.0001"),
        (0.00009, "0.00009"),
        (1e-7, "1e-7"),
        (0.1 + 0.2, "0.30000000000000004"),
        (999999999999999.9, "999999999999999.9"),
    ],
)
def test_numbers_that_two_writers_spell_differently(number: float, spelled: str) -> None:
    assert canonical({"n": [number]}) == b'{"n":[' + spelled.encode() + b"]}"


def test_the_sample_of_rfc_8785_section_3_2_2() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\x0f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(value) == expected.encode()


def test_members_are_ordered_by_utf_16_code_units() -> None:
    # RFC 8785 §3.2.3: the astral name comes before U+FB33, whose code point is smaller.
    names = ["€", "\r", "\ufb33", "1", "😀", "\x80", "ö"]
    ordered = ["\r", "1", "\x80", "ö", "€", "😀", "\ufb33"]
    written = canonical(dict.fromkeys(names, 0))
    assert written == canonical(dict.fromkeys(ordered, 0))
    places = [written.index(canonical(name)) for name in ordered]
    assert places == sorted(places)


def test_text_is_kept_as_it_is() -> None:
    composed, decomposed = "é", "e\u0301"
    assert canonical(composed) != canonical(decomposed)
    assert canonical("\u2028\x7f</script>") == '"\u2028\x7f</script>"'.encode()
    assert canonical("\x00\x1f\b\f\t\r") == b'"\\u0000\\u001f\\b\\f\\t\\r"'


REFUSED: dict[str, Any] = {
    "integer above the range": INTEGER_MAX + 1,
    "integer below the range": -INTEGER_MAX - 1,
    "not a number": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "lone surrogate": "\ud800",
    "lone surrogate in a name": {"\udfff": 1},
    "lone surrogate beside an astral name": {"😀": "\ud800"},
    "lone surrogate within an astral name": {"😀\ud800": 1},
    "bytes": b"bytes",
    "tuple": (1, 2),
    "set": {1},
    "name that is a number": {1: "one"},
    "name that is null": {None: 1},
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_what_i_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(InvalidObject):
        canonical(value)
    with pytest.raises(InvalidObject):
        canonical({"deep": [{"inside": value}]})


def test_the_ends_of_the_integer_range() -> None:
    assert canonical([INTEGER_MAX, -INTEGER_MAX]) == b"[9007199254740991,-9007199254740991]"


def test_nesting_is_bounded() -> None:
    value: Any = 1
    for _ in range(DEPTH_MAX):
        value = [value]
    assert canonical(value) == b"[" * DEPTH_MAX + b"1" + b"]" * DEPTH_MAX
    with pytest.raises(InvalidObject, match="DEPTH_MAX"):
        canonical([value])


def test_room_for_what_a_value_is_put_into() -> None:
    value: Any = 1
    for _ in range(DEPTH_MAX - 2):
        value = [value]
    assert is_plain(value, levels_around=2)
    with pytest.raises(InvalidObject, match="DEPTH_MAX"):
        is_plain(value, levels_around=3)


def test_numbers_and_booleans_are_not_confused() -> None:
    assert canonical([True, 1, False, 0]) == b"[true,1,false,0]"
