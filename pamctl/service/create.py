"""Create: a new Memory Object. PAMSPEC §10.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidObject, InvalidRequest, ObjectDeleted, VersionConflict
from pamctl.limits import CONTENT_BYTES_MAX
from pamctl.model.envelopes import semantic_checks
from pamctl.service.authority import require
from pamctl.service.desk import Change, Desk
from pamctl.service.envelopes import SPEC_VERSION, assert_times, complete_provenance

_OPTIONAL = ("schema_id", "quality_signals", "integrity", "relationship_refs")
_BORN_WITH = ("available", "partially_redacted")


def create(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a new object; `object_created`.

    Raises VersionConflict when the id is taken, ObjectDeleted when it belonged to an object
    that was deleted: identifiers are never used twice (PAMSPEC §8.1).
    """
    actor, object_type = request["actor"], request["object_type"]
    require(desk.policy, request, "create", object_type=object_type)
    object_id = request.get("object_id")
    if object_id is None:
        object_id = desk.sources.identifier("mem")
    elif desk.exists(object_id):
        _refuse_taken(desk, object_id)
    now = desk.sources.now()
    scratch = object_type == "working_memory"
    envelope: dict[str, Any] = {
        "spec_version": SPEC_VERSION,
        "object_id": object_id,
        "version_id": desk.sources.identifier("ver"),
        "scope_id": desk.scope_id,
        "object_type": object_type,
        "canonical_content": require_bounded(request["canonical_content"]),
        "lifecycle_state": request.get("lifecycle_state", "scratch" if scratch else "active"),
        "availability_state": request.get("availability_state", "available"),
        "retention_state": request.get("retention_state", "retained"),
        "validation_state": request.get("validation_state", "unverified"),
        "committed_at": now,
        "recorded_at": now,
        "sequence": 1,
        "actor": actor,
        "provenance": complete_provenance(request["provenance"], actor, now, desk.sources),
    }
    if envelope["availability_state"] not in _BORN_WITH:
        raise InvalidRequest(
            f"an object cannot be created {envelope['availability_state']}",
            hint="create it with its content, then redact or delete it",
            pointer="/availability_state",
        )
    for member in _OPTIONAL:
        if member in request:
            envelope[member] = request[member]
    assert_times(request, envelope)
    semantic_checks(envelope)
    payload = {"object_type": object_type}
    return desk.commit_version(
        envelope, "object_created", request, payload, plain=desk.plain_request
    )


def require_bounded(content: Any) -> Any:
    """Content that is within limits.CONTENT_BYTES_MAX. Raises InvalidObject."""
    # Short text needs no measuring; it is what nearly all content is made of.
    if isinstance(content, dict | list) or (
        isinstance(content, str) and len(content) > CONTENT_BYTES_MAX // 4
    ):
        size = len(canonical(content))
        if size > CONTENT_BYTES_MAX:
            raise InvalidObject(
                f"the content takes {size} bytes; at most {CONTENT_BYTES_MAX} are accepted "
                "(limits.CONTENT_BYTES_MAX)",
                hint="store it as a file and keep a reference to it",
                pointer="/canonical_content",
            )
    return content


def _refuse_taken(desk: Desk, object_id: str) -> None:
    current = desk.current(object_id) or {}
    if current.get("availability_state") == "deleted":
        raise ObjectDeleted(
            f"{object_id} was deleted, and its id is not used again",
            hint="choose another id",
            object_id=object_id,
        )
    raise VersionConflict(
        f"{object_id} exists already",
        hint=f"change it with `pamctl update {object_id} --expect VERSION`, or choose another id",
        object_id=object_id,
        current_version_id=current.get("version_id"),
    )
