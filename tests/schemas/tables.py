"""How the tables of instances are written.

Every document has valid instances, and faults: edits of the first valid instance, each with
the member that the refusal must name.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

MISSING: Any = object()
"""As the value of a fault: the member is taken away."""


class Fault(NamedTuple):
    """One way to spoil an instance.

    at: JSON Pointer of the member to set, add or take away; "" replaces the whole.
    value: what it becomes.
    names: JSON Pointer that the refusal must name, where it is not `at`.
    code: the error that is due, where it is not the one of the document.
    """

    at: str
    value: Any
    names: str | None = None
    code: str | None = None


class Table(NamedTuple):
    """The instances of one document. `code` is the error for nearly all of its faults."""

    code: str
    valid: list[Any]
    faults: list[Fault]


def edited(instance: Any, at: str, value: Any) -> Any:
    """A copy of `instance` with the member at the pointer set, added or taken away."""
    if at == "":
        return copy.deepcopy(value)
    spoiled = copy.deepcopy(instance)
    *parents, last = (step.replace("~1", "/").replace("~0", "~") for step in at.split("/")[1:])
    place = spoiled
    for step in parents:
        place = place[int(step)] if isinstance(place, list) else place[step]
    key: Any = int(last) if isinstance(place, list) else last
    if value is MISSING:
        del place[key]
    elif isinstance(place, list) and key == len(place):
        place.append(value)
    else:
        place[key] = value
    return spoiled


def merged(*parts: dict[str, Any]) -> dict[str, Any]:
    """One object from several; later members win."""
    whole: dict[str, Any] = {}
    for part in parts:
        whole |= copy.deepcopy(part)
    return whole
