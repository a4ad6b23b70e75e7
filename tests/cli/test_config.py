"""`pamctl config`: what wins, where it is said, and what is refused."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pamctl.cli.settings import SETTINGS
from pamctl.encoding.canonical import canonical
from pamctl.store.configuration import IDENTITY
from tests.cli.conftest import Program

Remember = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]


def user_file(program: Program) -> Path:
    return program.folder.parent / "home" / ".config" / "pamctl" / "config.json"


def store_file(program: Program) -> Path:
    return program.folder / ".pam" / "store.json"


def say(program: Program, **said: Any) -> None:
    user_file(program).parent.mkdir(parents=True, exist_ok=True)
    user_file(program).write_text(json.dumps(said))


def origin(program: Program, name: str, *flags: str, env: dict[str, str] | None = None) -> Any:
    found = program("config", name, "--show-origin", "--json", *flags, env=env).json
    return found["value"], found["origin"]


def test_the_settings_of_a_store_are_those_of_its_schema() -> None:
    schema = json.loads((ROOT / "schemas" / "store.schema.json").read_text(encoding="utf-8"))
    of_store = {name for name, setting in SETTINGS.items() if setting.of_store}
    assert schema["properties"].keys() - set(IDENTITY) == of_store
    assert all(setting.of_store or setting.of_user for setting in SETTINGS.values())


def test_a_flag_wins_over_the_environment_and_that_over_the_users_file(in_store: Program) -> None:
    say(in_store, format="jsonl", store="/nowhere/.pam")
    env = {"PAM_FORMAT": "table"}
    found = in_store("config", "format", "--show-origin", "--format", "json", env=env).json
    assert (found["value"], found["origin"]) == ("json", "--format")
    assert in_store("log", env={"PAM_FORMAT": "json"}).json["items"] == []
    assert in_store("log").stdout == b""
    assert origin(in_store, "store") == (str(in_store.folder / ".pam"), "nearest to this folder")
    named = str(in_store.folder / "other")
    assert origin(in_store, "store", "--store", named) == (named, "--store")
    assert origin(in_store, "store", env={"PAM_STORE": named}) == (named, "environment PAM_STORE")


def test_a_users_file_that_cannot_be_read_is_said_with_who_named_it(in_store: Program) -> None:
    user_file(in_store).mkdir(parents=True)
    error = in_store("log").error
    assert error["code"] == "invalid_request"
    assert "XDG_CONFIG_HOME" in error["details"]["hint"]


def test_a_store_wins_over_its_user(in_store: Program) -> None:
    say(in_store, default_scope="workspace:mine")
    assert origin(in_store, "default_scope") == ("workspace:default", str(store_file(in_store)))
    in_store("config", "default_scope", "--unset")
    assert origin(in_store, "default_scope") == ("workspace:mine", str(user_file(in_store)))
    env = {"PAM_SCOPE": "workspace:env"}
    assert origin(in_store, "default_scope", env=env)[0] == "workspace:env"


def test_the_users_scope_is_that_of_new_stores(pamctl: Program) -> None:
    say(pamctl, default_scope="workspace:mine")
    assert pamctl("init").json["default_scope"] == "workspace:mine"
    assert pamctl("init", "other", "--scope", "workspace:this").json["default_scope"] == (
        "workspace:this"
    )


def test_the_users_store_is_where_there_is_no_other(pamctl: Program) -> None:
    pamctl("init", "far")
    assert pamctl("status").status == 3
    done = pamctl("config", "store", "far/.pam").json
    assert done == {
        "name": "store",
        "origin": str(user_file(pamctl)),
        "replayed": False,
        "value": str(pamctl.folder / "far" / ".pam"),
    }
    assert pamctl("status").json["path"] == str(pamctl.folder / "far" / ".pam")
    pamctl("init")
    assert pamctl("status").json["path"] == str(pamctl.folder / ".pam")


def test_the_user_acts_under_the_name_that_is_set(in_store: Program, remember: Remember) -> None:
    say(in_store, actor="actor:local:ann", actor_kind="agent")
    assert remember("tea")["envelope"]["actor"] == {
        "actor_id": "actor:local:ann",
        "actor_kind": "agent",
    }
    named = remember("tea", "--actor", "actor:local:bob")["envelope"]["actor"]
    assert named == {"actor_id": "actor:local:bob", "actor_kind": "human"}


def test_what_is_set_is_written_whole_and_canonical(in_store: Program) -> None:
    before = json.loads(store_file(in_store).read_text())
    assert in_store("config", "auto_create_scopes", "false").status == 0
    assert in_store("config", "max_clock_skew_sec", "30").status == 0
    after = {**before, "auto_create_scopes": False, "max_clock_skew_sec": 30}
    assert store_file(in_store).read_bytes() == canonical(after) + b"\n"
    assert in_store("fsck").status == 0
    refused = in_store("create", "--type", "claim", "--content", "1", "--scope", "workspace:new")
    assert refused.status == 3
    in_store("config", "auto_create_scopes", "--unset")
    in_store("config", "max_clock_skew_sec", "--unset")
    del before["auto_create_scopes"]
    assert json.loads(store_file(in_store).read_text()) == before
    in_store("config", "format", "table")
    assert user_file(in_store).read_bytes() == b'{"format":"table"}\n'
    assert stat.S_IMODE(user_file(in_store).stat().st_mode) == 0o600


def test_it_lists_what_has_a_value(in_store: Program) -> None:
    items = in_store("config").json["items"]
    assert [item["name"] for item in items] == ["store", "default_scope", "auto_create_scopes"]
    assert all(item.keys() == {"name", "value"} for item in items)
    _, shown = in_store.at_terminal("config", "--show-origin", env={"COLUMNS": "1000"})
    assert str(store_file(in_store)) in shown
    _, shown = in_store.at_terminal("config", "default_scope")
    assert shown == "workspace:default\n"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("formt",), 2, "did you mean 'format'?"),
        (("formt", "json"), 2, "did you mean 'format'?"),
        (("default-scope",), 2, "did you mean 'default_scope'?"),
        (("store_id", "store:1"), 2, "no setting 'store_id'"),
        (("actor",), 3, "'actor' is not set"),
        (("actor", "ann"), 2, "the value of 'actor'"),
        (("actor", ""), 2, "a word"),
        (("default_scope", "nowhere"), 2, "the value of 'default_scope'"),
        (("format", "xml"), 2, "auto, json, jsonl, table"),
        (("auto_create_scopes", "yes"), 2, "'auto_create_scopes' has to be true or false"),
        (("max_clock_skew_sec", "9" * 20), 2, "'max_clock_skew_sec' has to be a whole number"),
        (("auto_create_scopes", "1"), 2, "true or false"),
        (("max_clock_skew_sec", "1.5"), 2, "whole number"),
        (("max_clock_skew_sec", "true"), 2, "whole number"),
        (("max_clock_skew_sec", "--", "-1"), 2, "max_clock_skew_sec"),
        (("max_clock_skew_sec", "9007199254740992"), 2, "max_clock_skew_sec"),
        (("max_clock_skew_sec", "1", "--user"), 2, "leave out --user"),
        (("format", "json", "--unset"), 2, "--unset takes no value"),
        (("--unset",), 2, "name one"),
    ],
)
def test_what_is_refused_changes_nothing(
    in_store: Program, words: tuple[str, ...], status: int, said: str
) -> None:
    before = store_file(in_store).read_bytes()
    failed = in_store("config", *words)
    assert failed.status == status
    assert said in json.dumps(failed.error)
    assert store_file(in_store).read_bytes() == before
    assert not user_file(in_store).exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"actr": "a:b"}', "did you mean 'actor'?"),
        ('{"format": "xml"}', "'xml' is no format"),
        ('{"format": 1}', "'format' has to be a word"),
        ('{"auto_create_scopes": true}', "a setting of a store"),
        ('{"format": "json", "format": "json"}', "twice"),
        ("[]", "no JSON object"),
        ("format = json", "not JSON"),
        ("\ufeff{}", "byte order mark"),
    ],
)
def test_a_bad_file_of_the_user_is_named(in_store: Program, text: str, said: str) -> None:
    user_file(in_store).parent.mkdir(parents=True)
    user_file(in_store).write_text(text, encoding="utf-8")
    failed = in_store("log")
    assert failed.status == 2
    assert str(user_file(in_store)) in failed.error["message"]
    assert said in json.dumps(failed.error, ensure_ascii=False)
    assert in_store("--version").status == 0


def test_xdg_says_where_it_is(in_store: Program) -> None:
    elsewhere = in_store.folder / "xdg"
    env = {"XDG_CONFIG_HOME": str(elsewhere)}
    assert in_store("config", "format", "table", env=env).status == 0
    assert (elsewhere / "pamctl" / "config.json").exists()
    assert in_store("config", "format", "table", env={"XDG_CONFIG_HOME": "relative"}).status == 0
    assert user_file(in_store).exists()


def test_a_store_that_cannot_be_written_is_left_alone(in_store: Program) -> None:
    bound = in_store.bound_by_permissions()
    before = store_file(in_store).read_bytes()
    (in_store.folder / ".pam").chmod(0o555)
    try:
        assert bound("config", "default_scope", "workspace:x").status == 75
    finally:
        (in_store.folder / ".pam").chmod(0o755)
    assert store_file(in_store).read_bytes() == before


def test_an_evaluation_changes_no_settings(in_store: Program, remember: Remember) -> None:
    remember("tea")
    in_store("snapshot", "create", "--id", "snap:1")
    run = ("evaluate", "--snapshot", "snap:1", "--", "pamctl", "config", "format", "table")
    assert in_store(*run).status == 7
