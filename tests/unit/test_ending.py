"""How the program ends: at once, unless somebody still has something to do or to see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import sys
from pamctl.cli.main import main
import pamctl.cli.main as program
program.run = lambda: 7
class Loud:
    def __del__(self): sys.__stderr__.write("taken apart\\n")
kept = Loud()
"""


def ended(code: str, *flags: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *flags, "-c", BEGIN + code],
        capture_output=True,
        text=True,
        check=False,
        # A measured process is watched, and ends in its own way.
        env={"PATH": ""},
        cwd=Path(__file__).resolve().parents[2],
    )
    return done.returncode, done.stdout, done.stderr


def test_it_ends_at_once_with_its_status() -> None:
    assert ended("main(); print('never')") == (7, "", "")


def test_what_was_said_is_written_and_what_was_registered_is_done() -> None:
    code = "import atexit; atexit.register(print, 'last'); print('first', end=' '); main()"
    assert ended(code) == (7, "first last\n", "")


@pytest.mark.parametrize(
    "watching",
    [
        "sys.settrace(lambda *_: None)",
        "sys.setprofile(lambda *_: None)",
        "import threading, time; threading.Thread(target=time.sleep, args=(0.1,)).start()",
    ],
    ids=["traced", "profiled", "with a thread"],
)
def test_it_ends_in_its_own_way_where_that_matters(watching: str) -> None:
    unwatched = "sys.settrace(None); sys.setprofile(None)"
    status, _, told = ended(f"{watching}\nstatus = main()\n{unwatched}\nsys.exit(status)")
    assert (status, told) == (7, "taken apart\n")


def test_a_stream_that_cannot_be_written_is_told() -> None:
    code = "sys.stdout = open('/dev/full', 'w'); print('x'); sys.exit(main())"
    status, _, told = ended(code)
    assert status in (7, 120)
    assert "No space left" in told
