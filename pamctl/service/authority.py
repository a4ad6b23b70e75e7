"""Whether the actor of a request may do what it asks. PAMSPEC §7.5, §15.3, §15.4.

Every operation asks here, before it looks for what it was asked about, and again once it
knows what that is: a refusal must not tell whether something exists. Where an actor is
refused objects of some types, whatever is absent is refused in the same words.

An actor who names a delegation acts under it and under nothing else: the request is then an
`ActingRequest`, made by `admission`, and is judged by what was delegated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import AccessDenied
from pamctl.rules.authorization import (
    DEFAULT_RULE,
    Action,
    Sight,
    decide_secrecy,
    decide_sight,
    refused,
    require_access,
)
from pamctl.rules.delegation import DELEGATION_RULE, delegated_sight, granted_ids

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow

UNKNOWN_TYPE = "?"
"""Stands for the type of an object that was not looked at yet. Not a type: those have no `?`
alone."""

NOTHING = Sight({}, False, DELEGATION_RULE)


class ActingRequest(dict[str, Any]):
    """A request whose actor acts under a delegation that was found to allow it.

    chain: the delegation, the one that it was granted under, and so on.
    policy: of the scope that it was admitted to; in any other it is worth nothing.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        chain: tuple[Mapping[str, Any], ...],
        policy: Mapping[str, Any],
    ) -> None:
        super().__init__(request)
        self.chain = chain
        self.policy = policy


def require(
    policy: Mapping[str, Any],
    request: Mapping[str, Any],
    operation: str,
    *,
    object_type: str | None = UNKNOWN_TYPE,
    dimension: str | None = None,
    target_state: str | None = None,
    stated: bool = False,
) -> None:
    """Raises AccessDenied unless the request's actor may do this by the scope's policy.

    A request without an actor is the program's own look at its store, not somebody's.

    Arguments:
        object_type: of what was found; None for what is no Memory Object. Without it, only
            an actor who is refused every type is refused.
        stated: whether the type is the request's own word and not something to be found
            out; the refusal then names the very rule that decided.
    """
    actor = request.get("actor")
    if actor is None:
        return
    if _is_plain(policy, request):
        if not _allows_all(policy):
            raise refused(actor["actor_id"], operation, DEFAULT_RULE)
        return
    action = _action(actor, operation, dimension, target_state)
    if isinstance(request, ActingRequest):
        sight = _delegated(policy, request, action)
    elif stated:
        typed = Action(
            action.actor_id, operation, object_type, dimension, target_state, action.actor_kind
        )
        require_access(policy, typed)
        return
    else:
        sight = decide_sight(policy, action)
    unseen = sight.nothing if object_type == UNKNOWN_TYPE else not sight.covers(object_type)
    if unseen:
        raise refused(action.actor_id, operation, sight.rule_id)


def require_of(
    policy: Mapping[str, Any],
    request: Mapping[str, Any],
    operation: str,
    found: Mapping[str, Any] | VersionRow | None,
    *,
    dimension: str | None = None,
    target_state: str | None = None,
) -> None:
    """As `require`, for what was found under the id that a request names: an envelope or a
    row of the index. None, for nothing, is refused to whoever is refused any type at all."""
    if found is not None:
        object_type = governed_type(found)
        require(
            policy,
            request,
            operation,
            object_type=object_type,
            dimension=dimension,
            target_state=target_state,
        )
        return
    sight = sight_of(policy, request, operation, dimension=dimension, target_state=target_state)
    if sight is not None and not sight.everything:
        raise refused(request["actor"]["actor_id"], operation, sight.rule_id)


def require_not_ruled_out(
    policy: Mapping[str, Any],
    request: Mapping[str, Any],
    operation: str,
    object_type: str | None,
) -> None:
    """Raises AccessDenied where a rule refuses an operation to the request's actor, so that
    none gets around the rule by another operation with the same effect. What no rule refuses
    may go on, though nothing grants it: the other operation was granted."""
    if "actor" in request and not _is_plain(policy, request):
        sight = _not_ruled_out(policy, request, operation)
        if not sight.covers(object_type):
            raise refused(request["actor"]["actor_id"], operation, sight.rule_id)


