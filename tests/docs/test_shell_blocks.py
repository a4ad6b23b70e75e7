"""What the documents say that a shell does, it does."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import clean_environment, unmeasured
from tests.docs.shell_blocks import (
    IN_CI,
    NEEDS_PACKAGE,
    NEEDS_SHARED,
    Outcome,
    Step,
    complaints,
    read_blocks,
    run_steps,
)

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
DOCUMENTS = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/README.md"),
    ]
)


def _name(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def _blocks_run(document: Path) -> list[Step]:
    left_out = {IN_CI} if SHARED.is_dir() else {IN_CI, NEEDS_SHARED}
    blocks = read_blocks(document.read_text(encoding="utf-8"))
    return [
        step
        for block in blocks
        if block.comment not in left_out and not _lacks_package(block.comment)
        for step in block.steps
    ]


def _lacks_package(comment: str) -> bool:
    needed = NEEDS_PACKAGE.fullmatch(comment)
    return needed is not None and find_spec(needed[1]) is None


@pytest.mark.parametrize(
    "document", [document for document in DOCUMENTS if _blocks_run(document)], ids=_name
)
def test_a_document_shows_what_happens(document: Path, tmp_path: Path, one_day: None) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples")
    if SHARED.is_dir():
        (tmp_path / "shared").symlink_to(SHARED)
    # Documents run hundreds of processes; to measure them too would double what that takes.
    environment = {**unmeasured(clean_environment(tmp_path)), "TERM": "dumb"}
    outcomes = run_steps(_blocks_run(document), folder, environment)
    found = complaints(outcomes)
    assert not found, f"\n{_name(document)}, " + f"\n{_name(document)}, ".join(found)


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_what_is_left_to_ci_is_run_there(document: Path) -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = {re.sub(r"^check |\s+[#2|].*", "", line).strip() for line in ci.splitlines()}
    for block in read_blocks(document.read_text(encoding="utf-8")):
        if block.comment == IN_CI:
            for step in block.steps:
                for command in step.command.splitlines():
                    plain = command.partition("#")[0].strip()
                    assert plain in commands, f"{_name(document)}:{step.line}: {plain}"


TEXT = """\
Before.

```console
$ printf 'one\\ntwo\\n'
one
two
$ cat <<'END'
> a line
> END
a line
$ false
$ echo $?
1
```

```json
{"not": "run"}
```

<!-- run by .ci/run -->
```sh
make test
```
"""


def test_blocks_are_read_as_they_are_written() -> None:
    typed, script = read_blocks(TEXT)
    assert [step.command for step in typed.steps] == [
        "printf 'one\\ntwo\\n'",
        "cat <<'END'\na line\nEND",
        "false",
        "echo $?",
    ]
    assert [step.shown for step in typed.steps] == [("one", "two"), ("a line",), (), ("1",)]
    assert [step.line for step in typed.steps] == [4, 7, 11, 12]
    assert script.comment == IN_CI
    assert script.steps == (Step(22, "make test", None),)


def test_a_shell_keeps_its_state_and_has_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    steps = [
        Step(1, "x=1; cd /", None),
        Step(2, 'test -t 1 && echo "$x $PWD"; test -t 0; (exit 7)', None),
        Step(3, "echo $?", None),
    ]
    outcomes = run_steps(steps, folder, clean_environment(tmp_path))
    assert [(outcome.status, outcome.printed) for outcome in outcomes] == [
        (0, ""),
        (7, "1 /\n"),
        (0, "7\n"),
    ]


def test_a_shell_that_stops_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    with pytest.raises(AssertionError, match="line 2: the shell went no further"):
        run_steps([Step(1, "true", None), Step(2, "exit 3", None)], folder, {})


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ((), "", True),
        ((), "a\n", False),
        (("a", "b"), "a\nb\n", True),
        (("a", "b"), "a\n", False),
        (("a.c",), "abc\n", False),
        (("version ver:..., done",), "version ver:12, done\n", True),
        (("version ver:..., done",), "version ver:12, gone\n", False),
        (("a", "...", "z"), "a\nz\n", True),
        (("a", "...", "z"), "a\nb\nc\nz\n", True),
        (("a", "..."), "b\nc\n", False),
        (("a",), "a  \n", True),
        (("a",), "a", True),
    ],
)
def test_output_is_compared_line_by_line(shown: tuple[str, ...], printed: str, fits: bool) -> None:
    outcome = Outcome(Step(1, "command", shown), 0, printed)
    assert (complaints([outcome]) == []) is fits


def test_a_failure_must_show_its_status() -> None:
    failed, asked = Outcome(Step(1, "false", ()), 1, ""), Outcome(Step(2, "echo $?", None), 0, "")
    assert complaints([failed]) != []
    assert complaints([failed, asked]) == []
