"""What a refused document is told: the error class, the member, and what is accepted.

Pure, and the one place where a fault of shape becomes a PamError. Values are shown in part,
and never when they are content: an error may be stored, and must not bring back what was
erased.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pamctl.errors import (
    InvalidObject,
    InvalidRequest,
    PamError,
    PolicyDenied,
    StoreDamaged,
    UnsupportedObjectType,
)

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

REQUESTS = "requests/"
"""Names of the schemas of an operation's arguments start with this."""

_ERRORS: dict[str, type[PamError]] = {
    **dict.fromkeys(
        (
            "query",
            "subscription",
            "policy",
            "scope",
            "trust-policy",
            "selection-policy",
            "batch-request",
        ),
        InvalidRequest,
    ),
    **dict.fromkeys(
        ("store", "ledger-entry", "version-file", "erasure-stub", "withheld-stub", "custody"),
        StoreDamaged,
    ),
    "subscription-cursor": StoreDamaged,
}
"""By document; a document of the draft's model that is not listed is an InvalidObject."""

_PARTS_OF_THE_OBJECT = frozenset(
    (
        "canonical_content",
        "provenance",
        "actor",
        "granting_actor",
        "delegated_actor",
        "revoking_actor",
        "granted_operations",
        "quality_signals",
        "integrity",
    )
)
"""Arguments that become part of an envelope: a fault within them is an InvalidObject."""

_CONTENT_MEMBERS = frozenset(
    ("canonical_content", "target_canonical_content", "json_patch", "merge_patch")
)
_CONTENT_DOCUMENTS = frozenset(("tool-invocation", "tool-result", "working-memory"))

ACCEPTED = {
    "identifier": "an identifier is a scheme, a colon and a name, such as mem:note-1, "
    "in letters, digits and + . _ : - /",
    "timestamp": "a timestamp is RFC 3339 with an offset and names a moment that exists, "
    "such as 2026-07-29T17:00:00Z",
    "utc": "the timestamp has to be in UTC, such as 2026-07-29T17:00:00Z",
    "uri": "an absolute URI is accepted, such as https://example.com/schemas/note",
    "digest": "a digest is sha256: and 64 lowercase hexadecimal digits",
    "hexadecimal_digest": "64 lowercase hexadecimal digits are accepted",
    "salt": "sixteen bytes in unpadded base64url are accepted",
    "vector_bytes": "bytes in unpadded base64url are accepted",
    "json_pointer": "a JSON Pointer is accepted, such as /title",
    "signature": "64 bytes in unpadded base64url are accepted",
    "author_key_id": "unpadded base64url is accepted, or null",
    "spki": "an Ed25519 key in SubjectPublicKeyInfo, in unpadded base64url, is accepted",
    "raw_key": "64 hexadecimal digits are accepted",
}
"""What a text has to be, by the definition whose pattern or format it failed."""

_TYPES = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}

_SHOWN_CHARS_MAX = 40
_NAME_CHARS_MAX = 64

