"""Read: one authoritative version. PAMSPEC §10.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest, ObjectDeleted, ObjectNotFound, ObjectRedacted
from pamctl.index.rows import VersionRow
from pamctl.service.authority import require
from pamctl.service.envelopes import is_withheld

if TYPE_CHECKING:
    from pamctl.service.store import Store


def read(store: Store, request: Mapping[str, Any]) -> dict[str, Any]:
    """The envelope of an object: as it is, at a version, or as of a ledger sequence.

    Raises ObjectDeleted or ObjectRedacted, with the tombstone's version id, when what was
    asked for may no longer be shown. The tombstone itself can be read by its version id.
    """
    scope = store.scope_of_object(request)
    object_id, version_id = request["object_id"], request.get("version_id")
    as_of = request.get("at_sequence")
    if version_id is not None and as_of is not None:
        raise InvalidRequest("give a version or a sequence, not both")
    current = scope.index.current(object_id)
    require(
        scope.policy(),
        request,
        "read",
        object_type=None if current is None else current.object_type,
    )
    if current is None or current.family != "object":
        raise ObjectNotFound(f"there is no object {object_id} in {scope.scope_id}")
    row: VersionRow | None = current
    if version_id is not None:
        row = scope.index.version(version_id)
        if row is None or row.object_id != object_id:
            raise ObjectNotFound(
                f"{object_id} has no version {version_id}",
                hint=f"`pamctl history {object_id}` lists its versions",
                object_id=object_id,
            )
    elif as_of is not None:
        row = scope.index.current(object_id, as_of)
        if row is None:
            raise ObjectNotFound(
                f"{object_id} did not exist at sequence {as_of}", object_id=object_id
            )
    assert row is not None
    explicit = version_id is not None
    _require_visible(row, current, explicit=explicit)
    return scope.envelope(row)


def _require_visible(row: VersionRow, current: VersionRow, *, explicit: bool) -> None:
    withheld = is_withheld(row.availability_state, current.availability_state)
    state = current.availability_state or "deleted"
    if not withheld and (explicit or state not in ("deleted", "redacted")):
        return
    details = {"object_id": current.object_id, "version_id": current.version_id}
    if state == "deleted":
        raise ObjectDeleted(
            f"{current.object_id} was deleted",
            hint=f"its tombstone is version {current.version_id}",
            **details,
        )
    raise ObjectRedacted(
        f"{current.object_id} is {state.replace('_', ' ')}",
        hint=f"what may be shown is version {current.version_id}",
        **details,
    )
