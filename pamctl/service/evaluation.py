"""Evaluation: operations against a snapshot that can be repeated byte for byte.
PAMSPEC §18.11.

An evaluation reads the scope of its snapshot through the snapshot alone, and writes to a scope
of its own alone. What would otherwise come from the clock and from the system's randomness is
a function of the snapshot and of how far the evaluation's ledger has got, so that any number
of processes, one after the other, go on where the last one was.

It holds back programs that mean well. One that does not can leave the environment behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest, PolicyDenied
from pamctl.rules.authorization import default_policy
from pamctl.rules.evaluation import moment, outside, seeded
from pamctl.service.authority import require
from pamctl.service.boundary import Boundary, sealed_in
from pamctl.service.desk import Desk
from pamctl.service.scopes import OWNER
from pamctl.service.sources import Sources
from pamctl.store.commit import NewEntry

if TYPE_CHECKING:
    from pamctl.service.open_store import OpenStore

SCOPE_KIND = "evaluation"

_THROUGH_THE_SNAPSHOT = frozenset(("read", "query", "history", "log", "diff"))
_ABOUT_THE_SNAPSHOT = frozenset(("snapshot_show", "space_list", "space_show", "scope_show"))
_ABOUT_THE_STORE = frozenset(("scope_list", "status", "scope_policy_test"))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation that is going on.

    boundary: the snapshot that it is of.
    scope_id: the scope that it writes to.
    """

    store: OpenStore
    boundary: Boundary
    scope_id: str

    @property
    def source_scope_id(self) -> str:
        """The scope of its snapshot."""
        return self.boundary.scope.scope_id

    @property
    def descriptor(self) -> Mapping[str, Any]:
        """Of its snapshot."""
        return self.boundary.descriptor

    def require_inside(self, scope_id: str) -> None:
        """Raises PolicyDenied for a scope that it may not write to."""
        if scope_id != self.scope_id:
            raise outside(f"{scope_id} cannot be written to", self.scope_id)

    def bounded(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request that reads, kept to what the evaluation may see.

        Raises PolicyDenied for another scope, another snapshot, and an operation that cannot
        go through the snapshot.
        """
        scope_id = request.get("scope_id", self.scope_id)
        if scope_id == self.scope_id or operation in _ABOUT_THE_STORE:
            return request
        if scope_id != self.source_scope_id:
            raise outside(f"{scope_id} cannot be looked at", self.scope_id)
        snapshot_id = self.descriptor["snapshot_id"]
        if request.get("snapshot_id", snapshot_id) != snapshot_id:
            raise outside(f"{request['snapshot_id']} cannot be looked at", self.scope_id)
        if operation in _ABOUT_THE_SNAPSHOT:
            return request
        if operation not in _THROUGH_THE_SNAPSHOT:
            raise outside(f"{operation} cannot go through a snapshot", self.scope_id)
        return {**request, "snapshot_id": snapshot_id}

    def asking(self) -> Sources:
        """Sources for what is worked out at no desk, such as the name of an operation that
        reads and leaves something on record."""
        position = self.store.open_scope(self.scope_id, fresh=True).position
        return self.sources("ask", lambda: position.entries, lambda: position.sequence)

    def seat(self, desk: Desk) -> None:
        """Give a desk the evaluation's time, randomness and run id."""
        if desk.scope_id == self.scope_id:
            entries = desk.scope.position.entries
            desk.sources = self.sources("write", lambda: entries, lambda: desk.sequence)
            desk.evaluation_run_id = self.descriptor.get("evaluation_run_id")

    def sources(
        self, purpose: str, entries: Callable[[], int], sequence: Callable[[], int]
    ) -> Sources:
        """Sources that go by how far the evaluation's ledger has got, as far as the snapshot
        declares a clock and a seed; otherwise the system's.

        Arguments:
            purpose: keeps these draws apart from those of other sources.
            entries: entries in the ledger.
            sequence: its last event, staged ones included.
        """
        clock, seed = (
            self.descriptor.get(name) for name in ("deterministic_clock", "deterministic_rng_seed")
        )
        system = Sources()
        draws = [0]

        def draw(count: int) -> bytes:
            draws[0] += 1
            return seeded(int(seed or 0), purpose, entries(), draws[0], count)

        def show() -> int:
            return moment(clock or {}, sequence())

        return Sources(
            system.clock if clock is None else show, system.entropy if seed is None else draw
        )


def begin(
    store: OpenStore,
    *,
    source_scope_id: str,
    snapshot_id: str,
    scope_id: str | None = None,
    actor: Mapping[str, Any] = OWNER,
) -> Evaluation:
    """Make the scope of a new evaluation, and enter it.

    The scope begins with the policy that the source had when the snapshot was sealed. Its id
    is that of the run, or of the snapshot, behind `evaluation:` unless another is given.

    Raises SnapshotNotFound, AccessDenied to whom the source's policy shows no snapshots, and
    InvalidRequest for a scope that is there: an evaluation that does not begin at nothing
    could not be repeated.
    """
    if store.evaluation is not None:
        raise InvalidRequest("an evaluation cannot hold another one")
    boundary = _boundary(store, source_scope_id, snapshot_id, actor)
    name = boundary.descriptor.get("evaluation_run_id", snapshot_id)
    evaluation = Evaluation(store, boundary, scope_id or f"{SCOPE_KIND}:{name}")
    if any(scope["scope_id"] == evaluation.scope_id for scope in store.directory.scopes()):
        raise InvalidRequest(
            f"{evaluation.scope_id} is there already, and an evaluation begins with nothing",
            hint="name another scope for it with --into",
            pointer="/scope_id",
        )
    now = evaluation.sources("begin", lambda: 0, lambda: 0).now()
    scope = {
        "scope_id": evaluation.scope_id,
        "scope_kind": SCOPE_KIND,
        "parent_scope_id": source_scope_id,
    }
    first = NewEntry("scope", {**scope, "store_id": store.store_id, "created_at": now})
    governed = {"policy": _policy(boundary), "actor": actor, "recorded_at": now}
    store.directory.create_scope(scope, [[first, NewEntry("policy", governed)]])
    return _entered(store, evaluation)


def enter(store: OpenStore, document: Mapping[str, Any]) -> Evaluation:
    """Make all further work on a store part of an evaluation that has begun.

    document: what `as_document` made of it. Raises PolicyDenied for another store than the
    evaluation's, and InvalidRequest for what is no such document.
    """
    try:
        names = [document[name] for name in ("store_id", "source_scope_id", "snapshot_id")]
        scope_id = document["scope_id"]
    except (KeyError, TypeError):
        names, scope_id = [None], None
    if not all(isinstance(name, str) for name in (*names, scope_id)):
        raise InvalidRequest("PAM_EVALUATION does not describe an evaluation")
    store_id, source_scope_id, snapshot_id = names
    if store.store_id != store_id:
        raise outside("another store cannot be used", scope_id)
    scope = store.open_scope(source_scope_id, fresh=True)
    return _entered(store, Evaluation(store, sealed_in(scope, snapshot_id), scope_id))


def as_document(evaluation: Evaluation) -> dict[str, str]:
    """What another process has to know to `enter` an evaluation."""
    return {
        "store_id": evaluation.store.store_id,
        "source_scope_id": evaluation.source_scope_id,
        "snapshot_id": evaluation.descriptor["snapshot_id"],
        "scope_id": evaluation.scope_id,
    }


def _entered(store: OpenStore, evaluation: Evaluation) -> Evaluation:
    # The store's own sources stay the system's: keys must never come from a seed.
    store.evaluation = evaluation
    return evaluation


def _boundary(
    store: OpenStore, scope_id: str, snapshot_id: str, actor: Mapping[str, Any]
) -> Boundary:
    scope = store.open_scope(scope_id, fresh=True)
    if "delegation_id" in actor:
        raise PolicyDenied(
            "an evaluation is begun by an actor of his own authority",
            hint="leave out --delegation",
        )
    require(scope.policy(), {"actor": actor}, "inspect_history", object_type=None)
    return sealed_in(scope, snapshot_id)


def _policy(boundary: Boundary) -> dict[str, Any]:
    """The policy that was in force when a snapshot was sealed."""
    scope = boundary.scope
    before = [place for place in scope.index.boundaries.entries("policy") if place.n < boundary.n]
    if not before:
        return default_policy()
    policy: dict[str, Any] = scope.entry(before[-1])["body"]["policy"]
    return policy
