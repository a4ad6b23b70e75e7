"""Read: one authoritative version. PAMSPEC §10.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest, ObjectDeleted, ObjectNotFound, ObjectRedacted
from pamctl.index.rows import VersionRow
from pamctl.service.authority import require_of
from pamctl.service.boundary import Boundary, boundary_of
from pamctl.service.envelopes import is_withheld
from pamctl.service.visibility import absent, visible

if TYPE_CHECKING:
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore


def read(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """The envelope of an object or a relationship: as it is, at a version, as of a ledger
    sequence, or as a snapshot has it.

    Through a snapshot the answer stays the same for ever; of content that was erased since,
    it holds a tombstone. Raises ObjectDeleted or ObjectRedacted, with the tombstone's version
    id, when what was asked for may no longer be shown. The tombstone itself can be read by its
    version id.
    """
    scope = store.scope_of_object(request)
    object_id, version_id = request["object_id"], request.get("version_id")
    as_of = request.get("at_sequence")
    if version_id is not None and as_of is not None:
        raise InvalidRequest("give a version or a sequence, not both")
    current = visible(store, scope, request, "read")
    if current is not None and current.family == "delegation":
        current = None
    require_of(scope.policy(), request, "read", current)
    if current is None:
        raise absent(object_id, scope.scope_id)
    _require_whole(scope, current)
    boundary = boundary_of(scope, request)
    if boundary is not None:
        return _read_through(boundary, request)
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


def _read_through(boundary: Boundary, request: Mapping[str, Any]) -> dict[str, Any]:
    """What a snapshot has of an object; at most what it has, where a version or an earlier
    sequence is asked for besides."""
    scope, object_id = boundary.scope, request["object_id"]
    version_id, as_of = request.get("version_id"), boundary.at(request.get("at_sequence"))
    row = scope.index.current(object_id, as_of)
    if row is not None and version_id is not None:
        row = scope.index.version(version_id)
        if row is not None and (row.object_id != object_id or row.since > as_of):
            row = None
    if row is None or not boundary.includes(object_id):
        raise ObjectNotFound(
            f"{object_id} is not in {boundary.descriptor['snapshot_id']}", object_id=object_id
        )
    if not row.erased:
        _require_visible(row, boundary.judge(row), explicit=version_id is not None)
    return scope.envelope(row)


def _require_whole(scope: OpenScope, current: VersionRow) -> None:
    """Raises StoreDamaged when the version that says what may be shown is missing."""
    if current.availability_state is None and not current.erased:
        scope.version_bytes(current)


def _require_visible(row: VersionRow, current: VersionRow, *, explicit: bool) -> None:
    withheld = row.erased or is_withheld(row.availability_state, current.availability_state)
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
    what = f"the content of {row.version_id} was erased" if row.erased else None
    raise ObjectRedacted(
        what or f"{current.object_id} is {state.replace('_', ' ')}",
        hint=f"what may be shown is version {current.version_id}",
        **details,
    )
