"""How far something has got: shown to a person at a terminal, and to nobody else."""

from __future__ import annotations

import io

import pytest

from pamctl.cli.terminal import progress
from pamctl.cli.terminal.progress import Progress


class Stream(io.StringIO):
    """Text that says whether it is a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return clock


def shown(
    monkeypatch: pytest.MonkeyPatch,
    clock: Clock,
    *,
    stderr: bool = True,
    stdout: bool = False,
    quiet: bool = False,
    seconds: int = 3,
) -> str:
    """What stands on standard error when 1,000 things a second were done."""
    said = Stream(stderr)
    monkeypatch.setattr("sys.stderr", said)
    monkeypatch.setattr("sys.stdout", Stream(stdout))
    with Progress("operations", quiet=quiet) as bar:
        for _ in range(seconds):
            clock.now += 1.0
            bar.advance(1000)
    return said.getvalue()


def test_it_counts_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    said = shown(monkeypatch, clock)
    assert "\r\x1b[Kpamctl: 3,000 operations, 1,000 a second" in said
    assert said.endswith("\r\x1b[K")
    assert "\n" not in said


def test_what_is_soon_over_needs_no_word(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    clock.now = -0.5
    said = Stream(True)
    monkeypatch.setattr("sys.stderr", said)
    monkeypatch.setattr("sys.stdout", Stream(False))
    with Progress("operations") as bar:
        clock.now = 0.4
        bar.advance(1)
    assert said.getvalue() == ""


@pytest.mark.parametrize("where", [{"stderr": False}, {"stdout": True}, {"quiet": True}], ids=str)
def test_only_a_person_who_sees_nothing_else_is_told(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, where: dict[str, bool]
) -> None:
    assert shown(monkeypatch, clock, **where) == ""


def test_a_terminal_that_cannot_go_back_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown(monkeypatch, clock) == ""


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    lines = shown(monkeypatch, clock).split("\r\x1b[K")
    assert max(map(len, lines)) < 20
