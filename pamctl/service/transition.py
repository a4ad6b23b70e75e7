"""Transition: change one of the four states of an object. PAMSPEC §9.5, §10.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.model.documents import check
from pamctl.rules.redaction import mask_leaves
from pamctl.rules.retention import require_no_hold
from pamctl.rules.transitions import TransitionDecision, decide_transition
from pamctl.service.authority import governed_type, require, require_not_ruled_out
from pamctl.service.delete import bury
from pamctl.service.desk import Change, Desk, policy_basis
from pamctl.service.envelopes import TOMBSTONE, next_version
from pamctl.service.restore import restored
from pamctl.service.visibility import addressed

_HIDING = ("partially_redacted", "redacted", "deleted")
_SAME_AS = {"partially_redacted": "redact", "redacted": "redact", "deleted": "delete"}
"""Operations to the same effect. A rule that refuses one refuses its effect."""


def transition(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the version in the new state; the event of the dimension, `object_deleted` for
    the final tombstone.

    Raises InvalidStateTransition, PolicyDenied, VersionConflict or LegalHold.
    """
    dimension, target = request["dimension"], request["target_state"]
    asked = {"dimension": dimension, "target_state": target}
    require(desk.policy, request, "transition", **asked)
    current = addressed(desk, request, "transition", **asked)
    if dimension == "availability" and target in _SAME_AS:
        require_not_ruled_out(desk.policy, request, _SAME_AS[target], governed_type(current))
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
    payload = _payload(desk, request, source, target, decision)
    if dimension == "availability":
        if target in _HIDING:
            require_no_hold(current["retention_state"], "hide the content of")
        if target == "deleted":
            return bury(desk, request, envelope, payload)
        if target == "redacted":
            envelope.pop("quality_signals", None)
            envelope["canonical_content"] = dict(TOMBSTONE)
        elif target == "partially_redacted":
            envelope["canonical_content"] = mask_leaves(current["canonical_content"])
        else:
            envelope.update(restored(desk, current))
            _require_typed(envelope)
    return desk.commit_version(envelope, f"{dimension}_transitioned", request, payload)


def _require_typed(envelope: Mapping[str, Any]) -> None:
    """Raises InvalidObject for content that is no longer what its type demands: what was
    updated while part of it was hidden."""
    content = {name: envelope.get(name) for name in ("object_type", "canonical_content")}
    if content["object_type"] is not None:
        check("typed-content", content)


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
