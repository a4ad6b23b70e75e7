"""Operations that commit together.

`Group` takes the lock of each scope it writes to, works requests out one after the other,
each on top of those before it, and commits them with one pack and one ledger write a scope.
A single operation is a group of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import orjson

from pamctl.encoding.base64url import encode
from pamctl.encoding.canonical import is_plain
from pamctl.errors import InvalidRequest, PamError, ServiceUnavailable
from pamctl.model.documents import check
from pamctl.service import idempotency
from pamctl.service.desk import IDENTIFIERS, Desk
from pamctl.service.envelopes import is_withheld, withhold
from pamctl.service.operations import CHANGES
from pamctl.store.commit import NewEntry, NewTransaction, ScopeWriter
from pamctl.store.records import Position
from pamctl.store.versions import SALT_BYTES

if TYPE_CHECKING:
    from pamctl.service.store import Store


class Group:
    """A context manager; `perform` stages, leaving it commits.

    An exception that is no PamError, or any exception when `atomic`, leaves every scope as
    it was. Results may be shown once the group was left without one.
    """

    def __init__(self, store: Store, *, atomic: bool = False) -> None:
        self._store = store
        self._atomic = atomic
        self._scopes: dict[str, _StagedScope] = {}

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        wanted = error is None or (isinstance(error, PamError) and not self._atomic)
        if wanted:
            self.flush()
        else:
            self._release()

    def perform(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Stage one operation and return what it will answer.

        Raises the PamError that it deserves; what was staged before is not touched by it.
        An operation that only reads sees all that was staged, because that is committed first.
        """
        if operation not in CHANGES:
            self.flush()
            return self._store.perform(operation, arguments)
        check(f"requests/{operation}", arguments)
        request = dict(arguments)
        request.setdefault("operation_id", self._store.sources.identifier("op"))
        return self._staged_scope(request).perform(operation, request)

    def flush(self) -> None:
        """Commit what is staged and let the scopes go."""
        try:
            for staged in self._scopes.values():
                staged.commit()
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
            staged = _StagedScope(self._store, scope_id, wait=not self._scopes)
        except ServiceUnavailable:
            if not self._scopes:
                raise
            self.flush()
            staged = _StagedScope(self._store, scope_id, wait=True)
        self._scopes[scope_id] = staged
        return staged

    def _release(self) -> None:
        for staged in self._scopes.values():
            staged.release()
        self._scopes.clear()


class _StagedScope:
    """What is staged for one scope whose lock is held."""

    def __init__(self, store: Store, scope_id: str, *, wait: bool) -> None:
        self._store = store
        self._scope = store.open_scope(scope_id)
        self._writer = ScopeWriter(self._scope.layout, store.layout.quarantine, wait=wait)
        self._writer.__enter__()
        try:
            self._base: Position = self._scope.refresh()
            store.notices.extend(self._writer.recover(self._base))
        except BaseException:
            self.release()
            raise
        self._transactions: list[NewTransaction] = []
        self._keys: dict[str, tuple[Mapping[str, Any], str, Mapping[str, Any] | None]] = {}
        self._desk = Desk(self._scope, store.sources, self._scope.policy(), self._base.sequence)

    def perform(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        self._desk.plain_request = is_plain(request)
        key = request.get("idempotency_key")
        if key is not None:
            replayed = self._replay(operation, request, key)
            if replayed is not None:
                return replayed
        try:
            change = CHANGES[operation](self._desk, request)
        except PamError as error:
            if key is not None and idempotency.is_stable(error):
                salt = encode(self._store.sources.entropy(SALT_BYTES))
                record = idempotency.error_record(operation, request, salt, error)
                self._transactions.append([NewEntry("idempotency", record)])
                self._keys[key] = (record, salt, None)
            raise
        if key is not None:
            salt = change.salt or encode(self._store.sources.entropy(SALT_BYTES))
            record = idempotency.success_record(
                operation,
                request,
                change.result,
                salt=salt,
                keep_salt=change.salt is None,
                plain=self._desk.plain_request,
            )
            change.entries.append(NewEntry("idempotency", record))
            self._keys[key] = (record, salt, change.result.get("envelope"))
        self._transactions.append(change.entries)
        return change.result

    def commit(self) -> None:
        if self._transactions:
            committed = self._writer.commit(self._base, self._transactions)
            self._transactions = []
            # The commit is done. The index is derived: if it cannot follow now, it will
            # catch up at the next look.
            self._scope.index.apply(self._base, committed)

    def release(self) -> None:
        self._writer.__exit__(None, None, None)

    def _replay(
        self, operation: str, request: Mapping[str, Any], key: str
    ) -> dict[str, Any] | None:
        """The first answer to a key that was used before, None for a new one."""
        staged = self._keys.get(key)
        if staged is not None:
            record, salt, envelope = staged
        else:
            place = self._scope.index.idempotency(key)
            if place is None:
                return None
            record = self._scope.entry(place)["body"]
            found_salt, envelope = self._recorded_version(record)
            salt = record.get("salt", found_salt)
        idempotency.require_same_request(record, operation, request, salt)
        if "error" in record:
            raise idempotency.recorded_error(record["error"])
        answer = {**record["result"], "replayed": True, "scope_id": self._desk.scope_id}
        if envelope is not None:
            identifier = next(envelope[name] for name in IDENTIFIERS if name in envelope)
            current = self._desk.current(identifier) or envelope
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
        document = orjson.loads(self._scope.version_bytes(row))
        return document.get("salt"), document["envelope"]
