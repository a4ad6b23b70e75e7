"""Completion: what is offered, and that bash, zsh and fish themselves take it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pamctl.cli.commands.completion import SCRIPTS
from tests.cli.conftest import Program
from tests.cli.test_start_up import HEAVY
from tests.conftest import unmeasured

Remember = Callable[..., Any]


def offered(program: Program, *words: str, env: dict[str, str] | None = None) -> list[str]:
    """What fish is given for a command line whose last word is not finished."""
    done = program(*words, env={"_PAMCTL_COMPLETE": "fish", **(env or {})})
    assert done.status == 0
    assert done.stderr == b""
    return [line.partition("\t")[0] for line in done.stdout.decode().splitlines()]


@pytest.fixture
def tea(in_store: Program, remember: Remember) -> list[str]:
    """Versions of mem:tea, in a store with something of every kind."""
    first = remember("Tea is at four.", "--id", "mem:tea")["version_id"]
    remember("Coffee.", "--id", "mem:coffee")
    change = ("update", "mem:tea", "--expect", first, "--content", '"five"')
    second = in_store(*change).json["version_id"]
    in_store("create", "--type", "com.example.recipe", "--schema-id", "https://example.com/r",
             "--content", "1", "--id", "mem:recipe")  # fmt: skip
    in_store("relate", "mem:tea", "served_with", "mem:coffee", "--id", "rel:both")
    in_store("snapshot", "create", "--id", "snap:monday")
    in_store("scope", "create", "project:garden")
    in_store("key", "generate", "laptop")
    return [first, second]


def test_commands_flags_and_topics(in_store: Program) -> None:
    assert offered(in_store, "cre") == ["create"]
    assert offered(in_store, "scope", "sh") == ["show"]
    assert offered(in_store, "create", "--con") == ["--content", "--content-file"]
    assert "exit-codes" in offered(in_store, "help", "ex")
    assert offered(in_store, "config", "auto") == ["auto_create_scopes"]
    assert offered(in_store, "nosuch", "x") == []


def test_words_that_are_known(in_store: Program) -> None:
    assert offered(in_store, "transition", "mem:x", "val") == ["validation"]
    states = offered(in_store, "transition", "mem:x", "validation", "")
    assert states == ["unverified", "corroborated", "disputed", "rejected"]
    assert offered(in_store, "query", "--lifecycle", "sc") == ["scratch"]
    assert offered(in_store, "log", "--event-class", "object_cr") == ["object_created"]
    assert offered(in_store, "log", "--format", "json") == ["json", "jsonl"]
    assert offered(in_store, "create", "--type", "dec") == ["decision"]


def test_what_is_in_the_store(in_store: Program, tea: list[str]) -> None:
    assert offered(in_store, "read", "mem:t") == ["mem:tea"]
    assert offered(in_store, "read", "rel:") == ["rel:both"]
    assert offered(in_store, "relate", "mem:tea", "served") == ["served_with"]
    assert offered(in_store, "relate", "mem:tea", "x", "mem:c") == ["mem:coffee"]
    assert offered(in_store, "query", "--related-to", "mem:co") == ["mem:coffee"]
    assert "com.example.recipe" in offered(in_store, "query", "--type", "com")
    assert offered(in_store, "update", "mem:tea", "--expect", "") == tea[::-1]
    assert offered(in_store, "diff", "mem:tea", tea[0]) == [tea[0]]
    assert offered(in_store, "read", "mem:tea", "--snapshot", "sn") == ["snap:monday"]
    assert offered(in_store, "log", "--scope", "pro") == ["project:garden"]
    assert "laptop" in offered(in_store, "key", "show", "")
    assert "laptop" in offered(in_store, "project", "--key", "lap")


def test_what_else_has_identifiers(in_store: Program, tea: list[str]) -> None:
    in_store("schema", "add", "https://example.com/tea", "--schema", '{"type":"string"}')
    opened = in_store("subscribe", "open").json["subscription_id"]
    in_store("subscribe", "open", "--actor", "actor:local:other")
    closed = in_store("subscribe", "open").json["subscription_id"]
    in_store("subscribe", "close", closed)
    assert offered(in_store, "subscribe", "poll", "") == [opened]
    assert offered(in_store, "subscribe", "ack", "sub") == [opened]
    assert offered(in_store, "schema", "show", "") == ["https://example.com/tea"]
    assert offered(in_store, "create", "--schema-id", "https:") == ["https://example.com/tea"]
    assert offered(in_store, "schema", "add", "") == []
    assert offered(in_store, "snapshot", "diff", "snap:monday", "") == ["snap:monday"]
    assert offered(in_store, "snapshot", "create", "--id", "") == []
    assert offered(in_store, "diff", "mem:tea", "") == tea[::-1]


def test_another_scope_has_other_names(in_store: Program, tea: list[str]) -> None:
    assert offered(in_store, "read", "--scope", "project:garden", "mem:") == []
    assert offered(in_store, "read", "mem:", env={"PAM_SCOPE": "project:garden"}) == []


def test_a_new_name_is_not_one_that_is_there(in_store: Program, tea: list[str]) -> None:
    assert offered(in_store, "create", "--id", "mem:") == []
    assert offered(in_store, "key", "generate", "lap") == []


def test_what_was_deleted_is_not_offered(in_store: Program, tea: list[str]) -> None:
    gone = ("delete", "mem:tea", "--expect", tea[1], "--policy-basis", "asked")
    assert in_store(*gone).status == 0
    assert offered(in_store, "read", "mem:t") == []


def test_only_what_an_actor_may_see(in_store: Program, tea: list[str]) -> None:
    policy = in_store("scope", "show", "workspace:default").stdout
    import json

    document = json.loads(policy)["policy"]
    document["rules"] = [{"rule_id": "rule:none", "effect": "deny", "actors": ["actor:agent:*"]}]
    in_store("scope", "policy", "workspace:default", "--policy", json.dumps(document))
    before = in_store("log").stdout
    agent = {"PAM_ACTOR": "actor:agent:bot"}
    assert offered(in_store, "read", "mem:", env=agent) == []
    assert offered(in_store, "update", "mem:tea", "--expect", "", env=agent) == []
    assert offered(in_store, "relate", "mem:tea", "served", env=agent) == []
    assert offered(in_store, "read", "mem:x", "--snapshot", "", env=agent) == []
    assert in_store("log").stdout == before  # and nothing was recorded
    assert offered(in_store, "read", "mem:t") == ["mem:tea"]


def test_files_are_left_to_the_shell(in_store: Program) -> None:
    for words in (
        ("create", "--content-file", ""),
        ("batch", ""),
        ("init", "x"),
        ("verify-projection", ""),
        ("verify-projection", "one.record.json", ""),
        ("repair", "--from", ""),
        ("project", "--from", ""),
    ):
        assert offered(in_store, *words) == [":files"], words


def test_without_a_store_or_with_a_broken_one_nothing_is_said(pamctl: Program) -> None:
    assert offered(pamctl, "read", "mem:") == []
    (pamctl.folder / ".pam").mkdir()
    (pamctl.folder / ".pam" / "store.json").write_text("{")
    assert offered(pamctl, "read", "mem:") == []
    assert offered(pamctl, "read", "mem:", env={"PAM_FORMAT": "xml"}) == []


def test_identifiers_cannot_command_the_shell(in_store: Program, tea: list[str]) -> None:
    spelt = in_store("read", "mem:t", env={"_PAMCTL_COMPLETE": "zsh"}).stdout
    assert spelt == b"mem\\:tea:claim\n"
    line = in_store("pamctl read mem:t", env={"_PAMCTL_COMPLETE": "bash"}).stdout
    assert line == b"tea\n"
    split = {"_PAMCTL_COMPLETE": "bash", "_PAMCTL_WORDBREAKS": " "}
    assert in_store("pamctl read mem:t", env=split).stdout == b"mem:tea\n"


def test_what_a_shell_would_run_is_not_put_on_its_command_line(
    in_store: Program, tea: list[str]
) -> None:
    for kind in ("x;reboot", "x$(reboot)", "x`reboot`", "x y", "x\ny", "x-fine"):
        made = in_store("relate", "mem:tea", kind, "mem:coffee")
        assert made.status in (0, 2, 10), kind
    line = "pamctl relate mem:tea x"
    told = in_store(line, env={"_PAMCTL_COMPLETE": "bash"}).stdout.decode().splitlines()
    assert told == ["x-fine"]
    for words in (("relate", "mem:tea", "x"),):
        assert "x-fine" in offered(in_store, *words)
        assert "x y" not in offered(in_store, *words)


def test_it_imports_nothing_heavy(in_store: Program, tea: list[str]) -> None:
    script = (
        "import sys, os; sys.argv = ['pamctl', 'read', 'mem:']\n"
        "from pamctl.cli.main import run; run()\n"
        "print(' '.join(sys.modules), file=sys.stderr)\n"
    )
    python = str(Path(in_store.command[0]).with_name("python"))
    done = subprocess.run(
        [python, "-c", script],
        capture_output=True,
        cwd=in_store.folder,
        env=unmeasured({**in_store.environment, "_PAMCTL_COMPLETE": "fish"}),
        check=True,
    )
    assert b"mem:tea" in done.stdout
    assert not HEAVY & set(done.stderr.decode().split())


SETUP = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(pamctl completion bash)"'),
    "zsh": (["-f", "-i"], 'autoload -U compinit; compinit -u -D; eval "$(pamctl completion zsh)"'),
    "fish": (["--no-config", "-i"], "pamctl completion fish | source"),
}
_PATIENCE_SEC = 120


class Shell:
    """A shell at a terminal of its own, typed at."""

    def __init__(self, name: str, program: Program) -> None:
        flags, setup = SETUP[name]
        # Whoever types asks for completions again and again.
        environment = unmeasured(program.environment)
        self._keyboard, screen = pty.openpty()
        self._process = subprocess.Popen(
            [str(shutil.which(name)), *flags],
            stdin=screen,
            stdout=screen,
            stderr=screen,
            cwd=program.folder,
            env={**environment, "TERM": "xterm", "COLUMNS": "200", "PS1": "", "PROMPT": ""},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(screen)
        self.type(setup + "; echo rea''dy\n", until="ready")

    def type(self, keys: str, *, until: str) -> str:
        """What the screen shows after these keys, as soon as `until` is among it."""
        os.write(self._keyboard, keys.encode())
        shown, end = "", time.monotonic() + _PATIENCE_SEC
        while until not in shown and time.monotonic() < end:
            if select.select([self._keyboard], [], [], 0.2)[0]:
                shown += _plain(os.read(self._keyboard, 65536).decode(errors="replace"))
        assert until in shown, shown
        return shown

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._keyboard)


def _plain(screen: str) -> str:
    return re.sub(r"\x1b(\[[0-9;?>=]*[ -/]*[@-~]|[()][A-Z0-9]|\][^\x07]*\x07|[=>])", "", screen)


@pytest.mark.parametrize("name", SETUP)
def test_a_real_shell_completes(in_store: Program, tea: list[str], name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    shell = Shell(name, in_store)
    try:
        # Only a completed line can print what is not typed.
        shell.type("pamctl read mem:te\t --print object_id | tr a-z A-Z\n", until="MEM:TEA")
        states = "pamctl query --validation unver\t --any-st\t --cou\t --js\t | tr a-z A-Z\n"
        shell.type(states, until='"TOTAL":')
        version = (
            f"pamctl read mem:tea --version {tea[0][:12]}\t --print sequence | sed s/^/number/\n"
        )
        shell.type(version, until="number1")
    finally:
        shell.close()


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_one_that_its_shell_reads(pamctl: Program, shell: str) -> None:
    script = pamctl("completion", shell)
    assert script.status == 0
    assert b"_PAMCTL_COMPLETE" in script.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    read = subprocess.run([shell, "-n"], input=script.stdout, capture_output=True, check=False)
    assert read.stderr == b""
