"""Strict I-JSON (RFC 7493): text in, value out, or a refusal that says where.

`orjson` keeps the last of two members with one name and turns integers beyond 64 bits
into floats, both silently. So a text is only believed when the value read from it writes
the same text again; every other text goes through a slower reader that sees each member.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson

from pamctl.errors import InvalidRequest
from pamctl.limits import DEPTH_MAX, DOCUMENT_BYTES_MAX, INTEGER_MAX

_STRICT = orjson.OPT_STRICT_INTEGER


def parse(text: bytes | str, *, what: str = "the input") -> Any:
    """The JSON value that `text` spells.

    Raises InvalidRequest, with a JSON Pointer in its details where there is one, for text
    that is not JSON or not UTF-8, a byte order mark, duplicate member names, lone
    surrogates, NaN and infinities, integers outside ±(2^53-1), nesting beyond
    limits.DEPTH_MAX, and text longer than limits.DOCUMENT_BYTES_MAX. `what` names the text
    in messages.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if len(data) > DOCUMENT_BYTES_MAX:
        raise InvalidRequest(
            f"{what} is longer than {DOCUMENT_BYTES_MAX} bytes (limits.DOCUMENT_BYTES_MAX)"
        )
    try:
        value = orjson.loads(data)
        # A text with few brackets cannot be deep; the others are measured by the slow reader.
        if (data.count(b"[") + data.count(b"{") <= DEPTH_MAX) and _writes(value, data):
            return value
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    return _parse_slowly(data, what)


def _writes(value: Any, data: bytes) -> bool:
    """Whether `value` serializes to `data`, tightly or in the spacing of Python's json."""
    if orjson.dumps(value, option=_STRICT) == data:
        return True
    return json.dumps(value, ensure_ascii=b"\\u" in data, check_circular=False).encode() == data


class _Fault:
    """Stands in the parsed value where the text breaks I-JSON."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = problem
        self.remedy = remedy


def _parse_slowly(data: bytes, what: str) -> Any:
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise InvalidRequest(
            f"{what} starts with a byte order mark", hint="save it as UTF-8 without a BOM"
        )
    try:
        decoded = data.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise InvalidRequest(
            f"{what} is not UTF-8: byte {cause.start} is 0x{data[cause.start]:02x}",
            hint="convert it to UTF-8",
            byte=cause.start,
        ) from cause
    try:
        value = json.loads(
            decoded,
            object_pairs_hook=_members,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as cause:
        problem = cause.msg.removesuffix(" at")
        raise InvalidRequest(
            f"{what} is not JSON: {problem} at line {cause.lineno}, column {cause.colno}",
            line=cause.lineno,
            column=cause.colno,
        ) from cause
    except RecursionError:
        _refuse_depth(what)
    _refuse_faults(value, "", DEPTH_MAX, what)
    return value


def _members(pairs: list[tuple[str, Any]]) -> Any:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            break
        seen.add(name)
    return _Fault(f"has the member {name[:80]!r} twice", "keep one of the two")


def _integer(digits: str) -> Any:
    # int() of very long text is slow; nothing beyond 17 characters can be in range.
    if len(digits) <= 17 and -INTEGER_MAX <= int(digits) <= INTEGER_MAX:
        return int(digits)
    shown = digits if len(digits) <= 40 else digits[:37] + "..."
    return _Fault(f"is the integer {shown}, outside ±(2^53-1)", "send it as a string, in quotes")


def _float(digits: str) -> Any:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        return _Fault(f"is {digits[:40]}, too large for a double", "send it as a string, in quotes")
    return number


def _constant(name: str) -> Any:
    return _Fault(f"is {name}, which is not JSON", "leave the member out, or use null")


def _refuse_faults(value: Any, pointer: str, depth: int, what: str) -> None:
    if isinstance(value, _Fault):
        raise InvalidRequest(
            f"{what}: {_spoken(pointer)} {value.problem}", hint=value.remedy, pointer=pointer
        )
    if isinstance(value, str):
        _refuse_surrogates(value, pointer, what)
    elif isinstance(value, dict | list):
        if depth == 0:
            _refuse_depth(what)
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, member in members:
            step = f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"
            if isinstance(name, str):
                _refuse_surrogates(name, pointer, what)
            _refuse_faults(member, step, depth - 1, what)


def _refuse_surrogates(text: str, pointer: str, what: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as cause:
        raise InvalidRequest(
            f"{what}: {_spoken(pointer)} holds a lone surrogate \\u{ord(text[cause.start]):04x}",
            hint="write the character itself, or both halves of the pair",
            pointer=pointer,
        ) from None


def _refuse_depth(what: str) -> NoReturn:
    raise InvalidRequest(f"{what} is nested deeper than {DEPTH_MAX} levels (limits.DEPTH_MAX)")


def _spoken(pointer: str) -> str:
    return pointer or "the whole value"
