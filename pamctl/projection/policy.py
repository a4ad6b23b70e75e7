"""The selection policy: the document that decides what a projection holds.

    {"filters": {...}, "text": "request" | "...", "order_by": [...],
     "limits": {"objects": N, "bytes": N}}

All members are optional; `{}` selects what a query without filters would. Its exact bytes
are committed to before anything is selected (MPR §4.2, §7 step 2), so they are kept as they
came. `store-format/source-profile.md` says what each member does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest
from pamctl.limits import INTEGER_MAX
from pamctl.projection.produce import Limits

FILTERS = (
    "object_type",
    "lifecycle_state",
    "availability_state",
    "retention_state",
    "validation_state",
    "any_state",
    "schema_id",
    "provenance_id",
    "actor_id",
    "source_ref",
    "temporal",
)
"""Filters of query that a policy may hold; their values are as in schemas/requests/query."""

THE_REQUEST = "request"
"""As `text`: search for the words of the recall request."""

_MEMBERS = ("filters", "text", "order_by", "limits")
_LIMITS = tuple(field.name for field in fields(Limits))


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """A selection policy that was read from its bytes.

    filters, order_by: as query takes them.
    text: a lexical query, THE_REQUEST, or None.
    """

    filters: Mapping[str, Any]
    text: str | None
    order_by: list[str] | None
    limits: Limits

    def query(self, request: bytes) -> dict[str, Any]:
        """The arguments of the query that finds the eligible objects, in order.

        Raises InvalidRequest when the request is to be searched for and is not UTF-8.
        """
        arguments = dict(self.filters)
        if self.order_by is not None:
            arguments["order_by"] = self.order_by
        if self.text == THE_REQUEST:
            try:
                arguments["text"] = request.decode("utf-8")
            except UnicodeDecodeError as cause:
                raise InvalidRequest(
                    "the policy searches for the words of the request, which is not UTF-8"
                ) from cause
        elif self.text is not None:
            arguments["text"] = self.text
        return arguments


def parse_policy(data: bytes, *, what: str = "the selection policy") -> SelectionPolicy:
    """The policy that `data` spells. Raises InvalidRequest for a member that is unknown or
    of the wrong kind; the values of filters are judged by query."""
    document = _object(parse(data, what=what), _MEMBERS, what, "")
    filters = _object(document.get("filters", {}), FILTERS, what, "/filters")
    text = document.get("text")
    if "text" in document and not isinstance(text, str):
        raise _wrong(what, "/text", "is not a string")
    order_by = document.get("order_by")
    if "order_by" in document and not isinstance(order_by, list):
        raise _wrong(what, "/order_by", "is not a list")
    limits = _object(document.get("limits", {}), _LIMITS, what, "/limits")
    for name, value in limits.items():
        if type(value) is not int or not 0 <= value <= INTEGER_MAX:
            raise _wrong(what, f"/limits/{name}", "is not an integer of at least 0")
    return SelectionPolicy(filters, text, order_by, Limits(**limits))


def merge_policy(data: bytes, additions: Mapping[str, Any]) -> bytes:
    """A policy with members of another laid over it: `filters` and `limits` by name, the
    others as a whole. Canonical bytes; the bytes as they came when nothing is added."""
    if not additions:
        return data
    what = "the selection policy"
    document = _object(parse(data, what=what), _MEMBERS, what, "")
    for name, value in additions.items():
        if isinstance(value, Mapping):
            value = {**_object(document.get(name, {}), None, what, f"/{name}"), **value}
        document[name] = value
    return canonical(document)


def _object(value: Any, names: tuple[str, ...] | None, what: str, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(what, pointer, "is not an object")
    unknown = sorted(value.keys() - set(names)) if names is not None else []
    if unknown and names is not None:
        raise InvalidRequest(
            f"{what}: {pointer or 'the whole value'} has the unknown member {unknown[0][:64]!r}",
            hint=f"it may have {', '.join(names)}",
            pointer=pointer,
        )
    return value


def _wrong(what: str, pointer: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{what}: {pointer or 'the whole value'} {problem}", pointer=pointer)
