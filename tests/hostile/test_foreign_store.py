"""A store from a stranger is data: it does not choose what is opened, read, moved or written,
how long a reader waits, how much it holds, or what a terminal is told."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.errors import PamError, StoreDamaged
from pamctl.limits import DEPTH_MAX, DOCUMENT_BYTES_MAX
from pamctl.store.keyring import Keyring
from pamctl.store.layout import ScopeLayout, StoreLayout, scope_folder

SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:local:owner", "actor_kind": "human"}
CLAIM = {
    "scope_id": SCOPE,
    "object_type": "claim",
    "canonical_content": "tea",
    "actor": ACTOR,
    "provenance": {"activity": "noted"},
}
SECONDS_MAX = 60
READING = (
    ["read", "mem:a"],
    ["query", "--any-state"],
    ["log"],
    ["history", "mem:a"],
    ["status"],
    ["fsck"],
)
WRITING = (["create", "--type", "claim", "--content", "1"],)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a memory, a subscription and a key, and no index, as a clone has none."""
    found = tmp_path / ".pam"
    store = pamctl.init_store(found)
    store.create(**CLAIM, object_id="mem:a")
    store.subscribe(scope_id=SCOPE, actor=ACTOR)
    store.close()
    Keyring(found / "keys").generate("laptop", seed=b"\x01" * 32, now="2026-01-01T00:00:00Z")
    for file in (found / "index").iterdir():
        file.unlink()
    return found


@pytest.fixture
def scope(path: Path) -> ScopeLayout:
    return StoreLayout(path).scope(SCOPE)


def attempt(store: Path) -> list[PamError]:
    """Reads and writes, through the Python API; what was refused."""
    refused = []
    for operation, arguments in (
        ("read", {"scope_id": SCOPE, "object_id": "mem:a"}),
        ("query", {"scope_id": SCOPE, "any_state": True}),
        ("create", CLAIM),
        ("list_subscriptions", {"scope_id": SCOPE, "actor": ACTOR}),
    ):
        try:
            opened = pamctl.open_store(store)
            opened.perform(operation, arguments)
            opened.close()
        except PamError as error:
            refused.append(error)
    return refused


def _pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def _device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path, _: Path) -> None:
    path.mkdir()


FILES = (
    *("store.json", "scopes/*/scope.json", "scopes/*/ledger.jsonl", "scopes/*/versions/*/*.json"),
    *("keys/laptop.json", "keys/laptop.pem", "scopes/*/subscriptions/*[0-9a-f].json"),
)


@pytest.mark.parametrize("put", [_pipe, _link, _device, _folder])
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_not_opened(
    name: str, put: Callable[[Path, Path], None], path: Path, tmp_path: Path, run: Any
) -> None:
    (victim,) = path.glob(name)
    outside = tmp_path / "outside"
    victim.rename(outside)
    before = outside.read_bytes()
    put(victim, outside)
    for words in (*READING, *WRITING, ["key", "list"], ["subscribe", "list"]):
        done = run(*words, "--store", str(path), timeout_sec=SECONDS_MAX)
        assert b"Traceback" not in done.stderr
        assert b"unexpected" not in done.stderr
        assert done.returncode in (0, 1, 2, 3, 11, 75), (words, done.stderr)
    assert outside.read_bytes() == before
    if name == "keys/laptop.pem":
        with pytest.raises(PamError):
            Keyring(path / "keys").private("laptop")
    else:
        checked = run("fsck", "--store", str(path), timeout_sec=SECONDS_MAX)
        assert checked.returncode != 0


@pytest.mark.parametrize("name", ["tmp", "versions", "packs", "."])
def test_a_folder_of_a_scope_that_leads_elsewhere_is_not_used(
    name: str, path: Path, scope: ScopeLayout, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "letter").write_text("dear")
    folder = scope.root / name if name != "." else scope.root
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved" if name == "." else outside)
    assert [error for error in attempt(path) if isinstance(error, StoreDamaged)]
    assert [entry.name for entry in outside.iterdir()] == ["letter"]


