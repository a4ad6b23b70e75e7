"""In which objects two ledgers of one scope have gone different ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pamctl.exchange.arrived import Arrived
from pamctl.index.passage import Carried
from pamctl.service.open_scope import OpenScope

_LISTED_MAX = 100


def diverged_objects(scope: OpenScope, arrived: Arrived) -> dict[str, Any]:
    """Objects that differ, at most a hundred of them listed: those that have other versions
    here than in the bundle, and those that are in one of the two only.

    Returns `objects` (`object_id`, `here`, `in_bundle`: the current version's id, None for
    none), and `more`, how many are not listed.
    """
    here = _current(scope.index.passage.versions(scope.refresh().sequence))
    there = _current(arrived.index.passage.versions(arrived.end.sequence))
    different = sorted(
        name for name in here.keys() | there.keys() if here.get(name) != there.get(name)
    )
    listed = [
        {
            "object_id": name,
            "here": here.get(name),
            "in_bundle": there.get(name),
        }
        for name in different[:_LISTED_MAX]
    ]
    return {"objects": listed, "more": len(different) - len(listed)}


def _current(versions: Iterator[Carried]) -> dict[str, str]:
    """The last version of each object, in the order of the ledger."""
    return {version.object_id: version.version_id for version in versions}
