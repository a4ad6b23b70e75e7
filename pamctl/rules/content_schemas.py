"""Which JSON Schemas a scope may register, so that no content takes long to judge.
PAMSPEC §8.2.

A schema is a program, and content runs it. Unfolded, that is with every reference replaced by
what it refers to, it has a number of parts; judging content takes at most that many steps for
each value in the content. So the unfolded size is bounded, and a schema that refers to itself,
which has none, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pamctl.errors import InvalidRequest
from pamctl.limits import CONTENT_SCHEMA_PARTS_MAX

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The one dialect: what `$schema` may name, and what is meant where it names nothing."""

_ONE = (
    *("not", "if", "then", "else", "items", "contains", "additionalProperties"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")
_FOREIGN = ("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$anchor")


def require_judgeable(schema: Any, at: str) -> None:
    """Raises InvalidRequest for a schema of another dialect, one that refers to anything but
    its own parts by JSON Pointer, and one whose unfolded size has no bound or too large a one.

    `at` is where the schema stands in the request, a JSON Pointer.
    """
    if isinstance(schema, dict) and schema.get("$schema", DIALECT) not in (DIALECT, DIALECT + "#"):
        raise InvalidRequest(
            f"{at} is of another dialect of JSON Schema than {DIALECT}", pointer=f"{at}/$schema"
        )
    _Unfolding(schema, at).parts("")


class _Unfolding:
    """Counts the parts of a schema as if every reference were written out."""

    def __init__(self, schema: Any, at: str) -> None:
        self._schema = schema
        self._at = at
        self._known: dict[str, int] = {}
        self._open: set[str] = set()

    def parts(self, pointer: str) -> int:
        """Of the part that stands at a JSON Pointer."""
        known = self._known.get(pointer)
        if known is not None:
            return known
        if pointer in self._open:
            raise self._refused(
                pointer,
                "refers to itself",
                "write it out to the depth that the content has",
            )
        self._open.add(pointer)
        total = 1
        for below in self._below(pointer, self._at_pointer(pointer)):
            total += self.parts(below)
            if total > CONTENT_SCHEMA_PARTS_MAX:
                raise self._refused(
                    pointer,
                    f"has more than {CONTENT_SCHEMA_PARTS_MAX} parts when its references are "
                    "written out (limits.CONTENT_SCHEMA_PARTS_MAX)",
                )
        self._open.remove(pointer)
        self._known[pointer] = total
        return total

    def _below(self, pointer: str, part: Any) -> Iterator[str]:
        """Where the parts stand that judge what `part` judges, or something within it."""
        if not isinstance(part, Mapping):
            return
        for keyword in _FOREIGN:
            if keyword in part:
                raise self._refused(f"{pointer}/{keyword}", "is a kind of reference not taken here")
        if "$id" in part and pointer:
            raise self._refused(f"{pointer}/$id", "begins a schema within the schema")
        if "$ref" in part:
            yield self._referred(pointer, part["$ref"])
        for keyword in _ONE:
            if keyword in part:
                yield f"{pointer}/{keyword}"
        for keyword in _SEVERAL:
            members = part.get(keyword, ())
            if isinstance(members, list):
                yield from (f"{pointer}/{keyword}/{place}" for place in range(len(members)))
        for keyword in _NAMED:
            named = part.get(keyword, {})
            if isinstance(named, dict):
                yield from (f"{pointer}/{keyword}/{_escaped(name)}" for name in named)

    def _referred(self, pointer: str, reference: Any) -> str:
        place = reference[1:] if isinstance(reference, str) and reference[:1] == "#" else None
        if place is None or (place and not place.startswith("/")) or "%" in place:
            raise self._refused(
                f"{pointer}/$ref",
                "refers to something else than a part of this schema",
                'give such a part by JSON Pointer, such as "#/$defs/name"',
            )
        return place

    def _at_pointer(self, pointer: str) -> Any:
        part = self._schema
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            try:
                part = part[int(name)] if isinstance(part, list) else part[name]
            except (IndexError, KeyError, TypeError, ValueError):
                raise self._refused(pointer, "is referred to and not there") from None
        return part

    def _refused(self, pointer: str, problem: str, hint: str | None = None) -> InvalidRequest:
        place = f"{self._at}{pointer}"
        return InvalidRequest(f"{place} {problem}", hint=hint, pointer=place)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
