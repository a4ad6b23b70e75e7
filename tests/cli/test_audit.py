"""`pamctl audit`, the installed command, on exports and on stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.pages import Page

Remember = Callable[..., Any]


@pytest.fixture
def exported(in_store: Program, remember: Remember) -> Program:
    """A store with some memories, one of them erased, and its export in memory.jsonl."""
    secret = remember("the secret word", "--id", "mem:secret")
    remember("tea is at five", "--id", "mem:tea")
    erased = in_store(
        "redact",
        "mem:secret",
        "--expect",
        secret["version_id"],
        "--policy-basis",
        "gdpr:17",
        "--erase",
    )
    assert erased.status == 0, erased.stderr
    key = in_store("key", "show", "owner").json
    (in_store.folder / "owner.pem").write_text(key["public_key_pem"])
    assert in_store("export", "--output", "memory.jsonl").status == 0
    made = in_store("checkpoint", "create", "--output", "a.checkpoint")
    assert made.status == 0
    return in_store


PINNED = ("--checkpoint", "a.checkpoint", "--trust", "owner.pem")


def test_an_export_is_audited_without_a_store(exported: Program) -> None:
    (exported.folder / ".pam").rename(exported.folder / "gone")
    answer = exported("audit", "memory.jsonl", "--html", "report.html", *PINNED).json
    assert answer["sound"]
    assert answer["counts"] == {}
    (scope,) = answer["scopes"]
    assert (scope["tail"], scope["memories"], scope["erased"]) == ("pinned", {"claim": 2}, 1)
    (erasure,) = scope["erasures"]
    assert "gdpr:17" in erasure["authority"]
    assert erasure["actor_id"].startswith("actor:local:")
    page = Page((exported.folder / "report.html").read_text())
    assert page.faults == []
    assert "Sound, and pinned" in page.text
    assert "tea is at five" in page.text
    assert "secret word" not in page.text


def test_without_a_pin_it_says_so(exported: Program) -> None:
    answer = exported("audit", "memory.jsonl").json
    assert answer["sound"]
    assert answer["counts"] == {"ledger-tail-unpinned": 1}
    page = Page(exported("audit", "memory.jsonl", "--html", "-").stdout.decode())
    assert "its end is not pinned" in page.text


def test_a_store_is_audited_and_not_changed(exported: Program) -> None:
    def everything() -> dict[str, bytes]:
        root = exported.folder / ".pam"
        return {str(p): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    before = everything()
    answer = exported("audit", *PINNED, "--html", "report.html").json
    assert (answer["kind"], answer["sound"]) == ("store", True)
    assert everything() == before
    again = exported("audit", *PINNED, "--html", "report.html")
    assert again.status == 0, "a report may take the place of an older one"


def test_what_was_changed_is_named_and_the_page_still_made(exported: Program) -> None:
    path = exported.folder / "memory.jsonl"
    path.write_bytes(path.read_bytes().replace(b"tea is at five", b"tea is at nine"))
    done = exported("audit", "memory.jsonl", "--html", "report.html", *PINNED)
    assert done.status == 11
    answer = json.loads(done.stdout)
    assert not answer["sound"]
    assert "version-altered" in answer["counts"]
    text = Page((exported.folder / "report.html").read_text()).text
    assert "Not sound" in text
    assert "edited" in text


def test_the_same_export_gives_the_same_page(exported: Program) -> None:
    pages = [exported("audit", "memory.jsonl", "--html", "-", *PINNED).stdout for _ in range(2)]
    assert pages[0] == pages[1]
    assert pages[0].startswith(b"<!doctype html>")


def test_projections_are_verified_beside(exported: Program) -> None:
    (exported.folder / "answers").mkdir()
    words = ("--request", "tea?", "--key", "owner", "--any-state", "--out", "answers/one")
    assert exported("project", *words).status == 0
    refused = exported("audit", "memory.jsonl", "--projections", "answers")
    assert refused.status == 11
    answer = json.loads(refused.stdout)
    assert (answer["sound"], answer["causes"]) == (False, ["adapter key not pinned"])
    (verdict,) = answer["projections"]
    assert verdict["record"] == "one/record.json"
    assert verdict["reason"] == "adapter_key_not_pinned"
    # A store has keys of its own, as for `verify-projection`.
    (verdict,) = exported("audit", "--projections", "answers").json["projections"]
    assert verdict["valid"] is True
    page = Page(
        exported("audit", "memory.jsonl", "--projections", "answers", "--html", "-").stdout.decode()
    )
    assert "adapter key not pinned" in page.text


@pytest.mark.parametrize(
    "words",
    [
        ("none.jsonl",),
        ("memory.jsonl", "--store", ".pam"),
        ("memory.jsonl", "--trust", "owner.pem"),
        ("memory.jsonl", "--checkpoint", "none"),
        ("memory.jsonl", "--projection-trust", "owner.pem"),
        ("memory.jsonl", "--projections", "none"),
        ("memory.jsonl", "--html", "no/such/report.html"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(exported: Program, words: tuple[str, ...]) -> None:
    assert exported("audit", *words).error["code"] == "invalid_request"


def test_what_is_no_bundle_gets_a_verdict(exported: Program) -> None:
    (exported.folder / "x").write_bytes(b"hello\n")
    done = exported("audit", "x", "--html", "report.html")
    assert done.status == 11
    assert "bundle-not-a-bundle" in json.loads(done.stdout)["counts"]
    assert Page((exported.folder / "report.html").read_text()).faults == []


def test_a_person_reads_it(exported: Program) -> None:
    status, shown = exported.at_terminal("audit", "memory.jsonl", "--html", "report.html", *PINNED)
    assert status == 0
    assert "sound" in shown
    assert "report.html" in shown


@pytest.mark.parametrize("name", ["memory.jsonl", "a.checkpoint", ".pam/store.json"])
def test_a_report_takes_the_place_of_nothing_else(exported: Program, name: str) -> None:
    before = (exported.folder / name).read_bytes()
    error = exported("audit", "memory.jsonl", *PINNED, "--html", name).error
    assert error["code"] == "invalid_request"
    assert (exported.folder / name).read_bytes() == before
    inside = exported("audit", "--html", ".pam/report.html").error
    assert inside["message"] == ".pam/report.html is within the store"


def test_findings_of_one_kind_are_all_shown(exported: Program) -> None:
    path = exported.folder / "memory.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"activity":"', b'"activity":"x'))
    found = exported("audit", "memory.jsonl")
    altered = json.loads(found.stdout)["counts"]["version-altered"]
    assert altered > 1
    shown = exported("audit", "memory.jsonl", "--format", "table").stdout.decode()
    assert shown.count("must version-altered ") == altered


def test_an_export_may_come_through_a_pipe(exported: Program) -> None:
    data = (exported.folder / "memory.jsonl").read_bytes()
    answer = exported("audit", "-", *PINNED, stdin=data).json
    assert (answer["sound"], answer["counts"]) == (True, {})
    words = ("a.checkpoint", "--trust", "owner.pem", "--bundle", "-")
    assert exported("checkpoint", "verify", *words, stdin=data).json["valid"]
