"""Snapshots: what belongs to one, what its digest covers, and how two differ.
PAMSPEC §12, §18.11."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InvalidStateTransition
from pamctl.model.vocabulary import DIMENSIONS
from pamctl.named_tuples import NamedTuple

DIGEST_ALGORITHM = "sha-256"
DIGEST_PROFILE = "pamctl-snapshot-1"
"""Names what `state_digest` is taken over; `store-format/snapshots.md` specifies it."""

FROZEN_RULE = "evaluation_snapshot_membership_frozen"


class Member(NamedTuple):
    """A version that was current at the point where a snapshot stands.

    ends: of a relationship, the objects of the scope that it joins; otherwise empty.
    """

    object_id: str
    version_id: str
    address: str
    ends: tuple[str, ...] = ()


def belongs(object_id: str, ends: Collection[str], included: Collection[str] | None) -> bool:
    """Whether something belongs to a snapshot that names these objects; None names all.

    A relationship belongs to it where all the objects that it joins in the scope do.
    """
    if included is None or object_id in included:
        return True
    return bool(ends) and all(end in included for end in ends)


def state_digest(members: Iterable[Member], spaces: Mapping[str, Mapping[str, Any]]) -> str:
    """The digest of what a snapshot pins: which version everything had, and what the
    Embedding Spaces are. It covers the state and nothing else of the snapshot, so two
    snapshots of one state have one digest.

    Arguments:
        members: in the order of their ids, as UTF-8 bytes order them.
        spaces: descriptors by id.
    """
    from hashlib import sha256  # reading a snapshot hashes nothing

    running, comma = sha256(b'{"members":['), b""
    for member in members:
        running.update(comma + canonical([member.object_id, member.version_id, member.address]))
        comma = b","
    described = [
        [space_id, sha256_digest(canonical(dict(spaces[space_id])))]
        for space_id in sorted(spaces, key=str.encode)
    ]
    running.update(b'],"spaces":' + canonical(described) + b"}")
    return "sha256:" + running.hexdigest()


def frozen(snapshot_id: str) -> InvalidStateTransition:
    """The refusal to seal a snapshot again under an id that was used."""
    return InvalidStateTransition(
        f"{snapshot_id} is sealed: what belongs to it never changes",
        hint="make another snapshot, under another id",
        policy_rule_id=FROZEN_RULE,
        snapshot_id=snapshot_id,
    )


def difference(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """How an object that differs between two snapshots does so.

    before, after: `version_id`, `sequence` and the four states, None where the snapshot does
    not have the object; at most one of them is.
    """
    if before is None:
        return {"change": "added", "to": after}
    if after is None:
        return {"change": "removed", "from": before}
    return {"change": "changed", "from": before, "to": after, "states": dict(_moves(before, after))}


def same_but_for_scope(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two envelopes differ in nothing but the scope that they are in, as those of two
    runs of one evaluation do. A signature covers the scope, so it may differ too."""
    return _outside_of_a_scope(one) == _outside_of_a_scope(other)


def _outside_of_a_scope(envelope: Mapping[str, Any]) -> dict[str, Any]:
    integrity = {**envelope.get("integrity", {}), "signature": ""}
    return {**envelope, "scope_id": "", "integrity": integrity}


def _moves(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for dimension in DIMENSIONS:
        member = f"{dimension}_state"
        if before[member] != after[member]:
            yield dimension, {"from": before[member], "to": after[member]}
