"""Transition: change one of the four states of an object. PAMSPEC §9.5, §10.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import RetentionRestriction
from pamctl.rules.authorization import DEFAULT_POLICY_BASIS
from pamctl.rules.retention import require_no_hold
from pamctl.rules.transitions import TransitionDecision, decide_transition
from pamctl.service.authority import require
from pamctl.service.desk import Change, Desk
from pamctl.service.envelopes import TOMBSTONE, next_version, withhold_leaves

_HIDING = ("partially_redacted", "redacted", "deleted")


def transition(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the version in the new state; the event of the dimension, `object_deleted` for
    the final tombstone.

    Raises InvalidStateTransition, PolicyDenied, VersionConflict or LegalHold.
    """
    dimension, target = request["dimension"], request["target_state"]
    asked = {"dimension": dimension, "target_state": target}
    require(desk.policy, request, "transition", **asked)
    current = desk.expect(request["object_id"], request["expected_version_id"])
    require(desk.policy, request, "transition", object_type=current["object_type"], **asked)
    source = current[f"{dimension}_state"]
    decision = decide_transition(
        dimension,
        source,
        target,
        actor_id=request["actor"]["actor_id"],
        overrides=desk.policy.get("overrides", ()),
        override=request.get("override"),
        corrects_provenance="provenance" in request,
    )
    envelope = next_version(current, request, desk.sources.now(), desk.sources)
    envelope[f"{dimension}_state"] = target
    event_type = f"{dimension}_transitioned"
    if dimension == "availability":
        if target in _HIDING:
            require_no_hold(current["retention_state"], "hide the content of")
        if target == "deleted":
            envelope, event_type = tombstone(envelope), "object_deleted"
        else:
            envelope["canonical_content"] = _content_when(desk, current, target)
    payload = _payload(desk, request, source, target, decision)
    return desk.commit_version(envelope, event_type, request, payload)


def policy_basis(desk: Desk, request: Mapping[str, Any]) -> str:
    """The basis that the caller states, or else the one that the scope's policy names."""
    default = desk.policy.get("default_policy_basis", DEFAULT_POLICY_BASIS)
    return str(request.get("policy_basis", default))


def tombstone(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """The terminal version of an object: who it was, never what it held (PAMSPEC §9.6)."""
    kept = {
        name: member
        for name, member in envelope.items()
        if name not in ("quality_signals", "relationship_refs")
    }
    kept["canonical_content"] = dict(TOMBSTONE)
    kept["availability_state"] = "deleted"
    return kept


def _content_when(desk: Desk, current: Mapping[str, Any], target: str) -> Any:
    if target == "redacted":
        return dict(TOMBSTONE)
    if target == "partially_redacted":
        return withhold_leaves(current["canonical_content"])
    return _restored_content(desk, current["object_id"])


def _restored_content(desk: Desk, object_id: str) -> Any:
    """The content that the object had when it was last available."""
    staged = [
        version
        for version in desk.staged_versions.values()
        if version.get("object_id") == object_id and version["availability_state"] == "available"
    ]
    if staged:
        return staged[-1]["canonical_content"]
    for row in reversed(desk.scope.index.history(object_id)):
        if row.availability_state == "available" and not row.erased:
            return desk.scope.envelope(row)["canonical_content"]
    raise RetentionRestriction(
        f"no content of {object_id} is left that could be restored", object_id=object_id
    )


def _payload(
    desk: Desk,
    request: Mapping[str, Any],
    source: str,
    target: str,
    decision: TransitionDecision,
) -> dict[str, Any]:
    payload = {
        "dimension": request["dimension"],
        "from": source,
        "to": target,
        "policy_basis": policy_basis(desk, request),
    }
    if decision.condition is not None:
        payload["condition"] = decision.condition
    if decision.rule_id is not None:
        payload["policy_rule_id"] = decision.rule_id
    return payload
