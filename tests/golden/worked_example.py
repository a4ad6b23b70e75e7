"""Writes `store-format/worked-example.md` from the golden store's bytes.

    python -m tests.golden.worked_example > store-format/worked-example.md

Every digest on the page is computed here with the standard library; a test holds the page to it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from tests.golden import second_reader

STORE = Path(__file__).with_name("store-v1") / ".pam"
SCOPE = STORE / "scopes/workspace-default-911e6bc44c96"


def digits_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def page() -> str:
    ledger = (SCOPE / "ledger.jsonl").read_bytes()
    lines = ledger.removesuffix(b"\n").split(b"\n")
    sections = (
        _introduction(),
        _listing(),
        _folders(),
        _a_version(lines),
        _the_chain(lines),
        _a_keyed_request(lines),
        _a_pack(lines),
        _the_whole_ledger(lines),
    )
    return "\n".join(sections)


def _introduction() -> str:
    return """# Worked example: the golden store

The store in `tests/golden/store-v1/.pam` holds one of everything that format version 1 can hold
today. It was made with a fixed clock and fixed random bytes. This page is written from its
bytes by `tests/golden/worked_example.py`, and a test holds the two to each other.

Check any of it by hand: `printf %s '<line>' | sha256sum`, or `sha256sum <file>`.
"""


def _listing() -> str:
    rows = [
        f"| `{path.relative_to(STORE).as_posix()}` | {len(data)} | `{digits_of(data)}` |"
        for path in sorted(STORE.rglob("*"))
        if path.is_file()
        for data in [path.read_bytes()]
    ]
    return "\n".join(
        [
            "## What is there",
            "",
            "The index, locks and temporary files are left out, as git leaves them out.",
            "",
            "| file | bytes | SHA-256 |",
            "|---|---|---|",
            *rows,
            "",
            "`store.json`, one line:",
            "",
            _block((STORE / "store.json").read_bytes().removesuffix(b"\n")),
        ]
    )


def _folders() -> str:
    rows = []
    for path in sorted((STORE / "scopes").iterdir()):
        scope_id = json.loads((path / "scope.json").read_bytes())["scope_id"]
        rows.append(f"| `{scope_id}` | `{digits_of(scope_id.encode())}` | `{path.name}` |")
    return "\n".join(
        [
            "## Folders of scopes",
            "",
            "The two ids differ by case only ([layout.md](layout.md)).",
            "",
            "| scope id | SHA-256 of its bytes | folder |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _a_version(lines: list[bytes]) -> str:
    entry = next(json.loads(line) for line in lines if b'"version":' in line)
    digits = entry["version"].removeprefix("sha256:")
    name = f"versions/{digits[:2]}/{digits[2:]}.json"
    data = (SCOPE / name).read_bytes()
    assert digits_of(data) == digits
    return "\n".join(
        [
            "## A version and its address",
            "",
            f"The first version of `{entry['body']['object_id']}` is {len(data)} bytes, without a "
            "newline ([versions.md](versions.md)):",
            "",
            _block(data),
            "Their SHA-256 gives the address and the file's name:",
            "",
            _block(f"sha256:{digits_of(data)}\n{name}".encode()),
        ]
    )


def _the_chain(lines: list[bytes]) -> str:
    shown = []
    for number, line in enumerate(lines[:3], 1):
        shown += [
            f"Line {number}, {len(line)} bytes, SHA-256 `{digits_of(line)}`:",
            "",
            _block(line),
        ]
    return "\n".join(
        [
            "## The chain",
            "",
            "The ledger of `workspace:default` begins with one transaction of two entries, and "
            "then has one of one entry, which commits the version above. Each `prev` is the "
            "SHA-256 of the line before ([ledger.md](ledger.md)).",
            "",
            *shown,
        ]
    )


def _a_keyed_request(lines: list[bytes]) -> str:
    record = next(json.loads(line) for line in lines if b'"kind":"idempotency"' in line)
    body, event = record["body"], json.loads(lines[record["n"] - 2])
    digits = event["version"].removeprefix("sha256:")
    version = json.loads((SCOPE / f"versions/{digits[:2]}/{digits[2:]}.json").read_bytes())
    return "\n".join(
        [
            "## A keyed request",
            "",
            f"Entry {record['n']} is the record of the key `{body['key']}`, in one transaction "
            f"with the event, entry {event['n']} ([idempotency.md](idempotency.md)):",
            "",
            _block(lines[record["n"] - 1]),
            f"The salt in the version `{event['body']['version_id']}` is `{version['salt']}`. "
            "Those 22 characters and the canonical bytes of `[operation, request]` give the "
            "`request_digest`:",
            "",
            _block(version["salt"].encode() + request_of(version)),
        ]
    )


def request_of(version: dict[str, dict[str, object]]) -> bytes:
    """What the client had asked for. Its provenance was completed by the service since."""
    envelope = version["envelope"]
    provenance = envelope["provenance"]
    assert isinstance(provenance, dict)
    request = {
        name: envelope[name]
        for name in ("scope_id", "object_id", "object_type", "canonical_content", "actor")
    }
    request["provenance"] = {name: provenance[name] for name in ("activity", "source_ref")}
    return second_reader.canonical(["create", request])


def _a_pack(lines: list[bytes]) -> str:
    entry = next(json.loads(line) for line in lines if b'"kind":"pack"' in line)
    name = entry["body"]["name"]
    data = (SCOPE / f"packs/{name}.jsonl").read_bytes()
    assert digits_of(data) == name
    rows, offset = [], 0
    for line in data.removesuffix(b"\n").split(b"\n"):
        named = [
            e for e in map(json.loads, lines) if e.get("version") == f"sha256:{digits_of(line)}"
        ]
        n, version_id = named[0]["n"], named[0]["body"]["version_id"]
        rows.append(
            f"| {offset} | {len(line)} | `sha256:{digits_of(line)}` | {n} | `{version_id}` |"
        )
        offset += len(line) + 1
    return "\n".join(
        [
            "## A pack",
            "",
            f"Entry {entry['n']} announces the pack of a group of {entry['body']['versions']} "
            "operations. Its name is the SHA-256 of its bytes ([packs.md](packs.md)); the address "
            "of each version is that of its line without the newline.",
            "",
            "| at byte | bytes | address | entry | version |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _the_whole_ledger(lines: list[bytes]) -> str:
    rows, offset = [], 0
    for line in lines:
        entry = json.loads(line)
        body, what = entry["body"], ""
        if entry["kind"] == "event":
            what = f"{body['sequence']}: `{body['event_type']}` of `{body['object_id']}`"
        elif entry["kind"] == "idempotency":
            what = f"key `{body['key']}`" + (
                f": `{body['error']['code']}`" if "error" in body else ""
            )
        rows.append(
            f"| {entry['n']} | {entry['tx']} | {entry['i']} of {entry['of']} | {offset} | "
            f"{entry['kind']} | {what} | `{digits_of(line)[:16]}…` |"
        )
        offset += len(line) + 1
    sequence = max(json.loads(line)["body"].get("sequence", 0) for line in lines)
    return "\n".join(
        [
            "## The whole ledger of `workspace:default`",
            "",
            "| n | tx | i | at byte | kind | what | head from here |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            f"Position behind it: {offset} bytes, {len(lines)} entries, sequence {sequence}, head",
            "",
            _block(digits_of(lines[-1]).encode()),
        ]
    )


def _block(data: bytes) -> str:
    return f"```\n{data.decode()}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(page())
