"""The versions that an object has had, committed and staged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pamctl.named_tuples import NamedTuple
from pamctl.service.desk import Desk, identifying

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.store.records import StoredVersion


class PastVersion(NamedTuple):
    """A version that still has its content.

    place: where it stands; None for one that is staged.
    """

    envelope: Mapping[str, Any]
    address: str
    place: StoredVersion | None

    @property
    def content(self) -> Any:
        return self.envelope.get("canonical_content")


def newest_first(desk: Desk, identifier: str) -> Iterator[PastVersion | None]:
    """The versions of an object, a relationship or a delegation that are more than a
    tombstone, newest first; None in the place of one whose content was erased.

    Raises StoreDamaged where one cannot be read.
    """
    for envelope in reversed(desk.staged_versions.values()):
        if envelope[identifying(envelope)] == identifier and _is_shown(envelope):
            address = desk.staged_events[envelope["version_id"]].address
            erased = address in desk.erased
            yield None if erased else PastVersion(envelope, address, None)
    for row in reversed(desk.scope.index.history(identifier)):
        if row.availability_state not in ("redacted", "deleted"):
            erased = row.erased or row.address in desk.erased
            yield None if erased else _committed(desk, row)


def _is_shown(envelope: Mapping[str, Any]) -> bool:
    return envelope.get("availability_state") not in ("redacted", "deleted")


def _committed(desk: Desk, row: VersionRow) -> PastVersion:
    place = desk.scope.located(row)
    return PastVersion(place.envelope or {}, row.address, place)
