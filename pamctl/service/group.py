"""Operations that commit together.

`Group` takes the lock of each scope it writes to, works requests out one after the other,
each on top of those before it, and commits them with one pack and one ledger write a scope.
A single operation is a group of one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    PamError,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.model.documents import check
from pamctl.service.admission import OVER_DELEGATIONS, refusal
from pamctl.service.delegations import prepared
from pamctl.service.desk import Change, Desk
from pamctl.service.operations import CHANGES
from pamctl.service.staged_scope import StagedScope

if TYPE_CHECKING:
    from pamctl.crypto.keys import PrivateKey
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore


class Group:
    """A context manager; `perform` stages, leaving it commits.

    An exception that is no PamError, or any exception when `atomic`, leaves every scope as
    it was. Results may be shown once the group was left without one.

    written: the canonical bytes of the envelope in the last result, where they are at hand.
    """

    def __init__(self, store: OpenStore, *, atomic: bool = False) -> None:
        self._store = store
        self._atomic = atomic
        self._scopes: dict[str, StagedScope] = {}
        self._foreseen: dict[str, list[Mapping[str, Any]]] = {}
        self._failure: BaseException | None = None
        self._keys: dict[str, PrivateKey | None] = {}
        self.written: bytes | None = None

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._failure is not None:
            if error is None:
                raise self._failure
            return
        wanted = error is None or (isinstance(error, PamError) and not self._atomic)
        if wanted:
            self.flush()
        else:
            denials = [
                (request, denied)
                for one in self._scopes.values()
                for request, denied in one.denials
            ]
            self._release()
            if isinstance(error, PamError):
                self._record(denials)

    def foresee(self, requests: Iterable[Mapping[str, Any]]) -> None:
        """Tell of requests that are about to come, so that what they need to know is looked
        up at once and not one by one. Changes nothing, promises nothing."""
        for request in requests:
            scope_id = request.get("scope_id")
            if isinstance(scope_id, str):
                self._foreseen.setdefault(scope_id, []).append(request)

    def perform(self, operation: str, arguments: Mapping[str, Any], *, judged: bool = False) -> Any:
        """Stage one operation and return what it will answer.

        judged: whether the arguments of a change are known to be valid, and plain as
            `encoding.canonical` has it, one level deep in another value.

        Raises the PamError that it deserves; what was staged before is not touched by it.
        An operation that only reads sees all that was staged, because that is committed first.
        """
        self.written = None
        if self._failure is not None:
            raise self._failure
        if operation not in CHANGES:
            if self._atomic:
                raise InvalidRequest(
                    f"{operation} cannot be part of an atomic group",
                    hint=f"an atomic group holds {', '.join(CHANGES)}",
                )
            self.flush()
            return self._store.perform(operation, arguments)
        if not judged:
            check(f"requests/{operation}", arguments)
        request = dict(arguments)
        if operation in OVER_DELEGATIONS:
            request = prepared(self._store, operation, request)
        self._require_key(operation, request)
        staged = self._staged_scope(request)
        request.setdefault("operation_id", staged.desk.sources.identifier("op"))
        result = staged.perform(operation, request, plain=judged)
        # Whoever creates may see all of it, and it is the only version that this makes.
        if operation == "create" and not result["replayed"]:
            self.written = staged.last_envelope()
        return result

    def _require_key(self, operation: str, request: Mapping[str, Any]) -> None:
        """Raises AccessDenied where the actor is bound to a key that is not at hand. In a
        scope that is there, that goes on record."""
        try:
            self.signer(request["actor"]["actor_id"], operation)
        except AccessDenied as denied:
            with contextlib.suppress(ScopeNotFound):
                self._store.directory.scope(request["scope_id"])
                self._staged_scope(request).deny(request, denied)
            raise

    def signer(self, actor_id: str, operation: str) -> PrivateKey | None:
        """The key of a bound actor, looked up once a group."""
        if actor_id not in self._keys:
            self._keys[actor_id] = self._store.signers.signer(actor_id, operation)
        return self._keys[actor_id]

    def admit(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request that reads, as operations are to have it: let into a scope that is there,
        with its use of a delegation staged. Raises AccessDenied, which is staged too."""
        return self._staged_scope(request).admit(operation, request)

    def record(
        self, request: Mapping[str, Any], event: Callable[[Desk, Mapping[str, Any]], Change]
    ) -> None:
        """Stage an event that no operation makes, in a scope that is there."""
        staged = self._staged_scope(request)
        staged.stage(event(staged.desk, request))

    def flush(self) -> None:
        """Commit what is staged and let the scopes go."""
        try:
            for staged in self._scopes.values():
                staged.commit(as_one=self._atomic)
        except BaseException as failure:
            # Whoever was told of staged results must hear of it, now or on leaving.
            self._failure = failure
            raise
        finally:
            self._release()

    def _staged_scope(self, request: Mapping[str, Any]) -> StagedScope:
        scope_id = request["scope_id"]
        staged = self._scopes.get(scope_id)
        if staged is not None:
            return staged
        if self._scopes and self._atomic:
            raise InvalidRequest(
                "an atomic group stays within one scope: each scope has a ledger of its own",
                pointer="/scope_id",
            )
        self._store.ensure_scope(scope_id, request["actor"])
        try:
            # Two groups that each wait for a scope the other holds would wait for ever; so
            # whoever holds one asks for the next without waiting.
            staged = self._staged(scope_id, wait=not self._scopes)
        except ServiceUnavailable:
            if not self._scopes:
                raise
            self.flush()
            staged = self._staged(scope_id, wait=True)
        self._scopes[scope_id] = staged
        staged.foresee(self._foreseen.pop(scope_id, ()))
        return staged

    def _staged(self, scope_id: str, *, wait: bool) -> StagedScope:
        return StagedScope(self._store, scope_id, wait=wait, group=self)

    def neighbour(self, scope_id: str) -> Desk | None:
        """Another scope, with what is staged for it counted in, to be looked at."""
        staged = self._scopes.get(scope_id)
        if staged is not None:
            return staged.desk
        try:
            scope = self._store.open_scope(scope_id, fresh=True)
        except ScopeNotFound:
            return None
        return self.desk(scope, scope.position.sequence)

    def desk(self, scope: OpenScope, sequence: int) -> Desk:
        """A desk for a scope whose ledger ends with the event of that sequence."""
        desk = Desk(
            scope,
            self._store.sources,
            scope.policy(),
            sequence,
            neighbour=self.neighbour,
            scope_ids=self._scope_ids,
            signer=self.signer,
        )
        return self._store.seated(desk)

    def _scope_ids(self) -> list[str]:
        return sorted(str(scope["scope_id"]) for scope in self._store.directory.scopes())

    def _record(self, denials: Sequence[tuple[Mapping[str, Any], AccessDenied]]) -> None:
        """Put denials on record that went with a group which was not committed."""
        with contextlib.suppress(ServiceUnavailable), Group(self._store) as group:
            for request, denied in denials:
                group.record(request, partial(refusal, denied=denied))

    def _release(self) -> None:
        for staged in self._scopes.values():
            staged.release()
        self._scopes.clear()
