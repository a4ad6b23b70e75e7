"""How far something has got: shown to a person at a terminal, and to nobody else."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest

from pamctl.cli.terminal import progress
from pamctl.cli.terminal.progress import FileProgress, Progress, Waiting


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


def test_a_file_is_counted_as_it_is_read(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Also where the answer will go to the terminal: nothing is printed before it."""
    said = Stream(True)
    monkeypatch.setattr("sys.stderr", said)
    monkeypatch.setattr("sys.stdout", Stream(True))
    with FileProgress("read") as bar, bar.of(io.BytesIO(bytes(5_000_000))) as file:
        while file.read(1_000_000):
            clock.now += 1.0
    assert "\r\x1b[Kpamctl: 4 MB read, 1 MB a second" in said.getvalue()
    assert said.getvalue().endswith("\r\x1b[K")


def test_how_much_there_is_to_read_is_said(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, tmp_path: Path
) -> None:
    said = Stream(True)
    monkeypatch.setattr("sys.stderr", said)
    path = tmp_path / "memory.jsonl"
    path.write_bytes(b"x\n" * 1_500_000)
    with FileProgress("read") as bar, bar.of(path.open("rb")) as file:
        clock.now += 2.0
        assert len(file.readline()) == 2
    assert "0 of 3 MB read" in said.getvalue()


def test_a_file_that_nobody_watches_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("sys.stderr", Stream(False))
    with FileProgress("written") as bar:
        file = io.BytesIO()
        assert bar.of(file) is file


def test_waiting_says_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE_SEC", 0.01)
    monkeypatch.setattr(progress, "_BETWEEN_SEC", 0.01)
    said = Stream(True)
    monkeypatch.setattr("sys.stderr", said)
    with Waiting("checking the store"):
        end = time.monotonic() + 60
        while not said.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    assert re.search(r"pamctl: checking the store, \d+ s", said.getvalue())
    assert said.getvalue().endswith("\r\x1b[K")


def test_nobody_who_is_not_there_is_told_of_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_SEC", 0.01)
    said = Stream(False)
    monkeypatch.setattr("sys.stderr", said)
    with Waiting("checking the store"):
        time.sleep(0.1)
    assert said.getvalue() == ""
