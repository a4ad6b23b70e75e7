"""Shell blocks of Markdown documents: read, run as if typed at a terminal, and compared.

A ```console block holds commands after `$ ` (continued after `> `), each followed by what it
prints. A ```sh block is a piece of a script whose output is not shown. All blocks of a document
run in one shell, in order, in a folder of their own that holds a copy of examples/.

- `...` within a line of output stands for any text; alone on a line, for any lines or none.
- A command must succeed, or be followed by `$ echo $?`, which shows its status.
- `<!-- run by .ci/run -->` before a block: it is not run here; a test finds it in .ci/run.
- `<!-- needs ../shared -->` before a block: it runs where that folder stands by the checkout.
- `<!-- needs the package NAME -->` before a block: it runs where that is installed.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

IN_CI = "<!-- run by .ci/run -->"
NEEDS_SHARED = "<!-- needs ../shared -->"
NEEDS_PACKAGE = re.compile(r"<!-- needs the package (\w+) -->")

_TERMINAL_ROWS, _TERMINAL_COLUMNS = 50, 100
_PATIENCE_SEC = 300
_MARK = "\x1e"


@dataclass(frozen=True)
class Step:
    """A command of a document, or a piece of script.

    line: where it stands in the document, from 1.
    shown: what it is said to print; None where the document does not say.
    """

    line: int
    command: str
    shown: tuple[str, ...] | None


@dataclass(frozen=True)
class Block:
    """A fenced block and the comment line before it, if there is one."""

    steps: tuple[Step, ...]
    comment: str


@dataclass(frozen=True)
class Outcome:
    """What became of a step: its exit status, and all that the terminal showed."""

    step: Step
    status: int
    printed: str


def read_blocks(text: str) -> list[Block]:
    """The shell blocks of a Markdown document, in order."""
    blocks, before = [], ""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if line.startswith("```"):
            kind, body = line[3:].strip(), list(_until_fence(lines))
            if kind == "console":
                blocks.append(Block(tuple(_console_steps(number, body)), before))
            elif kind == "sh":
                blocks.append(Block((Step(number + 1, "\n".join(body), None),), before))
        if line.strip():
            before = line.strip()
    return blocks


def _until_fence(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if line.startswith("```"):
            return
        yield line
    raise AssertionError("a fenced block has no end")


def _console_steps(fence_line: int, body: list[str]) -> Iterator[Step]:
    starts = [i for i, line in enumerate(body) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {fence_line}: a console block begins with a command"
    for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
        shown = start + 1
        while shown < end and body[shown].startswith("> "):
            shown += 1
        command = "\n".join(line[2:] for line in body[start:shown])
        yield Step(fence_line + 1 + start, command, tuple(body[shown:end]))


def run_steps(steps: list[Step], folder: Path, environment: Mapping[str, str]) -> list[Outcome]:
    """Runs steps in one shell in `folder`, its output a terminal of 100 columns."""
    script = folder.parent / "steps.sh"
    script.write_text(
        "\n".join(
            f"{step.command}\n"
            f"__status=$?; printf '{_MARK}%d{_MARK}' \"$__status\"; (exit $__status)"
            for step in steps
        )
    )
    screen = _show([shutil.which("bash") or "sh", str(script)], folder, environment)
    parts = screen.split(_MARK)
    outcomes = [
        Outcome(step, int(status), printed)
        for step, printed, status in zip(steps, parts[0::2], parts[1::2], strict=False)
    ]
    assert len(outcomes) == len(steps), (
        f"line {steps[len(outcomes)].line}: the shell went no further:\n{parts[-1]}"
    )
    return outcomes


def _show(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Everything that a command writes to the terminal which it is given."""
    keyboard, screen = pty.openpty()
    size = struct.pack("HHHH", _TERMINAL_ROWS, _TERMINAL_COLUMNS, 0, 0)
    fcntl.ioctl(screen, termios.TIOCSWINSZ, size)
    settings = termios.tcgetattr(screen)
    settings[1] &= ~termios.OPOST  # or every newline would come back as two characters
    termios.tcsetattr(screen, termios.TCSANOW, settings)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=screen,
        stderr=screen,
        start_new_session=True,
    )
    os.close(screen)
    try:
        return b"".join(_read_all(keyboard)).decode()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(keyboard)


def _read_all(terminal: int) -> Iterator[bytes]:
    deadline = time.monotonic() + _PATIENCE_SEC
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([terminal], [], [], left)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:  # EIO: Linux says so that the other side was closed
            return
        if not data:
            return
        yield data
    raise AssertionError(f"the shell was not done after {_PATIENCE_SEC} seconds")


def complaints(outcomes: list[Outcome]) -> list[str]:
    """What the document says and the shell did not do, with the line of each."""
    found = []
    for place, outcome in enumerate(outcomes):
        step = outcome.step
        follows = outcomes[place + 1].step.command if place + 1 < len(outcomes) else ""
        if outcome.status != 0 and follows != "echo $?":
            found.append(f"line {step.line}: status {outcome.status}:\n{outcome.printed}")
        elif step.shown is not None and not _matches(step.shown, outcome.printed):
            shown = "\n".join(step.shown)
            found.append(
                f"line {step.line}: {step.command}\n--- the document\n{shown}"
                f"\n--- the terminal\n{outcome.printed}"
            )
    return found


def _matches(shown: tuple[str, ...], printed: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else _line_pattern(line.rstrip()) for line in shown
    )
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, lines) is not None


def _line_pattern(line: str) -> str:
    return ".*".join(re.escape(piece) for piece in line.split("...")) + r"\n"
