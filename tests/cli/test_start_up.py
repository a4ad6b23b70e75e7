"""What a command imports is what it costs: reading stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.catalogue import VERBS, call_of
from tests.cli.conftest import Program

HEAVY = {
    "cbor2",
    "cryptography",
    "filelock",
    "json_merge_patch",
    "jsonpatch",
    "jsonpath",
    "jsonschema_rs",
    "pydantic",
    "rfc8785",
    "rich",
}


def imported_by(program: Program, *words: str, check: bool = True) -> set[str]:
    """The modules that a run of the program has imported when it ends."""
    script = (
        f"import sys; sys.argv = ['pamctl', *{list(words)!r}]\n"
        "from pamctl.cli.main import run; status = run()\n"
        "print(' '.join(sys.modules), file=sys.stderr)\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        cwd=program.folder,
        # Measuring coverage imports modules of its own.
        env={n: v for n, v in program.environment.items() if not n.startswith("COVERAGE_")},
        check=check,
    )
    return set(done.stderr.decode().split())


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("read", "mem:tea"),
        ("query",),
        ("query", "--text", "tea", "--as-of", "2100-01-01T00:00:00Z"),
        ("query", "--related-to", "mem:tea", "--relationships"),
        ("query", "--where", "content.a[0] = 1 and not object_type = 'task'", "--any-state"),
        ("history", "mem:tea"),
        ("log",),
        ("subscribe", "list"),
        ("status",),
        ("scope", "list"),
        ("scope", "show", "workspace:default"),
        ("index", "status"),
        ("snapshot", "list"),
        ("space", "list"),
        ("help", "exit-codes"),
    ],
    ids=" ".join,
)
def test_commands_that_read_import_nothing_heavy(in_store: Program, words: tuple[str, ...]) -> None:
    in_store("create", "--type", "claim", "--content", '"tea"', "--id", "mem:tea")
    assert HEAVY & imported_by(in_store, *words) == set()


NEED_MORE = {
    ("checkpoint", "verify"): "verifies signatures",
    ("key", "list"): "reads keys",
    ("key", "show"): "reads keys",
}
"""Commands that read and have to import something heavy, and why."""

READING = [
    words
    for words in VERBS
    if words not in NEED_MORE
    and (
        words[-1] in ("list", "show", "status", "diff")
        or words[0] in ("read", "query", "history", "log", "config", "completion", "help")
    )
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_every_command_that_reads_stays_light(in_store: Program, words: tuple[str, ...]) -> None:
    """Also where it fails: with the least that it can be called with."""
    assert HEAVY & imported_by(in_store, *call_of(words), check=False) == set()


def test_version_imports_next_to_nothing(pamctl: Program) -> None:
    modules = imported_by(pamctl, "--version")
    assert HEAVY & modules == set()
    assert not {"typer", "orjson", "sqlite3", "json"} & modules


def test_a_command_imports_no_other(in_store: Program) -> None:
    modules = imported_by(in_store, "status")
    assert "pamctl.cli.commands.status" in modules
    assert (
        not {"pamctl.cli.commands.create", "pamctl.cli.commands.query", "pamctl.bindings.batch"}
        & modules
    )
