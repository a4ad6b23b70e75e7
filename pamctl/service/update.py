"""Update: a new version of an object's content or metadata. PAMSPEC §10.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest, ObjectRedacted, RetentionRestriction
from pamctl.model.documents import check
from pamctl.model.envelopes import semantic_checks
from pamctl.service.authority import require
from pamctl.service.desk import Change, Desk, identifying
from pamctl.service.envelopes import TEMPORAL_ASSERTIONS, assert_times, next_version
from pamctl.service.schemas import require_registered

_CONTENT = ("canonical_content", "json_patch", "merge_patch")
_METADATA = ("schema_id", "quality_signals", "integrity")


def update(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the next version; `object_updated`, or `provenance_updated` when nothing but
    provenance changes.

    Raises VersionConflict for a stale expectation, and whatever the patch deserves.
    """
    ways = [member for member in _CONTENT if member in request]
    if len(ways) > 1:
        raise InvalidRequest(f"give one of {', '.join(ways)}, not {len(ways)}")
    require(desk.policy, request, "update")
    current = desk.expect(request["object_id"], request["expected_version_id"])
    require(desk.policy, request, "update", object_type=current["object_type"])
    require_changeable(current)
    envelope = next_version(current, request, desk.sources.now(), desk.sources)
    if ways:
        envelope["canonical_content"] = _new_content(current["canonical_content"], request)
        # While a part is redacted, markers stand where the type may demand something else.
        if envelope["availability_state"] == "available":
            names = ("object_type", "canonical_content")
            check("typed-content", {name: envelope[name] for name in names})
    for member in _METADATA:
        if member in request:
            envelope[member] = request[member]
    assert_times(request, envelope)
    semantic_checks(envelope)
    if (ways or "schema_id" in request) and envelope["availability_state"] == "available":
        require_registered(desk, envelope)
    changed = ways or any(member in request for member in (*_METADATA, *TEMPORAL_ASSERTIONS))
    event_type = "object_updated" if changed else "provenance_updated"
    return desk.commit_version(
        envelope, event_type, request, {"previous_version_id": current["version_id"]}
    )


def require_changeable(current: Mapping[str, Any]) -> None:
    """Raises ObjectRedacted or RetentionRestriction for what has no content to change, and
    for what is about to go."""
    member = identifying(current)
    if current["availability_state"] == "redacted":
        raise ObjectRedacted(
            f"{current[member]} is redacted; there is no content to update",
            **{member: current[member]},
        )
    if current["retention_state"] == "pending_deletion":
        raise RetentionRestriction(
            f"{current[member]} is pending deletion",
            hint="retain it first: pamctl transition OBJECT retention retained …",
            **{member: current[member]},
        )


def _new_content(content: Any, request: Mapping[str, Any]) -> Any:
    if "canonical_content" in request:
        return request["canonical_content"]
    if "merge_patch" in request:
        import json_merge_patch

        # The library changes its first argument in place; the current version is not ours.
        return json_merge_patch.merge(_copy(content), request["merge_patch"])
    return apply_json_patch(_copy(content), request["json_patch"])


def apply_json_patch(content: Any, patch: Sequence[Mapping[str, Any]]) -> Any:
    """`content` with an RFC 6902 patch applied, all of it or none.

    `test` compares as JSON does: 1 and 1.0 are equal, 1 and true are not. Raises
    InvalidRequest, which names the operation that failed.
    """
    import jsonpatch
    import jsonpointer

    for number, operation in enumerate(patch):
        pointer = f"/json_patch/{number}"
        try:
            if operation.get("op") == "test" and "path" in operation and "value" in operation:
                found = jsonpointer.resolve_pointer(content, operation["path"])
                if canonical(found) != canonical(operation["value"]):
                    raise InvalidRequest(
                        f"the test at {operation['path']!r} failed; nothing was changed",
                        pointer=pointer,
                    )
            else:
                content = jsonpatch.apply_patch(content, [dict(operation)], in_place=True)
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as cause:
            # The libraries quote the content that the patch is applied to, which whoever may
            # update it need not be allowed to read.
            at = operation.get("from", operation.get("path"))
            raise InvalidRequest(
                f"operation {number} of the patch cannot be applied: nothing that allows it "
                f"stands at {at!r}",
                pointer=pointer,
            ) from cause
    return content


def _copy(content: Any) -> Any:
    from copy import deepcopy

    return deepcopy(content)
