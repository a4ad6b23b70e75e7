"""Delegations: checked, revoked and listed; `grant` makes them. PAMSPEC §15.4, §18.2.

A Delegation Object is versioned like everything else. How often it was used is counted from
the ledger, where every use leaves an event; whether its grantor still holds what was granted
is asked anew at every use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    InvalidStateTransition,
    ObjectNotFound,
    PolicyDenied,
    ScopeNotFound,
    VersionConflict,
)
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.rules.authorization import refused
from pamctl.rules.delegation import (
    DELEGATION_RULE,
    EFFECTIVE_STATE,
    REVOKED_STATE,
    Named,
    Use,
    lapse,
)
from pamctl.service.authority import governed_type, require
from pamctl.service.chains import (
    chain_of,
    effective_chain,
    is_delegation,
    now_at,
    record_exercise,
)
from pamctl.service.envelopes import complete_provenance, next_version

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.family_arguments import (
        CheckDelegationArguments,
        GrantDelegationArguments,
        ListDelegationsArguments,
        RevokeDelegationArguments,
    )
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]

_NOT_REVOCABLE = "delegation_not_revocable"
_SOMEBODY = "unknown"
"""The kind of an actor of whom only the id is known."""


class Delegations:
    """The delegations of a store's scopes: `store.delegations`."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def grant(self, **arguments: Unpack[GrantDelegationArguments]) -> Json:
        """Let another actor do what the granting actor may do. PAMSPEC §18.2."""
        result: Json = self._store.perform("grant_delegation", arguments)
        return result

    def check(self, **arguments: Unpack[CheckDelegationArguments]) -> Json:
        """Whether a delegation allows an operation: the delegation, or AccessDenied. A check
        that succeeds counts as a use."""
        result: Json = self._store.perform("check_delegation", arguments)
        return result

    def revoke(self, **arguments: Unpack[RevokeDelegationArguments]) -> Json:
        """End a delegation, at once and for good."""
        result: Json = self._store.perform("revoke_delegation", arguments)
        return result

    def list(self, **arguments: Unpack[ListDelegationsArguments]) -> Json:
        """Delegations with what became of them. Looking counts as no use."""
        result: Json = self._store.perform("list_delegations", arguments)
        return result


def prepared(store: OpenStore, operation: str, request: Json) -> Json:
    """A request over a delegation, with its actor where that stands under another name.

    Raises AccessDenied where the scope is not there: looking for something to be allowed
    makes no scope.
    """
    if operation == "grant_delegation":
        request.setdefault("actor", request["granting_actor"])
    elif operation == "revoke_delegation" and "revoking_actor" in request:
        request.setdefault("actor", request["revoking_actor"])
    elif operation == "check_delegation":
        delegate = {"actor_id": request["delegated_actor_id"], "actor_kind": _SOMEBODY}
        request.setdefault("actor", delegate)
    if operation in ("check_delegation", "revoke_delegation"):
        if "actor" not in request:
            raise InvalidRequest("/actor is missing", pointer="/actor")
        try:
            store.open_scope(request["scope_id"])
        except ScopeNotFound:
            who, what = request["actor"]["actor_id"], operation
            if operation == "check_delegation":
                who, what = request["delegated_actor_id"], request["operation"]
            raise refused(who, what, DELEGATION_RULE) from None
    return request


