"""Redact: hide protected content, all of it or some members, and if asked to, erase it.
PAMSPEC §9.6, §10.9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pamctl.errors import InvalidRequest, InvalidStateTransition
from pamctl.rules.redaction import holds_text, is_shown, is_there, mask, texts_at
from pamctl.rules.retention import require_no_hold
from pamctl.service.authority import require
from pamctl.service.desk import Change, Desk, identifying, policy_basis
from pamctl.service.envelopes import TOMBSTONE, next_version
from pamctl.service.erase import erasing, require_may_erase, with_content
from pamctl.service.past import PastVersion
from pamctl.service.visibility import addressed


def redact(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a version that shows less; `object_redacted`.

    Without `paths` it is a tombstone. With them, those members are masked; an erasure then
    concerns them in every version, and takes the whole content of each old version that
    shows one. What is not erased comes back by a transition to available.

    Raises LegalHold, RetentionRestriction, VersionConflict; InvalidRequest for a path that
    names nothing; InvalidStateTransition when all of it is redacted already and nothing of
    it is left to erase.
    """
    require(desk.policy, request, "redact")
    current = addressed(desk, request, "redact")
    require_no_hold(current["retention_state"], "redact")
    paths, erase = request.get("paths"), request.get("erase", False)
    doomed: list[PastVersion] = []
    kept: list[PastVersion] = []
    if erase:
        require_may_erase(desk, request, current)
        for version in with_content(desk, current[identifying(current)]):
            (doomed if _is_named(version.content, paths) else kept).append(version)
    envelope = next_version(current, request, desk.sources.now(), desk.sources)
    if paths is None:
        envelope.pop("quality_signals", None)
        envelope["availability_state"] = "redacted"
        envelope["canonical_content"] = dict(TOMBSTONE)
    else:
        _require_content(current)
        _require_named(current["canonical_content"], paths, doomed)
        envelope["availability_state"] = "partially_redacted"
        envelope["canonical_content"] = mask(current["canonical_content"], paths)
    if not doomed:
        _require_less(current, envelope)
    payload: dict[str, Any] = {
        "from": current["availability_state"],
        "to": envelope["availability_state"],
        "policy_basis": policy_basis(desk, request),
    }
    if paths is not None:
        # How many, and not which: a pointer is made of names that are content.
        payload["members"] = len(paths)
    if erase:
        payload["erased_versions"] = len(doomed)
    change = desk.commit_version(envelope, "object_redacted", request, payload)
    if not erase:
        return change
    change = erasing(desk, change, doomed)
    if paths is not None:
        texts = {text for version in doomed for text in texts_at(version.content, paths)}
        left = [version.envelope for version in kept] + [envelope]
        change.result["also_found_in"] = [
            one["version_id"] for one in left if holds_text(one["canonical_content"], texts)
        ]
    return change


def _is_named(content: Any, paths: Sequence[str] | None) -> bool:
    """Whether a redaction of these members, or of all, concerns a content."""
    return paths is None or any(is_shown(content, path) for path in paths)


def _require_named(content: Any, paths: Sequence[str], doomed: Sequence[PastVersion]) -> None:
    """Raises InvalidRequest for a path that names nothing here, nor in a version that is to
    be erased. It tells which by number: a path is made of names that are content, which must
    not get into an error that is recorded."""
    for number, path in enumerate(paths):
        if not is_there(content, path) and not any(is_shown(v.content, path) for v in doomed):
            raise InvalidRequest(
                f"path {number + 1} names nothing in the content",
                hint="`pamctl read OBJECT --print canonical_content` shows what there is to name",
                pointer=f"/paths/{number}",
            )


def _require_content(current: Mapping[str, Any]) -> None:
    if current["availability_state"] == "redacted":
        raise InvalidStateTransition(
            f"{current[identifying(current)]} is redacted as a whole; it has no members to redact",
            from_state="redacted",
            target_state="partially_redacted",
        )


def _require_less(current: Mapping[str, Any], envelope: Mapping[str, Any]) -> None:
    """Raises InvalidStateTransition when a redaction would hide nothing that is shown now."""
    state, content = "availability_state", "canonical_content"
    if (current[state], current[content]) == (envelope[state], envelope[content]):
        raise InvalidStateTransition(
            f"{current[identifying(current)]} is redacted already, as far as that was asked",
            hint="read it to see what it still shows; to erase what it no longer does, add --erase",
            from_state=current[state],
            target_state=envelope[state],
        )
