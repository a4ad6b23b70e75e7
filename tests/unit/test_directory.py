"""A `.pam` directory as a whole: made once, found, refused when unknown, and its scopes."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from pamctl.encoding.canonical import canonical
from pamctl.errors import (
    InvalidRequest,
    ScopeNotFound,
    ServiceUnavailable,
    StoreDamaged,
    StoreNotFound,
    UnknownFormat,
)
from pamctl.store.directory import StoreDirectory
from tests.scope_ledgers import (
    CONFIG,
    DIED,
    SCOPE,
    SCOPE_ID,
    commit,
    creation,
    files_below,
    new_scope,
    new_store,
    run_until,
    scope_entry,
    transactions,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".pam"


def make_scope(store: StoreDirectory, scope_id: str) -> Any:
    return store.create_scope(
        {"scope_id": scope_id, "scope_kind": "workspace"}, [[scope_entry(scope_id)]]
    )


# Stores


def test_what_a_new_store_holds(root: Path) -> None:
    store = new_store(root)
    assert store.config == CONFIG
    assert files_below(root) == {
        ".gitattributes": b"* -text -merge\n",
        ".gitignore": (
            b"/index/\n/keys/*.pem\n/lock\n/scopes/*/lock\n/scopes/*/tmp/\n/scopes/.*\n"
        ),
        "store.json": canonical(CONFIG) + b"\n",
    }
    folders = sorted(path.name for path in root.iterdir() if path.is_dir())
    assert folders == ["index", "keys", "projections", "scopes"]
    assert stat.S_IMODE((root / "keys").stat().st_mode) == 0o700


def test_making_it_again_changes_nothing(root: Path) -> None:
    layout = new_scope(root)
    before = files_below(root)
    times = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    again = StoreDirectory.create(root, {**CONFIG, "store_id": "store:other"})
    assert again.config == CONFIG
    assert files_below(root) == before
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == times
    assert len(transactions(layout)) == 1


def test_folders_above_it_are_made(tmp_path: Path) -> None:
    assert new_store(tmp_path / "a/b/.pam").config == CONFIG


@pytest.mark.parametrize("old", [b"* text=auto\n", b""])
def test_a_folder_with_somebody_elses_files_becomes_a_store(root: Path, old: bytes) -> None:
    root.mkdir()
    (root / "notes.txt").write_bytes(b"theirs")
    new_store(root)
    assert (root / "notes.txt").read_bytes() == b"theirs"


MAKER = """
from pathlib import Path
from tests.scope_ledgers import new_store

root = Path(sys.argv[2])
arm()
new_store(root)
"""


def test_a_making_that_was_interrupted_is_completed_by_the_next(tmp_path: Path) -> None:
    for step in range(100):
        root = tmp_path / f"{step}" / ".pam"
        root.parent.mkdir()
        if run_until(step, MAKER, str(root)) != DIED:
            break
        try:
            config = StoreDirectory.open(root).config
        except StoreNotFound:
            config = new_store(root).config
        # Whole or not there: never a store.json that says half.
        assert config == CONFIG
        assert (root / ".gitignore").read_bytes().endswith(b"/scopes/.*\n")
        make_scope(StoreDirectory.open(root), SCOPE_ID)
    else:
        pytest.fail("the store was never made")
    assert step > 10


def test_a_store_that_cannot_be_made_is_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync
    for step in range(100):
        calls = 0

        def failing(descriptor: int, at: int = step) -> None:
            nonlocal calls
            calls += 1
            if calls - 1 == at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", failing)
        try:
            new_store(root)
        except ServiceUnavailable:
            continue
        break
    assert step > 5
    assert StoreDirectory.open(root).config == CONFIG
    assert [path.name for path in root.iterdir() if path.name.endswith(".new")] == []


BOTH = """
import sys
from pathlib import Path
from pamctl.store.directory import StoreDirectory
from tests.scope_ledgers import CONFIG, scope_entry

root, who = Path(sys.argv[1]), sys.argv[2]
sys.stdin.readline()
for number in range(25):
    store = StoreDirectory.create(root / f"{number}" / ".pam", {**CONFIG, "store_id": who})
    scope_id = f"workspace:{number}"
    entry = scope_entry(scope_id)
    entry.body["by"] = who
    store.create_scope({"scope_id": scope_id, "scope_kind": "workspace"}, [[entry]])
    print(store.config["store_id"])
