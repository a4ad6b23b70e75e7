"""What the index knows by name, looked up by how it begins: for completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pamctl.index.schema import AVAILABILITY_STATES, FAMILIES
from pamctl.named_tuples import NamedTuple

_DELETED = AVAILABILITY_STATES.index("deleted")
_RECENT_VERSIONS = 20_000
_BEYOND = "\U0010ffff"

_NAMED = f"""
    SELECT object_id, family, object_type, version_id FROM version
    WHERE object_id >= ? AND object_id < ? AND until IS NULL AND family = ?
        AND availability_state IS NOT {_DELETED}
    ORDER BY object_id LIMIT ?
"""
_TYPES = """
    SELECT DISTINCT object_type FROM (
        SELECT object_type FROM version WHERE family = ? ORDER BY since DESC LIMIT ?
    ) WHERE object_type IS NOT NULL
"""


class Named(NamedTuple):
    """An object, a relationship or a delegation by its identifier.

    object_type: of a relationship its type, of a delegation None.
    """

    identifier: str
    object_type: str | None
    version_id: str


class Names:
    """The identifiers of one scope, as far as its index has read.

    rows: answers a statement of SQL with all its rows.
    """

    def __init__(self, rows: Callable[..., list[Any]]) -> None:
        self._rows = rows

    def beginning(self, start: str, family: str, limit: int) -> list[Named]:
        """What is there of a family (`object`, `relationship`, `delegation`) and begins so,
        in the order of identifiers; no tombstones."""
        found = self._rows(_NAMED, (start, start + _BEYOND, FAMILIES.index(family), limit))
        return [Named(name, kind, version_id) for name, _, kind, version_id in found]

    def types(self, family: str) -> list[str]:
        """The types of the last versions that were written, in order."""
        found = self._rows(_TYPES, (FAMILIES.index(family), _RECENT_VERSIONS))
        return sorted(kind for (kind,) in found)
