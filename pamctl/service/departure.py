"""What of a scope may leave it in a bundle. PAMSPEC §7.5, §15.2, §15.3.

`export` is an operation that policies and delegations name. What its actor may not be shown,
what was redacted and what was erased does not leave; nor does what the actor wants held back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from pamctl.errors import ObjectNotFound
from pamctl.service.authority import disclosed, disclosed_ids, governed_type
from pamctl.service.boundary import Boundary, boundary_of
from pamctl.service.disclosure import shown_events
from pamctl.service.envelopes import is_withheld
from pamctl.service.visibility import Visibility

if TYPE_CHECKING:
    from pamctl.index.passage import Carried
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore
    from pamctl.store.records import Position


@dataclass
class Departure:
    """What of a scope may leave, as of the position that its ledger had.

    selects: whether an object, relationship or delegation goes with its history; None where
        the whole ledger goes.
    is_shown: whether an event may be shown; None for all of them.
    boundary: the snapshot that limits it, or None.
    withdrawn: by object, the availability that hides what earlier versions show.
    held_back: version ids and object ids that go without content.
    """

    scope: OpenScope
    position: Position
    selects: Callable[[str], bool] | None = None
    is_shown: Callable[[Mapping[str, Any]], bool] | None = None
    boundary: Boundary | None = None
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    held_back: Collection[str] = frozenset()

    def withholds(self, version: Carried) -> bool:
        """Whether a version goes without its content, which the scope still has."""
        if version.erased:
            return False
        if version.version_id in self.held_back or version.object_id in self.held_back:
            return True
        now = self.withdrawn.get(version.object_id)
        return now is not None and is_withheld(version.availability_state, now)

    def withholds_anything(self) -> bool:
        """Whether anything at all is left out that the scope has, or that it never had the
        content of."""
        passage = self.scope.index.passage
        return (
            self.selects is not None
            or passage.came_without_content()
            or (
                bool(self.withdrawn or self.held_back)
                and any(self.withholds(one) for one in passage.versions(self.position.sequence))
            )
        )

    @property
    def is_plain(self) -> bool:
        """Whether the whole ledger goes, and all content that the scope has."""
        return self.selects is None and not self.withdrawn and not self.held_back

    def discloses(self, line: bytes) -> bool:
        """Whether a ledger line goes as it is, where not the whole ledger does: what binds
        the ledger to its scope, and what happened to what is selected."""
        if self.selects is None:
            return True
        entry = orjson.loads(line)
        kind, body = entry["kind"], entry["body"]
        if kind == "scope":
            return True
        if kind == "erasure":
            row = self.scope.index.version(body["version_id"])
            return row is not None and self.selects(row.object_id)
        if kind == "snapshot" and self.boundary is not None:
            return bool(body["snapshot"] == self.boundary.descriptor)
        if kind != "event":
            return False
        if self.boundary is not None and body["sequence"] > self.boundary.as_of:
            return False
        concerned = [body[name] for name in ("object_id", "relationship_id") if name in body]
        if body["event_type"] == "working_memory_promoted":
            concerned.append(body["payload"]["target_object_id"])
        return (
            bool(concerned)
            and all(map(self.selects, concerned))
            and (self.is_shown is None or self.is_shown(body))
        )


def depart(store: OpenStore, request: Mapping[str, Any]) -> Departure:
    """What may leave a scope on this request; `pamctl.export_bundle` carries it out.

    Raises AccessDenied for an actor who may export nothing, ObjectNotFound for an object that
    is selected or held back and is not there, and SnapshotNotFound.
    """
    from pamctl.model.documents import check

    check("requests/export", request)
    scope = store.open_scope(request["scope_id"])
    position = scope.refresh()
    sight = disclosed(scope.policy(), request, "export")
    boundary = boundary_of(scope, request)
    departure = Departure(
        scope,
        position,
        boundary=boundary,
        withdrawn=scope.index.passage.withdrawn(),
        held_back=_held_back(scope, request),
    )
    named = request.get("object_ids")
    if sight is None and disclosed_ids(request) is None and named is None and boundary is None:
        return departure
    departure.is_shown = shown_events(store, scope, request, "export")
    departure.selects = _selection(store, departure, request)
    for identifier in named or ():
        if not departure.selects(identifier):
            raise _absent(identifier, scope.scope_id)
    return departure


def _selection(
    store: OpenStore, departure: Departure, request: Mapping[str, Any]
) -> Callable[[str], bool]:
    """Objects that are named and may be shown, and relationships between such objects."""
    scope, boundary = departure.scope, departure.boundary
    visibility = Visibility.of_store(store, scope, request, "export")
    sight = disclosed(scope.policy(), request, "export")
    named = None if "object_ids" not in request else frozenset(request["object_ids"])
    granted = disclosed_ids(request)
    decided: dict[str, bool] = {}

    def goes(identifier: str) -> bool:
        if identifier not in decided:
            decided[identifier] = judged(identifier)
        return decided[identifier]

    def judged(identifier: str) -> bool:
        row = scope.index.current(identifier)
        if row is None or (boundary is not None and not boundary.includes(identifier)):
            return False
        if row.family == "relationship":
            if granted is not None and identifier not in granted:
                return False
            relationship = scope.envelope(row)
            if named is not None and identifier in named:
                return visibility.sees_ends(relationship)
            ends = [relationship["source_object_id"], relationship["target_object_id"]]
            here = relationship.get("target_scope_id", scope.scope_id) == scope.scope_id
            return here and visibility.sees_relationships() and all(map(goes, ends))
        if named is not None and identifier not in named:
            return False
        if granted is not None and identifier not in granted:
            return False
        return sight is None or sight.covers(governed_type(row))

    return goes


def _held_back(scope: OpenScope, request: Mapping[str, Any]) -> frozenset[str]:
    """What the actor wants held back. Raises ObjectNotFound: who holds back what is not there
    may have meant something that now leaves."""
    for identifier in request.get("withhold_object_ids", ()):
        if scope.index.current(identifier) is None:
            raise _absent(identifier, scope.scope_id)
    for identifier in request.get("withhold_version_ids", ()):
        if scope.index.version(identifier) is None:
            raise ObjectNotFound(f"there is no version {identifier} in {scope.scope_id}")
    return frozenset(request.get("withhold_object_ids", ())) | frozenset(
        request.get("withhold_version_ids", ())
    )


def _absent(identifier: str, scope_id: str) -> ObjectNotFound:
    return ObjectNotFound(f"there is no object {identifier} in {scope_id}")