"""


def test_two_processes_make_one_store_and_one_scope(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BOTH, str(tmp_path)]
    makers = [
        subprocess.Popen(
            [*command, who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        for who in ("store:a", "store:b")
    ]  # fmt: skip
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("go\n")
        maker.stdin.flush()
    answers = [maker.communicate(timeout=300)[0].split() for maker in makers]
    assert [maker.returncode for maker in makers] == [0, 0]
    assert answers[0] == answers[1]  # both work with the same store
    for number in range(25):
        store = StoreDirectory.open(tmp_path / f"{number}" / ".pam")
        assert store.config["store_id"] == answers[0][number]
        (document,) = store.scopes()
        layout = store.scope(document["scope_id"])
        assert len(transactions(layout)) == 1
        assert sorted(path.name for path in layout.root.iterdir()) == [
            "ledger.jsonl",
            "packs",
            "scope.json",
            "tmp",
            "versions",
        ]


def test_finding_the_nearest_store(root: Path, tmp_path: Path) -> None:
    new_store(root)
    deep = tmp_path / "a/b"
    deep.mkdir(parents=True)
    for start in (deep, tmp_path, root):
        assert StoreDirectory.find(start) == root
    inner = tmp_path / "a/.pam"
    inner.mkdir()  # a folder of that name is no store
    assert StoreDirectory.find(deep) == root
    new_store(inner)
    assert StoreDirectory.find(deep) == inner


def test_no_store_here_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound) as refusal:
        StoreDirectory.find(tmp_path)
    assert "pamctl init" in refusal.value.details["hint"]
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "file"):
        with pytest.raises(StoreNotFound):
            StoreDirectory.open(path)


@pytest.mark.parametrize(
    "change",
    [
        {"format_version": 2}, {"format_version": 0}, {"format_version": "1"},
        {"format_version": None}, {"format": "other"}, {"format": None}, {"format": "PAM-STORE"},
    ],
    ids=str,
)  # fmt: skip
def test_an_unknown_format_is_refused_and_left_alone(root: Path, change: dict[str, Any]) -> None:
    new_store(root)
    (root / "store.json").write_bytes(canonical({**CONFIG, **change}) + b"\n")
    before = files_below(root)
    with pytest.raises(UnknownFormat):
        StoreDirectory.open(root)
    with pytest.raises(UnknownFormat):
        new_store(root)
    assert files_below(root) == before


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"\xff", b'{"format":1,"format":2}', b"<<<<<<< HEAD\n"]
)
def test_a_damaged_store_file(root: Path, data: bytes) -> None:
    new_store(root)
    (root / "store.json").write_bytes(data)
    with pytest.raises(StoreDamaged) as damage:
        StoreDirectory.open(root)
    assert damage.value.details["path"] == str(root / "store.json")


def test_a_store_must_have_an_id(root: Path) -> None:
    new_store(root)
    for store_id in (None, 7):
        (root / "store.json").write_bytes(canonical({**CONFIG, "store_id": store_id}))
        with pytest.raises(StoreDamaged):
            StoreDirectory.open(root)


# Scopes


def test_a_new_scope_is_there_whole(root: Path) -> None:
    layout = new_scope(root)
    assert layout.scope_file.read_bytes() == canonical(SCOPE) + b"\n"
    assert sorted(path.name for path in layout.root.iterdir()) == [
        "ledger.jsonl",
        "packs",
        "scope.json",
        "tmp",
        "versions",
    ]
    assert new_store(root).scope(SCOPE_ID) == layout


def test_making_a_scope_again_changes_nothing(root: Path) -> None:
    layout = new_scope(root)
    before = files_below(layout.root)
    again = new_store(root).create_scope(
        {**SCOPE, "scope_kind": "other"}, [[scope_entry(), scope_entry()]]
    )
    assert again == layout
    assert files_below(layout.root) == before


def test_ids_that_look_alike_are_scopes_of_their_own(root: Path) -> None:
    store = new_store(root)
    ids = [
        "workspace:default", "workspace:Default", "workspace-default", "workspace:default/",
        unicodedata.normalize("NFC", "workspace:é"), unicodedata.normalize("NFD", "workspace:é"),
    ]  # fmt: skip
    folders = {make_scope(store, scope_id).root for scope_id in ids}
    assert len(folders) == len(ids)
    assert sorted(document["scope_id"] for document in store.scopes()) == sorted(ids)
    for scope_id in ids:
        assert transactions(store.scope(scope_id))[0].entries[0].body["scope_id"] == scope_id


def test_a_folder_of_another_scope_is_never_taken(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Twelve hexadecimal digits can be made to collide; then the second scope is refused.
    store = new_store(root)
    monkeypatch.setattr("pamctl.store.layout.scope_folder", lambda scope_id: "same-000000000000")
    first = make_scope(store, "workspace:first")
    before = files_below(first.root)
    with pytest.raises(InvalidRequest, match="folder of another scope"):
        make_scope(store, "workspace:second")
    with pytest.raises(StoreDamaged, match="workspace:first"):
        store.scope("workspace:second")
    assert files_below(first.root) == before


def test_an_absent_scope(root: Path) -> None:
    store = new_store(root)
    assert list(store.scopes()) == []
    with pytest.raises(ScopeNotFound):
        store.scope("workspace:absent")
    (root / "scopes").rmdir()  # as git leaves it
    assert list(store.scopes()) == []
    make_scope(store, SCOPE_ID)
    assert [document["scope_id"] for document in store.scopes()] == [SCOPE_ID]


SCOPE_MAKER = """
from pathlib import Path
from pamctl.store.directory import StoreDirectory
from tests.scope_ledgers import SCOPE, scope_entry

