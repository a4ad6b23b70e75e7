"""Diff: what changed between two versions of an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import ObjectNotFound
from pamctl.rules.differences import changes, comparable
from pamctl.service.boundary import boundary_of
from pamctl.service.history import history

if TYPE_CHECKING:
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

_HISTORY = ("scope_id", "object_id", "actor", "snapshot_id", "operation_id")


def diff(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """The changes from one version of an object or a relationship to another.

    It shows what its history shows (PAMSPEC §10.7): of what is withheld, a tombstone. Without
    `to`, the newest version is meant; without `from`, the one before `to`, and of a first
    version all is added. Raises ObjectNotFound for a version that is not in the history.
    """
    asked = {name: request[name] for name in _HISTORY if name in request}
    history(store, {**asked, "limit": 1})
    scope = store.scope_of_object(request)
    newer = _number(scope, request, "to") or _newest(scope, request)
    older = _number(scope, request, "from")
    if older is None:
        older = newer - 1
    before = _version(store, asked, older) if older > 0 else None
    after = _version(store, asked, newer)
    return {
        "object_id": request["object_id"],
        "scope_id": request["scope_id"],
        "from": None if before is None else _named(before),
        "to": _named(after),
        "changes": changes({} if before is None else comparable(before), comparable(after)),
    }


def _newest(scope: OpenScope, request: Mapping[str, Any]) -> int:
    boundary = boundary_of(scope, request)
    row = scope.index.current(request["object_id"], None if boundary is None else boundary.as_of)
    assert row is not None  # or it would have no history
    return row.sequence


def _number(scope: OpenScope, request: Mapping[str, Any], end: str) -> int | None:
    """The number in the history of the version that a request names at one end."""
    version_id = request.get(f"{end}_version_id")
    if version_id is None:
        number: int | None = request.get(f"{end}_sequence")
        return number
    row = scope.index.version(version_id)
    if row is None or row.object_id != request["object_id"]:
        raise _missing(request, f"no version {version_id}")
    return row.sequence


def _version(store: OpenStore, asked: Mapping[str, Any], number: int) -> dict[str, Any]:
    page = history(store, {**asked, "from_sequence": number, "to_sequence": number})
    if not page["items"]:
        raise _missing(asked, f"no version with the number {number}")
    found: dict[str, Any] = page["items"][0]
    return found


def _missing(request: Mapping[str, Any], what: str) -> ObjectNotFound:
    object_id = request["object_id"]
    return ObjectNotFound(
        f"{object_id} has {what}",
        hint=f"`pamctl history {object_id}` lists its versions",
        object_id=object_id,
    )


def _named(envelope: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "version_id": envelope["version_id"],
        "sequence": envelope["sequence"],
        "committed_at": envelope["committed_at"],
        "actor_id": envelope["actor"]["actor_id"],
        "activity": envelope["provenance"]["activity"],
    }
