"""Snapshots: sealed views of a scope at one point of its ledger. PAMSPEC §12, §18.11.

A snapshot copies nothing: versions are immutable, and the index answers as of any ledger
sequence. Its descriptor is an entry of the ledger and never changes.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.errors import (
    EmbeddingSpaceMismatch,
    InvalidRequest,
    ObjectNotFound,
    SnapshotNotFound,
)
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.rules.snapshots import (
    DIGEST_ALGORITHM,
    DIGEST_PROFILE,
    Member,
    belongs,
    difference,
    frozen,
    same_but_for_scope,
    state_digest,
)
from pamctl.service.authority import disclosed, disclosed_ids, require
from pamctl.service.boundary import Boundary, sealed_in, unknown_snapshot
from pamctl.service.envelopes import is_withheld
from pamctl.service.spaces import spaces_of, spaces_staged
from pamctl.service.visibility import Visibility, absent

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.family_arguments import (
        SnapshotArguments,
        SnapshotCreateArguments,
        SnapshotDiffArguments,
        SnapshotListArguments,
    )
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]

_STATED = ("deterministic_clock", "deterministic_rng_seed", "evaluation_run_id")
_STATES = ("lifecycle_state", "availability_state", "retention_state", "validation_state")


class Snapshots:
    """The snapshots of a store's scopes: `store.snapshots`."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def create(self, **arguments: Unpack[SnapshotCreateArguments]) -> Json:
        """Seal what the scope holds, or held at an earlier ledger sequence."""
        result: Json = self._store.perform("snapshot_create", arguments)
        return result

    def show(self, **arguments: Unpack[SnapshotArguments]) -> Json:
        """One snapshot. Raises SnapshotNotFound."""
        result: Json = self._store.perform("snapshot_show", arguments)
        return result

    def diff(self, **arguments: Unpack[SnapshotDiffArguments]) -> Json:
        """How two snapshots differ, object by object."""
        result: Json = self._store.perform("snapshot_diff", arguments)
        return result

    def list(self, **arguments: Unpack[SnapshotListArguments]) -> Json:
        """The snapshots of a scope, in the order in which they were sealed."""
        result: Json = self._store.perform("snapshot_list", arguments)
        return result


