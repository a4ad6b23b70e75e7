"""An operation that reads, carried out for an actor: a refusal goes on record, a delegation is
exercised, and where the policy wants it so does what was read. PAMSPEC §10.2, §15.3, §15.4.

Only these three write, and only what they put on record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pamctl.errors import AccessDenied, ScopeNotFound, ServiceUnavailable
from pamctl.index.database import IndexDamaged
from pamctl.model.vocabulary import GOVERNED_OPERATIONS
from pamctl.rules.authorization import refused
from pamctl.rules.delegation import DELEGATION_RULE
from pamctl.service.admission import GOVERNED_AS, OVER_DELEGATIONS, refusal
from pamctl.service.chains import find_home
from pamctl.service.operations import OTHERS

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.open_store import OpenStore

    Answer = Callable[[OpenStore, Mapping[str, Any]], Any]

AUDITED = frozenset(("read", "query", "history", "diff", "embedding_pending", "export"))
"""What `read_audit` of a policy puts on record. Not the log: it shows no content, and whoever
follows it would be shown, for ever, that they do."""

_SHOWING = AUDITED | {"log"}


def look(
    store: OpenStore,
    operation: str,
    request: dict[str, Any],
    carry_out: Answer | None = None,
) -> Any:
    """The answer of an operation that reads, or that is about a store or a scope as a whole.

    carry_out: what answers in the operation's place, under the same authority and the same
        record of it; by default the operation itself.

    Raises what the operation does. A denial is on record then, unless nothing can be written
    here; a use of a delegation, and a read that the policy wants on record, are on record
    before anything is answered, or it is not answered (ServiceUnavailable).
    """
    governed = GOVERNED_AS.get(operation, operation)
    if "actor" in request:
        _require_key(store, operation, governed, request)
    if "actor" not in request or governed not in GOVERNED_OPERATIONS:
        return _answer(store, operation, request, carry_out)
    acting: Mapping[str, Any] = request
    lent = "delegation_id" in request["actor"] and operation not in OVER_DELEGATIONS
    if lent and _is_of_this_store(store, request):
        acting, lent = _admitted(store, operation, request), False
    try:
        answer = _answer(store, operation, acting, carry_out)
    except AccessDenied as cause:
        denied = cause
        if lent:
            # In the words of a delegation that does not hold, for which it may be taken.
            denied = refused(request["actor"]["actor_id"], governed, DELEGATION_RULE)
        with contextlib.suppress(ServiceUnavailable, ScopeNotFound):
            _record(store, operation, request, partial(refusal, denied=denied))
        raise denied from None
    if operation in AUDITED:
        _audit(store, operation, governed, request)
    return answer


def _answer(
    store: OpenStore, operation: str, request: Mapping[str, Any], carry_out: Answer | None
) -> Any:
    carry_out = carry_out or OTHERS[operation]
    if store.evaluation is not None:
        request = store.evaluation.bounded(operation, request)
    try:
        return _whole(store, operation, request, carry_out)
    except IndexDamaged:
        # It has been emptied, and the next look fills it from the ledger.
        return carry_out(store, request)


def _whole(store: OpenStore, operation: str, request: Mapping[str, Any], carry_out: Answer) -> Any:
    try:
        return carry_out(store, request)
    finally:
        if operation in _SHOWING:  # also that something is not there
            store.require_whole(request.get("scope_id", store.default_scope))


def _require_key(store: OpenStore, operation: str, governed: str, request: dict[str, Any]) -> None:
    """Raises AccessDenied where the actor is bound to a key that is not at hand; in a scope
    that is there, that goes on record."""
    try:
        store.signers.require(request["actor"]["actor_id"], governed)
    except AccessDenied as denied:
        with contextlib.suppress(ServiceUnavailable, ScopeNotFound):
            store.directory.scope(request.get("scope_id", store.default_scope))
            _record(store, operation, request, partial(refusal, denied=denied))
        raise


def _is_of_this_store(store: OpenStore, request: Mapping[str, Any]) -> bool:
    """Whether the delegation that an actor names is one that may be for the scope."""
    desk = store.group().neighbour(request["scope_id"])
    return desk is not None and find_home(desk, request["actor"]["delegation_id"]) is not None


def _admitted(store: OpenStore, operation: str, request: dict[str, Any]) -> Mapping[str, Any]:
    """The request as its delegation lets it be carried out, and the use of it on record."""
    named = _recordable(store, operation, request)
    with store.group() as group:
        return group.admit(operation, named)


def _audit(store: OpenStore, operation: str, governed: str, request: dict[str, Any]) -> None:
    """Put a granted read on record, where the policy wants that.

    PAMSPEC has no event for it. Its bindings make every operation a tool, `pamspec.read`
    for instance, and that a tool was invoked is an event.
    """
    try:
        scope = store.open_scope(request["scope_id"])
    except ScopeNotFound:
        return
    if scope.policy().get("read_audit", False):
        _record(store, operation, request, partial(_read, governed=governed))


def _read(desk: Desk, request: Mapping[str, Any], *, governed: str) -> Change:
    payload = {"operation": governed, "tool_name": f"pamspec.{governed}"}
    named = {"object_id": request["object_id"]} if "object_id" in request else {}
    return desk.commit_event("tool_invoked", request, payload, **named)


def _record(store: OpenStore, operation: str, request: dict[str, Any], event: Any) -> None:
    named = _recordable(store, operation, request)
    if store.evaluation is not None:
        named["scope_id"] = store.evaluation.scope_id
    with store.group() as group:
        group.record(named, event)


def _recordable(store: OpenStore, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """A request with a name for its operation. Those that read are taken on trust; what goes
    into the ledger is not."""
    from pamctl.model.documents import check

    check(f"requests/{operation}", request)
    if "operation_id" in request:
        return dict(request)
    return {**request, "operation_id": store.asking.identifier("op")}
