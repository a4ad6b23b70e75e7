"""The installed program, run as a user runs it: another process, a clean environment. JSON that
it prints when it succeeds has to be what the schema of the command says, whoever asks.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.result_schemas import require_result
from tests.conftest import clean_environment, measured_once, pamctl_program


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def json(self) -> Any:
        """What was printed, after a success that printed one line."""
        assert self.status == 0, self.stderr.decode()
        assert self.stdout.count(b"\n") == 1
        assert self.stdout.endswith(b"\n")
        return json.loads(self.stdout)

    @property
    def error(self) -> Any:
        """The error envelope, after a failure that printed nothing else."""
        assert self.status != 0
        assert self.stdout == b""
        assert self.stderr.count(b"\n") == 1, self.stderr.decode()
        assert self.stderr.endswith(b"\n")
        return json.loads(self.stderr)


class Program:
    """Runs pamctl in a folder."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], before: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self.command = (*before, str(pamctl_program()))

    def bound_by_permissions(self) -> Program:
        """The program without what lets root write where nobody may."""
        if os.geteuid() != 0:
            return self
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root writes where nobody may, and there is no setpriv")
        override = "-dac_override,-dac_read_search"
        before = (setpriv, f"--bounding-set={override}", f"--inh-caps={override}")
        return Program(self.folder, self.environment, before)

    def __call__(
        self, *words: str, stdin: bytes | int = b"", env: Mapping[str, str] | None = None
    ) -> Outcome:
        """One run with pipes for its streams. `stdin` is what it reads, or a descriptor."""
        streams: dict[str, Any] = {"stdin": stdin} if isinstance(stdin, int) else {"input": stdin}
        environment = {**self.environment, **(env or {})}
        done = subprocess.run(
            [*self.command, *words],
            capture_output=True,
            cwd=self.folder,
            env=measured_once(environment, words),
            timeout=60,
            check=False,
            **streams,
        )
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
        require_result(words, outcome, environment)
        return outcome

    def shell(self, line: str, env: Mapping[str, str] | None = None) -> Outcome:
        """A line of shell in which `pamctl` is the program."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            capture_output=True,
            cwd=self.folder,
            env={**self.environment, **(env or {})},
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def at_terminal(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """One run with a terminal for all three streams: the status and what was shown."""
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [*self.command, *words],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=self.folder,
            env=measured_once(
                {**self.environment, "TERM": "xterm", "COLUMNS": "100", **(env or {})}, words
            ),
        )
        os.close(terminal)
        shown = b""
        while select.select([controller], [], [], 60)[0]:
            try:
                part = os.read(controller, 65536)
            except OSError:  # the other side is gone
                break
            if not part:
                break
            shown += part
        os.close(controller)
        return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")


@pytest.fixture
def fixed_sources() -> None:
    """Not here: the processes that tests of the command line fork must not draw alike."""


@pytest.fixture
def pamctl(tmp_path: Path) -> Program:
    """The program in an empty folder."""
    home = tmp_path / "home"
    folder = tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    return Program(folder, clean_environment(home))


@pytest.fixture
def in_store(pamctl: Program) -> Program:
    """The program in a folder with a store."""
    assert pamctl("init").status == 0
    return pamctl


@pytest.fixture
def remember(in_store: Program) -> Callable[..., Any]:
    """Creates a claim and answers the result; more flags may follow its text."""

    def create(text: str, *flags: str) -> Any:
        content = json.dumps({"text": text})
        return in_store("create", "--type", "claim", "--content", content, *flags).json

    return create


@pytest.fixture
def subscribe(in_store: Program) -> Callable[..., str]:
    """Opens a subscription to what is created; answers its id."""

    def subscribe(*flags: str) -> str:
        words = ("subscribe", "open", "--event-class", "object_created", *flags)
        opened = in_store(*words, "--print", "subscription_id")
        assert opened.status == 0, opened.stderr
        return opened.stdout.decode().strip()

    return subscribe