store = StoreDirectory.open(Path(sys.argv[2]))
arm()
store.create_scope(SCOPE, [[scope_entry()]])
"""


def test_a_scope_whose_making_was_interrupted_is_set_aside_and_made(tmp_path: Path) -> None:
    for step in range(100):
        root = tmp_path / f"{step}" / ".pam"
        store = new_store(root)
        if run_until(step, SCOPE_MAKER, str(root)) != DIED:
            break
        seen = list(store.scopes())
        assert seen in ([], [SCOPE])
        left = {path.name: files_below(path) for path in (root / "scopes").glob(".*")}
        make_scope(store, SCOPE_ID)
        assert list(store.scopes()) == [SCOPE]
        assert len(transactions(store.scope(SCOPE_ID))) == 1
        kept = root / "quarantine"
        assert {f"scope{name}": held for name, held in left.items()} == (
            {path.name: files_below(path) for path in kept.iterdir()} if kept.exists() else {}
        )
    else:
        pytest.fail("the scope was never made")
    assert step > 10


def test_unfinished_scopes_of_one_name_are_all_kept(root: Path) -> None:
    store = new_store(root)
    for number in range(3):
        unfinished = root / "scopes/.workspace-a-000000000000.1-0.new"
        unfinished.mkdir()
        (unfinished / "ledger.jsonl").write_bytes(b"%d" % number)
        make_scope(store, f"workspace:{number}")
    assert sorted(files_below(root / "quarantine").values()) == [b"0", b"1", b"2"]
    assert len(list(store.scopes())) == 3


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"scope_id":"other:scope"}', b"{}"])
def test_a_damaged_scope_file(root: Path, data: bytes) -> None:
    layout = new_scope(root)
    layout.scope_file.write_bytes(data)
    with pytest.raises(StoreDamaged):
        StoreDirectory.open(root).scope(SCOPE_ID)


def test_a_scope_folder_without_its_file(root: Path) -> None:
    layout = new_scope(root)
    layout.scope_file.unlink()
    store = StoreDirectory.open(root)
    with pytest.raises(StoreDamaged, match=r"scope\.json") as refused:
        list(store.scopes())
    assert "pamctl fsck" in refused.value.details["hint"]
    with pytest.raises(StoreDamaged, match=r"scope\.json"):
        make_scope(store, SCOPE_ID)


# Git


def git(folder: Path, *words: str, status: int = 0) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    finished = subprocess.run(
        ["git", *identity, "-c", "core.autocrlf=true", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert finished.returncode == status, finished.stderr
    return finished.stdout


def test_a_store_survives_git(root: Path, tmp_path: Path) -> None:
    layout = new_scope(root)
    commit(layout, creation(1))
    commit(layout, creation(2), creation(3))
    (root / "index/x.sqlite").write_bytes(b"derived")
    (root / "keys/owner.pem").write_bytes(b"secret")
    before = files_below(root)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "a store")
    git(tmp_path, "clone", "-q", str(tmp_path), str(tmp_path / "clone"))
    cloned = tmp_path / "clone/.pam"
    machinery = {"index/x.sqlite", "keys/owner.pem", f"scopes/{layout.root.name}/lock", "lock"}
    assert files_below(cloned) == {
        name: data for name, data in before.items() if name not in machinery
    }
    there = StoreDirectory.open(cloned).scope(SCOPE_ID)
    assert transactions(there) == transactions(layout)
    commit(there, creation(4))
    assert transactions(there)[:-1] == transactions(layout)


def test_two_ledgers_that_grew_apart_are_never_mixed(root: Path, tmp_path: Path) -> None:
    layout = new_scope(root)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "begun")
    git(tmp_path, "checkout", "-q", "-b", "other")
    commit(layout, creation(1))
    theirs = layout.ledger.read_bytes()
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "theirs")
    git(tmp_path, "checkout", "-q", "main")
    commit(layout, creation(1), creation(2))
    ours = layout.ledger.read_bytes()
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "ours")
    git(tmp_path, "merge", "-q", "other", status=1)
    # The store reads as it did before the merge, and git still knows the other side.
    assert layout.ledger.read_bytes() == ours
    assert transactions(layout)[-1].after.sequence == 2
    name = layout.ledger.relative_to(tmp_path)
    assert git(tmp_path, "show", f":3:{name}").encode() == theirs
