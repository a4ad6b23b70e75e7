"""What a command imports is what it costs: reading stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.catalogue import VERBS, call_of
from tests.cli.conftest import Program
from tests.conftest import unmeasured

HEAVY = {
    "_hashlib",
    "cbor2",
    "cryptography",
    "filelock",
    "hmac",
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
        env=unmeasured(program.environment),
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


CHECKS = [
    ("fsck",),
    ("repair",),
    ("audit",),
    ("verify-export", "all.pamb"),
    ("audit", "all.pamb"),
    ("checkpoint", "verify", "head"),
]


def test_checks_of_little_import_only_what_signatures_need(in_store: Program) -> None:
    in_store("create", "--type", "claim", "--content", '"tea"', "--id", "mem:tea")
    in_store("export", "--output", "all.pamb")
    in_store("checkpoint", "create", "--output", "head")
    for words in CHECKS:
        modules = imported_by(in_store, *words, check=words[0] != "checkpoint")
        assert HEAVY & modules <= {"cryptography"}, words
        assert not {"pamctl.service.store", "concurrent.futures", "multiprocessing"} & modules
        assert not {"tempfile", "pamctl.store.records"} & modules, words


def test_verifying_a_projection_imports_nothing_that_selects(in_store: Program) -> None:
    in_store("create", "--type", "claim", "--content", '"tea"', "--id", "mem:tea")
    in_store("key", "generate", "adapter")
    asked = ("--request", "tea", "--validation", "unverified")
    in_store("project", "--key", "adapter", "--out", "made", *asked)
    modules = imported_by(in_store, "verify-projection", "made")
    assert HEAVY & modules <= {"cryptography", "cbor2"}
    assert not {"pamctl.projection.produce", "pamctl.service.store", "glob", "tempfile"} & modules


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


WRITING = {"pamctl.service.desk", "pamctl.store.commit", "pamctl.cli.once"}

OWN_MODULES_MAX = 95
"""Modules of pamctl that the largest of these imports, and a few to spare."""


@pytest.mark.parametrize(
    ("words", "spared"),
    [
        (("read", "mem:tea"), WRITING),
        (("query", "--text", "tea"), WRITING),
        (("snapshot", "list"), WRITING - {"pamctl.cli.once"}),
        (("schema", "list"), WRITING),
        (("space", "list"), WRITING),
        (("subscribe", "list"), WRITING - {"pamctl.cli.once"}),
        (("delegate", "list"), {"pamctl.cli.once"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_who_reads_imports_little_and_nothing_that_writes(
    in_store: Program, words: tuple[str, ...], spared: set[str]
) -> None:
    in_store("create", "--type", "claim", "--content", '"tea"', "--id", "mem:tea")
    modules = imported_by(in_store, *words)
    assert modules & spared == set()
    assert len([name for name in modules if name.startswith("pamctl")]) <= OWN_MODULES_MAX


def test_of_a_group_one_command_is_built(in_store: Program) -> None:
    script = (
        "import sys; sys.argv = ['pamctl', 'subscribe', 'list']\n"
        "from pamctl.cli import verbs; made, verb = [], verbs.Verb.__init__\n"
        "def init(self, *a, **k): made.append(k['name']); verb(self, *a, **k)\n"
        "verbs.Verb.__init__ = init\n"
        "from pamctl.cli.main import run; status = run()\n"
        "print(*made, file=sys.stderr); sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        cwd=in_store.folder,
        env=in_store.environment,
        check=True,
    )
    assert done.stderr.decode().split() == ["list"]


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
