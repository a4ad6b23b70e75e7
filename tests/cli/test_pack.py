"""`pamctl pack` as a user runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cli.conftest import Program

Remember = Callable[..., Any]


def test_files_become_a_pack_and_are_read_as_before(in_store: Program, remember: Remember) -> None:
    for name in ("tea", "train"):
        remember(name)
    before = in_store("query", "--any-state").json
    answer = in_store("pack").json
    (scope,) = answer["items"]
    assert (scope["files"], scope["packs_made"], scope["versions"]) == (2, 1, 2)
    store = in_store.folder / ".pam"
    assert not [*store.glob("scopes/*/versions/*/*.json")]
    assert in_store("query", "--any-state").json["items"] == before["items"]
    assert in_store("fsck").status == 0
    (again,) = in_store("pack").json["items"]
    assert again["packs_made"] == 0


def test_for_people_and_for_one_scope(in_store: Program, remember: Remember) -> None:
    remember("tea")
    shown = in_store("pack", "--scope", "workspace:default", "--format", "table")
    assert shown.stdout.split()[:4] == [b"SCOPE", b"FILES", b"PACKS", b"MERGED"]
    assert b"workspace:default" in shown.stdout


def test_a_scope_that_is_not_there(in_store: Program) -> None:
    refused = in_store("pack", "--scope", "workspace:nowhere")
    assert refused.error["code"] == "scope_not_found"
