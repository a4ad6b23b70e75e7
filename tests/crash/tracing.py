"""Runs a scenario under strace: once to see its calls, then with one of them made to fail.

Of all calls those count that change something in the store, and the answer on standard
output. A process that is killed before a call leaves what one leaves that is killed after the
call before it, so every moment is met by killing before each call, and before the end.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
AVAILABLE = shutil.which("strace") is not None and sys.platform == "linux"

_DURABLE = (
    *("openat", "write", "pwrite64", "writev", "pwritev", "copy_file_range", "sendfile"),
    *("fsync", "fdatasync", "sync_file_range", "fallocate"),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "rmdir", "ftruncate", "truncate", "mkdir", "mkdirat"),
    *("chmod", "fchmod", "fchmodat", "close", "exit_group"),
)
_LINE = re.compile(r"(?P<name>\w+)\((?P<rest>.*)\Z", re.S)
# A call during which another thread makes one takes two lines.
_UNFINISHED = " <unfinished ...>"
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
_RESULT = re.compile(r" = (?P<result>-?\d+|\?)[^\"]*\Z")
# Made of a process id and a count; no word fixes that.
_TEMPORARY = re.compile(r"\.\d+-(\d+)\.new")
_PIPE = re.compile(r"pipe:\[\d+\]")
# Which number is free depends on who waits for whom.
_NUMBER = re.compile(r"\b\d+<(?=[/p])")
_SECONDS_MAX = 60
# What a scenario may import, with what that imports. The rest is compiled anew in each run, and
# so the same.
_COMPILE = """
import contextlib, importlib, pkgutil
import pamctl, tests.crash.actor, tests.crash.scenarios
for module in pkgutil.walk_packages(pamctl.__path__, "pamctl."):
    if not module.name.endswith("__main__"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
"""


class Call(NamedTuple):
    """One call: its name, which of its name it is in its thread, its line of the trace.

    main: whether it is of the thread that the process began with.
    """

    name: str
    ordinal: int
    line: str
    result: str
    main: bool

    @property
    def place(self) -> tuple[str, str]:
        """What it is, the same in every run."""
        return _subject(self)


class Drifted(Exception):
    """The count of calls led to another call than the recorded one. Python opens more or
    fewer files where its compiled modules changed since."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run: lines of answers, the exit status (negative: the signal), what
    was said on standard error."""

    answers: list[bytes]
    status: int
    said: str


def record(name: str, store: Path, *, bytes_max: int = 256) -> tuple[list[Call], Outcome]:
    """A run that nothing happens to, and the calls in it that change something.

    bytes_max: how much of what was written the trace is to keep.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "trace"
        outcome = _run(name, store, log, ["-s", str(bytes_max)])
        return _calls(log), outcome


def changing(calls: list[Call], store: Path) -> list[Call]:
    """Of the calls of a run those that changed the store, answered, or ended the process.
    Other threads bring the index up to date beside them, whenever they get to it."""
    changes = [call for call in calls if _changes(call, str(store))]
    assert all(call.main or "/index" in call.line for call in changes)
    return [call for call in changes if call.main]


def killed_before(name: str, store: Path, call: Call) -> Outcome:
    """A run that SIGKILL ends before a call."""
    return _injected(name, store, call, "signal=KILL")


def failing(name: str, store: Path, call: Call, error: str) -> Outcome:
    """A run in which a call is not carried out and returns an error, such as `EIO`."""
    # Only what is traced is stopped then, which saves a third of the time of a run. A signal
    # would not be sent.
    return _injected(name, store, call, f"error={error}", "--seccomp-bpf")


def _injected(name: str, store: Path, call: Call, what: str, *options: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "trace"
        inject = f"inject={call.name}:{what}:when={call.ordinal}"
        outcome = _run(name, store, log, ["-s", "256", "-e", inject, *options], calls=(call.name,))
        met = [found for found in _calls(log) if found.main and found[:2] == call[:2]]
        if [_subject(one) for one in met] != [_subject(call)]:
            raise Drifted(f"the run took another way than the recorded one: {met}, not {call}")
        return outcome


def _run(
    name: str, store: Path, log: Path, options: list[str], *, calls: Sequence[str] = _DURABLE
) -> Outcome:
    command = [
        *("strace", "-f", "-y", "-o", str(log), "-e", "trace=" + ",".join(calls)),
        *("-e", "signal=none", *options),
        *(sys.executable, "-m", "tests.crash.actor", name, str(store)),
    ]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            output, said = process.communicate(timeout=_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    # A torn last line acknowledges nothing.
    return Outcome(output.split(b"\n")[:-1], process.returncode, said.decode())


def _environment() -> Mapping[str, str]:
    """Little, so that all runs are alike; above all no measuring of coverage."""
    return {**_bare_environment(), "PYTHONDONTWRITEBYTECODE": "1"}


@cache
def _bare_environment() -> Mapping[str, str]:
    """With compiled modules of its own, so that nobody who runs Python beside the sweep adds
    any: each would be other files opened, and every call behind would be counted otherwise."""
    compiled = tempfile.mkdtemp(prefix="pamctl-crash-")
    atexit.register(shutil.rmtree, compiled, ignore_errors=True)
    environment = {
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPYCACHEPREFIX": compiled,
    }
    subprocess.run([sys.executable, "-c", _COMPILE], cwd=ROOT, env=environment, check=True)
    return environment


def _calls(log: Path) -> list[Call]:
    """The calls in a log, each where it was begun, counted for each thread by itself."""
    found: list[Call] = []
    counts: Counter[tuple[str, str]] = Counter()
    pending: dict[str, tuple[int, str]] = {}
    main = ""
    with open(log, encoding="latin-1") as lines:
        for line in lines:
            thread, _, text = line.rstrip("\n").partition(" ")
            main, text = main or thread, text.lstrip()
            resumed = _RESUMED.match(text)
            if resumed is not None:
                place, begun = pending.pop(thread)
                whole = begun + text[resumed.end() :]
                found[place] = found[place]._replace(line=whole, result=_result(whole))
                continue
            parts = _LINE.match(text)
            if parts is None:
                continue
            name, rest = parts["name"], parts["rest"]
            counts[thread, name] += 1
            begun = rest.removesuffix(_UNFINISHED)
            if begun != rest:
                pending[thread] = (len(found), begun)
            call = Call(name, counts[thread, name], rest, _result(rest), thread == main)
            found.append(call)
    return found


def _result(rest: str) -> str:
    ended = _RESULT.search(rest)
    return ended["result"] if ended else "?"


def _subject(call: Call) -> tuple[str, str]:
    """What the call is about: without its result, and without what it writes, which in an
    index has numbers by chance in it."""
    text = re.sub(r"(\)\s* = .*|\)? *<unfinished.*)\Z", "", call.line, flags=re.S)
    if "write" in call.name:
        text = text.partition('"')[0]
    return call.name, _same_in_every_run(text)


def _same_in_every_run(line: str) -> str:
    return _NUMBER.sub("<", _PIPE.sub("pipe", _TEMPORARY.sub(r".PID-\1.new", line)))


def _changes(call: Call, store: str) -> bool:
    if call.name == "exit_group":
        return True
    if call.name == "close" or call.result.startswith("-"):
        return False
    if call.name == "write" and call.line.startswith("1<"):
        return True
    if call.name == "openat" and "O_CREAT" not in call.line and "O_TRUNC" not in call.line:
        return False
    return store in call.line
