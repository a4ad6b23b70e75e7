"""Programs that are no good embedders: what each does, and what it is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pamctl.bindings.embedder import Embedder
from pamctl.errors import InvalidRequest, PamError, ServiceUnavailable

TEXTS = {"mem:1": "tea", "mem:2": "coffee"}
ANSWER = """print('{"id":"mem:1","vector":[0,1]}', flush=True)"""

BAD: dict[str, tuple[str, type[PamError], str]] = {
    "no JSON": ('print("loading")', InvalidRequest, "line 1"),
    "no object": ("print('[]')", InvalidRequest, "no JSON object"),
    "NaN": ("""print('{"id":"mem:1","vector":[NaN,1]}')""", InvalidRequest, "NaN"),
    "no numbers": ("""print('{"id":"mem:1","vector":["a"]}')""", InvalidRequest, "numbers"),
    "a boolean": ("""print('{"id":"mem:1","vector":[true,1]}')""", InvalidRequest, "numbers"),
    "no vector": ("""print('{"id":"mem:1"}')""", InvalidRequest, "numbers"),
    "no id": ("""print('{"vector":[1]}')""", InvalidRequest, '"id"'),
    "twice": (f"{ANSWER}\n{ANSWER}", InvalidRequest, "line 2 .* answered before"),
    "another id": ("""print('{"id":"x","vector":[1,0]}')""", InvalidRequest, "not asked for"),
    "not UTF-8": ("sys.stdout.buffer.write(bytes([255, 10]))", InvalidRequest, "line 1"),
    "nothing": ("pass", ServiceUnavailable, "with status 0"),
    "a crash": ("raise SystemExit(7)", ServiceUnavailable, "with status 7"),
    "a signal": ("os.kill(os.getpid(), 9)", ServiceUnavailable, "by signal 9"),
    "half": (f"{ANSWER}; raise SystemExit(3)", ServiceUnavailable, "1 of 2"),
    "half a line": ("sys.stdout.write('{\"id\"')", ServiceUnavailable, "0 of 2"),
    "an endless line": (
        "sys.stdout.write('x' * (17 * 1024 * 1024)); sys.stdout.flush(); sys.stdin.read()",
        InvalidRequest,
        "DOCUMENT_BYTES_MAX",
    ),
    "silence": ("import time; time.sleep(60)", ServiceUnavailable, "printed nothing"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_answer_is_refused_and_told(tmp_path: Path, name: str) -> None:
    text, error, told = BAD[name]
    path = tmp_path / "embedder.py"
    path.write_text(f"import os, sys\n{text}\n")
    patience = 0.5 if name == "silence" else 30
    with (
        pytest.raises(error, match=told),
        Embedder([sys.executable, str(path)], patience_sec=patience) as program,
    ):
        program.vectors(TEXTS)


@pytest.mark.parametrize("command", [["/nowhere/embedder"], ["a\0b"], ["/"]])
def test_what_cannot_be_started_is_told(command: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="cannot run the embedder"):
        Embedder(command, patience_sec=1)


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    """When something else fails while it runs, nothing waits for it."""
    path = tmp_path / "embedder.py"
    path.write_text("import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(60)\n")
    with (
        pytest.raises(KeyboardInterrupt),
        Embedder([sys.executable, str(path)], patience_sec=1) as program,
    ):
        raise KeyboardInterrupt
    assert program._process.poll() is not None
