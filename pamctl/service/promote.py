"""Promote: make a lasting memory of working memory. PAMSPEC §10.10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import InvalidRequest
from pamctl.rules.promotion import require_promotable, require_source_type, require_target_type
from pamctl.service.authority import require, require_not_ruled_out, require_of
from pamctl.service.create import new_object
from pamctl.service.desk import Change, Desk, policy_basis
from pamctl.service.envelopes import next_version
from pamctl.service.relate import first_version
from pamctl.service.update import require_changeable
from pamctl.service.visibility import absent

_COMMON = ("scope_id", "actor", "operation_id")
_TARGET = {
    "target_object_type": "object_type",
    "target_canonical_content": "canonical_content",
    "target_object_id": "object_id",
    "target_schema_id": "schema_id",
    "target_lifecycle_state": "lifecycle_state",
    "target_validation_state": "validation_state",
}


def promote(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the new object, its source as superseded, and the relationship `derived_from`
    between them, all in one transaction; `object_created`, `lifecycle_transitioned`,
    `relationship_created` and `working_memory_promoted`.

    Who may promote something of the source's type into something of the target's needs no
    other authority, unless a rule keeps him from creating such a thing: the promotion is what
    permits the new object and the source's step to superseded.

    Raises InvalidRequest for what is no working memory, InvalidStateTransition for what was
    superseded or put away, VersionConflict, and what `create` raises.
    """
    target_type = request["target_object_type"]
    require(desk.policy, request, "promote", object_type=target_type, stated=True)
    require_not_ruled_out(desk.policy, request, "create", target_type)
    require_target_type(target_type)
    source = _source(desk, request)
    created = new_object(desk, _creation(request, source))
    made = created.result["envelope"]
    replaced = _supersede(desk, request, source)
    related = _derive(desk, request, source, made)
    promoted = desk.commit_event(
        "working_memory_promoted",
        request,
        {
            "source_object_id": source["object_id"],
            "source_version_id": source["version_id"],
            "target_object_id": made["object_id"],
            "target_version_id": made["version_id"],
            "target_object_type": made["object_type"],
            "relationship_id": related.result["relationship_id"],
        },
        object_id=source["object_id"],
    )
    created.result |= {
        "promotion_event_id": promoted.result["event_id"],
        "relationship_id": related.result["relationship_id"],
        "relationship_version_id": related.result["version_id"],
        "source_object_id": source["object_id"],
        "source_version_id": replaced.result["version_id"],
    }
    return created.joined(replaced, related, promoted)


def _source(desk: Desk, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The working memory to promote, at the version that the caller saw."""
    object_id = request["source_object_id"]
    current = desk.current(object_id)
    if current is not None and "object_id" not in current:
        current = None
    require_of(desk.policy, request, "promote", current)
    if current is None:
        raise absent(object_id, desk.scope_id)
    require_source_type(object_id, current["object_type"])
    current = desk.expect(object_id, request["expected_version_id"])
    require_promotable(object_id, current["lifecycle_state"])
    require_changeable(current)
    return current


def _creation(request: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """The request to create what the promotion makes."""
    provenance, parent = request["provenance"], source["version_id"]
    if provenance.get("transformation_parent", parent) != parent:
        raise InvalidRequest(
            f"what is promoted is {parent}; its provenance cannot name another parent",
            pointer="/provenance/transformation_parent",
        )
    return {
        **{name: request[name] for name in _COMMON},
        **{name: request[member] for member, name in _TARGET.items() if member in request},
        "provenance": {**provenance, "transformation_parent": parent},
    }


def _supersede(desk: Desk, request: Mapping[str, Any], source: Mapping[str, Any]) -> Change:
    """The source keeps its content and its provenance. What replaced it, the promotion's own
    event says, which is shown to those who may see both."""
    by = {name: request[name] for name in _COMMON}
    envelope = next_version(source, by, desk.sources.now(), desk.sources)
    envelope["lifecycle_state"] = "superseded"
    payload = {
        "dimension": "lifecycle",
        "from": source["lifecycle_state"],
        "to": "superseded",
        "policy_basis": policy_basis(desk, request),
    }
    return desk.commit_version(envelope, "lifecycle_transitioned", by, payload)


def _derive(
    desk: Desk, request: Mapping[str, Any], source: Mapping[str, Any], made: Mapping[str, Any]
) -> Change:
    """The relationship says no more than the new object's provenance does, and shares it."""
    by = {
        **{name: request[name] for name in _COMMON},
        "relationship_type": "derived_from",
        "source_object_id": made["object_id"],
        "target_object_id": source["object_id"],
    }
    relationship_id = desk.sources.identifier("rel")
    provenance, now = made["provenance"], desk.sources.now()
    envelope = first_version(desk, by, relationship_id, provenance, now)
    payload = {"relationship_type": "derived_from"}
    return desk.commit_version(envelope, "relationship_created", by, payload)
