"""Expiry: the transitions that a scope's retention rules say are due. PAMSPEC §9.4, §9.6.

Nothing expires by itself. Somebody asks for what is due, and every expiry is a transition of
theirs with its event, on the basis of the rule that says so. A legal hold is never due.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from pamctl.encoding.timestamps import from_nanoseconds
from pamctl.errors import PamError, ServiceUnavailable
from pamctl.index.structured_query import Range, StructuredQuery
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.model.documents import check
from pamctl.rules.retention import expiry
from pamctl.service.authority import require, sight_of
from pamctl.service.open_scope import OpenScope

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.service.open_store import OpenStore

_SECOND_NS = 1_000_000_000
_KEPT = ("available", "partially_redacted", "redacted")
_WISH: dict[str, Any] = {"dimension": "retention", "target_state": "expired"}


def expire(store: OpenStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """Make `expired` what has been kept for as long as the policy says, and say what that
    was; with `dry_run` only say it.

    At most `limit` objects; `more` tells whether others are due. `held` counts those that
    would be due, were it not for a legal hold. What the actor may not transition is left out;
    `refused` has what could not be, because somebody else changed it at the same time.
    Raises ServiceUnavailable where nothing can be written; nothing has expired then.
    """
    check("requests/expire", request)
    scope = store.scope_to_read(request["scope_id"])
    answer: dict[str, Any] = {
        "items": [],
        "refused": [],
        "more": False,
        "held": 0,
        "next_cursor": None,
        "scope_id": request["scope_id"],
    }
    if scope is None:
        return answer
    require(scope.policy(), request, "transition", **_WISH)
    due = _due(store, scope, request, "retained")
    limit = request.get("limit", PAGE_ITEMS_MAX)
    chosen = list(islice(due, limit))
    answer["more"] = next(due, None) is not None
    answer["held"] = sum(1 for _ in _due(store, scope, request, "legal_hold"))
    if request.get("dry_run", False):
        answer["items"] = [_item(row, rule_id) for row, rule_id in chosen]
        return answer
    given = {name: request[name] for name in ("scope_id", "actor") if name in request}
    given["operation_id"] = request.get("operation_id") or store.asking.identifier("op")
    answer["operation_id"] = given["operation_id"]
    with store.group() as group:
        for row, rule_id in chosen:
            transition = {
                **given,
                **_WISH,
                "object_id": row.object_id,
                "expected_version_id": row.version_id,
                "policy_basis": rule_id,
            }
            try:
                made = group.perform("transition", transition)
            except ServiceUnavailable:
                raise  # as it is for this object it is for all
            except PamError as error:
                answer["refused"].append({"object_id": row.object_id, "code": error.code})
                continue
            told = {name: made[name] for name in ("version_id", "event_id", "ledger_sequence")}
            answer["items"].append({**_item(row, rule_id), **told})
    return answer


def _due(
    store: OpenStore, scope: OpenScope, request: Mapping[str, Any], state: str
) -> Iterator[tuple[VersionRow, str]]:
    """The objects in a retention state whose time is over, with the rules that say so."""
    policy, now = scope.policy(), store.asking.clock()
    sight = sight_of(policy, request, "transition", **_WISH)
    for rule in policy.get("retention", ()):
        if "expires_after_sec" not in rule:
            continue
        moment = from_nanoseconds(now - int(rule["expires_after_sec"]) * _SECOND_NS)
        query = StructuredQuery(
            object_type=rule.get("object_types"),
            retention_state=[state],
            availability_state=_KEPT,
            ranges=[Range("committed_at", None, moment)],
            limit=PAGE_ITEMS_MAX,
            as_of=scope.position.sequence,
        )
        while True:
            page = scope.index.search(query)
            for row in page.rows:
                # The first rule for a type decides, which may be another one.
                decided = expiry(policy, row.object_type or "")
                ruled = decided is not None and decided[1] == rule["rule_id"]
                if ruled and (sight is None or sight.covers(row.object_type)):
                    yield row, str(rule["rule_id"])
            if page.next_key is None:
                break
            query = replace(query, after_key=page.next_key)


def _item(row: VersionRow, rule_id: str) -> dict[str, Any]:
    return {
        "object_id": row.object_id,
        "object_type": row.object_type,
        "version_id": row.version_id,
        "policy_rule_id": rule_id,
    }
