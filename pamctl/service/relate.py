"""Relate: a typed, versioned link between two Memory Objects. PAMSPEC §8.5, §10.5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import (
    ObjectDeleted,
    PolicyDenied,
    RelationshipConflict,
    VersionConflict,
)
from pamctl.model.envelopes import semantic_checks
from pamctl.model.vocabulary import SPEC_VERSION
from pamctl.rules.policies import CROSS_SCOPE_RULE, decide_cross_scope
from pamctl.rules.relationships import repeats, require_unchanged
from pamctl.service.authority import require, require_of
from pamctl.service.desk import Change, Desk
from pamctl.service.envelopes import (
    assert_times,
    complete_provenance,
    first_states,
    next_version,
)
from pamctl.service.update import require_changeable
from pamctl.service.visibility import Visibility, absent, addressed

_OPTIONAL = ("target_scope_id", "policy_basis", "integrity")
_CHANGEABLE = ("directionality", "canonical_content", "policy_basis", "integrity")


def relate(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a new relationship, or the next version of one; `relationship_created` or
    `relationship_updated`. Neither of the two objects gets a version by it.

    Raises ObjectNotFound for an end that is not there or that the actor may not read,
    RelationshipConflict for one that was deleted and for a relationship that is there
    already, PolicyDenied for one that crosses into a scope without leave of both policies,
    and VersionConflict.
    """
    require(desk.policy, request, "relate")
    if "expected_version_id" in request:
        return _update(desk, request)
    crossing = _require_crossing(desk, request, request)
    visibility = Visibility.at_desk(desk, request, "read")
    _require_ends(desk, visibility, request)
    now = desk.sources.now()
    provenance = complete_provenance(request["provenance"], request["actor"], now, desk.sources)
    relationship_id = _unused_id(desk, request)
    envelope = first_version(desk, request, relationship_id, provenance, now)
    _refuse_repeated(desk, visibility, envelope)
    payload = {"relationship_type": envelope["relationship_type"], **crossing}
    return desk.commit_version(
        envelope, "relationship_created", request, payload, plain=desk.plain_request
    )


def first_version(
    desk: Desk,
    request: Mapping[str, Any],
    relationship_id: str,
    provenance: Mapping[str, Any],
    now: str,
) -> dict[str, Any]:
    """The envelope of a new relationship, of whose ends the caller made sure."""
    envelope: dict[str, Any] = {
        "spec_version": SPEC_VERSION,
        "relationship_id": relationship_id,
        "version_id": desk.sources.identifier("ver"),
        "scope_id": desk.scope_id,
        "relationship_type": request["relationship_type"],
        "source_object_id": request["source_object_id"],
        "target_object_id": request["target_object_id"],
        "directionality": request.get("directionality", "directed"),
        "canonical_content": request.get("canonical_content", {}),
        **first_states(request),
        "committed_at": now,
        "recorded_at": now,
        "sequence": 1,
        "actor": request["actor"],
        "provenance": provenance,
    }
    for member in _OPTIONAL:
        if member in request:
            envelope[member] = request[member]
    if envelope.get("target_scope_id") == desk.scope_id:
        del envelope["target_scope_id"]
    assert_times(request, envelope)
    semantic_checks(envelope)
    return envelope


def _update(desk: Desk, request: Mapping[str, Any]) -> Change:
    current = addressed(desk, request, "relate")
    _require_authority(desk, request, current)
    require_unchanged(current, request)
    require_changeable(current)
    crossing = _require_crossing(desk, request, current)
    envelope = next_version(current, request, desk.sources.now(), desk.sources)
    for member in _CHANGEABLE:
        if member in request:
            envelope[member] = request[member]
    assert_times(request, envelope)
    semantic_checks(envelope)
    payload = {
        "relationship_type": envelope["relationship_type"],
        "previous_version_id": current["version_id"],
        **crossing,
    }
    return desk.commit_version(envelope, "relationship_updated", request, payload)