# A name that is not known comes before one that is missing: it is often that one, misspelt.
_KEYWORDS = ("additionalProperties", "required", "type", "enum", "const")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document.

    pointer: the member (RFC 6901), also of one that is missing.
    keyword: of JSON Schema, that the member failed.
    problem: goes behind the pointer to make a sentence.
    hint: what was probably meant.
    """

    pointer: str
    keyword: str
    problem: str
    hint: str | None = None


def refusal(
    name: str,
    value: Any,
    errors: Iterable[ValidationError],
    *,
    at: str,
    published: Callable[[str], dict[str, Any]],
) -> PamError:
    """The error for `value`, which failed the schema `name` with `errors`.

    Of several faults the one is told that decides: a request that is wrong as a request
    comes before an object in it that is. `at` is where `value` stands in a larger
    document; `published` gives a schema by its name.
    """
    secret = name in _CONTENT_DOCUMENTS
    faults = [fault for error in errors for fault in _faults(error, value, secret, published)]
    fault = min(faults, key=lambda fault: _order(name, fault, value))
    pointer = at + fault.pointer
    subject = pointer or _whole(name)
    if pointer and not at and not name.startswith((REQUESTS, "typed-content")):
        subject = f"{pointer} of {_whole(name)}"
    return error_class(name, fault, value)(
        f"{subject} {fault.problem}", hint=fault.hint, pointer=pointer
    )


def not_json(name: str, at: str, cause: ValueError) -> PamError:
    """The error for a value of Python that JSON does not have."""
    error = InvalidRequest if name.startswith(REQUESTS) else _ERRORS.get(name, InvalidObject)
    return error(f"{at or _whole(name)} holds what is no JSON value: {cause}", pointer=at)


def error_class(name: str, fault: Fault, value: Any) -> type[PamError]:
    """The class of error for one fault of the document `name`. PAMSPEC §14."""
    if not name.startswith(REQUESTS):
        if name == "relationship" and fault.pointer == "/policy_basis":
            return PolicyDenied if fault.keyword == "required" else InvalidObject
        return _ERRORS.get(name, InvalidObject)
    argument, _, below = fault.pointer[1:].partition("/")
    # What a promotion says of its target becomes members of an object without the prefix.
    argument = argument.removeprefix("target_")
    missing_or_unknown = fault.keyword in ("required", "additionalProperties") and not below
    # An extension type without its schema; a request about schemas is wrong as a request.
    if argument == "schema_id" and fault.keyword == "required" and "/schema_" not in name:
        return InvalidObject
    if missing_or_unknown or fault.keyword == "not":
        return InvalidRequest
    if argument == "object_type" and isinstance(_at(value, _steps(fault.pointer)), str):
        return UnsupportedObjectType
    return InvalidObject if argument in _PARTS_OF_THE_OBJECT else InvalidRequest


def _order(name: str, fault: Fault, value: Any) -> tuple[int, int, str]:
    classes = (InvalidRequest, UnsupportedObjectType, StoreDamaged, InvalidObject, PolicyDenied)
    keyword = fault.keyword
    rank = _KEYWORDS.index(keyword) if keyword in _KEYWORDS else len(_KEYWORDS)
    return classes.index(error_class(name, fault, value)), rank, fault.pointer


def _faults(
    error: ValidationError, value: Any, secret: bool, published: Callable[[str], dict[str, Any]]
) -> Iterator[Fault]:
    kind: Any = error.kind
    path = error.instance_path
    member = _at(value, path)
    if kind.name == "required":
        yield Fault(_pointer([*path, kind.property]), kind.name, "is missing")
    elif kind.name == "additionalProperties":
        known = sorted(_asked(error, published)["properties"])
        yield _unknown_member(path, min(kind.unexpected), known)
    elif kind.name == "not":  # schemas say so of two members that exclude each other
        one, other = kind.schema["required"]
        yield Fault(_pointer([*path, other]), kind.name, f"excludes {one}; give one of the two")
    elif kind.name in ("anyOf", "oneOf", "oneOfMultipleValid"):
        yield Fault(_pointer(path), kind.name, *_no_alternative(error, member, published))
    else:
        hidden = secret or not _CONTENT_MEMBERS.isdisjoint(path)
        shown = "is" if hidden else f"is {_shown(member)},"
        hint = _nearest(member, kind.options) if kind.name == "enum" else None
        yield Fault(_pointer(path), kind.name, _problem(error, member, shown), hint)


def _unknown_member(path: Sequence[str | int], name: str, known: Sequence[str]) -> Fault:
    keyword = "additionalProperties"
    if len(name) > _NAME_CHARS_MAX:
        return Fault(_pointer(path), keyword, f"has a member that is not known: {_shown(name)}")
    accepted = f"; known are {', '.join(known)}" if known else ""
    return Fault(
        _pointer([*path, name]), keyword, f"is not known here{accepted}", _nearest(name, known)
    )


def _no_alternative(
    error: ValidationError, member: Any, published: Callable[[str], dict[str, Any]]
) -> tuple[str, str | None]:
    """For anyOf and oneOf: schemas use them for object types and for members of which one
    has to be there, and for nothing else."""
    asked = _asked(error, published)
    if _definition(error) == "object_type":
        standard = published("common")["$defs"]["standard_object_type"]["enum"]
        return (
            f"is {_shown(member)}, no standard type ({', '.join(standard)}) and no extension "
            "type, which is a reverse-domain name such as com.example.note or an absolute URI",
            _nearest(member, standard),
        )
    keyword = "anyOf" if "anyOf" in asked else "oneOf"
    names = ", ".join(branch["required"][0] for branch in asked[keyword])
    return f"needs {'one' if keyword == 'anyOf' else 'exactly one'} of {names}", None


def _problem(error: ValidationError, member: Any, shown: str) -> str:
    """What is wrong with a member that is there. `shown` says what it is, unless that is
    content."""
    kind: Any = error.kind
    match kind.name:
        case "type":
            wanted = " or ".join(_TYPES[name] for name in kind.types)
            return f"is {_type_of(member)}; it has to be {wanted}"
        case "enum":
            return f"{shown} not accepted; accepted are {', '.join(kind.options)}"
        case "const":
            return f"{shown} not accepted; it has to be {json.dumps(kind.expected_value)}"
        case "pattern" | "format":
            return f"{shown} not accepted; {ACCEPTED[_definition(error)]}"
        case "falseSchema":
            return "must not be there"
        case "propertyNames":
            return "has a member whose name is empty or too long"
        case "maxLength":
            return f"has {len(member)} characters; at most {kind.limit} are accepted"
        case "maxItems":
            return f"has {len(member)} items; at most {kind.limit} are accepted"
        case "minLength" | "minItems" | "minProperties":
            return "is empty"
        case "uniqueItems":
            return "has the same item twice"
        case "minimum":
            return f"{shown} too small; at least {kind.limit} is accepted"
        case "maximum":
            return f"{shown} too large; at most {kind.limit} is accepted"
    return f"{shown} not accepted; an integer has to be spelled without a fraction"


def _asked(error: ValidationError, published: Callable[[str], dict[str, Any]]) -> Any:
    """The part of the schema that holds the keyword which failed."""
    document, _, fragment = (error.absolute_keyword_location or "").partition("#")
    part: Any = published(document.rpartition(":")[2])
    return _at(part, _steps(fragment)[:-1])


def _definition(error: ValidationError) -> str:
    """The name under `$defs` that the keyword which failed stands below, or nothing."""
    path = error.schema_path
    return str(path[1]) if path[:1] == ["$defs"] else ""


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (IndexError, KeyError, TypeError, ValueError):
            return None
    return value


def _steps(pointer: str) -> list[str]:
    steps = pointer.split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def _pointer(path: Iterable[str | int]) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)


def _nearest(text: Any, accepted: Sequence[str]) -> str | None:
    if not isinstance(text, str) or len(text) > _NAME_CHARS_MAX:
        return None
    from difflib import get_close_matches

    nearest = get_close_matches(text, accepted, n=1)
    return f"did you mean {nearest[0]}?" if nearest else None


def _shown(value: Any) -> str:
    """A value in a few characters; of anything but a short one, only what it is."""
    if isinstance(value, str):
        cut = value if len(value) <= _SHOWN_CHARS_MAX else value[:_SHOWN_CHARS_MAX] + "…"
        return json.dumps(cut, ensure_ascii=False)
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)[:_SHOWN_CHARS_MAX]
    return _type_of(value)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if value is None:
        return "null"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int | float):
        return "a number"
    return "an array" if isinstance(value, list | tuple) else "an object"


def _whole(name: str) -> str:
    if name.startswith(REQUESTS):
        return f"the {name.removeprefix(REQUESTS)} request"
    return f"the {name.replace('-', ' ')}"