def sight_of(
    policy: Mapping[str, Any],
    request: Mapping[str, Any],
    operation: str,
    *,
    dimension: str | None = None,
    target_state: str | None = None,
) -> Sight | None:
    """On objects of which types the request's actor may carry out an operation; None where
    there is no actor, who may do all."""
    actor = request.get("actor")
    if actor is None:
        return None
    action = _action(actor, operation, dimension, target_state)
    if isinstance(request, ActingRequest):
        return _delegated(policy, request, action)
    return decide_sight(policy, action)


def disclosed(
    policy: Mapping[str, Any], request: Mapping[str, Any], operation: str
) -> Sight | None:
    """Objects of which types an operation that answers with many may show the request's
    actor; None for all of them.

    Those that it may be carried out on, without those that a rule keeps the actor from
    reading: a query is no way around a rule about reading. Raises AccessDenied where
    nothing is left, which would otherwise look like an empty scope.
    """
    if "actor" not in request or _is_plain(policy, request):
        require(policy, request, operation)
        return None
    sight = sight_of(policy, request, operation)
    assert sight is not None
    shown = sight.and_also(_not_ruled_out(policy, request, "read"))
    if shown.nothing:
        raise refused(request["actor"]["actor_id"], operation, shown.rule_id)
    return None if shown.everything else shown


def require_disclosed(
    policy: Mapping[str, Any],
    request: Mapping[str, Any],
    operation: str,
    found: Mapping[str, Any] | VersionRow | None,
) -> None:
    """As `require_of`, for an operation whose answer is about one object and shows what
    reading it would."""
    sight = disclosed(policy, request, operation)
    if sight is not None and (found is None or not sight.covers(governed_type(found))):
        raise refused(request["actor"]["actor_id"], operation, sight.rule_id)


def may_show(
    policy: Mapping[str, Any],
    request: Mapping[str, Any],
    operation: str,
    object_type: str | None,
) -> bool:
    """Whether an operation may show the request's actor such an object."""
    try:
        sight = disclosed(policy, request, operation)
    except AccessDenied:
        return False
    return sight is None or sight.covers(object_type)


def disclosed_ids(request: Mapping[str, Any]) -> frozenset[str] | None:
    """The objects that the delegation of a request is restricted to; None for no such
    restriction."""
    return granted_ids(request.chain) if isinstance(request, ActingRequest) else None


def may_see_content(
    policy: Mapping[str, Any], request: Mapping[str, Any], object_type: str | None
) -> bool:
    """Whether the answer to a request may show its actor the content of such an object: who
    changes something may not always read it."""
    if "actor" not in request or _is_plain(policy, request):
        return "actor" not in request or _allows_all(policy)
    sights = (sight_of(policy, request, operation) for operation in ("read", "query"))
    return any(sight is not None and sight.covers(object_type) for sight in sights)


def governed_type(found: Mapping[str, Any] | VersionRow | None) -> str | None:
    """The object type that policies know something by, an envelope or a row of the index.
    None where there is nothing, and for what is no Memory Object: the type of a relationship
    is a word of its author's, which may well be that of an object type."""
    if found is None:
        return None
    if isinstance(found, Mapping):
        return found.get("object_type")
    return found.object_type if found.family == "object" else None


def _is_plain(policy: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    """Whether a policy's default decides everything about a request."""
    return not policy.get("rules") and not isinstance(request, ActingRequest)


def _allows_all(policy: Mapping[str, Any]) -> bool:
    return bool(policy.get("default_effect") == "allow")


def _not_ruled_out(policy: Mapping[str, Any], request: Mapping[str, Any], operation: str) -> Sight:
    action = _action(request["actor"], operation, None, None)
    if not isinstance(request, ActingRequest):
        return decide_secrecy(policy, action)
    if policy is not request.policy:
        return NOTHING
    return delegated_sight(policy, request.chain, action, secrecy=True)


def _delegated(policy: Mapping[str, Any], request: ActingRequest, action: Action) -> Sight:
    # By identity: another scope's policy may say the same and is still another's.
    if policy is not request.policy:
        return NOTHING
    return delegated_sight(policy, request.chain, action)


def _action(
    actor: Mapping[str, Any], operation: str, dimension: str | None, target_state: str | None
) -> Action:
    return Action(
        actor["actor_id"], operation, None, dimension, target_state, actor.get("actor_kind")
    )
