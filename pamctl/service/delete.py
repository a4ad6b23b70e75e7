"""Delete: the final tombstone of an object. PAMSPEC §10.11."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.rules.retention import require_no_hold
from pamctl.service.authority import require
from pamctl.service.desk import Change, Desk
from pamctl.service.envelopes import complete_provenance, next_version
from pamctl.service.transition import policy_basis, tombstone


def delete(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the tombstone; `object_deleted`. Nothing leaves a tombstone.

    The tombstone's provenance is that of the deletion, so that no source is named any more.
    Raises LegalHold, VersionConflict, or ObjectDeleted when it is done already.
    """
    actor = request["actor"]
    require(desk.policy, request, "delete")
    current = desk.expect(request["object_id"], request["expected_version_id"])
    require(desk.policy, request, "delete", object_type=current["object_type"])
    require_no_hold(current["retention_state"], "delete")
    now = desk.sources.now()
    envelope = tombstone(next_version(current, request, now, desk.sources))
    given = request.get("provenance", {"activity": "deleted"})
    envelope["provenance"] = complete_provenance(given, actor, now, desk.sources)
    payload = {
        "from": current["availability_state"],
        "to": "deleted",
        "policy_basis": policy_basis(desk, request),
    }
    return desk.commit_version(envelope, "object_deleted", request, payload)
