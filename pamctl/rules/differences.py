"""What is different between two JSON values, member by member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OF_THE_VERSION = ("version_id", "sequence", "committed_at", "recorded_at", "actor", "integrity")
"""Members of an envelope that say which version it is. They differ between any two."""

OF_THE_RECORD = ("provenance_id", "recorded_at", "actor")
"""The same of its provenance."""

_ABSENT = object()


def comparable(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """What a version says, without what says which version it is."""
    said = {name: member for name, member in envelope.items() if name not in OF_THE_VERSION}
    if "provenance" in said:
        said["provenance"] = {
            name: member for name, member in said["provenance"].items() if name not in OF_THE_RECORD
        }
    return said


def changes(before: Any, after: Any) -> list[dict[str, Any]]:
    """How to get from one JSON value to another, in the order of the members.

    A change has `pointer` (RFC 6901), `change` (added, removed or changed), and `from` and
    `to` where there is such a value. Objects are compared by member and arrays by place; an
    integer and a float of the same value are the same number, as in canonical JSON.
    """
    return list(_changes(before, after, ""))


def _changes(before: Any, after: Any, pointer: str) -> Iterator[dict[str, Any]]:
    if before is _ABSENT:
        yield {"pointer": pointer, "change": "added", "to": after}
    elif after is _ABSENT:
        yield {"pointer": pointer, "change": "removed", "from": before}
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            step = name.replace("~", "~0").replace("/", "~1")
            yield from _changes(
                before.get(name, _ABSENT), after.get(name, _ABSENT), f"{pointer}/{step}"
            )
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            yield from _changes(_at(before, place), _at(after, place), f"{pointer}/{place}")
    elif not _same(before, after):
        yield {"pointer": pointer, "change": "changed", "from": before, "to": after}


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else _ABSENT


def _same(before: Any, after: Any) -> bool:
    # To Python True is 1 and an empty list equals another; here only the second holds.
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    return bool(before == after)
