"""Which documents are certainly as their schema says, decided without the validator.

Loading the validator and compiling a schema takes as long as a quarter of a command that
checks a few documents. So the first ones are held to the same published schemas here. What
is said is only ever yes: whatever is not valid, or uses what is not known here, is the
validator's to judge. `docs/decisions/first-documents.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from functools import cache, partial
from math import isfinite
from typing import Any

from pamctl.encoding.digests import is_sha256_digest
from pamctl.encoding.timestamps import is_timestamp

_PARTS_MAX = 2000
_DEPTH_MAX = 40
_INTEGER_MAX = 2**53
# Longer texts are left to a matcher whose time is linear in the text.
_MATCHED_CHARS_MAX = 256
_SAYS_NOTHING = frozenset(
    ("$schema", "$id", "$defs", "$comment", "title", "description", "default", "examples")
)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


_Check = Callable[[Any], bool]


class _Unsure(Exception):
    """The validator has to judge."""


class Certainty:
    """Judges documents by schemas.

    schema: gives the published schema of a name.
    urn: what `$id` of a schema is, before its name.
    """

    def __init__(self, schema: Callable[[str], Any], urn: str) -> None:
        self._schema = schema
        self._urn = urn
        self._parts: dict[tuple[str, str], Any] = {}
        self._checks: dict[int, tuple[Any, list[_Check]]] = {}

    def is_valid(self, name: str, value: Any) -> bool:
        """Whether `value` is certainly a document of that name. False says nothing."""
        base, _, fragment = name.partition("#")
        try:
            _require_plain(value)
            return self._holds(self._part(base, fragment), base, value)
        except _Unsure:
            return False

    def _part(self, base: str, fragment: str) -> Any:
        part = self._parts.get((base, fragment))
        if part is None:
            part = self._schema(base) if not fragment else self._part(base, "")
            for member in fragment.split("/")[1:]:
                part = part[member]
            self._parts[base, fragment] = part
        return part

    def _holds(self, schema: Any, base: str, value: Any) -> bool:
        """Whether a part of the schema `base` holds. Raises _Unsure."""
        if isinstance(schema, bool):
            return schema
        # By what it is and not by what it says; kept with it, so that it is nothing else later.
        known = self._checks.get(id(schema))
        if known is None:
            known = self._checks[id(schema)] = schema, self._checks_of(schema, base)
        for holds in known[1]:
            if not holds(value):
                break
        else:
            return True
        return False

    def _checks_of(self, schema: Mapping[str, Any], base: str) -> list[_Check]:
        """What a part of a schema asks, one keyword after the other."""
        checks: list[_Check] = []
        for keyword, asked in schema.items():
            if keyword in _SAYS_NOTHING or keyword in ("then", "else"):
                continue
            simple = _SIMPLE.get(keyword)
            if simple is None:
                checks.append(self._applying(keyword, asked, schema, base))
            else:
                checks.append(partial(simple, asked))
        return checks

    def _applying(self, keyword: str, asked: Any, schema: Mapping[str, Any], base: str) -> _Check:
        """Whether a keyword holds that is made of other schemas."""
        match keyword:
            case "$ref" if asked.startswith((self._urn, "#")):
                target, _, fragment = asked.removeprefix(self._urn).partition("#")
                return partial(self._holds, self._part(target or base, fragment), target or base)
            case "properties":
                return partial(self._members, asked, base)
            case "additionalProperties" if "patternProperties" not in schema:
                return partial(self._others, asked, schema.get("properties", ()), base)
            case "propertyNames":
                return partial(self._each, dict, asked, base)
            case "items" if "prefixItems" not in schema:
                return partial(self._each, list, asked, base)
            case "if":
                branches = schema.get("then", True), schema.get("else", True)
                return partial(self._branch, asked, *branches, base)
            case "not":
                return lambda value: not self._holds(asked, base, value)
            case "allOf":
                return lambda value: all(self._holds(one, base, value) for one in asked)
            case "anyOf":
                return lambda value: any(self._holds(one, base, value) for one in asked)
            case "oneOf":
                return lambda value: sum(self._holds(one, base, value) for one in asked) == 1
        return _unsure

    def _members(self, asked: Mapping[str, Any], base: str, value: Any) -> bool:
        if type(value) is dict:
            for name, member in value.items():
                if name in asked and not self._holds(asked[name], base, member):
                    return False
        return True

    def _others(self, asked: Any, known: Container[str], base: str, value: Any) -> bool:
        if type(value) is dict:
            for name, member in value.items():
                if name not in known and not self._holds(asked, base, member):
                    return False
        return True

    def _each(self, kind: Any, asked: Any, base: str, value: Any) -> bool:
        return type(value) is not kind or all(self._holds(asked, base, item) for item in value)

    def _branch(self, asked: Any, then: Any, otherwise: Any, base: str, value: Any) -> bool:
        branch = then if self._holds(asked, base, value) else otherwise
        return self._holds(branch, base, value)


def _unsure(_: Any) -> bool:
    raise _Unsure


def _require_plain(value: Any) -> None:
    """Raises _Unsure unless `value` is a small JSON value, made of Python's own types and no
    others."""
    pending, parts = [(value, 0)], 0
    while pending:
        part, depth = pending.pop()
        parts += 1
        kind = type(part)
        if kind is dict:
            pending += ((member, depth + 1) for member in part.values())
            plain = all(type(name) is str and _is_text(name) for name in part)
        elif kind is list:
            pending += ((item, depth + 1) for item in part)
            plain = True
        elif kind is int:
            plain = -_INTEGER_MAX < part < _INTEGER_MAX
        elif kind is float:
            plain = isfinite(part)
        else:
            plain = part is None or kind is bool or (kind is str and _is_text(part))
        if not plain or depth > _DEPTH_MAX or parts + len(pending) > _PARTS_MAX:
            raise _Unsure


def _is_text(text: str) -> bool:
    """A text with half a surrogate pair is no JSON."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _is_of(asked: str | list[str], value: Any) -> bool:
    kind = type(value)
    if kind is float and "integer" in asked:
        raise _Unsure
    if isinstance(asked, str):
        return kind in _TYPES[asked]
    return any(kind in _TYPES[name] for name in asked)


