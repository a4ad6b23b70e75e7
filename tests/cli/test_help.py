"""Help, manual and completion say the same as the commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pamctl.cli.command_table import COMMANDS
from pamctl.cli.manual import pages
from pamctl.errors import CODES
from tests.cli.conftest import Program

MANUAL = Path(__file__).resolve().parents[2] / "man"
PAGES = pages()
VERBS = [tuple(name.removesuffix(".1").split("-")[1:]) for name in PAGES if name != "pamctl.1"]


def _words(page: str) -> tuple[str, ...]:
    """The words of the command that a page is about."""
    rest = page.removesuffix(".1").removeprefix("pamctl-")
    name = next(name for name in COMMANDS if rest == name or rest.startswith(name + "-"))
    member = rest.removeprefix(name).removeprefix("-")
    return (name, member) if member else (name,)


COMMAND_WORDS = [_words(page) for page in PAGES if page != "pamctl.1"]


def test_help_lists_every_command(pamctl: Program) -> None:
    shown = pamctl("--help")
    assert shown.status == 0
    assert shown.stderr == b""
    for name, line in COMMANDS.items():
        assert f"{name} " in shown.stdout.decode()
        assert line.summary in shown.stdout.decode()


@pytest.mark.parametrize("words", COMMAND_WORDS, ids=" ".join)
def test_every_command_has_help_with_an_example_and_its_exit_statuses(
    pamctl: Program, words: tuple[str, ...]
) -> None:
    shown = pamctl(*words, "--help")
    assert shown.status == 0
    assert shown.stderr == b""
    text = shown.stdout.decode()
    assert f"Usage: pamctl {' '.join(words)}" in text
    assert "\nExample:\n" in text
    assert "\nExit status:\n  0 " in text
    example = text.partition("\nExample:\n")[2]
    assert f"pamctl {' '.join(words)}" in example


def test_the_first_line_of_help_is_the_summary_in_the_list() -> None:
    for name, line in COMMANDS.items():
        page = PAGES.get(f"pamctl-{name}.1")
        if page is not None:
            summary = line.summary.rstrip(".").replace("-", r"\-").replace("'", r"\(aq")
            assert rf"\- {summary[:1].lower()}{summary[1:]}" in page.replace("\n", " "), name


def test_help_imports_no_command() -> None:
    script = (
        "import sys; sys.argv = ['pamctl', '--help']\n"
        "from pamctl.cli.main import run; run()\n"
        "print([m for m in sys.modules if m.startswith('pamctl.')], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    for line in COMMANDS.values():
        assert f"'{line.module}'" not in done.stderr.decode()


def test_exit_codes_are_those_of_the_error_classes(pamctl: Program) -> None:
    shown = pamctl("help", "exit-codes")
    rows = [line.split(maxsplit=2) for line in shown.stdout.decode().splitlines()]
    for kind in CODES:
        assert [str(kind.exit_status), kind.code, kind.meaning] in rows
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=int)


def test_help_without_a_topic_lists_them(pamctl: Program) -> None:
    assert b"exit-codes" in pamctl("help").stdout


def test_version(pamctl: Program) -> None:
    from pamctl import __version__

    assert pamctl("--version").stdout.decode() == f"pamctl {__version__}\n"
    module = subprocess.run(
        [sys.executable, "-m", "pamctl", "--version"], capture_output=True, check=True
    )
    assert module.stdout.decode() == f"pamctl {__version__}\n"


def test_the_manual_is_current() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in MANUAL.glob("*.1")}
    assert written == PAGES, "run `python -m pamctl.cli.manual`"


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
@pytest.mark.parametrize("page", PAGES)
def test_the_manual_is_clean(page: str) -> None:
    linted = subprocess.run(
        ["mandoc", "-Tlint"], input=PAGES[page].encode(), capture_output=True, check=False
    )
    assert linted.stdout == b""
    assert linted.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_its_shell_reads(pamctl: Program, shell: str) -> None:
    script = pamctl("completion", shell)
    assert script.status == 0
    assert b"pamctl" in script.stdout
    if shutil.which(shell) is not None and shell != "zsh":
        read = subprocess.run([shell, "-n"], input=script.stdout, capture_output=True, check=False)
        assert read.stderr == b""


def test_completion_completes_commands_and_options(pamctl: Program) -> None:
    def complete(words: str, place: int) -> list[str]:
        environment = {
            "_PAMCTL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(place),
        }
        return pamctl(env=environment).stdout.decode().split()

    assert complete("pamctl cre", 1) == ["create"]
    assert "--content-file" in complete("pamctl create --con", 2)
    assert complete("pamctl scope sh", 2) == ["show"]
