"""`pamctl verify-export`, as the installed program: no store, and nothing believed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program


@pytest.fixture
def head(in_store: Program, remember: Callable[..., Any]) -> str:
    """A bundle `a.jsonl`, and the head of its ledger."""
    remember("tea")
    answer = in_store("export", "--output", "a.jsonl").json
    (in_store.folder / ".pam").rename(in_store.folder / "away")
    return str(answer["scopes"][0]["head"])


def test_a_bundle_is_valid_without_a_store(in_store: Program, head: str) -> None:
    verdict = in_store("verify-export", "a.jsonl").json
    assert (verdict["valid"], verdict["kind"], verdict["withheld"]) == (True, "scopes", False)
    (scope,) = verdict["scopes"]
    assert (scope["head"], scope["tail"]) == (head, "unpinned")
    assert verdict["counts"] == {"ledger-tail-unpinned": 1}
    data = (in_store.folder / "a.jsonl").read_bytes()
    assert in_store("verify-export", "-", stdin=data).json["valid"]


@pytest.mark.parametrize("form", ["{}", "sha256:{}", "workspace:default={}"])
def test_a_head_pins_the_tail(in_store: Program, head: str, form: str) -> None:
    done = in_store("verify-export", "a.jsonl", "--expect-head", form.format(head))
    assert done.json["scopes"][0]["tail"] == "pinned"
    assert done.json["findings"] == []


def test_another_head_is_refused(in_store: Program, head: str) -> None:
    done = in_store("verify-export", "a.jsonl", "--expect-head", "0" * 64)
    assert done.status == 11
    assert b"ledger-tail-cut" in done.stdout
    absent = in_store("verify-export", "a.jsonl", "--expect-head", f"project:x={head}")
    assert absent.status == 11
    assert b"bundle-scope-absent" in absent.stdout
    wrong = in_store("verify-export", "a.jsonl", "--expect-head", "zero")
    assert (wrong.status, wrong.error["code"]) == (2, "invalid_request")


def test_a_head_of_an_earlier_moment_is_met_on_the_way(in_store: Program, head: str) -> None:
    (in_store.folder / "away").rename(in_store.folder / ".pam")
    in_store("create", "--type", "claim", "--content", "1")
    in_store("export", "-o", "b.jsonl")
    done = in_store("verify-export", "b.jsonl", "--expect-head", head)
    assert done.json["valid"]
    assert done.json["scopes"][0]["tail"] == "unpinned"


def test_a_selection_says_what_a_head_does_not_prove(in_store: Program, head: str) -> None:
    (in_store.folder / "away").rename(in_store.folder / ".pam")
    name = in_store("query", "--any-state").json["items"][0]["object_id"]
    in_store("export", "--object", name, "-o", "b.jsonl")
    done = in_store("verify-export", "b.jsonl", "--expect-head", head)
    assert done.json["valid"]
    assert done.json["scopes"][0]["tail"] == "unpinned"
    other = in_store("verify-export", "b.jsonl", "--expect-head", "0" * 64)
    assert other.status == 11
    assert b"ledger-forked" in other.stdout


def test_a_selection_is_held_against_an_earlier_checkpoint(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    """Its leaves are there, so that a root of before is as good as one of its end."""
    store, away = in_store.folder / ".pam", in_store.folder / "away"
    remember("tea", "--id", "mem:tea")
    key = in_store("key", "show", "owner").json
    (in_store.folder / "owner.pem").write_text(key["public_key_pem"])
    in_store("export", "--object", "mem:tea", "-o", "early.jsonl")
    shutil.copytree(store, away)
    remember("one way")
    in_store("checkpoint", "create", "--output", "a.checkpoint")
    remember("and on")
    in_store("export", "--object", "mem:tea", "-o", "grown.jsonl")
    shutil.rmtree(store)
    away.rename(store)
    for text in ("another way", "and on"):
        remember(text)
    in_store("export", "--object", "mem:tea", "-o", "forked.jsonl")

    def counts(name: str) -> Any:
        words = ("--checkpoint", "a.checkpoint", "--trust", "owner.pem")
        return json.loads(in_store("verify-export", name, *words).stdout)["counts"]

    unpinned = {"ledger-tail-unpinned": 1}
    assert counts("grown.jsonl") == unpinned
    assert counts("forked.jsonl") == {"ledger-forked": 1, **unpinned}
    assert counts("early.jsonl") == {"ledger-tail-cut": 1, **unpinned}


@pytest.mark.parametrize("command", [("fsck",), ("verify-export", "memory.jsonl")])
def test_a_checkpoint_that_could_not_be_held_against_a_ledger_pins_nothing(
    in_store: Program, remember: Callable[..., Any], command: tuple[str, ...]
) -> None:
    """Another tool may sign the root alone, and a wrong one."""
    from pamctl.crypto.checkpoints import parse_checkpoint
    from pamctl.crypto.signed_notes import Note, sign
    from pamctl.store.keyring import Keyring

    remember("tea")
    key = in_store("key", "show", "owner").json
    (in_store.folder / "owner.pem").write_text(key["public_key_pem"])
    in_store("export", "--output", "memory.jsonl")
    made = in_store("checkpoint", "create", "--output", "-").stdout
    stated = parse_checkpoint(made)[0]._replace(head=None, root=bytes(32))
    owner = Keyring(in_store.folder / ".pam" / "keys").private("owner")
    signed = Note(stated.text(), (sign(stated.text(), stated.origin, owner),))
    (in_store.folder / "a.checkpoint").write_bytes(signed.encoded())
    error = in_store(*command, "--checkpoint", "a.checkpoint", "--trust", "owner.pem").error
    assert error["code"] == "invalid_request"
    assert "checkpoint verify" in error["details"]["hint"]


def test_the_verdict_names_what_was_done(in_store: Program, head: str) -> None:
    data = (in_store.folder / "a.jsonl").read_bytes()
    (in_store.folder / "a.jsonl").write_bytes(data.replace(b'"tea"', b'"tee"'))
    done = in_store("verify-export", "a.jsonl")
    assert done.status == 11
    assert done.stderr == b""
    for finding in (b"version-altered", b"bundle-digest-wrong"):
        assert finding in done.stdout
    shown = in_store("verify-export", "a.jsonl", "--format", "table")
    assert shown.status == 11
    assert b"the bundle is NOT valid" in shown.stdout
    one_a_line = in_store("verify-export", "a.jsonl", "--format", "jsonl")
    assert one_a_line.stdout.count(b"\n") == 3


def test_what_cannot_be_read_is_no_verdict(in_store: Program) -> None:
    missing = in_store("verify-export", "none.jsonl")
    assert (missing.status, missing.error["code"]) == (2, "invalid_request")
    nothing = in_store("verify-export", "-")
    assert nothing.status == 11


def test_fsck_of_an_export_is_the_same_check(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    remember("tea")
    assert in_store("export", "--output", "memory.jsonl").status == 0
    for words in ((), ("--expect-head", "0" * 64)):
        verdict = in_store("verify-export", "memory.jsonl", *words)
        assert in_store("fsck", "memory.jsonl", *words) == verdict
    assert in_store("fsck", "memory.jsonl", "--expect-head", "0" * 64).status == 11
    for words in (("--forget",), ("--jobs", "2"), ("--store", ".pam")):
        assert (
            f"{words[0]} are both given"
            in in_store("fsck", "memory.jsonl", *words).error["message"]
        )