def _is_same(asked: Any, value: Any) -> bool:
    if isinstance(asked, dict | list | float) or type(value) is float:
        raise _Unsure
    return type(asked) is type(value) and bool(asked == value)


def _is_one_of(asked: list[Any], value: Any) -> bool:
    if type(value) is str:
        return value in asked
    return any(_is_same(one, value) for one in asked)


def _matches(pattern: str, value: Any) -> bool:
    if type(value) is not str:
        return True
    if pattern == "^sha256:[0-9a-f]{64}$":
        return is_sha256_digest(value)
    if pattern == "^[0-9a-f]{64}$":
        return is_sha256_digest(f"sha256:{value}")
    if len(value) > _MATCHED_CHARS_MAX:
        raise _Unsure
    return _compiled(pattern).search(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Raises _Unsure for what could mean something else to another matcher."""
    body = pattern.removesuffix("$")
    unescaped = re.sub(r"\\[^A-Za-z0-9]", "", body)
    outside = re.sub(r"\[[^]]*\]", "", unescaped)
    foreign = any(spelling in unescaped for spelling in _SPELLED_OTHERWISE)
    if foreign or "$" in outside or not pattern.isascii():
        raise _Unsure
    # Before a newline at the end is not the end.
    return re.compile(body + (r"\Z" if body != pattern else ""))


_SPELLED_OTHERWISE = ("\\", "(?", "[[", "&&", "--", "~~", "||")


def _is_format(asked: str, value: Any) -> bool:
    if type(value) is not str:
        return True
    if asked != "date-time":
        raise _Unsure
    return is_timestamp(value)


def _is_unique(asked: bool, value: Any) -> bool:
    if not asked or type(value) is not list or len(value) < 2:
        return True
    if any(type(item) is not str for item in value):
        raise _Unsure
    return len(set(value)) == len(value)


def _depends(asked: Mapping[str, list[str]], value: Any) -> bool:
    return type(value) is not dict or all(
        member in value for name in asked if name in value for member in asked[name]
    )


_SIMPLE: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": _is_of,
    "const": _is_same,
    "enum": _is_one_of,
    "required": lambda asked, value: type(value) is not dict or all(n in value for n in asked),
    "dependentRequired": _depends,
    "minProperties": lambda asked, value: type(value) is not dict or len(value) >= asked,
    "maxProperties": lambda asked, value: type(value) is not dict or len(value) <= asked,
    "minItems": lambda asked, value: type(value) is not list or len(value) >= asked,
    "maxItems": lambda asked, value: type(value) is not list or len(value) <= asked,
    "uniqueItems": _is_unique,
    "minLength": lambda asked, value: type(value) is not str or len(value) >= asked,
    "maxLength": lambda asked, value: type(value) is not str or len(value) <= asked,
    "minimum": lambda asked, value: type(value) not in (int, float) or value >= asked,
    "maximum": lambda asked, value: type(value) not in (int, float) or value <= asked,
    "pattern": _matches,
    "format": _is_format,
}
