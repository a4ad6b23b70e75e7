"""Every operation is stopped at every call that changes something: killed before it, told that
the device failed, told that it is full. Then the store is whole, and the same request, made
again, is done once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.judging import Reference, copied, judge, judge_again, reference
from tests.crash.scenarios import SCENARIOS
from tests.crash.tracing import (
    AVAILABLE,
    Call,
    Drifted,
    Outcome,
    changing,
    failing,
    killed_before,
    record,
)

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="strace is not installed")

_SERVICE_UNAVAILABLE = 75
_KILLED = -9
# Of the calls on an index, which is derived, one in so many.
_INDEX_STRIDE = 9
_SHORT = ("create-keyed", "batch", "erase")
_RECORDINGS_MAX = 12
_FAULTS = ("KILL", "EIO", "ENOSPC")


class Sweep:
    """A scenario's calls, and what is to be expected of it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.prepared = folder / "prepared" / ".pam"
        self.store = folder / "run" / ".pam"
        SCENARIOS[name].prepare(self.prepared)
        self.prepared.parent.mkdir(exist_ok=True)
        calls, outcome = record(name, copied(self.prepared, self.store))
        assert outcome.status == 0, outcome.said
        self.calls = changing(calls, self.store)
        self.known: Reference = reference(name, self.prepared, self.store, outcome.answers)

    def points(self) -> list[Call]:
        """The calls to be stopped at: all but most of those on the index."""
        index = [call for call in self.calls if "/index" in call.line]
        passed_over = {call[:2] for i, call in enumerate(index) if i % _INDEX_STRIDE}
        return [call for call in self.calls if call[:2] not in passed_over]

    def meet(self, call: Call, fault: str) -> None:
        outcome = self._stopped(call, fault)
        refused = outcome.status == _SERVICE_UNAVAILABLE and not self.known.scenario.erases
        try:
            assert fault != "KILL" or outcome.status == _KILLED
            # Every second time nobody reads before the request is made again.
            read = self.calls.index(call) % 2 == 0
            judge(self.store, self.known, outcome.answers, refused=refused, read=read)
            judge_again(self.store, self.known, outcome.answers)
            _require_honest(call, outcome)
        except Exception as failure:
            failure.add_note(f"{fault} at {call.line}\n{outcome}")
            raise

    def _stopped(self, call: Call, fault: str) -> Outcome:
        """A run that the fault meets at a call, for which it may be counted anew."""
        before = self.calls[: self.calls.index(call)]
        which = [one.place for one in before].count(call.place)
        for _ in range(_RECORDINGS_MAX):
            copied(self.prepared, self.store)
            try:
                if fault == "KILL":
                    return killed_before(self.name, self.store, call)
                return failing(self.name, self.store, call, fault)
            except Drifted:
                calls, _ = record(self.name, copied(self.prepared, self.store))
                again = changing(calls, self.store)
                call = [one for one in again if one.place == call.place][which]
        raise AssertionError(f"no run met {call}")


def _require_honest(call: Call, outcome: Outcome) -> None:
    """A failure is service_unavailable, not a defect; unless nobody can be told."""
    if outcome.status not in (_KILLED, 0, _SERVICE_UNAVAILABLE):
        assert call.line.startswith("1<"), outcome.said


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_at_every_call(
    name: str, fault: str, tmp_path: Path, thorough: bool, met: Callable[[int], None]
) -> None:
    if not thorough and name not in _SHORT:
        pytest.skip("`make crash` sweeps every operation")
    sweep = Sweep(name, tmp_path)
    points = sweep.points()
    if not thorough:
        # Python opens files too, and not in every run as many: those are counted again and
        # again only where there is time for it.
        points = [call for call in points if call.name != "openat" and "/index" not in call.line]
        points = points[:: 1 if fault == "KILL" else 2]
    if fault != "KILL":
        points = [call for call in points if call.name != "exit_group"]
    met(len(points))
    failures: list[Exception] = []
    for call in points:
        try:
            sweep.meet(call, fault)
        except Exception as failure:
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(points)} points", failures)
