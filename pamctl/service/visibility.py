"""What an actor may see of relationships. PAMSPEC §8.5, §15.7.

A relationship is seen by whoever may see both objects that it joins, each under the policy
of its own scope, and whom the policy of the relationship's scope lets look at what is no
Memory Object. To everyone else it is not there. It never opens a way to what it names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import AccessDenied, ObjectNotFound, ScopeNotFound
from pamctl.named_tuples import NamedTuple
from pamctl.rules.authorization import Sight
from pamctl.service.authority import NOTHING, disclosed, disclosed_ids, require_of

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.service.desk import Desk
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore


class Place(NamedTuple):
    """A scope as far as it takes to tell who may see what is in it.

    object_type: the type of a memory object by its id; None where there is no such object.
    """

    policy: Mapping[str, Any]
    object_type: Callable[[str], str | None]


class Visibility:
    """What the actor of one request may see in the course of one operation.

    Arguments:
        operation: what policies are asked about each object: `read`, `query`, ….
        here: the scope of the request.
        elsewhere: other scopes by their ids; None for one that is not there.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        operation: str,
        scope_id: str,
        here: Place,
        elsewhere: Callable[[str], Place | None],
    ) -> None:
        self._request = request
        self._operation = operation
        self._scope_id = scope_id
        self._places: dict[str, Place | None] = {scope_id: here}
        self._elsewhere = elsewhere
        self._sights: dict[str, Sight | None] = {}
        self._ids = disclosed_ids(request)
        self._kept: frozenset[str] | None = None

    @classmethod
    def of_store(
        cls, store: OpenStore, scope: OpenScope, request: Mapping[str, Any], operation: str
    ) -> Visibility:
        """Over what is committed, for operations that read."""

        def elsewhere(scope_id: str) -> Place | None:
            try:
                return _committed(store.open_scope(scope_id, fresh=True))
            except ScopeNotFound:
                return None

        return cls(request, operation, scope.scope_id, _committed(scope), elsewhere)

    @classmethod
    def at_desk(cls, desk: Desk, request: Mapping[str, Any], operation: str) -> Visibility:
        """Over what is committed and staged, for operations that change something."""

        def elsewhere(scope_id: str) -> Place | None:
            neighbour = desk.neighbour(scope_id)
            return None if neighbour is None else _staged(neighbour)

        return cls(request, operation, desk.scope_id, _staged(desk), elsewhere)

    def keep_to(self, object_ids: frozenset[str]) -> None:
        """See none but these of what is in the request's own scope."""
        self._kept = object_ids

    def sees(self, object_id: str, scope_id: str | None = None) -> bool:
        """Whether there is a memory object of this id that the actor may see."""
        scope_id = scope_id or self._scope_id
        place = self._place(scope_id)
        object_type = None if place is None else place.object_type(object_id)
        return object_type is not None and self.may_see(object_id, object_type, scope_id)

    def may_see(self, object_id: str, object_type: str, scope_id: str | None = None) -> bool:
        """Whether the actor may see an object that is there."""
        if self._ids is not None and object_id not in self._ids:
            return False
        here = (scope_id or self._scope_id) == self._scope_id
        if here and self._kept is not None and object_id not in self._kept:
            return False
        return self._covers(scope_id or self._scope_id, object_type)

    def sees_relationships(self) -> bool:
        """Whether the scope's policy lets the actor look at relationships at all."""
        return self._covers(self._scope_id, None)

    def sees_ends(self, relationship: Mapping[str, Any]) -> bool:
        """Whether the actor may see both ends of a relationship, given as an envelope."""
        return self.sees(relationship["source_object_id"]) and self.sees(
            relationship["target_object_id"], relationship.get("target_scope_id")
        )

    def _covers(self, scope_id: str, object_type: str | None) -> bool:
        if scope_id not in self._sights:
            place = self._place(scope_id)
            self._sights[scope_id] = NOTHING if place is None else self._sight(place.policy)
        sight = self._sights[scope_id]
        return sight is None or sight.covers(object_type)

    def _sight(self, policy: Mapping[str, Any]) -> Sight | None:
        try:
            return disclosed(policy, self._request, self._operation)
        except AccessDenied:
            return NOTHING

    def _place(self, scope_id: str) -> Place | None:
        if scope_id not in self._places:
            self._places[scope_id] = self._elsewhere(scope_id)
        return self._places[scope_id]


def addressed(
    desk: Desk, request: Mapping[str, Any], operation: str, **asked: str
) -> Mapping[str, Any]:
    """The current envelope of the object or the relationship that a request is about, which
    is still at the version the caller saw, and on which its actor may carry out `operation`.

    A relationship may be named by `relationship_id` or, like everything else, by
    `object_id`; to an actor who may not read both its ends it is not there. `asked`: the
    dimension and the target state of a transition. Raises AccessDenied, and what
    `Desk.expect` raises.
    """
    # Here, because what only reads must not pay for the desk.
    from pamctl.service.desk import identifying

    families: tuple[str, ...] = ("object_id", "relationship_id")
    if "relationship_id" in request:
        families = ("relationship_id",)
    identifier = request.get("relationship_id") or request["object_id"]
    current = desk.current(identifier)
    if current is not None and (
        identifying(current) not in families
        or (
            "relationship_id" in current
            and not Visibility.at_desk(desk, request, "read").sees_ends(current)
        )
    ):
        current = None
    require_of(desk.policy, request, operation, current, **asked)
    if current is None:
        raise absent(identifier, desk.scope_id)
    return desk.expect(identifier, request["expected_version_id"], families=families)


def visible(
    store: OpenStore,
    scope: OpenScope,
    request: Mapping[str, Any],
    operation: str,
) -> VersionRow | None:
    """The current version of what a request that reads is about; None where there is none,
    and for a relationship of which the actor may not see both ends."""
    current = scope.index.current(request["object_id"])
    if current is not None and current.family == "relationship":
        visibility = Visibility.of_store(store, scope, request, operation)
        if not visibility.sees_ends(scope.envelope(current)):
            return None
    return current


def absent(identifier: str, scope_id: str) -> ObjectNotFound:
    """What is answered about an object that is not there, and about one that might as well
    not be."""
    return ObjectNotFound(f"there is no object {identifier} in {scope_id}")


def _committed(scope: OpenScope) -> Place:
    def object_type(object_id: str) -> str | None:
        row = scope.index.current(object_id)
        return None if row is None or row.family != "object" else row.object_type

    return Place(scope.policy(), object_type)


def _staged(desk: Desk) -> Place:
    def object_type(object_id: str) -> str | None:
        seen = desk.glance(object_id)
        return None if seen is None else seen[0]

    return Place(desk.policy, object_type)
