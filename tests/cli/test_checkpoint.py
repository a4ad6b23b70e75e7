"""`pamctl checkpoint`, the installed command."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.conftest import clean_environment

Remember = Callable[..., Any]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `in_store`, made once, to be copied."""
    folder = tmp_path_factory.mktemp("prepared")
    program = Program(folder, clean_environment(folder))
    assert program("init").status == 0
    for text in ("one", "two", "three"):
        content = json.dumps({"text": text})
        assert program("create", "--type", "claim", "--content", content).status == 0
    key = program("key", "show", "owner").json
    (folder / "owner.pem").write_text(key["public_key_pem"])
    return folder


@pytest.fixture
def in_store(pamctl: Program, prepared: Path) -> Program:
    """A store with three memories, a key named owner, and its public key in owner.pem."""
    shutil.copytree(prepared, pamctl.folder, dirs_exist_ok=True)
    return pamctl


@pytest.fixture
def signing(in_store: Program) -> Program:
    return in_store


def sign(program: Program, name: str = "a.checkpoint") -> Any:
    return program("checkpoint", "create", "--key", "owner", "--output", name).json


def verdict(program: Program, *words: str, status: int = 0) -> Any:
    done = program("checkpoint", "verify", *words)
    assert done.status == status, done.stderr
    return json.loads(done.stdout)


def test_create_and_verify(signing: Program) -> None:
    made = sign(signing)
    text = (signing.folder / "a.checkpoint").read_text()
    assert text == made["checkpoint"]
    assert text.startswith(f"{made['origin']}\n5\n")
    assert made["head"] in text
    assert made["verifier_key"].startswith(f"{made['origin']}+")
    (signing.folder / "owner.vkey").write_text(made["verifier_key"] + "\n")
    for trust in ("owner.pem", "owner.vkey"):
        found = verdict(signing, "a.checkpoint", "--trust", trust)
        assert (found["valid"], found["against"]) == (True, "signatures")
        assert found["signatures"][0]["status"] == "verified"


def test_the_same_ledger_gives_the_same_checkpoint(signing: Program) -> None:
    plain = signing("checkpoint", "create", "--key", "owner", "--output", "-").stdout
    assert plain == signing("checkpoint", "create", "--key", "owner", "--output", "-").stdout
    inside = signing("checkpoint", "create", "--key", "owner").json["checkpoint"]
    assert inside.encode() == plain
    status, shown = signing.at_terminal("checkpoint", "create", "--key", "owner")
    assert (status, shown.encode()) == (0, plain)


def test_a_file_that_is_there_is_not_written_over(signing: Program) -> None:
    sign(signing)
    before = (signing.folder / "a.checkpoint").read_bytes()
    again = signing("checkpoint", "create", "--output", "a.checkpoint")
    assert again.error["code"] == "invalid_request"
    assert again.status == 2
    assert (signing.folder / "a.checkpoint").read_bytes() == before
    nowhere = signing("checkpoint", "create", "--key", "owner", "--output", "no/such/folder")
    assert nowhere.status == 2


def test_keys_that_may_not_sign(signing: Program) -> None:
    assert signing("checkpoint", "create", "--key", "nobody").status == 3
    assert signing("key", "revoke", "owner").status == 0
    refused = signing("checkpoint", "create", "--key", "owner")
    assert "revoked" in refused.error["message"]
    assert signing("checkpoint", "create", "--key", "owner", "--scope", "team:none").status == 3


