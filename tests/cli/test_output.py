"""What is printed, where, and what happens when it cannot be."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pamctl.encoding.canonical import canonical
from tests.cli.conftest import Program
from tests.conftest import pamctl_program

Remember = Callable[..., Any]


def test_json_is_canonical_and_the_same_every_time(in_store: Program, remember: Remember) -> None:
    object_id = remember("Tee für zwei ☕", "--validation", "corroborated")["object_id"]
    for words in (("read", object_id), ("query",), ("history", object_id), ("log",), ("status",)):
        first = in_store(*words).stdout
        assert first == canonical(json.loads(first)) + b"\n"
        assert in_store(*words).stdout == first


def test_jsonl_is_one_item_a_line(in_store: Program, remember: Remember) -> None:
    made = [remember(f"cup {n}", "--validation", "corroborated")["object_id"] for n in range(3)]
    lines = in_store("query", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["object_id"] for line in lines] == made
    assert in_store("query", env={"PAM_FORMAT": "jsonl"}).stdout.splitlines() == lines


def test_jsonl_tells_on_stderr_that_there_is_more(in_store: Program, remember: Remember) -> None:
    for n in range(2):
        remember(f"cup {n}", "--validation", "corroborated")
    cut = in_store("query", "--format", "jsonl", "--limit", "1")
    assert cut.stdout.count(b"\n") == 1
    assert b"--cursor " in cut.stderr
    assert in_store("query", "--format", "jsonl", "--limit", "1", "--quiet").stderr == b""


def test_flags_win_over_the_environment(in_store: Program, remember: Remember) -> None:
    object_id = remember("tea")["object_id"]
    assert in_store("read", object_id, "--json", env={"PAM_FORMAT": "table"}).json
    assert in_store("read", object_id, "--format", "json", env={"PAM_FORMAT": "table"}).json
    wrong = in_store("create", "--type", "claim", "--content", "1", env={"PAM_FORMAT": "xml"})
    assert wrong.status == 2
    assert "PAM_FORMAT" in wrong.error["message"]
    assert len(in_store("query", "--any-state").json["items"]) == 1


def test_auto_is_a_table_at_a_terminal(in_store: Program, remember: Remember) -> None:
    object_id = remember("Tea is at four.", "--validation", "corroborated")["object_id"]
    status, shown = in_store.at_terminal("query", env={"COLUMNS": "140"})
    assert status == 0
    assert "OBJECT" in shown
    assert "Tea is at four." in shown
    assert '{"items"' not in shown
    status, shown = in_store.at_terminal("read", object_id)
    assert status == 0
    assert object_id in shown
    status, shown = in_store.at_terminal("query", "--json")
    assert json.loads(shown)["items"][0]["object_id"] == object_id


def test_a_change_says_so_in_a_sentence_at_a_terminal(in_store: Program) -> None:
    words = ("create", "--type", "claim", "--content", '"tea"', "--id", "mem:tea")
    status, shown = in_store.at_terminal(*words)
    assert status == 0
    assert shown.startswith("created mem:tea, version ver:")
    assert shown.count("\n") == 1
    quiet = in_store.at_terminal("create", "--type", "claim", "--content", '"tea"', "--quiet")
    assert quiet == (0, "")


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_colour_at_a_terminal(
    in_store: Program, remember: Remember, environment: dict[str, str], coloured: bool
) -> None:
    remember("tea", "--validation", "corroborated")
    _, table = in_store.at_terminal("query", env=environment)
    _, failure = in_store.at_terminal("read", "mem:nothing", env=environment)
    assert ("\x1b[" in table) is coloured
    assert ("\x1b[" in failure) is coloured


def test_no_colour_outside_a_terminal_unless_forced(in_store: Program, remember: Remember) -> None:
    remember("tea", "--validation", "corroborated")
    assert b"\x1b" not in in_store("query", "--format", "table").stdout
    assert b"\x1b" in in_store("query", "--format", "table", env={"FORCE_COLOR": "1"}).stdout
    assert b"\x1b" not in in_store("query", env={"FORCE_COLOR": "1"}).stdout


def test_content_cannot_command_the_terminal(in_store: Program, remember: Remember) -> None:
    object_id = remember("\x1b]0;owned\x07 tea \u202e", "--validation", "corroborated")["object_id"]
    for words in (("read", object_id), ("query",), ("history", object_id)):
        _, shown = in_store.at_terminal(*words, env={"NO_COLOR": "1"})
        assert "tea" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_ends_quietly(in_store: Program, unbuffered: str) -> None:
    environment = {"PYTHONUNBUFFERED": unbuffered}
    words = ("create", "--type", "claim", "--validation", "corroborated", "--content", "-")
    object_id = in_store(*words, stdin=json.dumps("x" * 300_000).encode()).json["object_id"]
    for line in (f"pamctl read {object_id} | head -c1", "pamctl query --format jsonl | head -c1"):
        ended = in_store.shell(line, environment)
        assert ended.stderr == b""
        assert ended.stdout == b"{"
        assert ended.status == 141
    for line in ("pamctl --help | true", "pamctl --version | true", "pamctl query --help | true"):
        ended = in_store.shell(line)
        assert ended.stderr == b""
        assert ended.status in (0, 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", ["--version", "--help", "status", "help exit-codes"])
def test_a_full_disk_is_an_error(in_store: Program, words: str) -> None:
    failed = in_store.shell(f"pamctl {words} > /dev/full")
    assert failed.status == 1
    error = failed.error
    assert error["code"] == "internal_error"
    assert "No space left" in error["message"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_takes_a_part_of_it_is_an_error(in_store: Program, unbuffered: str) -> None:
    words = ("create", "--type", "claim", "--content", "-", "--id", "mem:long")
    in_store(*words, stdin=json.dumps("x" * 300_000).encode())
    # What measures coverage has a file to write too, and the limit is for all of them.
    unmeasured = {name: "" for name in in_store.environment if name.startswith("COVERAGE_")}
    line = "ulimit -f 64; pamctl read mem:long > part"
    failed = in_store.shell(line, {**unmeasured, "PYTHONUNBUFFERED": unbuffered})
    assert failed.status == 1
    assert failed.error["code"] == "internal_error"
    assert "File too large" in failed.error["message"]


def test_a_closed_standard_output_is_an_error_that_touches_no_file(in_store: Program) -> None:
    failed = in_store.shell("pamctl status >&-")
    assert failed.status == 1
    assert failed.error["code"] == "internal_error"
    before = in_store("log").stdout
    assert in_store.shell("pamctl create --type claim --content 1 >&- 2>&-").status == 1
    # What was said went nowhere, least of all into a file of the store.
    log = in_store("log")
    assert log.status == 0
    assert before == log.stdout


@pytest.mark.parametrize("locale", ["POSIX", "C", "en_US.ISO-8859-1"])
def test_the_locale_does_not_change_a_byte(in_store: Program, locale: str) -> None:
    odd = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = ("create", "--type", "claim", "--content", '"Tee für zwei ☕"', "--id", "mem:tee")
    made = in_store(*words, env=odd).json
    assert made["envelope"]["canonical_content"] == "Tee für zwei ☕"
    assert in_store("read", "mem:tee", env=odd).stdout == in_store("read", "mem:tee").stdout
    table = in_store("read", "mem:tee", "--format", "table", env=odd)
    assert table.status == 0
    assert b"Tee f" in table.stdout
    folder = "Küche"
    assert in_store("init", folder, env=odd).status == 0
    assert (in_store.folder / folder / ".pam").is_dir()


def test_an_argument_that_is_not_utf8_is_refused(in_store: Program) -> None:
    done = subprocess.run(
        [os.fsencode(pamctl_program()), b"read", b"mem:\xff"],
        capture_output=True,
        cwd=in_store.folder,
        env=in_store.environment,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stderr)["message"] == "argument 2 is not UTF-8"


def test_verbose_says_what_is_used_and_only_on_stderr(in_store: Program) -> None:
    told = in_store("status", "--verbose", "--operation-id", "op:mine")
    assert told.json
    assert str(in_store.folder / ".pam") in told.stderr.decode()
    assert "op:mine" in told.stderr.decode()
