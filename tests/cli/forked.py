"""The program as its entry point runs it, in a child that the test process forks: what is asked
of every command is asked some hundred times, and starting an interpreter each time takes minutes.
What it prints is held against its schema, as in tests/cli/conftest.py.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cli.conftest import Outcome
from tests.cli.result_schemas import require_result

_PATIENCE_SEC = 60


class Forked:
    """Runs pamctl in a folder."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)

    def __call__(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        stdout: str | None = None,
        folder: Path | None = None,
    ) -> Outcome:
        """One run with nothing to read, and pipes or the file `stdout` for what it says."""
        streams = [os.pipe(), os.pipe()]
        child = os.fork()
        if child == 0:
            targets = [streams[0][1], streams[1][1]]
            if stdout is not None:
                targets[0] = os.open(stdout, os.O_WRONLY)
            nothing = os.open(os.devnull, os.O_RDONLY)
            self._become(words, env, folder, nothing, *targets)
        for _, writing in streams:
            os.close(writing)
        said = _drain([reading for reading, _ in streams])
        outcome = Outcome(_status_of(child), *said)
        require_result(words, outcome, {**self.environment, **(env or {})})
        return outcome

    def at_terminal(
        self, *words: str, env: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> tuple[int, str]:
        """One run with a terminal for all three streams: the status and what was shown."""
        keyboard, screen = pty.openpty()
        child = os.fork()
        if child == 0:
            told = {"TERM": "xterm", "COLUMNS": "80", **(env or {})}
            self._become(words, told, folder, screen, screen, screen)
        os.close(screen)
        os.write(keyboard, b"\x04")  # nobody types
        (shown,) = _drain([keyboard])
        return _status_of(child), shown.decode(errors="replace").replace("\r\n", "\n")

    def _become(
        self,
        words: tuple[str, ...],
        env: Mapping[str, str] | None,
        folder: Path | None,
        *descriptors: int,
    ) -> None:
        """Turns a forked child into the program. Does not return."""
        status = 70
        try:
            os.chdir(folder or self.folder)
            os.environ.clear()
            os.environ.update({**self.environment, **(env or {})})
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
            os.closerange(3, 256)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = ["pamctl", *words]
            sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), encoding="utf-8")
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), encoding="utf-8")
            sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), encoding="utf-8")
            from pamctl.cli.main import run

            status = run()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError):
                    stream.flush()
        finally:
            os._exit(status)


def _drain(descriptors: list[int]) -> list[bytes]:
    """All that is said on these, until they are closed on the other side."""
    said = dict.fromkeys(descriptors, b"")
    open_ones = list(descriptors)
    while open_ones:
        ready = select.select(open_ones, [], [], _PATIENCE_SEC)[0]
        assert ready, "it did not end"
        for descriptor in ready:
            try:
                part = os.read(descriptor, 65536)
            except OSError:  # a terminal whose other side is closed
                part = b""
            said[descriptor] += part
            if not part:
                open_ones.remove(descriptor)
                os.close(descriptor)
    return [said[descriptor] for descriptor in descriptors]


def _status_of(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