def snapshot_create(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a snapshot: what the scope holds just after the last event, staged ones
    included, or just after an earlier one.

    Raises InvalidStateTransition for an id that was used: a sealed snapshot never changes
    (PAMSPEC §18.11). Raises ObjectNotFound and EmbeddingSpaceMismatch for members that were
    not there, and InvalidRequest for a sequence that is yet to come.
    """
    # Whoever reads needs none of what writes.
    from pamctl.service.desk import Change
    from pamctl.store.commit import NewEntry

    require(desk.policy, request, "create_snapshot", object_type=None)
    snapshot_id = request.get("snapshot_id")
    if snapshot_id is None:
        snapshot_id = desk.sources.identifier("snap")
    elif ("snapshot", snapshot_id) in desk.descriptors or _is_sealed(desk.scope, snapshot_id):
        raise frozen(snapshot_id)
    as_of = request.get("at_sequence", desk.sequence)
    if as_of > desk.sequence:
        raise InvalidRequest(
            f"the ledger of {desk.scope_id} ends at sequence {desk.sequence}",
            pointer="/at_sequence",
        )
    included, now = request.get("included_object_ids"), desk.sources.now()
    members: Iterable[Member] = _members_staged(desk, as_of, included)
    if included is not None:
        members = list(members)
        _require_members(desk, request, members, included)
    spaces = _spaces_included(desk, request)
    descriptor: Json = {
        "snapshot_id": snapshot_id,
        "scope_id": desk.scope_id,
        "sealed": True,
        "created_at": now,
        "created_by_actor_id": request["actor"]["actor_id"],
        "ledger_sequence_high_watermark": as_of,
        "included_embedding_space_ids": sorted(spaces),
        "digest": state_digest(members, spaces),
        "digest_algorithm": DIGEST_ALGORITHM,
        "canonicalization_profile": DIGEST_PROFILE,
        **{member: request[member] for member in _STATED if member in request},
    }
    if included is not None:
        descriptor["included_object_ids"] = sorted(included)
    desk.descriptors["snapshot", snapshot_id] = descriptor
    body = {
        "snapshot": descriptor,
        "actor": request["actor"],
        "recorded_at": now,
        "sealed_at_sequence": desk.sequence,
    }
    result = {
        "operation_id": request["operation_id"],
        "replayed": False,
        "scope_id": desk.scope_id,
        "snapshot": descriptor,
    }
    return Change([NewEntry("snapshot", body)], result)


def snapshot_show(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """A snapshot with who sealed it, how much belongs to it, and whether its digest is still
    that of what the scope has: an erasure takes content away and leaves the digest right."""
    boundary = _found(store, request["scope_id"], request, request["snapshot_id"])
    number = 0

    def members() -> Iterator[Member]:  # there may be hundreds of thousands
        nonlocal number
        for member in _members(boundary):
            number += 1
            yield member

    spaces = spaces_of(boundary.scope)
    ids = boundary.descriptor.get("included_embedding_space_ids", [])
    pinned = {space_id: spaces[space_id] for space_id in ids if space_id in spaces}
    digest, found = boundary.descriptor.get("digest"), state_digest(members(), pinned)
    return {
        "snapshot": boundary.descriptor,
        "actor": boundary.body["actor"],
        "recorded_at": boundary.body["recorded_at"],
        "sealed_at_sequence": boundary.sealed_at,
        "members": number,
        "digest_matches": digest == found,
        "scope_id": boundary.scope.scope_id,
    }


def snapshot_list(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """A page of the descriptors of a scope, in the order in which they were sealed."""
    scope = store.scope_to_read(request["scope_id"])
    if scope is None:
        return {"items": [], "next_cursor": None, "scope_id": request["scope_id"]}
    require(scope.policy(), request, "inspect_history", object_type=None)
    start, limit = _resumed(request), request.get("limit", PAGE_ITEMS_MAX)
    places = [place for place in scope.index.boundaries.entries("snapshot") if place.n > start]
    items = [scope.entry(place)["body"]["snapshot"] for place in places[:limit]]
    more = str(places[limit - 1].n) if len(places) > limit else None
    return {"items": items, "next_cursor": more, "scope_id": scope.scope_id}


def snapshot_diff(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """A page of the objects and relationships that differ between two snapshots, in the order
    of their ids: added, removed, or changed to another version, with the states that moved.

    The second may be one of another scope, so that two evaluation runs can be compared.
    Objects that the actor may not see are left out. Raises SnapshotNotFound.
    """
    here, there = request["scope_id"], request.get("to_scope_id", request["scope_id"])
    sides = (
        _Side(store, _found(store, here, request, request["from_snapshot_id"]), request),
        _Side(store, _found(store, there, request, request["to_snapshot_id"]), request),
    )
    limit, last = request.get("limit", PAGE_ITEMS_MAX), request.get("cursor", "")
    items: builtins.list[Json] = []
    for object_id, before, after in _paired(*(_members(side.boundary) for side in sides)):
        if object_id.encode() <= last.encode() or request.get("object_id", object_id) != object_id:
            continue
        if before is not None and after is not None and before.address == after.address:
            continue
        if not all(side.sees(member) for side, member in zip(sides, (before, after), strict=True)):
            continue
        found = _compared(sides[0], before, sides[1], after)
        if found is not None:
            if len(items) == limit:
                return _difference(request, items, items[-1]["object_id"])
            items.append({"object_id": object_id, **found})
    return _difference(request, items, None)


class _Side:
    """One of two snapshots that are compared, as far as an actor may see it."""

    def __init__(self, store: OpenStore, boundary: Boundary, request: Mapping[str, Any]) -> None:
        self.boundary = boundary
        scope = boundary.scope
        self._sight = disclosed(scope.policy(), request, "inspect_history")
        self._ids = disclosed_ids(request)
        self._visibility = Visibility.of_store(store, scope, request, "inspect_history")

    def sees(self, member: Member | None) -> bool:
        """Whether the actor may see a member; what is not there hides nothing."""
        if member is None or (self._sight is None and self._ids is None):
            return True
        if member.ends:
            return self._visibility.sees_relationships() and all(
                self._visibility.sees(end) for end in member.ends
            )
        return self._visibility.sees(member.object_id)

    def shown(self, member: Member | None) -> Json | None:
        """The version and the states that a member has in the snapshot."""
        if member is None:
            return None
        row = self.boundary.scope.index.version(member.version_id)
        assert row is not None
        states = {name: getattr(row, name) for name in _STATES}
        return {"version_id": row.version_id, "sequence": row.sequence, **states}

    def envelope(self, member: Member) -> Json | None:
        """The envelope of a member; None where its content may no longer be had."""
        row = self.boundary.scope.index.version(member.version_id)
        assert row is not None
        judge = self.boundary.judge(row).availability_state
        if row.erased or is_withheld(row.availability_state, judge):
            return None
        return self.boundary.scope.envelope(row)


def _compared(
    left: _Side, before: Member | None, right: _Side, after: Member | None
) -> Json | None:
    """How a member differs, None where it does not; of one that changed, whether its content
    did, where both contents can be had."""
    found = difference(left.shown(before), right.shown(after))
    if before is not None and after is not None:
        one, other = left.envelope(before), right.envelope(after)
        if one is not None and other is not None:
            if same_but_for_scope(one, other):
                return None
            found["content_changed"] = one["canonical_content"] != other["canonical_content"]
    return found


def _difference(request: Mapping[str, Any], items: builtins.list[Json], more: str | None) -> Json:
    return {
        "items": items,
        "next_cursor": more,
        "from_snapshot_id": request["from_snapshot_id"],
        "to_snapshot_id": request["to_snapshot_id"],
        "scope_id": request["scope_id"],
    }


def _paired(
    left: Iterator[Member], right: Iterator[Member]
) -> Iterator[tuple[str, Member | None, Member | None]]:
    """Two ordered runs of members, each id once."""
    before, after = next(left, None), next(right, None)
    while before is not None or after is not None:
        keys = [one.object_id.encode() for one in (before, after) if one is not None]
        first = min(keys)
        mine = before if before is not None and before.object_id.encode() == first else None
        theirs = after if after is not None and after.object_id.encode() == first else None
        yield first.decode(), mine, theirs
        if mine is not None:
            before = next(left, None)
        if theirs is not None:
            after = next(right, None)


def _found(
    store: OpenStore, scope_id: str, request: Mapping[str, Any], snapshot_id: str
) -> Boundary:
    scope = store.scope_to_read(scope_id)
    if scope is None:
        raise unknown_snapshot(snapshot_id, scope_id)
    require(scope.policy(), request, "inspect_history", object_type=None)
    return sealed_in(scope, snapshot_id)


def _is_sealed(scope: OpenScope, snapshot_id: str) -> bool:
    try:
        sealed_in(scope, snapshot_id)
    except SnapshotNotFound:
        return False
    return True


def _members(boundary: Boundary) -> Iterator[Member]:
    """What belongs to a snapshot, in the order of its ids."""
    for member in boundary.scope.index.boundaries.members(boundary.as_of):
        if belongs(member.object_id, member.ends, boundary.included):
            yield member


def _members_staged(
    desk: Desk, as_of: int, included: builtins.list[str] | None
) -> Iterator[Member]:
    """As `_members`, of a snapshot that is being made, with what is staged counted in."""
    committed = desk.scope.index.boundaries.members(as_of)
    for _, stored, staged in _paired(committed, iter(_staged(desk, as_of))):
        member = staged or stored
        assert member is not None
        if belongs(member.object_id, member.ends, included):
            yield member


def _staged(desk: Desk, as_of: int) -> builtins.list[Member]:
    from pamctl.service.desk import identifying

    latest: dict[str, Member] = {}
    for version_id, envelope in desk.staged_versions.items():
        event = desk.staged_events[version_id]
        name = identifying(envelope)
        if event.sequence > as_of or name == "delegation_id":
            continue
        ends: tuple[str, ...] = ()
        if name == "relationship_id":
            ends = (envelope["source_object_id"],)
            if envelope.get("target_scope_id", desk.scope_id) == desk.scope_id:
                ends = (*ends, envelope["target_object_id"])
        latest[envelope[name]] = Member(envelope[name], version_id, event.address, ends)
    return sorted(latest.values(), key=lambda member: member.object_id.encode())


def _require_members(
    desk: Desk,
    request: Mapping[str, Any],
    members: Iterable[Member],
    included: Iterable[str],
) -> None:
    """Raises ObjectNotFound for an id that names nothing at that point, or nothing that the
    actor may see."""
    visibility = Visibility.at_desk(desk, request, "read")
    there = {member.object_id: member for member in members}
    for object_id in included:
        member = there.get(object_id)
        if member is None or not all(map(visibility.sees, member.ends or (object_id,))):
            raise ObjectNotFound(str(absent(object_id, desk.scope_id)), object_id=object_id)


def _spaces_included(desk: Desk, request: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The Embedding Spaces that belong to a snapshot: those it names, or all of the scope."""
    spaces = spaces_staged(desk)
    wanted = request.get("included_embedding_space_ids")
    if wanted is None:
        return spaces
    missing = [space_id for space_id in wanted if space_id not in spaces]
    if missing:
        raise EmbeddingSpaceMismatch(
            f"there is no Embedding Space {missing[0]} in {desk.scope_id}",
            pointer="/included_embedding_space_ids",
        )
    return {space_id: spaces[space_id] for space_id in wanted}


def _resumed(request: Mapping[str, Any]) -> int:
    cursor = request.get("cursor", "0")
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 16:
        raise InvalidRequest(f"{cursor[:40]!r} is no cursor of a list", pointer="/cursor")
    return int(cursor)
