"""What is staged for one scope whose lock is held, and the answers to requests that were
carried out before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from pamctl.encoding.base64url import encode
from pamctl.encoding.canonical import is_plain
from pamctl.errors import AccessDenied, PamError
from pamctl.named_tuples import NamedTuple
from pamctl.service import idempotency
from pamctl.service.admission import admit, discreet, refusal, shown
from pamctl.service.desk import Change, identifying
from pamctl.service.envelopes import is_withheld, withhold
from pamctl.service.open_scope import Behind
from pamctl.service.operations import CHANGES
from pamctl.service.sweep import sweep
from pamctl.store.commit import NewEntry, NewTransaction, ScopeWriter
from pamctl.store.packing import is_crowded
from pamctl.store.records import Position, Transaction
from pamctl.store.versions import SALT_BYTES, envelope_bytes

if TYPE_CHECKING:
    from pamctl.service.group import Group
    from pamctl.service.index_follower import IndexFollower
    from pamctl.service.open_store import OpenStore

_WORTH_FORESEEING = 16


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


class StagedScope:
    """What is staged for one scope whose lock is held."""

    def __init__(self, store: OpenStore, scope_id: str, *, wait: bool, group: Group) -> None:
        self._store = store
        self._scope = store.open_scope(scope_id)
        self._writer = ScopeWriter(
            self._scope.layout,
            store.layout.quarantine,
            wait=wait,
            settled=self._scope.settled_folders,
        )
        self._writer.__enter__()
        try:
            store.notices.extend(store.directory.warnings())
            self._base: Position = self._scope.head()
            store.notices.extend(self._writer.recover(self._base))
            if not self._scope.is_behind:  # or else nothing was erased since the last look
                store.notices.extend(sweep(self._scope, store.layout.quarantine))
        except BaseException:
            self.release()
            raise
        self._transactions: list[NewTransaction] = []
        self._absent_keys: Set[str] = frozenset()
        self._keys: dict[str, _Recorded] = {}
        self.denials: list[tuple[Mapping[str, Any], AccessDenied]] = []
        self.desk = group.desk(self._scope, self._base.sequence)

    def last_envelope(self) -> bytes | None:
        """The canonical bytes of the envelope that the last request made, if it made one."""
        version = self._transactions[-1][0].version
        return None if version is None else envelope_bytes(version.data)

    def foresee(self, requests: Sequence[Mapping[str, Any]]) -> None:
        """Note which of the keys and objects that requests name are not there. Nobody else
        can bring them while the lock is held; what is staged here is looked at first."""
        if len(requests) < _WORTH_FORESEEING:
            return
        self._absent_keys, self.desk.absent = self._scope.absent(
            _texts(requests, "idempotency_key"), _texts(requests, "object_id")
        )

    def perform(
        self, operation: str, request: Mapping[str, Any], *, plain: bool = False
    ) -> dict[str, Any]:
        """Stage an operation. plain: whether the request is known to be plain."""
        # What a request brings stands one level deeper in a version, and in a digest.
        self.desk.plain_request = plain or is_plain(request, levels_around=1)
        try:
            return self._perform(operation, request)
        except AccessDenied as denied:
            self.deny(request, denied)
            raise

    def admit(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request that reads, let in; its exercise of a delegation or its denial staged."""
        try:
            admission = admit(self.desk, operation, request)
        except AccessDenied as denied:
            self.deny(request, denied)
            raise
        exercise = admission.exercise(self.desk, operation)
        if exercise is not None:
            self.stage(exercise)
        return admission.request

    def stage(self, change: Change) -> None:
        """Have a change committed with what else is staged."""
        if change.entries:
            self._transactions.append(change.entries)

    def deny(self, request: Mapping[str, Any], denied: AccessDenied) -> None:
        """Have a refusal committed, also where the group is not."""
        request = {"operation_id": self.desk.sources.identifier("op"), **request}
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
            self._scope.require_whole()
            self._scope.withdraw(transactions)
            index, follower = self._scope.index, self._store.follower
            if follower is not None and not (index.is_shared and follower.takes(transactions)):
                follower = None
            prepare = index.prepare if follower is None else follower.prepare
            try:
                committed = self._writer.commit(
                    self._base, transactions, meanwhile=partial(prepare, self._base)
                )
            except BaseException:
                index.abandon()
                raise
            self._transactions = []
            try:
                self._follow(committed, follower)
            except PamError as error:
                # The commit is done and must be answered so. The index is derived: it will
                # catch up at the next look.
                self._store.notices.append(f"the index could not follow: {error.message}")
            if "erasure" in {entry.kind for done in committed for entry in done.entries}:
                self._scope.refresh()
                self._store.notices.extend(sweep(self._scope, self._store.layout.quarantine))
            elif is_crowded(self._scope.layout, committed):
                self._pack()

    def _follow(self, committed: list[Transaction], follower: IndexFollower | None) -> None:
        if follower is None:
            self._scope.follow(self._base, committed)
            return
        wait = follower.follow(self.desk.scope_id)
        keys, objects = frozenset(self._keys), frozenset(self.desk.staged_objects)
        self._scope.leave_behind(Behind(self._base, keys, objects, wait), committed)

    def _pack(self) -> None:
        """Pack what has gathered. What was committed stays so, whatever comes of it."""
        from pamctl.service.packing import pack_once

        try:
            pack_once(self._scope, self._writer, self._scope.refresh())
        except PamError as error:
            self._store.notices.append(f"versions could not be packed: {error.message}")

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
