"""The power fails at any moment: what was acknowledged is there, whatever the device made of
what was not synced; and the same request, made again, is done once."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.crash.judging import Reference, copied, judge, judge_again, reference
from tests.crash.power import Device, lay_out
from tests.crash.scenarios import SCENARIOS
from tests.crash.tracing import AVAILABLE, record

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="strace is not installed")

_TRACED_BYTES_MAX = 1 << 20
_SHORT = ("create-keyed", "batch-atomic")
_INDEXES = ("none", "before", "after")

Held = Mapping[str, bytes | None]


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_the_device_kept(name: str, tmp_path: Path, thorough: bool) -> None:
    if not thorough and name not in _SHORT:
        pytest.skip("`make crash` cuts the power in every operation")
    prepared, traced = tmp_path / "prepared" / ".pam", tmp_path / "run" / ".pam"
    SCENARIOS[name].prepare(prepared)
    prepared.parent.mkdir(exist_ok=True)
    device = Device(copied(prepared, traced).parent)
    calls, outcome = record(name, traced, bytes_max=_TRACED_BYTES_MAX)
    assert outcome.status == 0, outcome.said
    known = reference(name, prepared, traced, outcome.answers)
    indexes = {"before": prepared / "index", "after": tmp_path / "index"}
    shutil.copytree(traced / "index", indexes["after"])
    met = 0
    failures: list[Exception] = []
    for number, (point, answers, held) in enumerate(_states(device, calls)):
        index = indexes.get(_INDEXES[number % len(_INDEXES)])
        if index == indexes["after"] and _lacks_removals(held, traced.name, known):
            # That an index says that nothing is left comes later than that nothing is left.
            index = None
        met += 1
        try:
            _judge(traced, held, index, known, outcome.answers[:answers])
        except Exception as failure:
            failure.add_note(f"power cut after {point.name} {point.line[:300]}, index {index}")
            failures.append(failure)
    assert device.answers == len(outcome.answers)
    assert met > len(known.answers)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {met} states", failures)


def _states(device: Device, calls: list[object]) -> Iterator[tuple[object, int, Held]]:
    """Every state that differs from those before, with how much was acknowledged by then."""
    seen = set()
    chance = random.Random(1)
    for call in calls:
        if device.carry_out(call):
            for held in device.states(chance):
                state = (device.answers, frozenset(held.items()))
                if state not in seen:
                    seen.add(state)
                    yield call, device.answers, held


def _lacks_removals(held: Held, store: str, known: Reference) -> bool:
    """Whether something is there that an erasure is to remove."""
    gone = known.before.keys() - known.after.keys()
    return known.scenario.erases and any(f"{store}/{name}" in held for name in gone)


def _judge(
    store: Path, held: Held, index: Path | None, known: Reference, answers: list[bytes]
) -> None:
    shutil.rmtree(store.parent)
    lay_out(held, store.parent)
    if index is not None and index.exists() and store.exists():
        shutil.copytree(index, store / "index", dirs_exist_ok=True)
    judge(store, known, answers)
    judge_again(store, known, answers)
