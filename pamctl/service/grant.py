"""Grant: a Delegation Object, by which one actor lends another what it holds.
PAMSPEC §15.4, §18.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pamctl.limits import DELEGATION_CHAIN_MAX
from pamctl.model.envelopes import semantic_checks
from pamctl.model.vocabulary import SPEC_VERSION, STATES
from pamctl.rules.authorization import Action, Sight, decide_sight, refused
from pamctl.rules.delegation import DELEGATION_RULE, EFFECTIVE_STATE, lapse, widening
from pamctl.rules.policies import decide_cross_scope
from pamctl.service.authority import governed_type, require
from pamctl.service.chains import chain_of, now_at
from pamctl.service.desk import Change, Desk
from pamctl.service.envelopes import complete_provenance, utc

_RESTRICTIONS = ("granted_object_types", "granted_object_ids", "target_scope_id", "usage_limit")


def grant_delegation(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a Delegation Object; `delegation_granted`.

    Raises AccessDenied for a grantor who may not grant, or does not hold all that is to be
    granted; PolicyDenied for a window that ends before it begins, and for another scope that
    is not open to this one by both policies.
    """
    grantor = request["granting_actor"]
    if request["actor"]["actor_id"] != grantor["actor_id"]:
        raise refused(request["actor"]["actor_id"], "grant_delegation", DELEGATION_RULE)
    require(desk.policy, {"actor": grantor}, "grant_delegation", object_type=None)
    envelope = _first_version(desk, request)
    semantic_checks(envelope)
    _require_held(desk, envelope)
    payload = {
        "delegated_actor_id": envelope["delegated_actor"]["actor_id"],
        "granted_operations": envelope["granted_operations"],
        "policy_basis": envelope["policy_basis"],
    }
    return desk.commit_version(envelope, "delegation_granted", request, payload)


def _first_version(desk: Desk, request: Mapping[str, Any]) -> dict[str, Any]:
    now, grantor = desk.sources.now(), request["granting_actor"]
    given = request.get("provenance", {"activity": "granted_delegation"})
    envelope: dict[str, Any] = {
        "spec_version": SPEC_VERSION,
        "delegation_id": desk.sources.identifier("del"),
        "version_id": desk.sources.identifier("ver"),
        "scope_id": desk.scope_id,
        "granting_actor": grantor,
        "delegated_actor": request["delegated_actor"],
        "granted_operations": request["granted_operations"],
        "policy_basis": request["policy_basis"],
        "not_before": utc(request.get("not_before", now), "/not_before"),
        "not_after": utc(request["not_after"], "/not_after"),
        "revocable": request.get("revocable", True),
        "lifecycle_state": EFFECTIVE_STATE,
        "availability_state": "available",
        "retention_state": "retained",
        "validation_state": "corroborated",
        "committed_at": now,
        "recorded_at": now,
        "sequence": 1,
        "actor": request["actor"],
        "provenance": complete_provenance(given, grantor, now, desk.sources),
    }
    for member in _RESTRICTIONS:
        if member in request:
            envelope[member] = request[member]
    if envelope.get("target_scope_id") == desk.scope_id:
        del envelope["target_scope_id"]
    return envelope


def _require_held(desk: Desk, envelope: Mapping[str, Any]) -> None:
    """The grantor holds all that is granted: by its own authority or, where it names a
    delegation, by that one alone. Raises AccessDenied, and PolicyDenied across scopes."""
    grantor = envelope["granting_actor"]
    parent_id = grantor.get("delegation_id")
    place = desk
    if "target_scope_id" in envelope:
        place = _target(desk, envelope)
    if parent_id is not None:
        grantor = _first_grantor(desk, place, envelope, parent_id)
    for operation in envelope["granted_operations"]:
        for sight in _sights(place, grantor, operation):
            if not _covers(place, sight, envelope):
                raise refused(
                    envelope["granting_actor"]["actor_id"], "grant_delegation", sight.rule_id
                )


def _first_grantor(
    desk: Desk, place: Desk, envelope: Mapping[str, Any], parent_id: str
) -> Mapping[str, Any]:
    """By whose own authority a delegate passes on what was lent. Raises AccessDenied unless
    it was lent to this one, is in force still, and no more of it is passed on."""
    grantor, at = envelope["granting_actor"], now_at(desk)
    chain = chain_of(place, desk, parent_id)
    if (
        chain is None
        or chain.delegations[0]["delegated_actor"]["actor_id"] != grantor["actor_id"]
        or widening(envelope, chain.delegations[0]) is not None
        or len(chain.links) == DELEGATION_CHAIN_MAX
        or any(lapse(link, at) is not None for link in chain.links)
    ):
        raise refused(grantor["actor_id"], "grant_delegation", DELEGATION_RULE)
    first: Mapping[str, Any] = chain.delegations[-1]["granting_actor"]
    return first


def _target(desk: Desk, envelope: Mapping[str, Any]) -> Desk:
    """The scope that a grant across scopes is for. Raises PolicyDenied."""
    there = envelope["target_scope_id"]
    neighbour = desk.neighbour(there)
    for operation in envelope["granted_operations"]:
        decide_cross_scope(
            desk.policy,
            None if neighbour is None else neighbour.policy,
            scope_here=desk.scope_id,
            scope_there=there,
            actor_id=envelope["delegated_actor"]["actor_id"],
            operation=operation,
        )
    assert neighbour is not None
    return neighbour


def _sights(place: Desk, actor: Mapping[str, Any], operation: str) -> Iterator[Sight]:
    """On what an actor may carry out an operation, whatever form it takes."""
    forms: list[tuple[str | None, str | None]] = [(None, None)]
    if operation == "transition":
        forms = [(dimension, state) for dimension, states in STATES.items() for state in states]
    for dimension, state in forms:
        action = Action(actor["actor_id"], operation, None, dimension, state, actor["actor_kind"])
        yield decide_sight(place.policy, action)


def _covers(place: Desk, sight: Sight, envelope: Mapping[str, Any]) -> bool:
    if "granted_object_types" in envelope:
        return all(sight.covers(name) for name in envelope["granted_object_types"])
    if sight.everything or "granted_object_ids" not in envelope:
        return sight.everything
    found = [place.current(object_id) for object_id in envelope["granted_object_ids"]]
    return all(one is not None and sight.covers(governed_type(one)) for one in found)
