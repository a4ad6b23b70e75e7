"""Content held to a JSON Schema that a scope has registered. PAMSPEC §8.2.

The schema is a stranger's: it is compiled without leave to fetch anything, its patterns match
in time linear in the text, and what it says of content never shows that content.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from pamctl.errors import InvalidObject, InvalidRequest

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

_COMPILED_MAX = 64
_FAULTS_MAX = 32
_SHOWN_CHARS_MAX = 60


def require_schema(schema: Any, at: str) -> None:
    """Raises InvalidRequest for what is no JSON Schema. `at` is where it stands, a pointer."""
    from jsonschema_rs import ReferencingError, ValidationError

    try:
        _compile(schema)
    except ValidationError as fault:
        place = at + _pointer(fault.instance_path)
        raise InvalidRequest(
            f"{place} is no JSON Schema: {_without_values(fault)}", pointer=place
        ) from fault
    except (ReferencingError, ValueError) as cause:
        raise InvalidRequest(f"{at} cannot be used as a JSON Schema", pointer=at) from cause


def require_content(content: Any, schema_id: str, schema: bytes, at: str) -> None:
    """Raises InvalidObject for content that does not meet a registered schema.

    schema: in canonical JSON; it was accepted by `require_schema`.
    at: where the content stands, a JSON Pointer. Details hold `pointer` and `schema_id`.
    """
    validator = _compiled(schema)
    if validator.is_valid(content):
        return
    fault = min(islice(_faults(validator, content), _FAULTS_MAX), key=_order)
    place = at + _pointer(fault.instance_path)
    raise InvalidObject(
        f"{place} does not meet {_asked(fault, orjson.loads(schema))} of {schema_id}",
        hint=f"`pamctl schema show {schema_id}` prints the schema that this scope registered",
        pointer=place,
        schema_id=schema_id,
    )


@lru_cache(_COMPILED_MAX)
def _compiled(schema: bytes) -> Draft202012Validator:
    return _compile(orjson.loads(schema))


def _compile(schema: Any) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator, RegexOptions

    return Draft202012Validator(
        schema,
        validate_formats=True,
        retriever=_fetches_nothing,
        pattern_options=RegexOptions(),
        mask="it",
    )


def _fetches_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not part of the schema")


def _faults(validator: Draft202012Validator, content: Any) -> Iterator[ValidationError]:
    return iter(validator.iter_errors(content))


def _order(fault: ValidationError) -> tuple[str, str]:
    return _pointer(fault.instance_path), _pointer(fault.schema_path)


def _asked(fault: ValidationError, schema: Any) -> str:
    """The keyword that failed, with what it asks for where that is short."""
    if not fault.schema_path:
        return "the schema"
    part = schema
    for step in fault.schema_path:
        try:
            part = part[step]
        except (IndexError, KeyError, TypeError):
            return f'"{fault.schema_path[-1]}"'  # the path went through a reference
    text = orjson.dumps(part).decode()
    shown = f": {text}" if len(text) <= _SHOWN_CHARS_MAX else ""
    return f'"{fault.schema_path[-1]}"{shown}'


def _without_values(fault: ValidationError) -> str:
    return str(fault.message)[:_SHOWN_CHARS_MAX]


def _pointer(path: list[str | int]) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)