def check_delegation(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the exercise of a delegation that allows what is asked; `delegation_exercised`.

    Raises AccessDenied in the same words whatever the reason, an id that names nothing
    among them.
    """
    actor_id, operation = request["delegated_actor_id"], request["operation"]
    if request["actor"]["actor_id"] != actor_id:
        require(desk.policy, request, "check_delegation", object_type=None)
    use = Use(actor_id, operation, desk.scope_id, now_at(desk), tuple(_checked(desk, request)))
    chain = effective_chain(desk, request["delegation_id"], use)
    if chain is None:
        raise refused(actor_id, operation, DELEGATION_RULE)
    granted = chain.delegations[0]
    payload = {"operation": operation, "checked_by": request["actor"]["actor_id"]}
    if "object_id" in request:
        payload["object_id"] = request["object_id"]
    asking = {**request, "actor": granted["delegated_actor"]}
    exercised = record_exercise(desk, chain, asking, payload)
    exercised.result |= {
        "delegation_id": granted["delegation_id"],
        "envelope": granted,
        "sequence": granted["sequence"],
        "version_id": granted["version_id"],
    }
    del exercised.result["object_id"]
    return exercised


def revoke_delegation(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the version that ends a delegation; `delegation_revoked`. Whatever was granted
    under it ends with it.

    Its grantor may, and whom the policy lets revoke. Raises AccessDenied, PolicyDenied for
    one that is not revocable, InvalidStateTransition for one that was revoked before, and
    VersionConflict.
    """
    delegation_id, actor = request["delegation_id"], request["actor"]
    current = desk.current(delegation_id)
    if current is None or not is_delegation(current):
        current = None
    if "delegation_id" in actor:
        raise refused(actor["actor_id"], "revoke_delegation", DELEGATION_RULE)
    if current is None or current["granting_actor"]["actor_id"] != actor["actor_id"]:
        require(desk.policy, request, "revoke_delegation", object_type=None)
    if current is None:
        raise ObjectNotFound(f"there is no delegation {delegation_id} in {desk.scope_id}")
    _require_revocable(current, request)
    now = desk.sources.now()
    envelope = next_version(current, request, now, desk.sources)
    given = request.get("provenance", {"activity": "revoked_delegation"})
    envelope["provenance"] = complete_provenance(given, actor, now, desk.sources)
    envelope["lifecycle_state"] = REVOKED_STATE
    basis = request.get("policy_basis", current["policy_basis"])
    payload = {"previous_version_id": current["version_id"], "policy_basis": basis}
    return desk.commit_version(envelope, "delegation_revoked", request, payload)


def list_delegations(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """A page of the delegations of a scope, in the order in which they were last changed:
    each with whether it is in force, why it is not, and how often it was used.

    An actor sees those that it is a party to; all of them, if the policy lets it
    `list_delegations`.
    """
    if store.scope_to_read(request["scope_id"]) is None:
        return {"items": [], "next_cursor": None}
    desk = store.group().neighbour(request["scope_id"])
    assert desk is not None
    everybody = _may_see_all(desk, request)
    limit = request.get("limit", PAGE_ITEMS_MAX)
    items: list[Json] = []
    for since, envelope in _stored(desk, _resumed(request)):
        if not _is_wanted(envelope, request) or not (everybody or _is_party(envelope, request)):
            continue
        item = _item(desk, envelope)
        if request.get("effective", item["effective"]) != item["effective"]:
            continue
        if len(items) == limit:
            return {"items": items, "next_cursor": str(since)}
        items.append(item)
    return {"items": items, "next_cursor": None}


def _checked(desk: Desk, request: Mapping[str, Any]) -> Iterator[Named]:
    """The object that a check is about, with its type where the caller does not say it."""
    if "object_id" in request:
        found = governed_type(desk.current(request["object_id"]))
        yield Named(request["object_id"], found or request.get("object_type"))
    elif "object_type" in request:
        yield Named(None, request["object_type"])


def _require_revocable(current: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    delegation_id = current["delegation_id"]
    if current["lifecycle_state"] != EFFECTIVE_STATE:
        raise InvalidStateTransition(
            f"{delegation_id} was revoked at {current['committed_at']}",
            dimension="lifecycle",
            from_state=current["lifecycle_state"],
            target_state=REVOKED_STATE,
        )
    if not current.get("revocable", True):
        raise PolicyDenied(
            f"{delegation_id} was granted as not revocable; it ends at {current['not_after']}",
            policy_rule_id=_NOT_REVOCABLE,
        )
    if request.get("expected_version_id", current["version_id"]) != current["version_id"]:
        raise VersionConflict(
            f"{delegation_id} is no longer at {request['expected_version_id']}",
            delegation_id=delegation_id,
            current_version_id=current["version_id"],
        )


def _stored(desk: Desk, start: int) -> Iterator[tuple[int, Json]]:
    """The delegations of a scope as they are now, from a ledger sequence on."""
    from pamctl.index.structured_query import Range, StructuredQuery

    after = None
    while True:
        ranges = (Range("ledger_sequence", start),)
        page = desk.scope.index.search(
            StructuredQuery(
                family="delegation", ranges=ranges, limit=PAGE_ITEMS_MAX, after_key=after
            )
        )
        for row in page.rows:
            yield row.since, desk.scope.envelope(row)
        after = page.next_key
        if after is None:
            return


def _item(desk: Desk, envelope: Json) -> Json:
    """A delegation and what became of it: `reason` says why it is not in force."""
    place = desk
    if "target_scope_id" in envelope:
        place = desk.neighbour(envelope["target_scope_id"]) or desk
    chain = chain_of(place, desk, envelope["delegation_id"])
    at = now_at(desk)
    lapses = ["chain"] if chain is None else [lapse(link, at) for link in chain.links]
    own, *others = lapses
    reason = own or ("chain" if any(others) else None)
    used = 0 if chain is None else chain.links[0].used
    return {"delegation": envelope, "effective": reason is None, "reason": reason, "used": used}


def _may_see_all(desk: Desk, request: Mapping[str, Any]) -> bool:
    try:
        require(desk.policy, request, "list_delegations", object_type=None)
    except AccessDenied:
        return False
    return True


def _is_party(envelope: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    parties = (envelope["granting_actor"]["actor_id"], envelope["delegated_actor"]["actor_id"])
    return request["actor"]["actor_id"] in parties


def _is_wanted(envelope: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    return all(
        request.get(f"{member}_id", envelope[member]["actor_id"]) == envelope[member]["actor_id"]
        for member in ("granting_actor", "delegated_actor")
    )


def _resumed(request: Mapping[str, Any]) -> int:
    cursor = request.get("cursor", "0")
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 16:
        raise InvalidRequest(f"{cursor[:40]!r} is no cursor of a list", pointer="/cursor")
    return int(cursor)