def _require_crossing(
    desk: Desk, request: Mapping[str, Any], relationship: Mapping[str, Any]
) -> dict[str, str]:
    """What the event says of a relationship into another scope: by which rules of the two
    policies it may be there, and on what basis the caller claims them. Empty for others."""
    scope_id = _target_scope(desk, relationship)
    if scope_id is None:
        return {}
    basis = request.get("policy_basis", relationship.get("policy_basis"))
    if basis is None:
        raise PolicyDenied(
            f"a relationship into {scope_id} has to say which policy permits it",
            hint="give policy_basis",
            policy_rule_id=CROSS_SCOPE_RULE,
            pointer="/policy_basis",
        )
    neighbour = desk.neighbour(scope_id)
    crossing = decide_cross_scope(
        desk.policy,
        None if neighbour is None else neighbour.policy,
        scope_here=desk.scope_id,
        scope_there=scope_id,
        actor_id=request["actor"]["actor_id"],
        operation="relate",
    )
    return {
        "policy_basis": basis,
        "policy_rule_id": crossing.rule_here,
        "target_policy_rule_id": crossing.rule_there,
    }


def _require_ends(desk: Desk, visibility: Visibility, request: Mapping[str, Any]) -> None:
    """Both ends are there, for this actor too, may be related by him, and have not been
    deleted."""
    scope_there = _target_scope(desk, request)
    there = desk if scope_there is None else desk.neighbour(scope_there)
    ends = ((request["source_object_id"], desk), (request["target_object_id"], there))
    found = []
    for end, place in ends:
        seen = None if place is None else place.glance(end)
        if place is None or seen is None or not visibility.may_see(end, seen[0], place.scope_id):
            require_of(desk.policy, request, "relate", None)
            raise absent(end, desk.scope_id if place is desk else scope_there or desk.scope_id)
        found.append((end, place, *seen))
    for _, place, object_type, _ in found:
        if place is desk:
            require(desk.policy, request, "relate", object_type=object_type)
    for end, _, _, availability in found:
        if availability == "deleted":
            raise RelationshipConflict(
                f"{end} was deleted, and nothing new is related to it", object_id=end
            )


def _require_authority(
    desk: Desk, request: Mapping[str, Any], relationship: Mapping[str, Any]
) -> None:
    """The actor may relate objects of the types of both ends. Into another scope it is the
    grants between the two that permit it."""
    ends = [relationship["source_object_id"]]
    if "target_scope_id" not in relationship:
        ends.append(relationship["target_object_id"])
    for end in ends:
        seen = desk.glance(end)
        if seen is not None:
            require(desk.policy, request, "relate", object_type=seen[0])


def _target_scope(desk: Desk, relationship: Mapping[str, Any]) -> str | None:
    """The scope of the target, where it is another than the relationship's own."""
    scope_id: str | None = relationship.get("target_scope_id")
    return None if scope_id == desk.scope_id else scope_id


def _unused_id(desk: Desk, request: Mapping[str, Any]) -> str:
    relationship_id: str | None = request.get("relationship_id")
    if relationship_id is None:
        return desk.sources.identifier("rel")
    current = desk.current(relationship_id)
    if current is None:
        return relationship_id
    if current["availability_state"] == "deleted":
        raise ObjectDeleted(
            f"{relationship_id} was deleted, and its id is not used again",
            hint="choose another id",
            relationship_id=relationship_id,
        )
    raise VersionConflict(
        f"{relationship_id} exists already",
        hint="name the version to update it on, as expected_version_id, or choose another id",
        relationship_id=relationship_id,
    )


def _refuse_repeated(desk: Desk, visibility: Visibility, made: Mapping[str, Any]) -> None:
    if not visibility.sees_relationships():
        return  # what he may not see must not show in an answer
    source, target = made["source_object_id"], made["target_object_id"]
    for there in desk.joining(source, target, made["relationship_type"]):
        if repeats(made, there):
            raise RelationshipConflict(
                f"{there['relationship_id']} says so already: {there['source_object_id']} "
                f"{there['relationship_type']} {there['target_object_id']}",
                hint="update that relationship, or tell the two apart by valid_from and "
                "valid_until",
                relationship_id=there["relationship_id"],
                current_version_id=there["version_id"],
            )
