"""Erasing: the contents and salts of versions go for good, and stubs are left. PAMSPEC §16.3.

An `erasure` entry for each version commits in the transaction of the event that makes it go;
`service.sweep` then removes the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pamctl.encoding.digests import sha256_digest
from pamctl.errors import ObjectDeleted, VersionConflict
from pamctl.rules.retention import require_erasure
from pamctl.service.authority import governed_type
from pamctl.service.desk import Change, Desk, identifying, policy_basis
from pamctl.service.past import PastVersion, newest_first
from pamctl.store.commit import NewEntry
from pamctl.store.erasure import Erasing, stub_bytes


def require_may_erase(desk: Desk, request: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Raises RetentionRestriction unless the scope's policy lets the actor erase here."""
    actor_id = request["actor"]["actor_id"]
    require_erasure(desk.policy, actor_id=actor_id, object_type=governed_type(current) or "")


def with_content(desk: Desk, identifier: str) -> list[PastVersion]:
    """The versions of an object whose content is still there."""
    return [version for version in newest_first(desk, identifier) if version is not None]


def erasing(desk: Desk, change: Change, versions: Sequence[PastVersion]) -> Change:
    """`change`, whose first entry is an event, with the erasure of these versions by it."""
    event = change.entries[0].body
    erased = {"event_id": event["event_id"], "erased_at": event["recorded_at"]}
    entries = [_entry(desk, version, erased) for version in versions]
    result = {**change.result, "erased_versions": len(entries)}
    return Change([*change.entries, *entries], result, change.salt)


def erase_deleted(desk: Desk, request: Mapping[str, Any], deleted: ObjectDeleted) -> Change:
    """Stage the erasure of what a deleted object held.

    Its tombstone is the last version that it can have, so the erasure is no new event: its
    entries name the event of the deletion, and say who erased, when and on which basis.

    Raises `deleted` when there is nothing left to erase, VersionConflict when the tombstone
    is not the version that was expected, and RetentionRestriction.
    """
    identifier = request.get("relationship_id") or request["object_id"]
    current = desk.current(identifier)
    assert current is not None
    require_may_erase(desk, request, current)
    versions = with_content(desk, identifier)
    if not versions:
        raise deleted
    if current["version_id"] != request["expected_version_id"]:
        raise VersionConflict(
            f"the tombstone of {identifier} is {current['version_id']}",
            expected_version_id=request["expected_version_id"],
            current_version_id=current["version_id"],
            **{identifying(current): identifier},
        )
    event_id, sequence = _event_of(desk, current)
    erased = {
        "event_id": event_id,
        "erased_at": desk.sources.now(),
        "actor": request["actor"],
        "operation_id": request["operation_id"],
        "policy_basis": policy_basis(desk, request),
    }
    result = {
        "envelope": current,
        "erased_versions": len(versions),
        "event_id": event_id,
        "ledger_sequence": sequence,
        identifying(current): identifier,
        "operation_id": request["operation_id"],
        "replayed": False,
        "scope_id": desk.scope_id,
        "sequence": current["sequence"],
        "version_id": current["version_id"],
    }
    return Change([_entry(desk, version, erased) for version in versions], result)


def _entry(desk: Desk, version: PastVersion, erased: Mapping[str, Any]) -> NewEntry:
    named = {
        "address": version.address,
        "version_id": version.envelope["version_id"],
        **erased,
    }
    stub = stub_bytes(version.envelope, named)
    desk.erased.add(version.address)
    body = {**named, "stub": sha256_digest(stub)}
    return NewEntry("erasure", body, erasing=Erasing(stub, version.place))


def _event_of(desk: Desk, envelope: Mapping[str, Any]) -> tuple[str, int]:
    """The event that committed a version, and its ledger sequence."""
    staged = desk.staged_events.get(envelope["version_id"])
    if staged is not None:
        return staged.event_id, staged.sequence
    row = desk.scope.index.version(envelope["version_id"])
    assert row is not None
    (place,) = desk.scope.index.events(row.since - 1, until=row.since)
    return desk.scope.entry(place)["body"]["event_id"], row.since
