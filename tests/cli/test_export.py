"""`pamctl export`, as the installed program."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.schemas.instances import SPACE

DEFAULT = "workspace:default"


def lines(data: bytes) -> list[Any]:
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def test_standard_output_is_the_bundle(in_store: Program, remember: Callable[..., Any]) -> None:
    made = remember("tea")
    done = in_store("export")
    assert (done.status, done.stderr) == (0, b"")
    header, scope, *_, footer = lines(done.stdout)
    assert (header["format"], header["kind"], header["withheld"]) == ("pam-bundle", "scopes", False)
    assert scope == {"scope": DEFAULT}
    assert footer["footer"]["counts"]["versions"] == 1
    assert made["version_id"].encode() in done.stdout


def test_the_same_state_gives_the_same_bytes(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    """On another machine, at another time, with another index and by another way."""
    remember("tea")
    once = in_store("export").stdout
    for index in (in_store.folder / ".pam" / "index").iterdir():
        index.unlink()
    again = in_store("export", "--output", "b.jsonl", env={"TZ": "Asia/Tokyo", "LANG": "C"}).json
    assert (in_store.folder / "b.jsonl").read_bytes() == once
    assert again["digest"] == json.loads(once.splitlines()[-1])["footer"]["digest"]
    moved = in_store.folder / "elsewhere"
    (in_store.folder / ".pam").rename(moved)
    assert in_store("export", "--store", str(moved)).stdout == once


def test_a_compressed_bundle_is_the_same_bundle(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    zstandard = pytest.importorskip("zstandard")
    remember("tea")
    plain = in_store("export").stdout
    assert in_store("export", "-o", "a.jsonl.zst").status == 0
    packed = (in_store.folder / "a.jsonl.zst").read_bytes()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == plain
    assert in_store("export", "--compress").stdout == packed
    assert in_store("verify-export", "a.jsonl.zst").json["valid"]


def test_scopes_are_named_or_all(in_store: Program, remember: Callable[..., Any]) -> None:
    remember("here")
    in_store("create", "--type", "claim", "--content", '"there"', "--scope", "project:x")
    assert lines(in_store("export").stdout)[0]["scopes"][0]["scope_id"] == DEFAULT
    one = lines(in_store("export", "--scope", "project:x").stdout)[0]["scopes"]
    assert [scope["scope_id"] for scope in one] == ["project:x"]
    every = lines(in_store("export", "--all-scopes").stdout)[0]["scopes"]
    assert [scope["scope_id"] for scope in every] == ["project:x", DEFAULT]
    both = in_store("export", "--all-scopes", "--scope", DEFAULT)
    assert (both.status, both.error["code"]) == (2, "invalid_request")


def test_objects_come_with_their_histories_and_what_joins_them(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    one, other, third = remember("one"), remember("other"), remember("third")
    for source, target in ((one, other), (one, third)):
        in_store("relate", source["object_id"], "supports", target["object_id"])
    found = in_store("export", "--object", one["object_id"], "--object", other["object_id"])
    header, *rest, footer = lines(found.stdout)
    assert header["kind"] == "selection"
    assert header["withheld"] is True
    assert len(header["scopes"][0]["root"]) == 64
    counts = footer["footer"]["counts"]
    assert (counts["versions"], counts["leaves"]) == (3, 3)
    assert third["object_id"].encode() not in found.stdout
    assert sum("leaf" in line for line in rest) == 3
    assert in_store("export", "--object", "mem:none").error["code"] == "object_not_found"


def test_what_a_snapshot_holds(in_store: Program, remember: Callable[..., Any]) -> None:
    seen = remember("before")
    snapshot = in_store("snapshot", "create").json["snapshot"]
    later = remember("after")
    found = in_store("export", "--snapshot", snapshot["snapshot_id"]).stdout
    assert seen["object_id"].encode() in found
    assert later["object_id"].encode() not in found
    assert snapshot["snapshot_id"].encode() in found
    assert in_store("export", "--snapshot", "snap:none").error["code"] == "snapshot_not_found"


def test_what_was_redacted_stays(in_store: Program, remember: Callable[..., Any]) -> None:
    made = remember("the secret")
    redacted = in_store(
        "redact",
        made["object_id"],
        "--expect",
        made["version_id"],
        "--policy-basis",
        "policy:test",
    )
    assert redacted.status == 0
    found = in_store("export").stdout
    assert b"the secret" not in found
    assert lines(found)[0]["withheld"] is True
    assert made["version_id"].encode() in found
    (in_store.folder / "a.jsonl").write_bytes(found)
    assert in_store("verify-export", "a.jsonl").json["valid"]


@pytest.mark.parametrize("flag", ["--withhold", "--withhold-content"])
def test_content_can_be_held_back(
    in_store: Program, remember: Callable[..., Any], flag: str
) -> None:
    shown, kept = remember("shown"), remember("kept back")
    what = kept["version_id"] if flag == "--withhold" else kept["object_id"]
    found = in_store("export", flag, what).stdout
    assert b"kept back" not in found
    assert b'"shown"' in found
    assert shown["version_id"].encode() in found
    (in_store.folder / "a.jsonl").write_bytes(found)
    verdict = in_store("verify-export", "a.jsonl").json
    assert (verdict["valid"], verdict["withheld"]) == (True, True)
    assert in_store("export", flag, "mem:none").error["code"] == "object_not_found"


def test_a_file_appears_whole_or_not_at_all(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    remember("tea")
    for name in ("nowhere/a.jsonl", "."):
        assert in_store("export", "--output", name).error["code"] == "invalid_request"
    (in_store.folder / "a.jsonl").write_bytes(b"what was there")
    failed = in_store("export", "--output", "a.jsonl", "--object", "mem:none")
    assert failed.error["code"] == "object_not_found"
    assert (in_store.folder / "a.jsonl").read_bytes() == b"what was there"
    assert in_store("export", "--output", "a.jsonl").status == 0
    assert {path.name for path in in_store.folder.iterdir()} == {".pam", "a.jsonl"}


def test_a_file_that_is_there_is_replaced_whole_and_that_is_said(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    """As `git bundle create` does it, so that an export can be made again and again. A file
    keeps its mode, and a link stays a link."""
    remember("tea")
    old = in_store.folder / "memory.jsonl"
    old.write_bytes(b"older and longer than the new one\n" * 1000)
    old.chmod(0o600)
    (in_store.folder / "latest").symlink_to(old)
    done = in_store("export", "--output", "latest")
    assert done.json["file"] == "latest"
    assert b"latest was there, and was replaced" in done.stderr
    assert old.read_bytes() == in_store("export").stdout
    assert old.stat().st_mode & 0o777 == 0o600
    assert (in_store.folder / "latest").is_symlink()
    assert not list(in_store.folder.glob(".*.new"))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/dev/null", "no file"),
        (".pam/store.json", "within the store"),
        ("nowhere/memory.jsonl", "no folder nowhere"),
    ],
)
def test_what_is_no_place_for_a_file_is_left_alone(in_store: Program, file: str, said: str) -> None:
    before = (in_store.folder / ".pam" / "store.json").read_bytes()
    done = in_store("export", "--output", file)
    assert (done.status, done.stdout) == (2, b"")
    assert said in done.error["message"]
    assert (in_store.folder / ".pam" / "store.json").read_bytes() == before
    assert Path("/dev/null").is_char_device()


def test_a_damaged_version_is_not_carried_away(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    remember("tea")
    (version,) = (in_store.folder / ".pam").glob("scopes/*/versions/*/*.json")
    version.chmod(0o644)
    version.write_bytes(version.read_bytes().replace(b'"tea"', b'"poison"'))
    failed = in_store("export")
    assert (failed.status, failed.error["code"]) == (1, "internal_error")
    assert "fsck" in failed.error["details"]["hint"]


def test_a_refusal_is_on_record(in_store: Program, remember: Callable[..., Any]) -> None:
    remember("tea")
    policy = in_store("scope", "show", DEFAULT).json["policy"]
    rule = {"rule_id": "rule:stay", "effect": "deny", "operations": ["export"]}
    (in_store.folder / "policy.json").write_text(json.dumps({**policy, "rules": [rule]}))
    assert in_store("scope", "policy", DEFAULT, "--policy-file", "policy.json").status == 0
    failed = in_store("export")
    assert (failed.status, failed.error["policy_rule_id"]) == (7, "rule:stay")
    assert in_store("export", "--all-scopes").status == 7
    denied = in_store("log", "--event-class", "access_denied").json["items"]
    assert [event["payload"]["operation"] for event in denied] == ["export", "export"]


def test_vectors_come_when_they_are_asked_for(
    in_store: Program, remember: Callable[..., Any]
) -> None:
    made = remember("tea")
    space = json.dumps({**SPACE, "embedding_space_id": "space:1", "dimensions": 2})
    assert in_store("space", "add", "--descriptor", space).status == 0
    vector = {"object_id": made["object_id"], "vector": [0.5, -1.0]}
    put = in_store("embed", "put", "--space", "space:1", stdin=json.dumps(vector).encode() + b"\n")
    assert put.status == 0, put.stderr
    assert lines(in_store("export").stdout)[-1]["footer"]["counts"]["embeddings"] == 0
    found = lines(in_store("export", "--with-embeddings").stdout)
    assert found[0]["embeddings"] is True
    (embedding,) = [line["embedding"] for line in found if "embedding" in line]
    assert embedding["vector"] == "AAAAPwAAgL8"
    assert embedding["version_id"] == made["version_id"]
    assert in_store("export", "--with-embeddings", "-o", "a.jsonl").status == 0
    assert in_store("verify-export", "a.jsonl").json["valid"]
    assert in_store("init", "elsewhere").status == 0
    assert in_store("import", "a.jsonl", "--store", "elsewhere/.pam").status == 0
    again = in_store("export", "--with-embeddings", "--store", "elsewhere/.pam").stdout
    assert again == (in_store.folder / "a.jsonl").read_bytes()
    assert in_store("fsck", "--store", "elsewhere/.pam").json["clean"]
