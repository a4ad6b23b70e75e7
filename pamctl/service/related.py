"""What is related to what: relationships, walked as far as an actor may see.
PAMSPEC §8.5, §11, §15.7.

The states that a query asks for hold for the relationships that are walked and for the
objects on the way as much as for those that are found. A walk stays in its scope, ends at
what was deleted, and goes neither to nor through what its actor may not see: the answer is
what it would be if that were not there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest
from pamctl.index.structured_query import StructuredQuery
from pamctl.limits import TRAVERSAL_DEPTH_MAX, TRAVERSAL_ITEMS_MAX
from pamctl.model.vocabulary import DIRECTIONS
from pamctl.service.authority import require
from pamctl.service.open_scope import OpenScope
from pamctl.service.visibility import Visibility, absent

if TYPE_CHECKING:
    from pamctl.index.relationships import Link
    from pamctl.service.open_store import OpenStore

_MEMBERS = ("related_to", "relationship_type", "relationships")
_OF_OBJECTS_ALONE = ("object_type", "schema_id")


class _Walk:
    """What a walk has met: relationships, and objects with their distance in steps."""

    def __init__(self) -> None:
        self.relationships: set[str] = set()
        self.distances: dict[str, int] = {}


def is_about_relationships(request: Mapping[str, Any]) -> bool:
    """Whether a query has members that this module answers to."""
    return any(request.get(member) for member in _MEMBERS)


def select_related(
    store: OpenStore,
    scope: OpenScope,
    request: Mapping[str, Any],
    query: StructuredQuery,
    included: frozenset[str] | None = None,
) -> tuple[StructuredQuery, Mapping[str, int]]:
    """`query` narrowed to what the request's members about relationships select, and by
    object how many steps it is away from where the walk began. Where objects are `included`
    by a snapshot, there are no others.

    Raises AccessDenied for an actor who may not look at relationships at all, whatever there
    is, and ObjectNotFound for a start that is not there, or not there for the actor.
    """
    visibility = Visibility.of_store(store, scope, request, "query")
    if included is not None:
        visibility.keep_to(included)
    require(scope.policy(), request, "query", object_type=None)
    if not visibility.sees_relationships():
        require(scope.policy(), request, "read", object_type=None)
    graph = _Graph(scope, visibility, query)
    types, started = _listed(request.get("relationship_type")), request.get("related_to")
    walk = None if started is None else graph.walk(started)
    if request.get("relationships"):
        _refuse_members_of_objects(request)
        met = graph.relationships(types) if walk is None else walk.relationships
        return replace(query, family="relationship", object_type=types, among=met), {}
    if walk is None:
        return replace(query, among=graph.ends(types)), {}
    found = set(walk.distances)
    if types is not None:
        found &= graph.ends(types, touching=found)
    return replace(query, among=found), walk.distances


class _Graph:
    """The part of a scope's relationships that an actor may see in the states of a query."""

    def __init__(self, scope: OpenScope, visibility: Visibility, query: StructuredQuery) -> None:
        self._scope_id = scope.scope_id
        self._index = scope.index
        self._visibility = visibility
        self._objects = StructuredQuery(
            lifecycle_state=query.lifecycle_state,
            availability_state=query.availability_state,
            retention_state=query.retention_state,
            validation_state=query.validation_state,
            as_of=query.as_of,
        )

    def relationships(self, types: list[str] | None) -> set[str]:
        """All relationships of some types, tombstones among them where the states allow."""
        found = {link.relationship_id for link in self._links(types)}
        _require_bounded(found)
        return found

    def ends(self, types: list[str] | None, *, touching: Collection[str] | None = None) -> set[str]:
        """The objects of the scope that a relationship of some types joins to another."""
        links = [link for link in self._links(types, touching) if not link.deleted]
        found = {end for link in links for end in _ends_here(link)}
        _require_bounded(found)
        return found

    def walk(self, started: Mapping[str, Any]) -> _Walk:
        """Everything within `depth` steps of an object, breadth first."""
        start, depth = started["object_id"], started.get("depth", 1)
        direction, types = started.get("direction", "both"), started.get("relationship_types")
        if not 1 <= depth <= TRAVERSAL_DEPTH_MAX:
            raise InvalidRequest(
                f"depth is from 1 to {TRAVERSAL_DEPTH_MAX} (limits.TRAVERSAL_DEPTH_MAX)",
                pointer="/related_to/depth",
            )
        if direction not in DIRECTIONS:
            raise InvalidRequest(
                f"direction is one of {', '.join(DIRECTIONS)}", pointer="/related_to/direction"
            )
        if not self._visibility.sees(start):
            raise absent(start, self._scope_id)
        walk, reached, frontier = _Walk(), {start}, {start}
        for distance in range(1, depth + 1):
            nearby: set[str] = set()
            for link in self._links(types, frontier):
                steps = list(_steps(link, direction, frontier))
                if steps:
                    walk.relationships.add(link.relationship_id)
                if not link.deleted:
                    nearby.update(end for end in steps if end is not None)
            nodes = self._index.nodes(replace(self._objects, among=nearby - reached))
            reached |= nodes.keys()
            walk.distances.update(dict.fromkeys(nodes, distance))
            frontier = {found for found, node in nodes.items() if not node.deleted}
            _require_bounded(walk.relationships)
            _require_bounded(walk.distances)
            if not frontier:
                break
        return walk

    def _links(
        self, types: list[str] | None, touching: Collection[str] | None = None
    ) -> list[Link]:
        """The relationships of some types whose two ends the actor may see."""
        wanted = replace(self._objects, family="relationship", object_type=types)
        links = self._index.links(wanted, touching=touching)
        ends = {end for link in links for end in _ends_here(link)}
        seen = {
            found
            for found, node in self._index.nodes(StructuredQuery(among=ends)).items()
            if node.object_type is not None and self._visibility.may_see(found, node.object_type)
        }
        return [
            link
            for link in links
            if link.source_object_id in seen
            and (
                link.target_object_id in seen
                if link.target_scope_id is None
                else self._visibility.sees(link.target_object_id, link.target_scope_id)
            )
        ]


