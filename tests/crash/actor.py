"""Carries one scenario out in a process of its own: `python -m tests.crash.actor NAME STORE`.

With `N FAULT` behind it, the Nth time that a file is made in the store, the process is killed
(`KILL`) or the system refuses (`EIO`). Opening is counted here and not by strace, because
Python opens modules too, and not in every run as many.

It writes a line to standard output for each answer, in one call; a refusal ends it with the
status of its class.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

import orjson

from pamctl.errors import PamError
from tests.crash.scenarios import SCENARIOS


def main(name: str, store: Path) -> int:
    try:
        for answer in SCENARIOS[name].act(store, "act"):
            os.write(1, orjson.dumps(answer, option=orjson.OPT_SORT_KEYS) + b"\n")
    except PamError as refused:
        sys.stderr.write(f"{refused.code}: {refused.message}\n")
        return refused.exit_status
    return 0


def fail_at(number: int, fault: str, store: str) -> None:
    """Let the making of a file fail, the `number`th time counted from 1."""
    open_, left = os.open, number

    def opening(path: Any, flags: int, *more: Any, **options: Any) -> int:
        nonlocal left
        if flags & os.O_CREAT and os.fspath(path).startswith(store):
            left -= 1
            if left == 0 and fault == "KILL":
                os.kill(os.getpid(), signal.SIGKILL)
            if left == 0:
                # Whoever makes do without the file looks as if nothing had happened.
                os.write(2, b"met\n")
                raise OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)))
        return open_(path, flags, *more, **options)

    os.open = opening


if __name__ == "__main__":
    if len(sys.argv) > 3:
        fail_at(int(sys.argv[3]), sys.argv[4], sys.argv[2])
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
