"""`pamctl fsck` as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Program

Remember = Callable[..., Any]


def _scope(in_store: Program) -> Path:
    (scope,) = (in_store.folder / ".pam" / "scopes").iterdir()
    return scope


def _ids(answer: Any) -> set[str]:
    return {finding["id"] for finding in answer["findings"]}


def test_a_clean_store_is_clean_and_its_heads_are_remembered(
    in_store: Program, remember: Remember
) -> None:
    remember("tea")
    first = in_store("fsck").json
    assert first["clean"]
    assert _ids(first) == {"ledger-tail-unpinned"}
    (scope,) = first["scopes"]
    assert scope["head"] == in_store("status").json["scopes"][0]["head"]
    second = in_store("fsck").json
    assert second["findings"] == []
    assert second["scopes"] == [{**scope, "tail": "pinned"}]
    (remembered,) = Path(in_store.environment["HOME"]).glob(".local/state/pamctl/heads/*.json")
    assert remembered.name == f"{first['store_id']}.json"


def test_a_tail_that_was_cut_off_since_is_found_until_it_is_forgotten(
    in_store: Program, remember: Remember
) -> None:
    remember("tea")
    before = (_scope(in_store) / "ledger.jsonl").read_bytes()
    remember("milk", "--idempotency-key", "milk")
    assert in_store("fsck").status == 0
    (_scope(in_store) / "ledger.jsonl").write_bytes(before)
    assert in_store("index", "rebuild").status == 0
    cut = in_store("fsck")
    assert cut.status == 11
    assert _ids(json.loads(cut.stdout)) == {"ledger-tail-cut"}
    assert in_store("fsck").status == 11  # what is wrong is not remembered
    forgotten = in_store("fsck", "--forget")
    assert _ids(json.loads(forgotten.stdout)) == {"version-orphaned", "ledger-tail-unpinned"}
    assert "ledger-tail-cut" not in in_store("fsck").stdout.decode()


def test_an_empty_scope_gives_way_to_an_import(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    bundle = tmp_path / "tea.pamb"
    bundle.write_bytes(in_store("export").stdout)
    other = Program(tmp_path, in_store.environment)
    assert other("init").status == other("fsck").status == 0
    assert other("import", str(bundle)).status == 0
    assert other("fsck").json["clean"]


def test_a_head_and_a_count_that_were_kept_elsewhere(in_store: Program, remember: Remember) -> None:
    remember("tea")
    (scope,) = in_store("fsck").json["scopes"]
    remember("milk")
    head, count = scope["head"], str(scope["entries"])
    assert in_store("fsck", "--expect-head", head).status == 0
    assert in_store("fsck", "--expect-head", head, "--expect-count", count).status == 0
    assert in_store("fsck", "--expect-head", "0" * 64).status == 11
    assert in_store("fsck", "--expect-count", "9999").status == 11
    now = str(in_store("fsck").json["scopes"][0]["entries"])
    counted = in_store("fsck", "--forget", "--expect-count", now).json
    assert counted["scopes"][0]["tail"] == "unpinned", "the same number may be another ledger"
    assert counted["counts"] == {"ledger-tail-unpinned": 1}
    assert in_store("fsck", "--expect-head", "tea").error["code"] == "invalid_request"


def test_the_state_folder_is_the_one_that_the_environment_names(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    assert in_store("fsck", env={"XDG_STATE_HOME": str(tmp_path / "state")}).status == 0
    assert len(list((tmp_path / "state" / "pamctl" / "heads").iterdir())) == 1


def test_a_state_folder_that_cannot_be_written_is_no_reason_to_fail(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    (tmp_path / "file").write_bytes(b"")
    done = in_store("fsck", env={"XDG_STATE_HOME": str(tmp_path / "file")})
    assert done.status == 0
    assert b"could not be remembered" in done.stderr


def test_damage_is_said_in_json_in_lines_and_for_people(
    in_store: Program, remember: Remember
) -> None:
    remember("tea")
    (version,) = (_scope(in_store) / "versions").glob("*/*.json")
    version.write_bytes(version.read_bytes() + b" ")
    done = in_store("fsck")
    assert done.status == 11
    (altered, _) = json.loads(done.stdout)["findings"]
    assert altered["id"] == "version-altered"
    assert altered["path"] == version.relative_to(in_store.folder / ".pam").as_posix()
    (line, _) = in_store("fsck", "--format", "jsonl").stdout.splitlines()
    assert json.loads(line) == altered
    status, shown = in_store.at_terminal("fsck")
    assert status == 11
    assert "must: version-altered: " in shown
    assert "the store is NOT clean: 1 finding" in shown


def test_names_cannot_command_a_terminal(in_store: Program, remember: Remember) -> None:
    remember("tea")
    (_scope(in_store) / "tmp" / "\x1b[31m.new").write_bytes(b"")
    status, shown = in_store.at_terminal("fsck")
    assert status == 11
    assert "\x1b" not in shown
    assert "\\x1b[31m" in shown


def test_an_unknown_format_is_a_finding(in_store: Program) -> None:
    path = in_store.folder / ".pam" / "store.json"
    path.write_bytes(path.read_bytes().replace(b'"format_version":1', b'"format_version":2'))
    done = in_store("fsck")
    assert done.status == 11
    assert _ids(json.loads(done.stdout)) == {"format-version-unknown"}


def test_an_unknown_scope_and_no_store(in_store: Program, tmp_path: Path) -> None:
    assert in_store("fsck", "--scope", "workspace:none").error["code"] == "scope_not_found"
    assert in_store("fsck", "--store", str(tmp_path / "no")).error["code"] == "scope_not_found"


def test_a_check_leaves_no_temporary_files(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    (tmp_path / "tmp").mkdir()
    assert in_store("fsck", env={"TMPDIR": str(tmp_path / "tmp")}).status == 0
    assert list((tmp_path / "tmp").iterdir()) == []
