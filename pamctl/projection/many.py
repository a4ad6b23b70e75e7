"""Many records, one after the other or by several processes, in bounded memory.

The verdicts come in the order of the records, whoever worked them out. Whether a projection
id is used a second time is decided here, in that order, and not by the processes: which of
two records is the replay must not depend on which process was faster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest
from pamctl.named_tuples import NamedTuple
from pamctl.projection import bundle
from pamctl.projection.reasons import Verdict
from pamctl.projection.record import NativeResult
from pamctl.projection.register import Register
from pamctl.projection.trust import TrustPolicy, parse_trust_policy, store_policy
from pamctl.projection.verify import Verifier, replayed
from pamctl.store.keyring import Keyring

if TYPE_CHECKING:
    from concurrent.futures import Future

_TOGETHER = 16
"""Records that a process is given at a time."""

_WORTH_PROCESSES = 400
"""Records from which on starting processes costs less than it saves."""


class RecordFile(NamedTuple):
    """A record to be verified.

    name: what its verdict calls it. file: where it is.
    folder: of what it commits to; None to verify the signed record alone.
    data: its bytes, where they do not come from the file.
    """

    name: str
    file: Path
    folder: Path | None
    data: bytes | None = None


class Trust(NamedTuple):
    """Where the relying party's policy comes from; a process can be told it.

    document, name: of a trust policy; without one, the keys and the configuration of a
    store; without either, no key is trusted.
    """

    document: bytes | None = None
    name: str = ""
    keys: Path | None = None
    config: Mapping[str, Any] | None = None

    def policy(self) -> TrustPolicy:
        """Raises InvalidRequest for a document that is no policy."""
        if self.document is not None:
            return parse_trust_policy(self.document, what=self.name)
        if self.keys is None:
            return TrustPolicy(adapter_keys={}, max_projection_age_sec=0, max_trust_age_sec=0)
        return store_policy(Keyring(self.keys), self.config or {})


class Demand(NamedTuple):
    """What is demanded of every record.

    at: the verification time, RFC 3339.
    all_reasons: whether every fault is listed. explain: whether refusals are explained.
    native_results: the relying party's own, for a single record.
    """

    trust: Trust
    at: str
    all_reasons: bool = False
    explain: bool = False
    native_results: Sequence[NativeResult | None] | None = None

    def verifier(self) -> Verifier:
        """A verifier that registers nothing."""
        return Verifier(self.trust.policy()._replace(single_use=False), at=self.at)


def verdicts(
    demand: Demand,
    records: Iterable[RecordFile],
    *,
    jobs: int | None = None,
    processors: int = 1,
    register: Register | None = None,
) -> Iterator[Verdict]:
    """The verdict on each record, in order.

    Arguments:
        jobs: processes to share the work; None to have as many as `processors` where there
            are enough records for that to be quicker.
        register: where accepted ids are kept, when each is to be accepted once.

    Raises InvalidRequest for a record that cannot be read, and ServiceUnavailable where the
    register cannot be written.
    """
    coming = iter(records)
    first = list(islice(coming, _TOGETHER if jobs else _WORTH_PROCESSES))
    wanted = jobs or processors
    if wanted == 1 or len(first) < (_TOGETHER if jobs else _WORTH_PROCESSES):
        verifier = demand.verifier()
        found: Iterator[Verdict] = (_verdict(verifier, demand, one) for one in chain(first, coming))
    else:
        found = _by_processes(demand, chain(first, coming), wanted)
    for verdict in found:
        yield _admitted(verdict, demand, register)


def _admitted(verdict: Verdict, demand: Demand, register: Register | None) -> Verdict:
    """MPR §8 step 3, single use: the id of a valid record is kept, or refused."""
    facts = verdict["details"]
    if (
        register is None
        or not verdict["valid"]
        or register.keep(facts["projection_id"], facts["created_at"], facts["projection_digest"])
    ):
        return verdict
    refusal = replayed()
    details = dict(refusal.details)
    if demand.all_reasons:
        details["failures"] = [{"reason": refusal.reason, **refusal.details}]
    refused: Verdict = {**verdict, "valid": False, "reason": refusal.reason, "details": details}
    return _with_explanation(refused, demand)


def _verdict(verifier: Verifier, demand: Demand, record: RecordFile) -> Verdict:
    data, materials = record.data, None
    if data is None:
        try:
            data = bundle.read_record(record.file)
        except OSError as cause:
            reason = cause.strerror or str(cause)
            raise InvalidRequest(f"the record {record.name} cannot be read: {reason}") from cause
    if record.folder is not None:
        materials = bundle.load(record.folder)
        if demand.native_results is not None:
            materials = materials._replace(native_results=demand.native_results)
    found = verifier.verify(data, materials, name=record.name, all_reasons=demand.all_reasons)
    return _with_explanation(found, demand)


def _with_explanation(verdict: Verdict, demand: Demand) -> Verdict:
    if demand.explain and not verdict["valid"]:
        from pamctl.projection.explanations import explained

        verdict["details"]["explanation"] = explained(verdict)
    return verdict


def _by_processes(demand: Demand, records: Iterator[RecordFile], jobs: int) -> Iterator[Verdict]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    waiting: deque[Future[list[Verdict]]] = deque()
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=(demand,))
    try:
        while batch := list(islice(records, _TOGETHER)):
            waiting.append(pool.submit(_work, batch))
            # No more is read ahead than keeps every process busy.
            if len(waiting) > 2 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_worker: tuple[Verifier, Demand] | None = None


def _begin(demand: Demand) -> None:
    """What a process does once: the policy is read and its keys are checked."""
    global _worker
    _worker = (demand.verifier(), demand)


def _work(batch: list[RecordFile]) -> list[Verdict]:
    assert _worker is not None
    return [_verdict(*_worker, record) for record in batch]