@pytest.mark.parametrize("name", ["scopes", "keys", "projections", "index", "quarantine"])
def test_a_folder_of_the_store_that_leads_elsewhere_is_not_used(
    name: str, path: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if (path / name).exists():
        (path / name).rename(tmp_path / "moved")
    (path / name).symlink_to(outside)
    assert len(attempt(path)) == 4
    assert not [*outside.iterdir()]


def test_a_version_folder_that_leads_elsewhere_is_not_written_to(
    path: Path, scope: ScopeLayout, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    store = pamctl.open_store(path)
    store.pack(scope_id=SCOPE)  # so that no version is in any of these folders
    store.close()
    for number in range(256):
        folder = scope.versions / f"{number:02x}"
        if folder.exists():
            folder.rmdir()
        folder.symlink_to(outside)
    assert attempt(path)
    assert not [*outside.iterdir()]


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_an_index_never_leads_to_another_database(
    link: Callable[[Path, Path], None], path: Path, scope: ScopeLayout, tmp_path: Path
) -> None:
    outside = tmp_path / "mine.sqlite"
    with sqlite3.connect(outside) as database:
        database.execute("CREATE TABLE letters AS SELECT 'dear' AS text")
    database.close()
    before = outside.read_bytes()
    link(outside, StoreLayout(path).index_file(scope))
    attempt(path)
    assert outside.read_bytes() == before


def test_a_ledger_with_another_name_is_read_and_not_written(
    path: Path, scope: ScopeLayout, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.jsonl"
    os.link(scope.ledger, copy)
    before = copy.read_bytes()
    (refused,) = attempt(path)
    assert "hard link" in refused.message
    assert copy.read_bytes() == before


def test_a_gigantic_line_is_refused_by_its_bound(path: Path, scope: ScopeLayout) -> None:
    with open(scope.ledger, "ab") as ledger:
        ledger.write(b"[" * (DOCUMENT_BYTES_MAX + 1) + b"\n")
    refused = attempt(path)
    assert refused
    assert all("DOCUMENT_BYTES_MAX" in error.message for error in refused[:3])


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 200_000])
def test_deep_nesting_is_refused(depth: int, path: Path, scope: ScopeLayout) -> None:
    for file in (scope.ledger, scope.scope_file, path / "store.json"):
        kept = file.read_bytes()
        nested = b"[" * depth + b"]" * depth
        file.write_bytes((kept if file == scope.ledger else b"") + nested + b"\n")
        assert [error for error in attempt(path) if isinstance(error, StoreDamaged)]
        file.write_bytes(kept)
    assert not attempt(path)


def test_a_huge_file_with_nothing_in_it_is_refused(path: Path, scope: ScopeLayout) -> None:
    for file in (scope.scope_file, path / "store.json"):
        kept = file.read_bytes()
        os.truncate(file, 1 << 40)  # a hole: it takes no room
        assert [error for error in attempt(path) if isinstance(error, StoreDamaged)]
        file.unlink()
        file.write_bytes(kept)
    (version,) = scope.versions.glob("*/*.json")
    os.truncate(version, 1 << 40)
    assert attempt(path)


@pytest.mark.parametrize(
    "scope_id", ["../../etc", "/etc/passwd", "a/../../b", "..", "workspace:\x00", "x" * 10_000]
)
def test_no_scope_id_is_a_path(scope_id: str, path: Path, tmp_path: Path) -> None:
    folder = scope_folder(scope_id)
    assert "/" not in folder
    assert not folder.startswith(".")
    assert len(folder) < 64
    before = sorted(tmp_path.rglob("*"))
    store = pamctl.open_store(path)
    with pytest.raises(PamError):
        store.create(**{**CLAIM, "scope_id": scope_id, "object_type": "no such type"})
    assert sorted(tmp_path.rglob("*"))[: len(before)] == before
    store.close()


@pytest.mark.parametrize("name", ["../k", "/k", "..", ".hidden", "a/b", "k\n", "", "k" * 65])
def test_no_key_name_is_a_path(name: str, path: Path) -> None:
    ring = Keyring(path / "keys")
    with pytest.raises(PamError):
        ring.private(name)
    with pytest.raises(PamError):
        ring.generate(name, seed=b"\x02" * 32, now="2026-01-01T00:00:00Z")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622, 0o777])
def test_a_key_that_others_can_read_or_write_is_not_used(mode: int, path: Path) -> None:
    key = path / "keys" / "laptop.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(mode)
    with pytest.raises(PamError, match="others can read or write"):
        Keyring(path / "keys").private("laptop")


def test_no_control_character_reaches_a_terminal(path: Path, run: Any) -> None:
    """A table is what a terminal is shown; whatever a stranger wrote, it cannot move the
    cursor, set a title or hide a line."""
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\u202egnp\x00"
    store = pamctl.open_store(path)
    content = {"text": nasty, nasty: "x"}
    store.create(**{**CLAIM, "canonical_content": content}, object_id="mem:nasty")
    store.close()
    for words in (["query", "--any-state"], ["read", "mem:nasty"], ["log"], ["history", "mem:a"]):
        done = run(*words, "--store", str(path), "--format", "table")
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode()
        assert not [c for c in text if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]
        assert "\u202e" not in text


def test_control_characters_in_json_stay_escaped(path: Path, run: Any) -> None:
    store = pamctl.open_store(path)
    store.create(**{**CLAIM, "canonical_content": "\x1b[2J"}, object_id="mem:nasty")
    store.close()
    done = run("read", "mem:nasty", "--store", str(path), "--json")
    assert b"\x1b" not in done.stdout
    assert json.loads(done.stdout)["canonical_content"] == "\x1b[2J"
