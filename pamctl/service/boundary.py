"""Reading through a snapshot: what a read, a query, a history and a log may see of a scope,
so that they answer the same for ever. PAMSPEC §10.2, §10.6, §10.7, §12.

What was redacted or deleted before the snapshot was sealed is withheld, as it was then. What
was redacted or deleted afterwards is shown as it was pinned, to whom policy lets inspect
history, unless it was erased: then a tombstone is all that is left.
`docs/decisions/withheld-history.md` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import SnapshotNotFound
from pamctl.named_tuples import NamedTuple
from pamctl.rules.snapshots import belongs
from pamctl.service.authority import governed_type, sight_of

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.index.scope_index import ScopeIndex
    from pamctl.index.structured_query import StructuredQuery
    from pamctl.rules.authorization import Sight
    from pamctl.service.open_scope import OpenScope


class Boundary(NamedTuple):
    """A snapshot, as the limit of what is looked at.

    body: of the ledger entry that sealed it.
    n: of that entry.
    history: on objects of which types who looks may look into the past; None for all.
    """

    scope: OpenScope
    body: Mapping[str, Any]
    n: int
    history: Sight | None = None

    @property
    def descriptor(self) -> Mapping[str, Any]:
        """As PAMSPEC §18.11 has it."""
        descriptor: Mapping[str, Any] = self.body["snapshot"]
        return descriptor

    @property
    def as_of(self) -> int:
        """The last event that is visible."""
        return int(self.descriptor["ledger_sequence_high_watermark"])

    @property
    def sealed_at(self) -> int:
        """The last event before it was sealed."""
        return int(self.body.get("sealed_at_sequence", self.as_of))

    @property
    def included(self) -> frozenset[str] | None:
        """The objects that it names; None for all of them."""
        named = self.descriptor.get("included_object_ids")
        return None if named is None else frozenset(named)

    def at(self, sequence: int | None) -> int:
        """The ledger sequence to look at, where one is asked for besides."""
        return self.as_of if sequence is None else min(sequence, self.as_of)

    def includes(self, identifier: str) -> bool:
        """Whether an object or a relationship belongs to it."""
        row = self.scope.index.current(identifier, self.as_of)
        if row is None or row.family == "delegation":
            return False
        ends: tuple[str, ...] = ()
        if row.family == "relationship" and self.included is not None:
            relationship = self.scope.envelope(row)
            ends = (relationship["source_object_id"],)
            if relationship.get("target_scope_id", self.scope.scope_id) == self.scope.scope_id:
                ends = (*ends, relationship["target_object_id"])
        return belongs(identifier, ends, self.included)

    def judge(self, row: VersionRow) -> VersionRow:
        """The version by whose availability a version is withheld or shown: the one that its
        object had when the snapshot was sealed, or to who may not look into the past, the one
        that it has now."""
        authorized = self.history is None or self.history.covers(governed_type(row))
        sealed_at = self.sealed_at if authorized else None
        return self.scope.index.current(row.object_id, sealed_at) or row

    def index_for(self, query: StructuredQuery) -> ScopeIndex:
        """The index that answers a query as of the snapshot.

        Text that was withdrawn since then is found as it was, unless it was erased; the index
        of that time is then made anew, in memory, and says of a version where its bytes stood.
        """
        index = self.scope.index
        as_it_was = self.history is None or self.history.everything
        if query.text is None or not (
            as_it_was and index.boundaries.text_withdrawn_since(self.sealed_at)
        ):
            return index
        return self.scope.index_at(self.n)


def sealed_in(scope: OpenScope, snapshot_id: str) -> Boundary:
    """The snapshot of an id. Raises SnapshotNotFound."""
    for place in scope.index.boundaries.entries("snapshot"):
        body = scope.entry(place)["body"]
        if body["snapshot"]["snapshot_id"] == snapshot_id:
            return Boundary(scope, body, place.n)
    raise unknown_snapshot(snapshot_id, scope.scope_id)


def unknown_snapshot(snapshot_id: str, scope_id: str) -> SnapshotNotFound:
    """What is said of a snapshot that is not there."""
    return SnapshotNotFound(
        f"there is no snapshot {snapshot_id} in {scope_id}",
        hint="`pamctl snapshot list` shows those that there are",
        snapshot_id=snapshot_id,
    )


def boundary_of(scope: OpenScope, request: Mapping[str, Any]) -> Boundary | None:
    """The snapshot that a request names; None for one that names none.

    To be asked once the actor was let in: it tells whether the snapshot is there.
    """
    snapshot_id = request.get("snapshot_id")
    if snapshot_id is None:
        return None
    history = sight_of(scope.policy(), request, "inspect_history")
    return sealed_in(scope, snapshot_id)._replace(history=history)
