"""Names and paths: readable, different for different ids, and never out of the store."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import Path

import pytest

from pamctl.store.layout import ScopeLayout, StoreLayout, is_pack_name, pack_name, scope_folder

DIGITS = "0123456789abcdef" * 4
ADDRESS = f"sha256:{DIGITS}"


@pytest.mark.parametrize(
    ("scope_id", "readable"),
    [
        ("workspace:default", "workspace-default"),
        ("workspace:Default", "workspace-default"),
        ("conversation:conv-26", "conversation-conv-26"),
        ("urn:x//..//y", "urn-x-y"),
        ("--:--", "scope"),
        ("../../etc:passwd", "etc-passwd"),
        ("a:" + "b" * 200, "a-" + "b" * 38),
        ("a:" + "b" * 37 + "-c", "a-" + "b" * 37),
        ("größe:ü", "gr-e"),
        ("工作:空间", "scope"),
        (".", "scope"),
        ("con:nul\x00\n", "con-nul"),
    ],
)
def test_folders_are_what_a_person_can_read_and_then_what_makes_them_unique(
    scope_id: str, readable: str
) -> None:
    digits = hashlib.sha256(scope_id.encode()).hexdigest()[:12]
    assert scope_folder(scope_id) == f"{readable}-{digits}"


def test_ids_that_a_file_system_would_confuse_have_folders_of_their_own() -> None:
    ids = [
        "workspace:default", "workspace:Default", "WORKSPACE:DEFAULT", "workspace-default",
        "workspace:default/", "workspace::default", "workspace:default.", "workspace:default ",
        unicodedata.normalize("NFC", "workspace:é"), unicodedata.normalize("NFD", "workspace:é"),
        "workspace:e", "workspace:ß", "workspace:ss", "workspace:ſs", "workspace:ﬁ", "workspace:fi",
        "workspace:\u200bdefault", "workspace:İ", "workspace:i",
    ]  # fmt: skip
    folders = {scope_folder(scope_id) for scope_id in ids}
    # Different even where a file system folds case and Unicode form.
    folded = {unicodedata.normalize("NFKC", folder).casefold() for folder in folders}
    assert len(folded) == len(ids)


@pytest.mark.parametrize(
    "scope_id", ["workspace:default", "../..:/", "a:" + "x" * 510, "\x00\n\r", "a:.lock", "COM1"]
)
def test_a_folder_is_one_plain_name(scope_id: str) -> None:
    folder = scope_folder(scope_id)
    assert re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,52})", folder)
    assert "--" not in folder


def test_paths_of_a_version() -> None:
    layout = ScopeLayout(Path("/s"))
    rest = DIGITS[2:]
    assert layout.version_file(ADDRESS) == Path(f"/s/versions/01/{rest}.json")
    assert layout.stub_file(ADDRESS) == Path(f"/s/versions/01/{rest}.erased.json")
    assert layout.pack_file(DIGITS) == Path(f"/s/packs/{DIGITS}.jsonl")


@pytest.mark.parametrize(
    "address",
    [
        "", DIGITS, f"SHA256:{DIGITS}", f"sha256:{DIGITS.upper()}", f"sha256:{DIGITS}\n",
        f"sha256:{DIGITS}0", f"sha256:{DIGITS[1:]}", "sha256:" + "../" * 21 + "x",
        "sha512:" + DIGITS, "sha256:" + "٣" * 64,
    ],
)  # fmt: skip
def test_what_is_no_address_never_becomes_a_path(address: str) -> None:
    layout = ScopeLayout(Path("/s"))
    for path in (layout.version_file, layout.stub_file):
        with pytest.raises(ValueError, match="not a version address"):
            path(address)


def test_pack_names() -> None:
    assert is_pack_name(DIGITS)
    assert pack_name(f"{DIGITS}.jsonl") == DIGITS
    for name in ("", "x", DIGITS.upper(), DIGITS + "\n", DIGITS[1:], "../" + DIGITS[3:], None, 1):
        assert not is_pack_name(name)
        assert pack_name(f"{name}.jsonl") is None
    for name in (DIGITS, f"{DIGITS}.json", f"{DIGITS}.jsonl\n", f".{DIGITS}.jsonl.7-0.new"):
        assert pack_name(name) is None


def test_paths_of_a_store() -> None:
    store = StoreLayout(Path("/p/.pam"))
    scope = store.scope("workspace:default")
    folder = "workspace-default-911e6bc44c96"
    assert scope.root == Path(f"/p/.pam/scopes/{folder}")
    assert store.index_file(scope) == Path(f"/p/.pam/index/{folder}.sqlite")
    of_store = (store.store_file, store.lock, store.scopes, store.keys, store.projections)
    assert {path.parent for path in (*of_store, store.index, store.quarantine)} == {store.root}
    of_scope = (scope.scope_file, scope.ledger, scope.versions, scope.packs, scope.staging)
    assert {path.parent for path in (*of_scope, scope.lock)} == {scope.root}


def test_two_layouts_are_equal_where_they_are_of_one_place() -> None:
    here, there = StoreLayout(Path("a/.pam")), StoreLayout(Path("b/.pam"))
    assert here.scope("workspace:a") == StoreLayout(Path("a/.pam")).scope("workspace:a")
    assert len({here, there, StoreLayout(Path("a/.pam"))}) == 2
    assert here.scope("workspace:a") != here.scope("workspace:b")
    assert here != ScopeLayout(Path("a/.pam"))
