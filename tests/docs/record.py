"""Writes what the commands of a document print into the document.

    python -m tests.docs.record docs/first-ten-minutes.md

runs its shell blocks as the tests do and puts what the terminal showed behind each command.
Identifiers, times and folders become `...`, so that recording again changes nothing unless
something has changed.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from tests.conftest import clean_environment
from tests.docs.shell_blocks import Step, read_blocks, run_steps

ROOT = Path(__file__).resolve().parents[2]

_CHANGING = (
    (r"\b((?:ver|evt|op|prov|store|mem|rel|snap|sub|del):)[0-9a-f]{32}\b", r"\1..."),
    (r"\b[0-9a-f]{64}\b", "..."),
    (r"\b20\d\d-\d\d-\d\d(T[0-9:.]+Z)?(, today)?", "..."),
    (r"\b\d\d:\d\d:\d\dZ\b", "..."),
    (r"\bjust now|\b\d+ seconds? ago", "..."),
    (r"^store  .*", "..."),  # folded or not, as the folder is long or short
    (r"\b\d+ kB\b", "..."),
    (r"\b[0-9a-f]{12}$", "..."),
    (r" in /\S+ or above", " in ... or above"),
    (r"actor:local:[A-Za-z0-9._+-]+", "actor:local:..."),
    (r"(?<!\S)/\S*/(?=\.pam|answer)", ".../"),
    (r"\b(key id|key_id) +\S+", r"\1 ..."),
)
"""What differs from one run to the next, and what is written for it."""


def record(document: Path) -> str:
    """The text of a document with what its commands print now."""
    text = document.read_text(encoding="utf-8")
    steps = [step for block in read_blocks(text) for step in block.steps]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "checkout"
        folder.mkdir()
        shutil.copytree(ROOT / "examples", folder / "examples")
        environment = {**clean_environment(Path(place)), "TERM": "dumb"}
        outcomes = run_steps(steps, folder, environment)
    printed = {outcome.step: outcome.printed for outcome in outcomes}
    return _written(text, printed)


def _written(text: str, printed: dict[Step, str]) -> str:
    by_line = {step.line: step for step in printed if step.shown is not None}
    lines: list[str] = []
    skipping = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if skipping:
            skipping -= 1
            continue
        lines.append(line)
        step = by_line.get(number)
        if step is not None:
            more = step.command.count("\n")
            lines += text.splitlines()[number : number + more]
            lines += [_settled(shown) for shown in printed[step].splitlines()]
            skipping = more + len(step.shown or ())
    return "\n".join(lines) + "\n"


def _settled(line: str) -> str:
    for pattern, instead in _CHANGING:
        line = re.sub(pattern, instead, line)
    return re.sub(r"(\.\.\. *){2,}", "...", line.rstrip())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(record(Path(name)), encoding="utf-8")