def test_nobody_is_believed_who_is_not_named(signing: Program) -> None:
    sign(signing)
    assert verdict(signing, "a.checkpoint", status=11)["reason"] == "unknown_signer"
    stranger = signing("key", "generate", "stranger").json
    (signing.folder / "stranger.pem").write_text(stranger["public_key_pem"])
    found = verdict(signing, "a.checkpoint", "--trust", "stranger.pem", status=11)
    assert found["reason"] == "unknown_signer"
    text = (signing.folder / "a.checkpoint").read_text()
    (signing.folder / "b.checkpoint").write_text(text.replace("\n5\n", "\n4\n"))
    found = verdict(signing, "b.checkpoint", "--trust", "owner.pem", status=11)
    assert found["reason"] == "signature_invalid"
    (signing.folder / "c.checkpoint").write_text("hello\n")
    found = verdict(signing, "c.checkpoint", "--trust", "owner.pem", status=11)
    assert found["reason"] == "checkpoint_invalid"
    assert signing("checkpoint", "verify", "none", "--trust", "owner.pem").status == 2
    assert signing("checkpoint", "verify", "a.checkpoint", "--trust", "c.checkpoint").status == 2


def test_an_event_is_proved_far_from_the_store(
    signing: Program, remember: Remember, tmp_path: Path
) -> None:
    sign(signing)
    words = ("--checkpoint", "a.checkpoint", "--output", "2.proof")
    made = signing("checkpoint", "prove", "--event", "2", *words).json
    assert (made["kind"], made["entry"], made["size"]) == ("inclusion", 4, 5)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("a.checkpoint", "2.proof", "owner.pem"):
        (elsewhere / name).write_bytes((signing.folder / name).read_bytes())
    auditor = Program(elsewhere, signing.environment)
    words = ("a.checkpoint", "--trust", "owner.pem", "--proof", "2.proof")
    found = verdict(auditor, *words)
    assert found["facts"]["line"]["body"]["sequence"] == 2
    shown = auditor("checkpoint", "verify", *words, "--format", "table").stdout.decode()
    assert re.search(r'^line +\{"body":\{"actor":', shown, re.MULTILINE)
    proof = (elsewhere / "2.proof").read_bytes()
    (elsewhere / "2.proof").write_bytes(proof.replace(b"object_created", b"object_updated"))
    assert verdict(auditor, *words, status=11)["reason"] == "not_included"
    remember("four")
    assert signing("checkpoint", "prove", "--event", "9").error["code"] == "object_not_found"
    late = signing("checkpoint", "prove", "--event", "4", "--checkpoint", "a.checkpoint")
    assert late.status == 2
    assert "younger" in late.error["message"]
    assert signing("checkpoint", "prove").status == 2
    assert signing("checkpoint", "prove", "--event", "1", "--entry", "1").status == 2


def test_growth_is_proved(signing: Program, remember: Remember) -> None:
    sign(signing)
    remember("four")
    sign(signing, "b.checkpoint")
    words = ("--from", "a.checkpoint", "--checkpoint", "b.checkpoint", "--output", "ab.proof")
    assert signing("checkpoint", "prove", *words).json["kind"] == "consistency"
    words = ("a.checkpoint", "--trust", "owner.pem", "--proof", "ab.proof")
    facts = verdict(signing, *words)["facts"]
    assert (facts["from"], facts["to"], facts["signed"]) == (5, 6, True)
    back = signing("checkpoint", "prove", "--from", "b.checkpoint", "--checkpoint", "a.checkpoint")
    assert back.status == 2


