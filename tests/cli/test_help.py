"""Help, manual and completion say the same as the commands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pamctl.cli.command_table import COMMANDS
from pamctl.cli.environment import VARIABLES
from pamctl.cli.manual import pages
from pamctl.cli.topics import TOPICS, load
from pamctl.errors import CODES
from tests.cli.catalogue import VERBS, flags_of
from tests.cli.conftest import Program

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "man"
PAGES = pages()


def test_help_lists_every_command(pamctl: Program) -> None:
    shown = pamctl("--help")
    assert shown.status == 0
    assert shown.stderr == b""
    for name, line in COMMANDS.items():
        assert f"{name} " in shown.stdout.decode()
        assert line.summary in shown.stdout.decode()


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
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
        page = PAGES.get(f"man1/pamctl-{name}.1")
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
        assert f"'pamctl.cli.commands.{line.module}'" not in done.stderr.decode()


def test_exit_codes_are_those_of_the_error_classes(pamctl: Program) -> None:
    shown = pamctl("help", "exit-codes")
    rows = [line.split(maxsplit=2) for line in shown.stdout.decode().splitlines()[2:]]
    for kind in CODES:
        assert [str(kind.exit_status), kind.code, kind.meaning] in rows
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=int)


def test_help_without_a_topic_lists_them(pamctl: Program) -> None:
    listed = pamctl("help").stdout.decode().splitlines()
    assert [line.split()[0] for line in listed] == list(TOPICS)


def test_every_page_of_a_topic_is_one() -> None:
    assert {path.stem for path in (ROOT / "pamctl/cli/topics").glob("*.md")} == set(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_explains_with_facts_of_the_program(pamctl: Program, topic: str) -> None:
    shown = pamctl("help", topic)
    assert shown.status == 0
    text = shown.stdout.decode()
    assert text.startswith(load(topic).title + "\n\n")
    assert "{{" not in text
    _, at_terminal = pamctl.at_terminal("help", topic, env={"NO_COLOR": "1", "COLUMNS": "80"})
    prose = [line for line in at_terminal.splitlines() if not line.startswith("  ")]
    assert max(map(len, prose)) <= 80


@pytest.mark.parametrize("topic", TOPICS)
def test_the_examples_of_a_topic_are_commands_that_are_there(topic: str) -> None:
    examples = [block.text for block in load(topic).blocks if block.kind == "example"]
    for example in examples:
        for line in example.replace("\\\n", " ").splitlines():
            for call in re.findall(r"pamctl ([^|)>]*)", line):
                words = shlex.split(call) if call.count("'") % 2 == 0 else call.split()
                verb = next((v for v in VERBS if v == tuple(words[: len(v)])), None)
                assert verb is not None, call
                flags = {word for word in words if re.fullmatch(r"--[a-z-]+", word)}
                assert flags <= flags_of(verb), call


def test_variables_of_the_environment_are_documented() -> None:
    said = {name for name, _ in VARIABLES}
    used: set[str] = set()
    for path in (ROOT / "pamctl").rglob("*.py"):
        used |= set(re.findall(r'"(PAM_[A-Z_]+|XDG_[A-Z_]+)"', path.read_text(encoding="utf-8")))
    # Those that pamctl sets for the command that it runs in an evaluation.
    assert used - said <= {"PAM_EVALUATION", "PAM_EVALUATION_SOURCE"}
    assert {name for name in said if name.startswith("PAM_")} <= used


def test_version(pamctl: Program) -> None:
    from pamctl import __version__

    assert pamctl("--version").stdout.decode() == f"pamctl {__version__}\n"
    module = subprocess.run(
        [sys.executable, "-m", "pamctl", "--version"], capture_output=True, check=True
    )
    assert module.stdout.decode() == f"pamctl {__version__}\n"


def test_the_manual_is_current() -> None:
    written = {
        path.relative_to(MANUAL).as_posix(): path.read_text(encoding="utf-8")
        for path in MANUAL.glob("*/*")
    }
    assert written == PAGES, "run `python -m pamctl.cli.manual`"


def test_there_is_a_page_for_every_command_and_every_topic() -> None:
    assert {"man1/pamctl.1", "man5/pam-store.5"} <= PAGES.keys()
    for words in VERBS:
        assert f"man1/pamctl-{'-'.join(words)}.1" in PAGES
    for topic in TOPICS:
        assert f"man7/pamctl-{topic}.7" in PAGES


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_help_manual_and_completion_name_the_same_flags(words: tuple[str, ...]) -> None:
    verb, context = VERBS[words]
    page = PAGES[f"man1/pamctl-{'-'.join(words)}.1"].replace(r"\-", "-")
    said = verb.get_help(context)
    offered = {str(item.value) for item in verb.shell_complete(context, "--")}
    for flag in flags_of(words):
        assert flag in said
        assert flag in page
        assert flag in offered or not flag.startswith("--")


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
@pytest.mark.parametrize("page", PAGES)
def test_the_manual_is_clean(page: str) -> None:
    linted = subprocess.run(
        ["mandoc", "-Tlint"], input=PAGES[page].encode(), capture_output=True, check=False
    )
    assert linted.stdout == b""
    assert linted.returncode == 0


def test_version_and_verbose_tells_what_a_report_needs(pamctl: Program) -> None:
    from pamctl import __version__

    told = pamctl("--version", "--verbose").stdout.decode()
    assert told == pamctl("-v", "--version").stdout.decode()
    first, *rest = told.splitlines()
    assert first == f"pamctl {__version__}"
    rows = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in rest)
    assert rows["store format"] == "1"
    assert rows["python"].endswith(".".join(map(str, sys.version_info[:3])))
    assert rows["sqlite"]
    assert {"typer", "orjson", "cryptography", "jsonschema-rs"} <= rows.keys()
    assert "missing" not in rows.values()
