"""Admission of a request to a scope, under the actor's own authority or under a delegation,
and the record of a refusal. PAMSPEC §15.2-§15.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import AccessDenied, PamError, VersionConflict
from pamctl.model.vocabulary import GOVERNED_OPERATIONS
from pamctl.named_tuples import NamedTuple
from pamctl.rules.authorization import refused
from pamctl.rules.delegation import DELEGATION_RULE, Named, Use
from pamctl.service.authority import (
    ActingRequest,
    governed_type,
    may_see_content,
    require,
    require_of,
)
from pamctl.service.chains import (
    Chain,
    effective_chain,
    find_home,
    now_at,
    record_exercise,
)
from pamctl.service.envelopes import withhold
from pamctl.service.visibility import Visibility

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk

GOVERNED_AS: Mapping[str, str] = {
    "scope_policy": "set_policy",
    "history": "inspect_history",
    "log": "inspect_history",
    "diff": "inspect_history",
    "snapshot_create": "create_snapshot",
    "snapshot_list": "inspect_history",
    "snapshot_show": "inspect_history",
    "snapshot_diff": "inspect_history",
    "schema_add": "add_schema",
    "schema_list": "query",
    "schema_show": "query",
    "space_add": "add_space",
    "checkpoint_record": "record_checkpoint",
    "space_list": "query",
    "space_show": "query",
    "embedding_put": "put_embedding",
    "embedding_delete": "delete_embedding",
    "embedding_status": "query",
    "embedding_export": "query",
    "embedding_pending": "query",
    "embedding_generate": "put_embedding",
}
"""What policies and delegations call an operation, where it is not its own name."""

OVER_DELEGATIONS = frozenset(
    ("grant_delegation", "check_delegation", "revoke_delegation", "list_delegations")
)
"""Operations that a delegation is the subject of; they decide for themselves."""

_FOUNDERS = frozenset(("create", "scope_policy"))
"""Operations that name no object which has to be there."""

_BROUGHT = frozenset(("create", "promote"))
"""Operations whose result holds what the request brought."""

_SUBJECTS = ("object_id", "relationship_id", "source_object_id")
_MISSED = ("current_version_id", "changed_by", "changed_at")


class Admission(NamedTuple):
    """A request that may be worked on.

    request: as operations are to have it, an ActingRequest where a delegation allows it.
    chain: that delegation with what it rests on, to be exercised when the work succeeded.
    """

    request: Mapping[str, Any]
    chain: Chain | None

    def exercise(self, desk: Desk, operation: str) -> Change | None:
        """Stage the record that the delegation was exercised; None where there is none."""
        if self.chain is None:
            return None
        payload = {"operation": GOVERNED_AS.get(operation, operation)}
        if isinstance(self.request.get("object_id"), str):
            payload["object_id"] = self.request["object_id"]
        return record_exercise(desk, self.chain, self.request, payload)


def admit(
    desk: Desk, operation: str, request: Mapping[str, Any], *, counted: bool = False
) -> Admission:
    """Let a request in, or raise AccessDenied. What is refused here is refused before
    anything is told that depends on what is in the scope, the use of an idempotency key
    included.

    counted: whether the request was carried out before and comes again.
    """
    actor = request.get("actor")
    if actor is None or operation in OVER_DELEGATIONS:
        return Admission(request, None)
    governed = GOVERNED_AS.get(operation, operation)
    if "delegation_id" not in actor:
        _require_own(desk, operation, governed, request)
        return Admission(request, None)
    use = Use(
        actor["actor_id"], governed, desk.scope_id, now_at(desk), _named(desk, governed, request)
    )
    chain = effective_chain(desk, actor["delegation_id"], use, counted=counted, **_aim(request))
    if chain is not None:
        return Admission(ActingRequest(request, chain.delegations, desk.policy), chain)
    denied = refused(actor["actor_id"], governed, DELEGATION_RULE)
    if find_home(desk, actor["delegation_id"]) is not None:
        raise denied
    # Of a delegation that is not of this store an actor may speak as of an attestation: it
    # gives nothing.
    try:
        _require_own(desk, operation, governed, request)
    except AccessDenied:
        raise denied from None
    return Admission(request, None)


def _require_own(desk: Desk, operation: str, governed: str, request: Mapping[str, Any]) -> None:
    """The authority is the actor's own, as far as can be told before the work."""
    if not desk.policy.get("rules") and desk.policy.get("default_effect") == "allow":
        return
    aim = _aim(request)
    if operation in _FOUNDERS:
        object_type = request.get("object_type")
        require(desk.policy, request, governed, object_type=object_type, stated=True)
    elif governed in GOVERNED_OPERATIONS and operation != "relate":
        subjects = [request[member] for member in _SUBJECTS if member in request]
        if not subjects or not desk.policy.get("rules"):
            require(desk.policy, request, governed, **aim)
        else:
            for identifier in subjects:
                found = perceived(desk, request, identifier)
                require_of(desk.policy, request, governed, found, **aim)


