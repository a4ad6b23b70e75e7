"""`pamctl embed run`, as a user runs it: with the built-in embedder, and with programs of every
kind."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE

GOOD = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    text = asked["text"]
    print(json.dumps({"id": asked["id"], "vector": [len(text), text.count("a")]}), flush=True)
"""
LATE = """
import json, sys
lines = []
for line in sys.stdin:
    lines.append(json.loads(line))
    if len(lines) == 2:
        for asked in reversed(lines):
            print(json.dumps({"id": asked["id"], "vector": [1, 0], "model": "x"}))
        sys.stdout.flush()
        lines.clear()
"""


@pytest.fixture
def spaced(in_store: Program, remember: Any) -> Program:
    for name in ("mem:1", "mem:2"):
        remember("Tea at four.", "--id", name)
    assert in_store("space", "add", "--descriptor", json.dumps(SPACE)).json["added"]
    return in_store


def script(program: Program, text: str) -> str:
    path = program.folder / "embedder.py"
    path.write_text(text)
    return shlex.join([sys.executable, str(path)])


def run(program: Program, text: str, *more: str) -> Any:
    return program("embed", "run", "--space", "emb:a", "--command", script(program, text), *more)


def standing(program: Program) -> tuple[int, int, int]:
    (item,) = program("embed", "status", "--space", "emb:a").json["items"]
    return item["fresh"], item["stale"], item["missing"]


def test_only_what_is_missing_or_stale_is_embedded(spaced: Program, remember: Any) -> None:
    assert run(spaced, GOOD).json == {
        "embedded": 2,
        "embedding_space_id": "emb:a",
        "gone": 0,
        "replayed": False,
        "scope_id": "workspace:default",
        "without_text": 0,
    }
    assert standing(spaced) == (2, 0, 0)
    remember("A third.", "--id", "mem:3")
    version = spaced("read", "mem:1", "--print", "version_id").stdout.decode().strip()
    spaced("update", "mem:1", "--expect", version, "--content", '"Coffee."')
    assert run(spaced, GOOD).json["embedded"] == 2
    assert standing(spaced) == (3, 0, 0)
    out = spaced("embed", "export", "--space", "emb:a").json["items"]
    assert out[0]["vector"] == [len("Coffee."), 0]
    assert run(spaced, GOOD).json["embedded"] == 0


def test_answers_may_come_late_and_in_another_order(spaced: Program, remember: Any) -> None:
    for number in range(3, 7):
        remember("More.", "--id", f"mem:{number}")
    assert run(spaced, LATE, "--batch", "4").json["embedded"] == 6


def test_more_than_a_pipe_holds_goes_both_ways(spaced: Program) -> None:
    """A program that answers while it is still being written to does not block."""
    spaced("create", "--type", "claim", "--id", "mem:big", "--content", "-", stdin=_big())
    echo = GOOD.replace('"vector": [len(text), text.count("a")]', '"vector": [0, 1], "t": text')
    assert run(spaced, echo).json["embedded"] == 3


def _big() -> bytes:
    return json.dumps("tea " * 200_000).encode()


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("raise SystemExit(7)", "service_unavailable", "with status 7"),
        ("print('loading')", "invalid_request", "line 1"),
        (
            """print('{"id":"mem:1","vector":[1]}\\n{"id":"mem:2","vector":[1]}')""",
            "embedding_space_mismatch",
            "dimensions",
        ),
        (
            """print('{"id":"mem:1","vector":[1e39,1]}\\n{"id":"mem:2","vector":[1,1]}')""",
            "invalid_request",
            "32-bit",
        ),
    ],
)
def test_what_is_no_answer_keeps_nothing(spaced: Program, text: str, code: str, told: str) -> None:
    refused = run(spaced, f"{text}\n")
    assert (refused.error["code"], refused.error["details"]["embedded"]) == (code, 0)
    assert told in refused.error["message"]
    assert standing(spaced) == (0, 0, 2)


def test_a_silent_program_is_given_up(spaced: Program) -> None:
    refused = run(spaced, "import time\ntime.sleep(60)\n", "--timeout", "1")
    assert refused.status == 75
    assert "nothing for 1 seconds" in refused.error["message"]


def test_what_was_kept_before_a_crash_stays(spaced: Program) -> None:
    once = GOOD.replace("flush=True)", "flush=True); sys.exit(1)")
    refused = run(spaced, once, "--batch", "1")
    assert refused.error["details"]["embedded"] == 1
    assert standing(spaced) == (1, 0, 1)
    assert run(spaced, GOOD).json["embedded"] == 1


def test_refusals(spaced: Program) -> None:
    for words, status in (
        ((), 2),
        (("--builtin", "--command", "x"), 2),
        (("--builtin", "--space", "emb:a"), 2),
        (("--command", "x"), 2),
        (("--space", "emb:a", "--command", "/nowhere/embedder"), 2),
        (("--space", "emb:a", "--command", "'"), 2),
        (("--space", "emb:a", "--command", " "), 2),
        (("--space", "emb:none", "--command", "true"), 10),
        (("--space", "emb:a", "--command", "true", "--batch", "0"), 2),
        (("--space", "emb:a", "--command", "true", "--timeout", "x"), 2),
    ):
        refused = spaced("embed", "run", *words)
        assert refused.status == status, words
        assert refused.error["code"]


def test_the_built_in_embedder_describes_its_space(spaced: Program) -> None:
    spaced("create", "--type", "claim", "--id", "mem:numbers", "--content", "[1, 2]")
    made = spaced("embed", "run", "--builtin").json
    assert (made["embedded"], made["without_text"]) == (2, 1)
    space = spaced("space", "show", made["embedding_space_id"]).json
    assert "no model" in space["embedding_kind"]
    assert spaced("embed", "run", "--builtin").json["embedded"] == 0
    # Whoever has taken its id for something else keeps it.
    other = {**SPACE, "embedding_space_id": made["embedding_space_id"]}
    taken = spaced("space", "add", "--scope", "workspace:o", "--descriptor", json.dumps(other))
    assert taken.json["added"]
    assert spaced("embed", "run", "--builtin", "--scope", "workspace:o").status == 10


def test_a_person_sees_a_sentence(spaced: Program, tmp_path: Path) -> None:
    status, screen = spaced.at_terminal("embed", "run", "--builtin")
    assert status == 0
    assert "made 2 vectors" in screen


def test_over_the_coprocess(spaced: Program) -> None:
    """A program that has no shell has the built-in embedder too, and what is pending."""
    actor = {"actor_id": "actor:agent:a", "actor_kind": "agent"}
    scope = {"scope_id": "workspace:default", "actor": actor}
    lines = [
        ("embedding_pending", {"embedding_space_id": "emb:a", "limit": 1}),
        ("embedding_pending", {"embedding_space_id": "emb:a", "cursor": "x"}),
        ("embedding_generate", {"limit": 1}),
    ]
    stdin = b"".join(
        json.dumps({"request_id": str(n), "operation": name, "arguments": {**scope, **more}})
        .encode() + b"\n"
        for n, (name, more) in enumerate(lines)
    )  # fmt: skip
    _, pending, refused, made = map(json.loads, spaced("stdio", stdin=stdin).stdout.splitlines())
    (item,) = pending["result"]["items"]
    assert (item["object_id"], item["state"], item["text"]) == ("mem:1", "missing", "Tea at four.")
    assert pending["result"]["next_cursor"]
    assert refused["error"]["code"] == "invalid_request"
    assert made["result"]["embedded"] == 1
    assert made["result"]["next_cursor"]
