"""`pamctl diff` and `pamctl history --diff`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program

Remember = Callable[..., Any]
BASIS = ("--policy-basis", "seen")


@pytest.fixture
def tea(in_store: Program, remember: Remember) -> list[str]:
    """The version ids of mem:tea, which was written, changed and corroborated."""
    versions = [remember("Tea is at four.", "--id", "mem:tea")["version_id"]]
    change = ("update", "mem:tea", "--merge-patch", '{"text": "Tea is at five."}')
    versions.append(in_store(*change, "--expect", versions[-1]).json["version_id"])
    move = ("transition", "mem:tea", "validation", "corroborated", *BASIS)
    versions.append(in_store(*move, "--expect", versions[-1]).json["version_id"])
    return versions


def test_two_versions_by_id_or_number(in_store: Program, tea: list[str]) -> None:
    answer = in_store("diff", "mem:tea", tea[0], tea[1]).json
    assert answer == in_store("diff", "mem:tea", "1", "2").json
    assert answer["object_id"] == "mem:tea"
    assert (answer["from"]["version_id"], answer["to"]["version_id"]) == (tea[0], tea[1])
    assert answer["changes"] == [
        {
            "pointer": "/canonical_content/text",
            "change": "changed",
            "from": "Tea is at four.",
            "to": "Tea is at five.",
        },
        {
            "pointer": "/provenance/activity",
            "change": "changed",
            "from": "created",
            "to": "updated",
        },
    ]


def test_without_versions_it_is_the_last_change(in_store: Program, tea: list[str]) -> None:
    answer = in_store("diff", "mem:tea").json
    assert answer == in_store("diff", "mem:tea", tea[1], tea[2]).json
    assert {c["pointer"]: c.get("to") for c in answer["changes"]} == {
        "/provenance/activity": "transitioned",
        "/validation_state": "corroborated",
    }
    since = in_store("diff", "mem:tea", tea[0]).json
    assert since["to"]["version_id"] == tea[2]
    assert "/canonical_content/text" in [c["pointer"] for c in since["changes"]]


def test_a_first_version_adds_all(in_store: Program, remember: Remember) -> None:
    remember("tea", "--id", "mem:tea")
    answer = in_store("diff", "mem:tea").json
    assert answer["from"] is None
    assert {c["change"] for c in answer["changes"]} == {"added"}


def test_exit_code(in_store: Program, tea: list[str]) -> None:
    assert in_store("diff", "mem:tea", "1", "2").status == 0
    differing = in_store("diff", "mem:tea", "1", "2", "--exit-code")
    assert differing.status == 11
    assert json.loads(differing.stdout)["changes"]
    assert in_store("diff", "mem:tea", "2", "2", "--exit-code").status == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("mem:tea", "1", "9"), 3, "number 9"),
        (("mem:tea", "ver:none"), 3, "ver:none"),
        (("mem:coffee",), 3, "mem:coffee"),
        (("mem:tea", "0", "1"), 2, "'0'"),
        (("mem:tea", "99999999999999999999"), 2, "whole number"),
        (("mem:tea", "--snapshot", "snap:none"), 3, "snap:none"),
    ],
)
def test_what_is_not_there(
    in_store: Program, tea: list[str], words: tuple[str, ...], status: int, said: str
) -> None:
    failed = in_store("diff", *words)
    assert failed.status == status
    assert said in failed.error["message"]


def test_a_version_of_another_object_is_none(
    in_store: Program, tea: list[str], remember: Remember
) -> None:
    other = remember("coffee")["version_id"]
    assert in_store("diff", "mem:tea", other).status == 3


def test_what_was_redacted_is_not_shown(in_store: Program, tea: list[str]) -> None:
    assert in_store("redact", "mem:tea", "--expect", tea[2], *BASIS).status == 0
    for words in (("diff", "mem:tea", "1", "2"), ("history", "mem:tea", "--diff")):
        shown = in_store(*words)
        assert shown.status == 0
        assert b"at four" not in shown.stdout
        assert b"at five" not in shown.stdout


def test_through_a_snapshot_nothing_later_is_seen(in_store: Program, tea: list[str]) -> None:
    in_store("snapshot", "create", "--id", "snap:1", "--at", "2")
    answer = in_store("diff", "mem:tea", "--snapshot", "snap:1").json
    assert answer["to"]["version_id"] == tea[1]
    assert in_store("diff", "mem:tea", "1", "3", "--snapshot", "snap:1").status == 3


def test_who_may_not_look_into_the_past_sees_no_difference(
    in_store: Program, tea: list[str]
) -> None:
    policy = in_store("scope", "show", "workspace:default").json["policy"]
    policy["rules"] = [
        {"rule_id": "rule:none", "effect": "deny", "actors": ["actor:agent:*"],
         "operations": ["inspect_history"]}
    ]  # fmt: skip
    in_store("scope", "policy", "workspace:default", "--policy", json.dumps(policy))
    assert in_store("diff", "mem:tea", "--actor", "actor:agent:bot").status in (3, 7)
    assert in_store("diff", "mem:tea").status == 0


def test_at_a_terminal_it_is_old_above_new_in_colour(in_store: Program, tea: list[str]) -> None:
    status, shown = in_store.at_terminal("diff", "mem:tea", "1", "2")
    assert status == 0
    assert "\x1b[31m- Tea is at four.\x1b[0m\n\x1b[32m+ Tea is at five.\x1b[0m\n" in shown
    _, plain = in_store.at_terminal("diff", "mem:tea", "1", "2", env={"NO_COLOR": "1"})
    assert "/canonical_content/text\n- Tea is at four.\n+ Tea is at five.\n" in plain
    assert in_store.at_terminal("diff", "mem:tea", "1", "1") == (0, "")


def test_content_cannot_forge_a_line(in_store: Program, remember: Remember) -> None:
    version = remember("\x1b[2J", "--id", "mem:odd")["version_id"]
    change = ("update", "mem:odd", "--expect", version, "--content", '{"text": "a\\n+ b"}')
    assert in_store(*change).status == 0
    _, shown = in_store.at_terminal("diff", "mem:odd", env={"NO_COLOR": "1"})
    assert "\x1b" not in shown
    assert "+ a\n+ + b\n" in shown


def test_history_shows_what_each_version_changed(in_store: Program, tea: list[str]) -> None:
    items = in_store("history", "mem:tea", "--diff").json["items"]
    assert [item["to"]["version_id"] for item in items] == tea
    assert items[1] == in_store("diff", "mem:tea", "1", "2").json
    assert in_store("history", "mem:tea", "--diff", "--from", "2", "--to", "2").json["items"] == [
        items[1]
    ]
    assert in_store("history", "mem:tea", "--diff", "--events").status == 2


def test_relationships_have_differences_too(in_store: Program, tea: list[str]) -> None:
    made = in_store("relate", "mem:tea", "supports", "mem:tea", "--id", "rel:1")
    if made.status == 0:
        assert in_store("diff", "rel:1").json["object_id"] == "rel:1"


def test_batch_and_the_coprocess_know_it(in_store: Program, tea: list[str]) -> None:
    line = {"operation": "diff", "arguments": {"object_id": "mem:tea", "from_sequence": 1}}
    answer = json.loads(in_store("batch", stdin=json.dumps(line).encode()).stdout)
    assert answer["result"]["to"]["version_id"] == tea[2]
    line["arguments"]["from_version_id"] = "ver:1"
    assert in_store("batch", stdin=json.dumps(line).encode()).status == 2
