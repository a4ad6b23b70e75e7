"""What tests of every kind share: a store that repeats itself, and the installed program."""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("deterministic", derandomize=True, database=None, deadline=None)
settings.load_profile("deterministic")

# A shell lets what it runs in the background ignore this, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="the long forms of tests that have one (minutes)"
    )


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether every case is wanted, where a short form takes seconds."""
    return bool(pytestconfig.getoption("--thorough"))


PATIENT = """
from pamctl import limits
limits.LOCK_WAIT_SEC = 300
"""
"""What processes of a test begin with that wait for one another: a device may stall for longer
than anybody wants to wait."""

FIRST_MOMENT_NS = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z: the first reading of the fixed clock."""


class FixedClock:
    """A clock that begins at FIRST_MOMENT_NS and advances one second a reading."""

    def __init__(self) -> None:
        self.now_ns = FIRST_MOMENT_NS - 1_000_000_000

    def __call__(self) -> int:
        self.now_ns += 1_000_000_000
        return self.now_ns


class FixedEntropy:
    """Bytes that look random and are the same in every run; under each name others."""

    def __init__(self, name: str = "draw") -> None:
        self._name = name.encode()
        # Counting in one step: threads draw too.
        self._draws = itertools.count(1)

    def __call__(self, count: int) -> bytes:
        return hashlib.shake_256(b"%s %d" % (self._name, next(self._draws))).digest(count)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def entropy() -> FixedEntropy:
    return FixedEntropy()


@pytest.fixture(autouse=True)
def fixed_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever store a test opens has a clock and draws that are the same in every run: of them
    come addresses, and of these the names of files, their order, and which share a folder. Where
    other processes write to the same stores a conftest.py takes it back."""
    from pamctl.service import store
    from pamctl.service.sources import Sources

    own_clock, own_entropy = FixedClock(), FixedEntropy("of the test")

    def sources(clock: Any, entropy: Any) -> Sources:
        return Sources(clock or own_clock, entropy or own_entropy)

    monkeypatch.setattr(store, "_sources", sources)


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock, entropy: FixedEntropy) -> Any:
    """A new store in the test's folder; the same calls give it the same bytes in every run."""
    import pamctl

    return pamctl.init_store(tmp_path / ".pam", clock=clock, entropy=entropy)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the test waits for others as those do that begin with PATIENT."""
    monkeypatch.setattr("pamctl.store.commit.LOCK_WAIT_SEC", 300.0)
    monkeypatch.setattr("pamctl.index.database.LOCK_WAIT_SEC", 300.0)
    monkeypatch.setattr("pamctl.store.lock.exclusive.__kwdefaults__", {"wait_sec": 300.0})


@pytest.fixture
def one_day() -> None:
    """The day in UTC does not end while the test runs, which would make yesterday of today."""
    left_sec = _DAY_SEC - time.time() % _DAY_SEC
    if left_sec < 90:
        time.sleep(left_sec + 1)


_DAY_SEC = 86_400

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the installed `pamctl` in the test's folder, with nothing of the caller's environment.

    `run("read", "mem:tea", stdin=b"", env={"NO_COLOR": "1"}, cwd=folder)` answers the completed
    process with bytes in `stdout` and `stderr`; its status is the test's to judge.
    """

    def call(
        *words: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_sec: float = 60,
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [pamctl_program(), *words],
            input=stdin,
            env=measured_once({**clean_environment(tmp_path), **(env or {})}, words),
            cwd=cwd or tmp_path,
            capture_output=True,
            timeout=timeout_sec,
            check=False,
        )

    return call


def pamctl_program() -> Path:
    """The console script beside the interpreter that runs the tests."""
    return Path(sys.executable).parent / "pamctl"


def clean_environment(home: Path) -> dict[str, str]:
    """An environment that says nothing but where programs are, how text is encoded, and, where
    coverage is measured, that it is."""
    programs = [str(Path(sys.executable).parent), os.defpath]
    measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {
        **measured,
        "PATH": os.pathsep.join(programs),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
    }


_BEGINNINGS = ("init", "create", "stdio")
"""What other tests begin with, or all of a module's tests talk to: of these one run in a module
tells enough."""

_measured: set[tuple[str, ...]] = set()


def measured_once(environment: Mapping[str, str], words: Sequence[str]) -> dict[str, str]:
    """The environment for a run of the program, in which coverage is measured unless a run like
    it was measured before: of the same test, with the same command and flags, whatever their
    values. Help is alike for all commands. Measuring doubles what a process takes."""
    test, _, _ = os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")
    commands = [word for word in words[:2] if word.replace("-", "").isalpha()]
    if "--help" in words:
        commands = []
    flags = sorted({word.partition("=")[0] for word in words if word.startswith("-")})
    if commands and commands[0] in _BEGINNINGS:
        test, _, _ = test.partition("::")
    run = (test.partition(" ")[0], *commands, *flags)
    if run not in _measured:
        _measured.add(run)
        return dict(environment)
    return unmeasured(environment)


def unmeasured(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what has coverage measured."""
    return {name: value for name, value in environment.items() if not name.startswith("COVERAGE_")}