def _ends_here(link: Link) -> tuple[str, ...]:
    """The objects that a relationship joins, as far as they are in its own scope."""
    if link.target_scope_id is None:
        return link.source_object_id, link.target_object_id
    return (link.source_object_id,)


def _steps(link: Link, direction: str, frontier: Collection[str]) -> Iterator[str | None]:
    """Where a relationship leads from the objects of the frontier, one way or both; None for
    a step that leaves the scope. Without a direction of its own it leads both ways."""
    both_ways = direction == "both" or link.directionality in ("bidirectional", "undirected")
    if link.source_object_id in frontier and (both_ways or direction == "out"):
        yield link.target_object_id if link.target_scope_id is None else None
    here = link.target_scope_id is None and link.target_object_id in frontier
    if here and (both_ways or direction == "in"):
        yield link.source_object_id


def _require_bounded(met: Collection[str]) -> None:
    if len(met) > TRAVERSAL_ITEMS_MAX:
        raise InvalidRequest(
            f"more than {TRAVERSAL_ITEMS_MAX} are related (limits.TRAVERSAL_ITEMS_MAX)",
            hint="ask for fewer steps, one direction, or some types of relationship",
            pointer="/related_to",
        )


def _listed(value: str | list[str] | None) -> list[str] | None:
    return [value] if isinstance(value, str) else value


def _refuse_members_of_objects(request: Mapping[str, Any]) -> None:
    for member in _OF_OBJECTS_ALONE:
        if member in request:
            raise InvalidRequest(
                f"a relationship has no {member}",
                hint="relationship_type selects relationships by their type",
                pointer=f"/{member}",
            )
