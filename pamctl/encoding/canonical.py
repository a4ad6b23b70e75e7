"""Canonical JSON (RFC 8785): one byte string for each value.

`rfc8785` is right for every value and takes about 40 µs for an envelope; `orjson` takes
under one. The two write the same bytes unless a member name lies beyond the Basic
Multilingual Plane (they sort it differently) or a number is spelled differently by
ECMAScript (`1.0`, `-0.0`, `1e16`). A walk over the value finds those and sends it the slow
way; a property test holds the two to each other.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import orjson

from pamctl.errors import InvalidObject
from pamctl.limits import DEPTH_MAX, INTEGER_MAX

_SORTED = orjson.OPT_SORT_KEYS
# Floats in this range, that are not whole, are spelled in plain decimal by both.
_PLAIN_FLOAT_MIN, _PLAIN_FLOAT_MAX = 1e-4, 1e15
# From here on RFC 8785 spells whole numbers with an exponent.
_EXPONENT_MIN = 1e21
_SHORT_BYTES = 400
# First bytes, in UTF-8, of characters beyond the Basic Multilingual Plane.
_BEYOND_BMP = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of `value`, without a newline.

    `value` is made of dict, list, str, int, float, bool and None. Raises InvalidObject for
    anything that I-JSON cannot carry: other types, NaN and infinities, integers outside
    ±(2^53-1) and floats that are spelled as such, lone surrogates, member names that are no
    strings, and nesting beyond limits.DEPTH_MAX.
    """
    if is_plain(value):
        return canonical_plain(value)
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError) as cause:
        raise _unspeakable(cause) from cause


def is_canonical(value: Any, data: bytes) -> bool:
    """Whether `data` is the canonical spelling of `value`, which was read from it.

    Bytes that show no number, no name and no depth that `orjson` treats in its own way are
    judged by it alone, which takes a tenth of the time of `canonical`. Of short ones there are
    few, such as `store.json`, and to look for all that takes longer to make ready.
    """
    if len(data) <= _SHORT_BYTES:
        return _is_written(value, data)
    member, first, later = _suspicious()
    suspicious = (
        (not data.isascii() and any(byte in data for byte in _BEYOND_BMP))
        or member.search(data)
        or first.search(data)
        or later.search(data)
    )
    if not suspicious and data.count(b"{") + data.count(b"[") <= DEPTH_MAX:
        return orjson.dumps(value, option=_SORTED) == data
    return _is_written(value, data)


def _is_written(value: Any, data: bytes) -> bool:
    try:
        return canonical(value) == data
    except InvalidObject:
        return False


@cache
def _suspicious() -> tuple[re.Pattern[bytes], ...]:
    """What may be a number that is no short integer, and no fraction of at most three digits,
    which both spell alike; also, at times, part of a text. After a name, first in a list, and
    later: an alternative at the beginning of one pattern takes Python five times as long.
    Compiled when the first bytes are judged, which most commands never do."""
    number = rb"-?(?:[0-9]+(?:[eE]|\.(?![0-9]{0,2}[1-9][,}\]]))|[0-9]{16})"
    return tuple(re.compile(before + number) for before in (rb'":', rb"\[", rb","))


def is_plain(value: Any, *, levels_around: int = 0) -> bool:
    """Whether `canonical_plain` writes `value` as RFC 8785 does, also when it is put into
    another value, `levels_around` deep.

    Refuses what neither may write, as `canonical` does, lone surrogates excepted.
    """
    return _is_plain(value, DEPTH_MAX - levels_around)


def canonical_plain(value: Any) -> bytes:
    """The RFC 8785 bytes of a value that `is_plain`, or that was put together here from
    such values, short integers and names in ASCII. Saves the second look at it."""
    try:
        return orjson.dumps(value, option=_SORTED)
    except orjson.JSONEncodeError as cause:
        raise _unspeakable(cause) from cause


def _unspeakable(cause: Exception) -> InvalidObject:
    return InvalidObject(f"not a JSON value that I-JSON can carry: {cause}")


def _is_plain(value: Any, depth: int) -> bool:
    """Whether orjson writes `value` as RFC 8785 does; refuses what neither may write."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        if -INTEGER_MAX <= value <= INTEGER_MAX:
            return True
        raise InvalidObject(f"the integer {value} is outside ±(2^53-1); send it as a string")
    if kind is float:
        if _PLAIN_FLOAT_MIN < value < _PLAIN_FLOAT_MAX or (
            _PLAIN_FLOAT_MIN < -value < _PLAIN_FLOAT_MAX
        ):
            return bool(value != int(value))
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidObject(f"{value} is not a JSON number")
        if INTEGER_MAX < abs(value) < _EXPONENT_MIN:
            # Canonical JSON spells it as an integer, which no strict reader would take back.
            raise InvalidObject(f"the number {value} is outside ±(2^53-1); send it as a string")
        return False
    if depth == 0:
        raise InvalidObject(f"nested deeper than {DEPTH_MAX} levels (limits.DEPTH_MAX)")
    plain = True
    if kind is dict:
        for name, member in value.items():
            if type(name) is not str:
                raise InvalidObject(f"the member name {name!r} is not a string")
            if not name.isascii() and max(name) > "\uffff":
                plain = False
            if type(member) is not str and not _is_plain(member, depth - 1):
                plain = False
        return plain
    if kind is list:
        for member in value:
            if type(member) is not str and not _is_plain(member, depth - 1):
                plain = False
        return plain
    raise InvalidObject(f"a {kind.__name__} is not a JSON value")
