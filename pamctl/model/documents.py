"""The documents that cross our border, held to the JSON Schemas that we publish.

`schemas/` is the model: what it says is what is enforced. A schema is read and compiled
when a document of its name is first checked, with the schemas that it refers to and no
others; after that a check takes microseconds.

Two things are enforced beyond what other validators do with the same schemas. A timestamp
must name an instant that exists (`format: date-time`, judged by pamctl.encoding.timestamps),
and an integer must be spelled as one: JSON Schema lets `1.0` pass for 1, and we do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pamctl.encoding.timestamps import is_timestamp

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

    from pamctl.model.certainty import Certainty

URN = "urn:pamctl:schema:"
"""`$id` of a schema is this and its name."""

_INTEGER_KEYWORD = "pamctl:spelledAsInteger"
_TIMESTAMPS_REMEMBERED = 4096
_PARTS_FEW = 10_000

_EARLY_DOCUMENTS = 64

_validators: dict[str, Draft202012Validator] = {}
_early: Certainty | None = None
_early_left = _EARLY_DOCUMENTS


def check(name: str, value: Any, *, at: str = "") -> None:
    """Refuse `value` unless it is a document of that name.

    Arguments:
        name: of the schema, such as `envelope` or `requests/create`.
        value: the document, as a JSON value.
        at: JSON Pointer of `value` in the document that the caller is judging; pointers in
            the refusal start with it.

    Raises the PamError that the name and the fault call for, as pamctl.model.faults says:
    for `requests/…` InvalidRequest, InvalidObject or UnsupportedObjectType (PAMSPEC §14).
    Its details hold the `pointer` of the member at fault. One fault is reported, always the
    same one for the same value.
    """
    validator = _validators.get(name) or _compile(name)
    try:
        if validator.is_valid(value):
            return
        errors = _errors(validator, value)
    except ValueError as cause:
        from pamctl.model.faults import not_json

        raise not_json(name, at, cause) from cause
    from pamctl.model.faults import refusal

    raise refusal(name, value, errors, at=at, published=schema)


def is_valid(name: str, value: Any) -> bool:
    """Whether `value` is a document of that name."""
    validator = _validators.get(name)
    if validator is None:
        if _is_early(name, value):
            return True
        validator = _compile(name)
    try:
        return validator.is_valid(value)
    except ValueError:  # no JSON value at all
        return False


def are_valid(name: str, values: Iterable[Any]) -> bool:
    """Whether each of `values` is a document of that name."""
    if name not in _validators:
        return all(is_valid(name, value) for value in values)
    validator = _validators[name]
    try:
        return all(map(validator.is_valid, values))
    except ValueError:  # no JSON value at all
        return False


def schema(name: str) -> dict[str, Any]:
    """The published schema of that name. Raises LookupError when there is none."""
    try:
        data = (_folder() / f"{name}.schema.json").read_bytes()
    except FileNotFoundError:
        raise LookupError(f"there is no schema {name!r}") from None
    published: dict[str, Any] = orjson.loads(data)
    return published


def _errors(validator: Draft202012Validator, value: Any) -> list[ValidationError]:
    """What is wrong with `value`: of a large one, for which every fault would fill the
    memory, the first that is found."""
    from jsonschema_rs import ValidationError

    if _has_few_parts(value):
        return list(validator.iter_errors(value))
    try:
        validator.validate(value)
    except ValidationError as first:
        return [first]
    return []


def _has_few_parts(value: Any) -> bool:
    pending, seen = [value], 0
    while pending:
        seen += 1
        if seen + len(pending) > _PARTS_FEW:
            return False
        part = pending.pop()
        if isinstance(part, dict):
            pending.extend(part.values())
        elif isinstance(part, list | tuple):
            pending.extend(part)
    return True


def _is_early(name: str, value: Any) -> bool:
    """Whether `value` is certainly a document of that name, while so few were judged that
    compiling its schema would take longer. False says nothing."""
    global _early, _early_left
    if _early_left == 0:
        return False
    _early_left -= 1
    if _early is None:
        from pamctl.model.certainty import Certainty

        _early = Certainty(schema, URN)
    return _early.is_valid(name, value)


@lru_cache(1)
def _folder() -> Path:
    """A wheel carries the schemas inside the package; a checkout has them beside it."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


def _compile(name: str) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator, RegexOptions

    validator = Draft202012Validator(
        _enforced(name),
        validate_formats=True,
        # Values of observed_at repeat: in an envelope, its provenance, and its neighbours.
        formats={"date-time": lru_cache(_TIMESTAMPS_REMEMBERED)(is_timestamp)},
        keywords={_INTEGER_KEYWORD: _SpelledAsInteger},
        retriever=_retrieve,
        # Matches in time linear in the text, whatever the text.
        pattern_options=RegexOptions(),
        # Error texts of the library would otherwise hold whole values.
        mask="it",
    )
    _validators[name] = validator
    return validator


def _retrieve(uri: str) -> Any:
    return _enforced(uri.removeprefix(URN))


def _enforced(name: str) -> Any:
    """The schema with our keyword wherever it asks for an integer. A name with a fragment is
    that of a part of a schema, as in `ledger-entry#/$defs/event_body`."""
    if "#" in name:
        return {"$ref": URN + name}
    return _with_integer_keyword(schema(name))


def _with_integer_keyword(part: Any) -> Any:
    if isinstance(part, dict):
        enforced = {name: _with_integer_keyword(member) for name, member in part.items()}
        if part.get("type") == "integer":
            enforced[_INTEGER_KEYWORD] = True
        return enforced
    if isinstance(part, list):
        return [_with_integer_keyword(member) for member in part]
    return part


class _SpelledAsInteger:
    """The keyword that tells 1 from 1.0."""

    def __init__(self, parent_schema: dict[str, Any], value: Any, schema_path: list[Any]) -> None:
        pass

    def validate(self, instance: Any) -> None:
        if isinstance(instance, float):
            raise ValueError("has a fraction")
