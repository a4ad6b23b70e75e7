"""Every file that an operation makes in the store fails to be made, or the process dies before
it. What the sweep by strace counts in its thorough form alone, this counts alike in every run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.judging import Reference, copied, judge, judge_again, reference
from tests.crash.scenarios import SCENARIOS
from tests.crash.tracing import ROOT, Outcome

_SHORT = (("create-keyed", "KILL"), ("create-keyed", "EIO"), ("batch", "KILL"), ("erase", "EIO"))
_SERVICE_UNAVAILABLE = 75
_OPENINGS_MAX = 60


def _act(name: str, store: Path, *fault: str) -> Outcome:
    command = [sys.executable, "-m", "tests.crash.actor", name, str(store), *fault]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=60)
    return Outcome(done.stdout.splitlines(), done.returncode, done.stderr.decode())


@pytest.mark.parametrize("fault", ["KILL", "EIO"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_at_every_file_that_is_made(
    name: str, fault: str, tmp_path: Path, thorough: bool, met: Callable[[int], None]
) -> None:
    if not thorough and (name, fault) not in _SHORT:
        pytest.skip("`make crash` does this to every operation")
    prepared, store = tmp_path / "prepared" / ".pam", tmp_path / "run" / ".pam"
    SCENARIOS[name].prepare(prepared)
    prepared.parent.mkdir(exist_ok=True)
    whole = _act(name, copied(prepared, store))
    assert whole.status == 0, whole.said
    known: Reference = reference(name, prepared, store, whole.answers)
    for number in range(1, _OPENINGS_MAX):
        outcome = _act(name, copied(prepared, store), str(number), fault)
        refused = outcome.status == _SERVICE_UNAVAILABLE and not known.scenario.erases
        judge(store, known, outcome.answers, refused=refused)
        judge_again(store, known, outcome.answers)
        if outcome.status == 0 and fault == "KILL":
            break
        if outcome == whole:
            break
    else:
        raise AssertionError("it makes more files than anybody would have thought")
    assert number > 1
    met(number - 1)
