"""Histories, logs and the store as a person at a terminal sees them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from pamctl.cli.terminal.timeline import ago
from tests.cli.conftest import Program

Remember = Callable[..., Any]
PLAIN = {"NO_COLOR": "1"}
NOW_SEC = 1_767_225_600.0  # 2026-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("timestamp", "spoken"),
    [
        ("2026-01-01T00:00:00.000000Z", "just now"),
        ("2025-12-31T23:59:51Z", "just now"),
        ("2025-12-31T23:59:30Z", "30 seconds ago"),
        ("2025-12-31T23:58:59Z", "1 minute ago"),
        ("2025-12-31T22:00:00Z", "2 hours ago"),
        ("2025-12-30T00:00:00Z", "2 days ago"),
        ("2025-12-20T00:00:00Z", "1 week ago"),
        ("2025-01-02T00:00:00Z", "52 weeks ago"),
        ("2025-01-01T00:00:00Z", "1 year ago"),
        ("2020-01-01T00:00:00Z", "6 years ago"),
        ("2026-01-01T00:05:00Z", "in 5 minutes"),
    ],
)
def test_how_long_ago(timestamp: str, spoken: str) -> None:
    assert ago(timestamp, NOW_SEC) == spoken


@pytest.fixture
def tea(in_store: Program, remember: Remember) -> Any:
    made = remember("Tea is at four.", "--id", "mem:tea", "--actor", "actor:local:ann")
    change = ("update", "mem:tea", "--expect", made["version_id"])
    return in_store(*change, "--merge-patch", '{"text": "Tea is at five."}').json


def test_a_history_is_a_timeline_of_changes(in_store: Program, tea: Any) -> None:
    _, shown = in_store.at_terminal("history", "mem:tea", env=PLAIN)
    lines = shown.splitlines()
    assert re.fullmatch(r"1  20\d\d-.*Z, (just now|\d+ seconds ago)  created by actor:.*", lines[0])
    assert lines[3] == '   {"text":"Tea is at four."}'
    assert lines[5].strip() == tea["version_id"]
    assert lines[6:] == ["   /text - Tea is at four.", "         + Tea is at five."]


def test_a_log_has_a_heading_a_day(one_day: None, in_store: Program, tea: Any) -> None:
    _, shown = in_store.at_terminal("log", env=PLAIN)
    lines = shown.splitlines()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d, today", lines[0])
    pattern = (
        r"  1  \d\d:\d\d:\d\dZ  (just now|\d+ seconds ago) *  object_created  mem:tea  by .*ann"
    )
    assert re.fullmatch(pattern, lines[1])
    assert len([line for line in lines if "object_updated" in line]) == 1
    _, events = in_store.at_terminal("history", "mem:tea", "--events", env=PLAIN)
    assert events.count("mem:tea") == 2


def test_in_a_pipe_no_time_passes(in_store: Program, tea: Any) -> None:
    for words in (("log",), ("history", "mem:tea"), ("status",)):
        shown = in_store(*words, "--format", "table").stdout
        assert b" ago" not in shown
        assert b"just now" not in shown
        assert shown == in_store(*words, "--format", "table").stdout


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_it_fits_the_terminal_and_identifiers_are_whole(
    in_store: Program, remember: Remember, columns: str
) -> None:
    long_id = "mem:" + "long-" * 8 + "id"
    made = remember("Tee für zwei ☕ 茶 " * 30, "--id", long_id)
    change = ("update", long_id, "--expect", made["version_id"], "--content", '"茶茶茶" ')
    assert in_store(*change).status == 0
    env = {**PLAIN, "COLUMNS": columns}
    _, history = in_store.at_terminal("history", long_id, env=env)
    assert made["version_id"] in history or columns == "40"
    _, log = in_store.at_terminal("log", env=env)
    assert long_id in log
    if columns != "40":
        from rich.cells import cell_len

        assert max(map(cell_len, history.splitlines())) <= int(columns)


def test_status_is_one_screen(in_store: Program, tea: Any) -> None:
    in_store("scope", "create", "workspace:other")
    _, shown = in_store.at_terminal("status", env={**PLAIN, "COLUMNS": "80"})
    assert shown.count("\n") <= 24
    assert "2 scopes, 1 object, 2 versions" in shown
    assert "fresh" in shown
    rows = [line.split()[:4] for line in shown.splitlines()]
    assert ["workspace:default", "1", "2", "2"] in rows


@pytest.mark.parametrize("columns", [60, 100])
def test_a_table_that_is_too_wide_is_stacked(
    in_store: Program, remember: Remember, columns: int
) -> None:
    from rich.cells import cell_len

    made = remember("Tee für zwei. " * 20)["object_id"]
    remember("short", "--id", "mem:short")
    env = {**PLAIN, "COLUMNS": str(columns)}
    for words in (("query", "--any-state"), ("status",), ("index", "status")):
        _, shown = in_store.at_terminal(*words, env=env)
        lines = shown.splitlines()
        long_names = (made, "workspace:default", str(in_store.folder))
        assert max(map(cell_len, lines)) <= columns, words
        assert words[0] != "query" or made in shown
        assert any(name in shown for name in long_names)
    _, shown = in_store.at_terminal("query", "--any-state", env=env)
    assert ("OBJECT " in shown) is (columns >= 100)
    assert ("  validation  unverified" in shown) is (columns < 100)
