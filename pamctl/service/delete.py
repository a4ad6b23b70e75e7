"""Delete: the final tombstone of an object. PAMSPEC §10.11."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import ObjectDeleted
from pamctl.rules.retention import erases_on_delete, require_no_hold
from pamctl.service.authority import governed_type, require
from pamctl.service.desk import Change, Desk, identifying, policy_basis
from pamctl.service.envelopes import TOMBSTONE, complete_provenance, next_version
from pamctl.service.erase import erase_deleted, erasing, require_may_erase, with_content
from pamctl.service.visibility import addressed


def delete(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the tombstone; `object_deleted`. Nothing leaves a tombstone.

    The tombstone's provenance is that of the deletion, so that no source is named any more.
    With `erase`, what the object held is erased too, also when it was deleted before.
    Raises LegalHold, VersionConflict, RetentionRestriction, or ObjectDeleted when it is
    done already.
    """
    require(desk.policy, request, "delete")
    try:
        current = addressed(desk, request, "delete")
    except ObjectDeleted as deleted:
        if request.get("erase", False):
            return erase_deleted(desk, request, deleted)
        raise
    require_no_hold(current["retention_state"], "delete")
    now = desk.sources.now()
    envelope = next_version(current, request, now, desk.sources)
    given = request.get("provenance", {"activity": "deleted"})
    envelope["provenance"] = complete_provenance(given, request["actor"], now, desk.sources)
    payload = {
        "from": current["availability_state"],
        "to": "deleted",
        "policy_basis": policy_basis(desk, request),
    }
    return bury(desk, request, envelope, payload)


def bury(
    desk: Desk, request: Mapping[str, Any], envelope: Mapping[str, Any], payload: dict[str, Any]
) -> Change:
    """Stage the tombstone of an object, and the erasure of what it held when that was asked
    for, or when the scope's policy says that deleting erases.

    envelope: of the version to come. payload: of the event, as far as it is known.
    """
    actor_id, object_type = request["actor"]["actor_id"], governed_type(envelope) or ""
    erase = request.get("erase", False)
    if erase:
        require_may_erase(desk, request, envelope)
    else:
        rule = erases_on_delete(desk.policy, actor_id=actor_id, object_type=object_type)
        if rule is not None:
            erase = True
            payload = {**payload, "erasure_rule_id": rule}
    doomed = with_content(desk, envelope[identifying(envelope)]) if erase else []
    if erase:
        payload = {**payload, "erased_versions": len(doomed)}
    change = desk.commit_version(_tombstone(envelope), "object_deleted", request, payload)
    return erasing(desk, change, doomed) if erase else change


def _tombstone(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """The terminal version of an object: who it was, never what it held (PAMSPEC §9.6)."""
    kept = {
        name: member
        for name, member in envelope.items()
        if name not in ("quality_signals", "relationship_refs")
    }
    kept["canonical_content"] = dict(TOMBSTONE)
    kept["availability_state"] = "deleted"
    return kept
