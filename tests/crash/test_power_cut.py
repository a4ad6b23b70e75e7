"""The power fails at any moment: what was acknowledged is there, whatever the device made of
what was not synced; and the same request, made again, is done once."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.crash.judging import Reference, copied, judge, judge_again, reference
from tests.crash.power import Device, Held, lay_out
from tests.crash.scenarios import SCENARIOS
from tests.crash.tracing import AVAILABLE, Call, record

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="strace is not installed")

_TRACED_BYTES_MAX = 1 << 20
_SHORT = ("create-keyed", "batch-atomic")


class State(NamedTuple):
    """What a device may hold: after which call, how much was acknowledged by then, and all
    that was ever written to the indexes while it could still be so."""

    point: Call
    answers: int
    held: Held
    index: Held


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_the_device_kept(
    name: str, tmp_path: Path, thorough: bool, met: Callable[[int], None]
) -> None:
    if not thorough and name not in _SHORT:
        pytest.skip("`make crash` cuts the power in every operation")
    prepared, traced = tmp_path / "prepared" / ".pam", tmp_path / "run" / ".pam"
    SCENARIOS[name].prepare(prepared)
    prepared.parent.mkdir(exist_ok=True)
    device = Device(copied(prepared, traced).parent)
    before = device.index(traced.name)
    calls, outcome = record(name, traced, bytes_max=_TRACED_BYTES_MAX)
    assert outcome.status == 0, outcome.said
    known = reference(name, prepared, traced, outcome.answers)
    states = _states(device, calls, traced.name)
    met(len(states))
    failures: list[Exception] = []
    for number, state in enumerate(states):
        # The newest index, none, and the one that was there.
        index = (state.index, {}, state.index, before)[number % 4]
        try:
            _judge(traced, state.held, index, known, outcome.answers[: state.answers])
        except Exception as failure:
            failure.add_note(
                f"power cut after {state.point.name} {state.point.line[:300]}, index {number % 4}"
            )
            failures.append(failure)
    assert device.answers == len(outcome.answers)
    assert len(states) > len(known.answers)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(states)} states", failures)


def _states(device: Device, calls: list[Call], store: str) -> list[State]:
    """Every state that the device may be in, in the order in which they first were possible."""
    chance, found = random.Random(1), dict[Any, State]()
    for call in calls:
        if device.carry_out(call):
            index = device.index(store)
            for held in device.states(chance):
                key = (device.answers, frozenset(held.items()))
                first = found.get(key)
                point = call if first is None else first.point
                found[key] = State(point, device.answers, held, index)
    return [*found.values()]


def _judge(store: Path, held: Held, index: Held, known: Reference, answers: list[bytes]) -> None:
    shutil.rmtree(store.parent)
    lay_out(held, store.parent)
    if index and store.exists():
        (store / "index").mkdir()
        lay_out(index, store / "index")
    judge(store, known, answers)
    judge_again(store, known, answers)