def test_witnesses(signing: Program, remember: Remember) -> None:
    sign(signing)
    key = signing("key", "generate", "watch").json
    (signing.folder / "watch.json").write_text(json.dumps(key))
    words = ("a.checkpoint", "--trust", "owner.pem", "--witness", "watch.json")
    assert verdict(signing, *words, status=11)["reason"] == "witness_missing"
    owner = ("a.checkpoint", "--trust", "owner.pem", "--witness", "owner.pem")
    assert verdict(signing, *owner, status=11)["reason"] == "witness_missing"
    blind = signing("checkpoint", "cosign", "a.checkpoint", "--key", "watch")
    assert "--trust" in blind.error["details"]["hint"]
    done = signing("checkpoint", "cosign", "a.checkpoint", "--key", "watch", "--trust", "owner.pem")
    assert done.json["signatures"] == 2
    signatures = verdict(signing, *words)["signatures"]
    assert [one["role"] for one in signatures] == ["log", "witness"]
    assert signatures[1]["time"].endswith("Z")
    remember("four")
    sign(signing, "b.checkpoint")
    proof = ("--from", "a.checkpoint", "--checkpoint", "b.checkpoint", "--output", "ab.proof")
    assert signing("checkpoint", "prove", *proof).status == 0
    seen = ("--from", "a.checkpoint", "--proof", "ab.proof", "--trust", "owner.pem")
    grown = signing("checkpoint", "cosign", "b.checkpoint", "--key", "watch", *seen)
    assert grown.status == 0
    other = signing("checkpoint", "cosign", "a.checkpoint", "--key", "watch", *seen)
    assert "does not lead" in other.error["message"]
    stranger = signing(
        "checkpoint", "cosign", "b.checkpoint", "--key", "watch", "--trust", "watch.json"
    )
    assert stranger.error["details"]["reason"] == "unknown_signer"


def test_against_a_store_that_was_changed(signing: Program, remember: Remember) -> None:
    sign(signing)
    words = ("a.checkpoint", "--trust", "owner.pem", "--store", ".pam")
    assert verdict(signing, *words)["facts"]["tail"] == "pinned"
    remember("four")
    assert verdict(signing, *words)["facts"] == {
        "entries": 6,
        "tail": "unpinned",
        "unpinned_entries": 1,
    }
    (ledger,) = (signing.folder / ".pam" / "scopes").glob("*/ledger.jsonl")
    whole = ledger.read_bytes()
    lines = whole.splitlines(keepends=True)
    for changed, expected in (
        (whole.replace(b'"sequence":2', b'"sequence":7'), "edited"),
        (b"".join(lines[:4]), "cut"),
        (b"".join([*lines[:3], lines[4], lines[3]]), "reordered"),
    ):
        ledger.write_bytes(changed)
        assert verdict(signing, *words, status=11)["reason"] == expected
    ledger.write_bytes(lines[0].replace(b"workspace:default", b"workspace:another"))
    assert verdict(signing, *words, status=11)["reason"] == "wrong_log"
    assert signing("checkpoint", "verify", "a.checkpoint", "--store", "none").status == 3


def test_a_store_that_cannot_be_written_can_be_proved_from(signing: Program) -> None:
    sign(signing)
    index = signing.folder / ".pam" / "index"
    for path in index.iterdir():
        path.unlink()
    index.chmod(0o500)
    try:
        bound = signing.bound_by_permissions()
        made = bound("checkpoint", "prove", "--event", "1", "--checkpoint", "a.checkpoint")
        assert made.json["entry"] == 3
        assert not list(index.glob("*.tree"))
    finally:
        index.chmod(0o700)


def test_a_person_reads_a_verdict(signing: Program) -> None:
    sign(signing)
    status, shown = signing.at_terminal(
        "checkpoint", "verify", "a.checkpoint", "--trust", "owner.pem"
    )
    assert status == 0
    assert "valid" in shown
    assert "5 entries of pam/store:" in shown
    status, shown = signing.at_terminal("checkpoint", "verify", "a.checkpoint")
    assert status == 11
    assert "REFUSED: unknown_signer" in shown


