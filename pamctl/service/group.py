"""Operations that commit together.

`Group` takes the lock of each scope it writes to, works requests out one after the other,
each on top of those before it, and commits them with one pack and one ledger write a scope.
A single operation is a group of one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from pamctl.encoding.base64url import encode
from pamctl.encoding.canonical import is_plain
from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    PamError,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.model.documents import check
from pamctl.service import idempotency
from pamctl.service.admission import OVER_DELEGATIONS, admit, discreet, refusal, shown
from pamctl.service.delegations import prepared
from pamctl.service.desk import Change, Desk, identifying
from pamctl.service.envelopes import is_withheld, withhold
from pamctl.service.operations import CHANGES
from pamctl.service.sweep import sweep
from pamctl.store.commit import NewEntry, NewTransaction, ScopeWriter
from pamctl.store.records import Position
from pamctl.store.versions import SALT_BYTES

if TYPE_CHECKING:
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore


_WORTH_FORESEEING = 16


class Group:
    """A context manager; `perform` stages, leaving it commits.

    An exception that is no PamError, or any exception when `atomic`, leaves every scope as
    it was. Results may be shown once the group was left without one.

    plain: whether the last result is known to be plain, as `encoding.canonical` has it.
    """

    def __init__(self, store: OpenStore, *, atomic: bool = False) -> None:
        self._store = store
        self._atomic = atomic
        self._scopes: dict[str, _StagedScope] = {}
        self._foreseen: dict[str, list[Mapping[str, Any]]] = {}
        self._failure: BaseException | None = None
        self.plain = False

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

    def perform(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Stage one operation and return what it will answer.

        Raises the PamError that it deserves; what was staged before is not touched by it.
        An operation that only reads sees all that was staged, because that is committed first.
        """
        self.plain = False
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
        check(f"requests/{operation}", arguments)
        request = dict(arguments)
        if operation in OVER_DELEGATIONS:
            request = prepared(self._store, operation, request)
        staged = self._staged_scope(request)
        request.setdefault("operation_id", staged.desk.sources.identifier("op"))
        result = staged.perform(operation, request)
        # What a create answers is made of its request alone.
        self.plain = operation == "create" and staged.plain and not result["replayed"]
        return result

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

    def _staged_scope(self, request: Mapping[str, Any]) -> _StagedScope:
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

    def _staged(self, scope_id: str, *, wait: bool) -> _StagedScope:
        return _StagedScope(self._store, scope_id, wait=wait, group=self)

    def neighbour(self, scope_id: str) -> Desk | None:
        """Another scope, with what is staged for it counted in, to be looked at."""
        staged = self._scopes.get(scope_id)
        if staged is not None:
            return staged.desk
        try:
            scope = self._store.open_scope(scope_id, fresh=True)
        except ScopeNotFound:
            return None
        return self.desk(scope, scope.index.position().sequence)

    def desk(self, scope: OpenScope, sequence: int) -> Desk:
        """A desk for a scope whose ledger ends with the event of that sequence."""
        desk = Desk(
            scope,
            self._store.sources,
            scope.policy(),
            sequence,
            neighbour=self.neighbour,
            scope_ids=self._scope_ids,
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


class _Recorded(NamedTuple):
    """The idempotency record of an earlier request.

    salt: of the version that the request made, or its own; None once that was erased.
    envelope: of that version, None where there is none.
    """

    record: Mapping[str, Any]
    salt: str | None
    envelope: Mapping[str, Any] | None

    def is_of(self, operation: str, request: Mapping[str, Any]) -> bool:
        """Whether it is known to be the record of this very request."""
        return self.salt is not None and idempotency.is_same_request(
            self.record, operation, request, self.salt
        )


class _StagedScope:
    """What is staged for one scope whose lock is held."""

    def __init__(self, store: OpenStore, scope_id: str, *, wait: bool, group: Group) -> None:
        self._store = store
        self._scope = store.open_scope(scope_id)
        self._writer = ScopeWriter(self._scope.layout, store.layout.quarantine, wait=wait)
        self._writer.__enter__()
        try:
            self._base: Position = self._scope.refresh()
            store.notices.extend(self._writer.recover(self._base))
            store.notices.extend(sweep(self._scope, store.layout.quarantine))
        except BaseException:
            self.release()
            raise
        self._transactions: list[NewTransaction] = []
        self._absent_keys: Set[str] = frozenset()
        self._keys: dict[str, _Recorded] = {}
        self.denials: list[tuple[Mapping[str, Any], AccessDenied]] = []
        self.desk = group.desk(self._scope, self._base.sequence)

    @property
    def plain(self) -> bool:
        """Whether all that the last request brought is plain."""
        return self.desk.plain_request

    def foresee(self, requests: Sequence[Mapping[str, Any]]) -> None:
        """Note which of the keys and objects that requests name are not there. Nobody else
        can bring them while the lock is held; what is staged here is looked at first."""
        if len(requests) < _WORTH_FORESEEING:
            return
        self._absent_keys = self._scope.index.absent_keys(_texts(requests, "idempotency_key"))
        self.desk.absent = self._scope.index.absent_objects(_texts(requests, "object_id"))

    def perform(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        # What a request brings stands one level deeper in a version, and in a digest.
        self.desk.plain_request = is_plain(request, levels_around=1)
        try:
            return self._perform(operation, request)
        except AccessDenied as denied:
            self._stage_denial(request, denied)
            raise

    def admit(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request that reads, let in; its exercise of a delegation or its denial staged."""
        try:
            admission = admit(self.desk, operation, request)
        except AccessDenied as denied:
            self._stage_denial(request, denied)
            raise
        exercise = admission.exercise(self.desk, operation)
        if exercise is not None:
            self.stage(exercise)
        return admission.request

    def stage(self, change: Change) -> None:
        """Have a change committed with what else is staged."""
        if change.entries:
            self._transactions.append(change.entries)

    def _stage_denial(self, request: Mapping[str, Any], denied: AccessDenied) -> None:
        self.stage(refusal(self.desk, request, denied))
        self.denials.append((request, denied))

    def _perform(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        key = request.get("idempotency_key")
        recorded = None if key is None else self._recorded(key)
        repeated = recorded is not None and recorded.is_of(operation, request)
        admission = admit(self.desk, operation, request, counted=repeated)
        acting = admission.request
        if recorded is not None:
            replayed = self._replayed(recorded, operation, repeated=repeated)
            return shown(self.desk, operation, acting, replayed)
        try:
            change = CHANGES[operation](self.desk, acting)
        except PamError as cause:
            error = discreet(self.desk, acting, cause)
            if key is not None and idempotency.is_stable(error):
                salt = encode(self.desk.sources.entropy(SALT_BYTES))
                record = idempotency.error_record(operation, request, salt, error)
                self._transactions.append([NewEntry("idempotency", record)])
                self._keys[key] = _Recorded(record, salt, None)
            raise error from cause.__cause__
        exercise = admission.exercise(self.desk, operation)
        if exercise is not None:
            change = change.joined(exercise)
        if key is not None:
            salt = change.salt or encode(self.desk.sources.entropy(SALT_BYTES))
            record = idempotency.success_record(
                operation,
                request,
                change.result,
                salt=salt,
                keep_salt=change.salt is None,
                plain=self.desk.plain_request,
            )
            change.entries.append(NewEntry("idempotency", record))
            self._keys[key] = _Recorded(record, salt, change.result.get("envelope"))
        self.stage(change)
        return shown(self.desk, operation, acting, change.result)

    def commit(self, *, as_one: bool) -> None:
        """Commit what is staged. A writer that dies while it appends may leave some of its
        transactions whole and others not; what is to be `as_one` is one of them."""
        if self._transactions:
            transactions = self._transactions
            if as_one:
                transactions = [[entry for staged in transactions for entry in staged]]
            committed = self._writer.commit(self._base, transactions)
            self._transactions = []
            try:
                self._scope.follow(self._base, committed)
            except PamError as error:
                # The commit is done and must be answered so. The index is derived: it will
                # catch up at the next look.
                self._store.notices.append(f"the index could not follow: {error.message}")
            if any(entry.kind == "erasure" for done in committed for entry in done.entries):
                self._scope.refresh()
                self._store.notices.extend(sweep(self._scope, self._store.layout.quarantine))

    def release(self) -> None:
        self._writer.__exit__(None, None, None)

    def _recorded(self, key: str) -> _Recorded | None:
        """What is on record under a key; None for a new one."""
        staged = self._keys.get(key)
        if staged is not None or key in self._absent_keys:
            return staged
        place = self._scope.index.idempotency(key)
        if place is None:
            return None
        record = self._scope.entry(place)["body"]
        found_salt, envelope = self._recorded_version(record)
        return _Recorded(record, record.get("salt", found_salt), envelope)

    def _replayed(self, recorded: _Recorded, operation: str, *, repeated: bool) -> dict[str, Any]:
        """The first answer to a key, for the request that it was the answer to, or for one
        that cannot be told from it any more."""
        record, salt, envelope = recorded
        if record["operation"] != operation or (salt is not None and not repeated):
            raise idempotency.reused(record)
        if "error" in record:
            raise idempotency.recorded_error(record["error"])
        answer = {**record["result"], "replayed": True, "scope_id": self.desk.scope_id}
        if envelope is not None:
            current = self.desk.current(envelope[identifying(envelope)]) or envelope
            if is_withheld(envelope["availability_state"], current["availability_state"]):
                envelope = withhold(envelope)
            answer["envelope"] = envelope
        return answer

    def _recorded_version(
        self, record: Mapping[str, Any]
    ) -> tuple[str | None, Mapping[str, Any] | None]:
        """The salt and the envelope of the version that a recorded request made."""
        version_id = record.get("result", {}).get("version_id")
        row = None if version_id is None else self._scope.index.version(version_id)
        if row is None:
            return None, None
        if row.erased:
            return None, self._scope.envelope(row)
        document = orjson.loads(self._scope.version_bytes(row))
        return document.get("salt"), document["envelope"]


def _texts(requests: Sequence[Mapping[str, Any]], member: str) -> list[str]:
    values = (request.get(member) for request in requests)
    return [value for value in values if isinstance(value, str)]
