"""What must hold however a command ends, and whatever it is given."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.cli.test_batch import create, lines_of
from tests.conftest import pamctl_program

Remember = Callable[..., Any]
BASIS = ("--policy-basis", "seen")


@pytest.mark.parametrize(
    ("name", "status"), [("SIGINT", 130), ("SIGTERM", -signal.SIGTERM), ("SIGHUP", -signal.SIGHUP)]
)
def test_ended_by_a_signal_it_leaves_a_whole_store(
    in_store: Program, name: str, status: int
) -> None:
    process = subprocess.Popen(
        [pamctl_program(), "batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=in_store.folder,
        env=in_store.environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(lines_of([create("tea"), create("coffee")]))
    process.stdin.flush()
    printed = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=60)
    assert process.returncode == status
    assert b"Traceback" not in said
    assert in_store("fsck").status == 0
    found = in_store("query", "--any-state", "--count").json
    assert found["total"] == len(printed)  # what was printed is durable
    assert in_store("create", "--type", "claim", "--content", "1").status == 0


def test_a_reader_that_goes_away_ends_it_quietly(in_store: Program) -> None:
    (in_store.folder / "many.jsonl").write_bytes(lines_of([create(n) for n in range(300)]))
    ended = in_store.shell("pamctl batch many.jsonl | head -n 1")
    assert ended.stderr == b""
    assert ended.stdout.count(b"\n") == 1
    assert in_store("fsck").status == 0


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("create", "--type", "claim", "--content", "-"), '"tea"'),
        (("create", "--type", "claim", "--content", "1", "--provenance-file", "-"),
         '{"activity": "x"}'),
        (("create", "--type", "claim", "--content", "1", "--quality-file", "-"), "{}"),
        (("create", "--type", "claim", "--content", "1", "--actor-file", "-"),
         '{"actor_id": "actor:a", "actor_kind": "human"}'),
        (("update", "mem:tea", "--expect", "VERSION", "--merge-patch", "-"), '{"text": "b"}'),
        (("update", "mem:tea", "--expect", "VERSION", "--patch", "-"),
         '[{"op": "replace", "path": "/text", "value": "b"}]'),
        (("relate", "mem:tea", "about", "mem:two", "--content", "-"), '{"weight": 1}'),
        (("batch", "-"), '{"operation": "status"}'),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_dash_is_standard_input(
    in_store: Program, remember: Remember, flags: tuple[str, ...], text: str
) -> None:
    version = remember("a", "--id", "mem:tea")["version_id"]
    remember("b", "--id", "mem:two")
    words = [version if word == "VERSION" else word for word in flags]
    done = in_store(*words, stdin=text.encode())
    assert done.status == 0, done.stderr
    empty = in_store(*words, stdin=b"")
    assert empty.status in (0 if flags[0] == "batch" else 2, 2)


def test_behind_two_dashes_everything_is_a_name(in_store: Program) -> None:
    for odd in ("--json", "-", "--", "-rf"):
        failed = in_store("read", "--", odd)
        assert failed.status in (2, 3)
        assert odd in failed.error["message"] + json.dumps(failed.error["details"])


def test_very_long_arguments_are_judged_not_cut(in_store: Program) -> None:
    text = "tea " * 30_000
    made = in_store("create", "--type", "claim", "--content", json.dumps(text))
    assert made.json["envelope"]["canonical_content"] == text
    long_id = "mem:" + "x" * 600
    failed = in_store("create", "--type", "claim", "--content", "1", "--id", long_id)
    assert failed.status == 2
    assert "512" in failed.error["message"]
    longest = "mem:" + "x" * 508
    assert in_store("create", "--type", "claim", "--content", "1", "--id", longest).status == 0
    assert in_store("read", longest).status == 0
    key = in_store("create", "--type", "claim", "--content", "1", "--idempotency-key", "k" * 257)
    assert key.status == 2


RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def test_names_that_are_written_are_names_everywhere(in_store: Program, remember: Remember) -> None:
    """On file systems that fold case, forbid a colon or know devices by name."""
    for scope in (
        "workspace:Default",
        "project:CON",
        "a:" + "b/" * 60 + "c",
        "team:con.txt",
        "x:.",
    ):
        in_store("create", "--type", "claim", "--content", "1", "--scope", scope)
    version = remember("tea", "--id", "mem:Tea:/con")["version_id"]
    in_store("update", "mem:Tea:/con", "--expect", version, "--content", "2")
    in_store("key", "generate", "Laptop")
    in_store("subscribe", "open")
    in_store("snapshot", "create", "--id", "snap:aux")
    in_store("project", "--request", "tea?", "--key", "Laptop", "--out", "answer", "--any-state")
    names = [path.relative_to(in_store.folder) for path in in_store.folder.rglob("*")]
    assert len(names) > 30
    for name in names:
        assert len(str(name)) < 160, name
        for part in name.parts:
            assert re.fullmatch(r"[ -~]+", part), name
            assert not set('<>:"|?*\\') & set(part), name
            assert not part.endswith((".", " ")), name
            assert RESERVED.fullmatch(part) is None, name
    folded = [str(name).lower() for name in names]
    assert len(folded) == len(set(folded))


def test_a_closed_input_is_told(in_store: Program) -> None:
    failed = in_store.shell("pamctl create --type claim --content - <&-")
    assert failed.status == 2
    assert "closed" in failed.error["message"]


def test_two_flags_cannot_both_read_standard_input(in_store: Program) -> None:
    words = ("create", "--type", "claim", "--content", "-", "--provenance-file", "-")
    failed = in_store(*words, stdin=b"{}")
    assert failed.status == 2
    assert "standard input" in failed.error["message"]


def test_the_folder_may_be_gone(in_store: Program) -> None:
    gone = in_store.folder / "gone"
    gone.mkdir()
    failed = in_store.shell(f"cd {gone} && rmdir {gone} && pamctl status")
    assert failed.status in (2, 3, 75)
    assert b"Traceback" not in failed.stderr
    assert b"internal_error" not in failed.stderr


def test_a_person_is_asked_only_before_an_erasure(in_store: Program, remember: Remember) -> None:
    version = remember("tea", "--id", "mem:tea")["version_id"]
    gone = in_store("delete", "mem:tea", "--expect", version, *BASIS, "--erase")
    assert gone.status == 0  # in a pipe nobody is asked
    assert b"[y/N]" not in gone.stderr
    version = remember("tea", "--id", "mem:two")["version_id"]
    _, shown = in_store.at_terminal("delete", "mem:two", "--expect", version, *BASIS)
    assert "[y/N]" not in shown
    version = remember("tea", "--id", "mem:three")["version_id"]
    erase = ("delete", "mem:three", "--expect", version, *BASIS, "--erase", "--yes")
    status, shown = in_store.at_terminal(*erase)
    assert status == 0
    assert "[y/N]" not in shown


def test_nothing_is_written_outside_the_store(in_store: Program, remember: Remember) -> None:
    home = in_store.folder.parent / "home"
    remember("tea")
    in_store("query", "--any-state")
    in_store("log")
    assert list(home.rglob("*")) == []
    assert [path.name for path in Path(in_store.folder).iterdir()] == [".pam"]
