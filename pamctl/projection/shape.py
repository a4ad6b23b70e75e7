"""The shapes that values of a record may have: each check raises a Fault that says where.

The checks are written out rather than left to a schema: they must tell `1` from `1.0` and
from `true`, and each refusal names one of the closed reasons.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pamctl.encoding import base64url
from pamctl.encoding.digests import is_sha256_digest
from pamctl.encoding.timestamps import instant
from pamctl.limits import INTEGER_MAX

NAME_CHARS_MAX = 1024
"""A profile name or a key id."""
URI_CHARS_MAX = 2048
_TIMESTAMP_CHARS_MAX = 64

# RFC 3986 §3: a scheme and something after it; brackets stand in an authority alone. The
# quantifiers give nothing back, so that no text takes more than one look at each character.
_CHAR = r"A-Za-z0-9\-._~!$&'()*+,;=:@"
_ESCAPE = r"%[0-9A-Fa-f]{2}"
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.\-]*+:(?=.)(?://(?:[\[\]{_CHAR}]++|{_ESCAPE})*+(?=[/?#]|\Z))?"
    rf"(?:[/{_CHAR}]++|{_ESCAPE})*+(?:\?(?:[/?{_CHAR}]++|{_ESCAPE})*+)?"
    rf"(?:#(?:[/?{_CHAR}]++|{_ESCAPE})*+)?\Z"
)


class Fault(Exception):
    """A fault in the shape: where, and what (to be read after the pointer)."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(pointer, problem)
        self.pointer = pointer
        self.problem = problem


def members(value: Any, names: frozenset[str], pointer: str) -> None:
    """Exactly these members: MPR §4 refuses unknown ones."""
    if type(value) is dict and len(value) == len(names) and names.issuperset(value):
        return
    if type(value) is not dict:
        raise Fault(pointer, "is not an object")
    missing = sorted(names - value.keys())
    if missing:
        raise Fault(pointer, f"lacks the member {missing[0]}")
    unknown = min(value.keys() - names)
    raise Fault(pointer, f"has the unknown member {unknown[:64]!r}")


def constant(value: Any, expected: str, pointer: str) -> None:
    if value != expected:
        raise Fault(pointer, f"is not {expected}")


def count(value: Any, least: int, pointer: str) -> None:
    """An integer from `least` to 2^53-1; 1.0 and true are none."""
    if type(value) is not int or not least <= value <= INTEGER_MAX:
        raise Fault(pointer, f"is not an integer from {least} to 2^53-1")


def is_name(value: Any) -> bool:
    """Whether `value` can name a profile or a key."""
    return type(value) is str and 0 < len(value) <= NAME_CHARS_MAX


def name(value: Any, pointer: str) -> None:
    if not is_name(value):
        raise Fault(pointer, f"is not a string of 1 to {NAME_CHARS_MAX} characters")


def digest(value: Any, pointer: str) -> None:
    if not is_sha256_digest(value):
        raise Fault(pointer, "is not sha256: and 64 lowercase hexadecimal digits")


def is_uri(value: Any) -> bool:
    """Whether `value` is an absolute URI (RFC 3986) of at most URI_CHARS_MAX characters."""
    return type(value) is str and len(value) <= URI_CHARS_MAX and _is_uri(value)


@lru_cache(maxsize=256)
def _is_uri(text: str) -> bool:
    """The latest are remembered: many records come from few adapters."""
    return _URI.match(text) is not None


def uri(value: Any, pointer: str) -> None:
    if not is_uri(value):
        raise Fault(pointer, f"is not an absolute URI of at most {URI_CHARS_MAX} characters")


@lru_cache(maxsize=256)
def utc_instant(text: str) -> str:
    """The instant that an RFC 3339 timestamp in UTC names, in any of its spellings.

    Raises ValueError for anything else. The latest are remembered: the shape asks for each
    timestamp of a record once and the freshness asks again.
    """
    if len(text) > _TIMESTAMP_CHARS_MAX or not text.endswith(("Z", "z", "+00:00", "-00:00")):
        raise ValueError("not in UTC")
    return instant(text)


def utc(value: Any, pointer: str) -> None:
    if type(value) is not str:
        raise Fault(pointer, "is not a string")
    try:
        utc_instant(value)
    except ValueError:
        raise Fault(pointer, "is not an RFC 3339 timestamp in UTC") from None


def is_base64url(value: Any) -> bool:
    """Whether `value` is canonical unpadded base64url, and not too long to be a key id."""
    return is_name(value) and decoded(value) is not None


@lru_cache(maxsize=256)
def decoded(text: str) -> bytes | None:
    """The bytes that canonical unpadded base64url stands for, else None. The latest are
    remembered: records name few authors many times."""
    try:
        return base64url.decode(text)
    except ValueError:
        return None
