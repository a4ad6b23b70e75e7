"""Strict I-JSON: what is refused, and that the refusal says where."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest
from pamctl.limits import DEPTH_MAX, DOCUMENT_BYTES_MAX, INTEGER_MAX

POINTED = {
    "duplicate member": (b'{"a":{"b":1,"b":2}}', "/a"),
    "duplicate member at the top": (b'{"a":1,"a":1}', ""),
    "duplicate by escape": (b'[{"a":1,"\\u0061":2}]', "/0"),
    "integer too large": (b'{"n":9007199254740992}', "/n"),
    "integer too small": (b'{"n":-9007199254740992}', "/n"),
    "integer beyond 64 bits": (b'{"n":[1,18446744073709551616]}', "/n/1"),
    "integer of a thousand digits": (b'{"n":' + b"7" * 1000 + b"}", "/n"),
    "float too large": (b'{"n":1e400}', "/n"),
    "NaN": (b'{"n":NaN}', "/n"),
    "Infinity": (b'{"n":[Infinity]}', "/n/0"),
    "minus Infinity": (b'{"n":-Infinity}', "/n"),
    "lone high surrogate": (b'{"t":"x\\ud800y"}', "/t"),
    "lone low surrogate": (b'{"t":["\\udc00"]}', "/t/0"),
    "surrogates the wrong way round": (b'{"t":"\\udc00\\ud800"}', "/t"),
    "lone surrogate in a name": (b'{"o":{"\\ud800":1}}', "/o"),
    "pointer escapes": (b'{"a/b~c":{"x":NaN}}', "/a~1b~0c/x"),
}


@pytest.mark.parametrize(("text", "pointer"), POINTED.values(), ids=POINTED.keys())
def test_a_refusal_names_the_member(text: bytes, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse(text, what="the content")
    assert refusal.value.details["pointer"] == pointer
    assert refusal.value.message.startswith("the content: ")
    assert refusal.value.details["hint"]


NO_JSON = {
    "nothing": b"",
    "white space": b" \n",
    "two values": b"1 2",
    "trailing comma": b"[1,]",
    "single quotes": b"{'a':1}",
    "comment": b"[1] // one",
    "leading zero": b"[01]",
    "plus sign": b"[+1]",
    "bare word": b"nil",
    "cut short": b'{"a":"',
    "raw newline in text": b'"a\nb"',
    "raw NUL": b'"a\x00b"',
    "NUL behind the value": b"{}\x00",
    "hexadecimal": b"0x10",
}


@pytest.mark.parametrize("text", NO_JSON.values(), ids=NO_JSON.keys())
def test_a_refusal_of_what_is_no_json_names_line_and_column(text: bytes) -> None:
    with pytest.raises(InvalidRequest, match="is not JSON") as refusal:
        parse(text)
    assert refusal.value.details["line"] >= 1
    assert refusal.value.details["column"] >= 1
    assert " at at " not in refusal.value.message


@pytest.mark.parametrize(
    "mark", [b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"\xfe\xff\x00{\x00}"], ids=["8", "LE", "BE"]
)
def test_a_byte_order_mark_is_refused_as_one(mark: bytes) -> None:
    with pytest.raises(InvalidRequest, match="byte order mark"):
        parse(mark)


@pytest.mark.parametrize(
    "bad", [b'"\xff"', b'"\xc0\xaf"', b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"']
)
def test_what_is_not_utf_8_is_refused_with_the_byte(bad: bytes) -> None:
    with pytest.raises(InvalidRequest, match="not UTF-8") as refusal:
        parse(bad)
    assert refusal.value.details["byte"] == 1


def test_text_with_a_lone_surrogate_in_python_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        parse('"\ud800"')


def test_what_is_accepted_comes_back_as_it_was() -> None:
    accepted: list[tuple[str, Any]] = [
        ("0", 0),
        ("-0", 0),
        ("1.0", 1.0),
        ("1E2", 100.0),
        (f"{INTEGER_MAX}", INTEGER_MAX),
        (f"{-INTEGER_MAX}", -INTEGER_MAX),
        (' { "b" : 1 ,\r\n"a" : [ ] } ', {"b": 1, "a": []}),
        ('"\\ud83d\\ude00\\u00e9\\/"', "😀é/"),
        ('"e\u0301"', "e\u0301"),
        ('{"":null}', {"": None}),
    ]
    for text, value in accepted:
        for spelled in (text, text.encode()):
            found = parse(spelled)
            assert found == value
            assert type(found) is type(value)


def test_the_order_of_members_is_kept() -> None:
    assert list(parse('{"z":1,"a":2,"m":3}')) == ["z", "a", "m"]
    assert list(parse('{ "z":1, "a":2, "m":3}')) == ["z", "a", "m"]


@pytest.mark.parametrize("brackets", ["[]", '{"a":}'])
def test_nesting_is_bounded(brackets: str) -> None:
    opened, closed = brackets[:-1], brackets[-1]
    parse(opened * DEPTH_MAX + ("1" if opened != "[" else "") + closed * DEPTH_MAX)
    for depth in (DEPTH_MAX + 1, 1_000, 100_000):
        with pytest.raises(InvalidRequest, match="DEPTH_MAX"):
            parse(opened * depth + "1" + closed * depth)


def test_many_shallow_members_are_not_deep() -> None:
    value = [{"a": [number]} for number in range(1000)]
    assert parse(json.dumps(value)) == value


def test_length_is_bounded() -> None:
    longest = b'"' + b"a" * (DOCUMENT_BYTES_MAX - 2) + b'"'
    assert len(parse(longest)) == DOCUMENT_BYTES_MAX - 2
    with pytest.raises(InvalidRequest, match="DOCUMENT_BYTES_MAX"):
        parse(longest + b" ")


def test_a_late_duplicate_among_many_members_is_found_at_once() -> None:
    names = ",".join(f'"member {number}":0' for number in range(100_000))
    started = time.process_time()
    with pytest.raises(InvalidRequest, match="member 99999"):
        parse("{" + names + ',"member 99999":0}')
    assert time.process_time() - started < 5


def test_messages_do_not_repeat_large_values() -> None:
    name = "n" * 100_000
    for text in (f'{{"{name}":1,"{name}":2}}', f'{{"n":{"9" * 4000}}}'):
        with pytest.raises(InvalidRequest) as refusal:
            parse(text)
        assert len(refusal.value.message) < 300
