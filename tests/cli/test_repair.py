"""`pamctl repair` as a user runs it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Program

Remember = Callable[..., Any]


def _version(in_store: Program) -> Path:
    (version,) = (in_store.folder / ".pam").glob("scopes/*/versions/*/*.json")
    return version


def test_a_healthy_store_needs_nothing(in_store: Program, remember: Remember) -> None:
    remember("tea")
    answer = in_store("repair").json
    assert (answer.pop("actions"), answer.pop("findings")) == ([], [])
    assert answer == {"applied": False, "clean": True, "replayed": False}
    assert in_store("repair", "--format", "table").stdout == b"the store is clean\n"


def test_a_plan_changes_nothing_and_apply_carries_it_out(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    shutil.copytree(in_store.folder / ".pam", tmp_path / "copy" / ".pam")
    version = _version(in_store)
    data = version.read_bytes()
    version.write_bytes(b"{}")
    plan = in_store("repair", "--from", str(tmp_path / "copy"))
    assert plan.status == 11
    assert version.read_bytes() == b"{}"
    (action,) = json.loads(plan.stdout)["actions"]
    assert action["action"] == "replace"
    assert action["finding"] == "version-altered"
    done = in_store("repair", "--from", str(tmp_path / "copy"), "--apply").json
    assert done["clean"]
    assert done["actions"] == [action]
    assert version.read_bytes() == data
    assert in_store("fsck").status == 0


def test_for_people(in_store: Program, remember: Remember) -> None:
    remember("tea")
    _version(in_store).unlink()
    status, shown = in_store.at_terminal("repair")
    assert status == 11
    assert "there is nothing that repair could do" in shown
    assert "left: version-missing: " in shown


def test_the_store_is_no_copy_of_itself(in_store: Program) -> None:
    assert in_store("repair", "--from", ".pam").error["code"] == "invalid_request"
    nowhere = in_store("repair", "--from", "nowhere").error
    assert nowhere["code"] == "scope_not_found"
    assert "--from takes" in nowhere["details"]["hint"]


def test_a_tail_that_was_cut_off_comes_back_from_a_copy_that_has_it(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    store = in_store.folder / ".pam"
    shutil.copytree(store, tmp_path / "older" / ".pam")
    remember("train")
    (scope,) = in_store("status").json["scopes"]
    shutil.copytree(store, tmp_path / "copy" / ".pam")
    (ledger,) = store.glob("scopes/*/ledger.jsonl")
    whole = ledger.read_bytes()
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    pin = ("--expect-head", scope["head"], "--expect-count", str(scope["entries"]))
    older = in_store("repair", "--from", str(tmp_path / "older"), "--apply", *pin)
    assert older.status == 11
    answer = json.loads(older.stdout)
    assert answer["actions"] == []
    assert [one["id"] for one in answer["findings"]] == ["ledger-tail-cut"]
    done = in_store("repair", "--from", str(tmp_path / "copy"), "--apply", *pin).json
    assert [(one["action"], one["finding"]) for one in done["actions"]] == [
        ("replace", "ledger-tail-cut")
    ]
    assert ledger.read_bytes() == whole
    assert in_store("fsck", *pin).json["clean"]


def test_a_head_that_was_seen_last_is_a_pin(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    remember("train", "--scope", "project:garden")
    shutil.copytree(in_store.folder / ".pam", tmp_path / "copy" / ".pam")
    assert in_store("fsck").status == 0
    (folder,) = (in_store.folder / ".pam" / "scopes").glob("project-*")
    shutil.rmtree(folder)
    gone = in_store("fsck")
    assert gone.status == 11
    assert [one["id"] for one in json.loads(gone.stdout)["findings"]] == ["ledger-missing"]
    plan = in_store("repair")
    assert plan.status == 11
    assert [one["id"] for one in json.loads(plan.stdout)["findings"]] == ["ledger-missing"]
    assert in_store("repair", "--from", str(tmp_path / "copy"), "--apply").json["clean"]
    assert in_store("query", "--scope", "project:garden", "--any-state", "--count").json["total"]
    assert in_store("fsck").json["findings"] == []
    shutil.rmtree(folder)
    assert in_store("fsck", "--forget").status == 0
    assert in_store("fsck").status == 0


def test_an_export_is_a_copy_too(in_store: Program, remember: Remember, tmp_path: Path) -> None:
    for name in ("tea", "train"):
        remember(name)
    bundle = tmp_path / "monday.pamb"
    bundle.write_bytes(in_store("export").stdout)
    (folder,) = (in_store.folder / ".pam").glob("scopes/*")
    ledger = folder / "ledger.jsonl"
    before = ledger.read_bytes()
    version = next(folder.glob("versions/*/*.json"))
    data = version.read_bytes()
    version.unlink()
    ledger.write_bytes(before.replace(b"object_created", b"object_deleted", 1))
    (in_store.folder / ".pam" / "store.json").unlink()
    assert in_store("fsck", "--store", ".pam").status == 11
    repaired = in_store("repair", "--store", ".pam", "--from", str(bundle), "--apply").json
    assert {action["finding"] for action in repaired["actions"]} >= {
        "store-file-invalid",
        "version-missing",
    }
    assert {action["from"] for action in repaired["actions"]} == {str(bundle)}
    assert (ledger.read_bytes(), version.read_bytes()) == (before, data)
    assert in_store("fsck").status == 0
    assert len(in_store("query", "--any-state").json["items"]) == 2


def test_a_store_of_an_unknown_format_and_its_copy_are_one_store(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    store_file = in_store.folder / ".pam" / "store.json"
    shutil.copytree(store_file.parent, tmp_path / "copy" / ".pam")
    known = store_file.read_bytes()
    store_file.write_bytes(known.replace(b'"format_version":1', b'"format_version":9'))
    plan = in_store("repair", "--from", str(tmp_path / "copy"))
    assert plan.status == 11
    (left,) = json.loads(plan.stdout)["findings"]
    assert left["id"] == "format-version-unknown"


def test_an_export_that_is_damaged_or_of_another_store_is_refused(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    remember("tea")
    whole = in_store("export").stdout
    bundle = tmp_path / "monday.pamb"
    for data in (whole[:-40], whole.replace(b"object_created", b"object_deleted"), b"", b"{}\n"):
        bundle.write_bytes(data)
        assert in_store("repair", "--from", str(bundle)).error["code"] == "invalid_object"
    bundle.write_bytes(whole)
    store_file = in_store.folder / ".pam" / "store.json"
    store_id = json.loads(store_file.read_bytes())["store_id"].encode()
    store_file.write_bytes(store_file.read_bytes().replace(store_id, b"store:" + b"0" * 32))
    refused = in_store("repair", "--from", str(bundle)).error
    assert refused["code"] == "invalid_request"
    assert "another store" in refused["message"]