def test_a_checkpoint_pins_what_fsck_and_verify_export_check(
    signing: Program, remember: Remember
) -> None:
    sign(signing)
    pinned = ("--checkpoint", "a.checkpoint", "--trust", "owner.pem")
    assert signing("export", "--output", "memory.jsonl").status == 0
    (scope,) = signing("verify-export", "memory.jsonl", *pinned).json["scopes"]
    assert scope["tail"] == "pinned"
    objects = [one["object_id"] for one in signing("query", "--any-state").json["items"]]
    only = signing("export", "--object", objects[0], "--output", "one.jsonl").json
    assert only["kind"] == "selection"
    (scope,) = signing("verify-export", "one.jsonl", *pinned).json["scopes"]
    assert scope["tail"] == "pinned", "the root proves what a head cannot"
    unseen = {"XDG_STATE_HOME": str(signing.folder / "unseen")}
    (scope,) = signing("fsck", *pinned, env=unseen).json["scopes"]
    assert scope["tail"] == "pinned"
    remember("four")
    sign(signing, "b.checkpoint")
    newer = ("--checkpoint", "b.checkpoint", "--trust", "owner.pem")
    for name in ("memory.jsonl", "one.jsonl"):
        late = signing("verify-export", name, *newer)
        assert late.status == 11, name
    (ledger,) = (signing.folder / ".pam" / "scopes").glob("*/ledger.jsonl")
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:-1]))
    cut = signing("fsck", *newer, env={"XDG_STATE_HOME": str(signing.folder / "other")})
    assert cut.status == 11
    assert "ledger-tail-cut" in json.loads(cut.stdout)["counts"]


def test_a_checkpoint_that_pins_nothing_is_not_passed_over(signing: Program) -> None:
    sign(signing)
    stranger = signing("key", "generate", "stranger").json
    (signing.folder / "stranger.pem").write_text(stranger["public_key_pem"])
    for words in (
        ("--checkpoint", "a.checkpoint"),
        ("--checkpoint", "a.checkpoint", "--trust", "stranger.pem"),
        ("--trust", "owner.pem"),
        ("--checkpoint", "owner.pem", "--trust", "owner.pem"),
    ):
        assert signing("fsck", *words).error["code"] == "invalid_request"
        assert signing("verify-export", "x", *words).error["code"] == "invalid_request"
    other = signing("init", "elsewhere", "--scope", "team:other")
    assert other.status == 0
    words = ("--checkpoint", "a.checkpoint", "--trust", "owner.pem")
    absent = signing("fsck", *words, "--store", "elsewhere/.pam")
    assert "no scope that is checked" in absent.error["message"]
    assert signing("scope", "create", "team:other").status == 0
    assert signing("fsck", *words, "--scope", "team:other").status == 2


def test_a_checkpoint_goes_on_record_where_that_is_asked(signing: Program) -> None:
    made = signing("checkpoint", "create", "--record", "--output", "a.checkpoint").json
    (ledger,) = (signing.folder / ".pam" / "scopes").glob("*/ledger.jsonl")
    last = json.loads(ledger.read_bytes().splitlines()[-1])
    assert (last["kind"], last["n"]) == ("checkpoint", made["size"] + 1)
    assert last["body"]["checkpoint"] == made["checkpoint"]
    assert signing("fsck").status == 0
    assert signing("query", "--any-state", "--count").status == 0
    words = ("a.checkpoint", "--trust", "owner.pem", "--store", ".pam")
    assert verdict(signing, *words)["facts"]["unpinned_entries"] == 1
    assert signing("export", "--output", "x.jsonl").status == 0
    assert signing("verify-export", "x.jsonl").status == 0
    assert signing("audit", "x.jsonl", "--html", "report.html").status == 0


def test_only_a_checkpoint_of_this_ledger_goes_on_record(signing: Program) -> None:
    made = signing("checkpoint", "create").json["checkpoint"]

    def record(text: str) -> Any:
        request = {"operation": "checkpoint_record", "arguments": {"checkpoint": text}}
        done = signing("batch", stdin=json.dumps(request).encode() + b"\n")
        answer = json.loads(done.stdout)
        return answer.get("result", answer.get("error"))

    assert record(made)["recorded"]
    assert not record(made)["recorded"], "it is there already"
    for text in (
        made.replace("\n5\n", "\n4\n"),
        made.replace("\n5\n", "\n50\n"),
        made.replace("workspace:", "team:"),
        "hello",
    ):
        assert record(text)["code"] == "invalid_request"
