"""Create: a new Memory Object. PAMSPEC §10.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import ObjectDeleted, VersionConflict
from pamctl.model.envelopes import semantic_checks
from pamctl.model.vocabulary import SPEC_VERSION
from pamctl.service.authority import require
from pamctl.service.desk import Change, Desk
from pamctl.service.envelopes import assert_times, complete_provenance, first_states
from pamctl.service.schemas import require_registered

_OPTIONAL = ("schema_id", "quality_signals", "integrity", "relationship_refs")


def create(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a new object; `object_created`.

    Raises VersionConflict when the id is taken, ObjectDeleted when it belonged to an object
    that was deleted: identifiers are never used twice (PAMSPEC §8.1).
    """
    require(desk.policy, request, "create", object_type=request["object_type"], stated=True)
    return new_object(desk, request)


def new_object(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a new object, of which the caller made sure that the actor may make it."""
    actor, object_type = request["actor"], request["object_type"]
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
        "canonical_content": request["canonical_content"],
        **first_states(request, lifecycle="scratch" if scratch else "active"),
        "committed_at": now,
        "recorded_at": now,
        "sequence": 1,
        "actor": actor,
        "provenance": complete_provenance(request["provenance"], actor, now, desk.sources),
    }
    for member in _OPTIONAL:
        if member in request:
            envelope[member] = request[member]
    assert_times(request, envelope)
    semantic_checks(envelope)
    require_registered(desk, envelope)
    payload = {"object_type": object_type}
    return desk.commit_version(
        envelope, "object_created", request, payload, plain=desk.plain_request
    )


def _refuse_taken(desk: Desk, object_id: str) -> None:
    current = desk.current(object_id) or {}
    if current.get("availability_state") == "deleted":
        raise ObjectDeleted(
            f"{object_id} was deleted, and its id is not used again",
            hint="choose another id",
            object_id=object_id,
        )
    raise VersionConflict(
        f"{object_id} exists already: version {current.get('sequence')} was written by "
        f"{current.get('actor', {}).get('actor_id')} at {current.get('committed_at')}",
        hint=f"change it with `pamctl update {object_id} --expect VERSION`, or choose another id",
        object_id=object_id,
        current_version_id=current.get("version_id"),
    )