def _aim(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: request.get(name) for name in ("dimension", "target_state")}


def _named(desk: Desk, operation: str, request: Mapping[str, Any]) -> tuple[Named, ...]:
    """The objects that a request concerns, with their types as far as there are such."""
    if operation == "create":
        return (Named(request.get("object_id"), request["object_type"]),)
    members = list(_SUBJECTS)
    if "target_scope_id" not in request:
        members.append("target_object_id")
    named = [
        Named(request[member], governed_type(_glimpse(desk, request[member])))
        for member in members
        if member in request and not (operation == "promote" and member == "target_object_id")
    ]
    if operation == "promote":
        named.append(Named(request.get("target_object_id"), request["target_object_type"]))
    return tuple(named)


def perceived(desk: Desk, request: Mapping[str, Any], identifier: str) -> Mapping[str, Any] | None:
    """What an id names, as far as the actor may know that there is something: a relationship
    between objects that may not be seen is nothing."""
    found = _glimpse(desk, identifier)
    if found is not None and "relationship_id" in found:
        visibility = Visibility.at_desk(desk, request, "read")
        return found if visibility.sees_ends(found) else None
    return found


def _glimpse(desk: Desk, identifier: str) -> Mapping[str, Any] | None:
    """What an id names; of a memory object no more than its type. How long a refusal takes
    must not tell how much there is to be refused."""
    seen = desk.glance(identifier)
    return desk.current(identifier) if seen is None else {"object_type": seen[0]}


def refusal(desk: Desk, request: Mapping[str, Any], denied: AccessDenied) -> Change:
    """Stage the record of a denial: who was refused what by which rule, and nothing of what
    exists (PAMSPEC §15.3). It changes nothing but the ledger."""
    payload = {"operation": denied.details.get("operation", "unknown")}
    if denied.policy_rule_id is not None:
        payload["policy_rule_id"] = denied.policy_rule_id
    return desk.commit_event("access_denied", request, payload)


def shown(
    desk: Desk, operation: str, request: Mapping[str, Any], result: dict[str, Any]
) -> dict[str, Any]:
    """The result of a change as its actor may see it: without the content of a version that
    that may be changed and not read. What is created, the request brought."""
    envelope = result.get("envelope")
    if envelope is None or operation in _BROUGHT or "canonical_content" not in envelope:
        return result
    if may_see_content(desk.policy, request, governed_type(envelope)):
        return result
    return {**result, "envelope": withhold(envelope)}


def discreet(desk: Desk, request: Mapping[str, Any], error: PamError) -> PamError:
    """A refusal as its actor may see it: a version conflict names the version that was
    missed, and its author, to those who may read it alone (PAMSPEC §12)."""
    if not isinstance(error, VersionConflict) or "actor" not in request:
        return error
    found = desk.current(error.details.get("object_id", ""))
    if found is None or may_see_content(desk.policy, request, governed_type(found)):
        return error
    told = {name: fact for name, fact in error.details.items() if name not in _MISSED}
    quiet = VersionConflict(f"{told['object_id']} is not at the version that was expected")
    quiet.details = told
    return quiet
