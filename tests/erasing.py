"""What the tests of erasure share: requests, a look into the files, what has to hold of them."""

from __future__ import annotations

import json
from typing import Any

from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.model.documents import check
from pamctl.service.store import Store
from pamctl.store.layout import ScopeLayout

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
SEEN = {"activity": "observed", "source_ref": "urn:source:1"}

SECRET = "Qzxwvk jüngst\u2028“ßpqzrt” \U0001f511 wvqzkx"
WORDS = ("qzxwvk", "ßpqzrt", "wvqzkx")
OTHER = "Kjqvzb was never to go"


def change(made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "scope_id": SCOPE,
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "actor": HUMAN,
        **more,
    }


def layout(store: Store) -> ScopeLayout:
    return store.open_scope(SCOPE).layout


def pack(store: Store, *contents: Any) -> list[dict[str, Any]]:
    with store.group() as group:
        return [
            group.perform(
                "create",
                {
                    "scope_id": SCOPE,
                    "object_type": "claim",
                    "actor": HUMAN,
                    "provenance": SEEN,
                    "canonical_content": content,
                    "idempotency_key": f"packed {number}",
                },
            )
            for number, content in enumerate(contents)
        ]


def entries(store: Store, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in layout(store).ledger.read_bytes().splitlines()]
    return [line["body"] for line in lines if line["kind"] == kind]


def whole(store: Store) -> None:
    """Every line of the ledger is what its schema says, and follows the one before; every
    version that it names is there, or a stub that an `erasure` entry accounts for."""
    place, head = layout(store), "0" * 64
    lines = place.ledger.read_bytes().splitlines()
    stubs = {body["address"]: body["stub"] for body in entries(store, "erasure")}
    found = {sha256_digest(p.read_bytes()): p for p in place.versions.rglob("*")
             if p.is_file() and not p.name.endswith(".erased.json")}  # fmt: skip
    kept = {}
    for path in place.versions.rglob("*.erased.json"):
        kept["sha256:" + path.parent.name + path.name[:62]] = path.read_bytes()
    for path in place.packs.iterdir():
        assert path.name == f"{sha256_hex(path.read_bytes())}.jsonl"
        for line in path.read_bytes().splitlines():
            value = json.loads(line)
            if "erased" in value:
                kept[value["erased"]["address"]] = line
            else:
                found[sha256_digest(line)] = path
    for line in lines:
        value = json.loads(line)
        check("ledger-entry", value)
        assert value["prev"] == head
        head = sha256_hex(line)
        address = value.get("version")
        if address is not None and address in stubs:
            assert address not in found
            check("erasure-stub", json.loads(kept[address]))
            assert sha256_digest(kept[address]) == stubs[address]
            assert json.loads(kept[address])["erased"]["address"] == address
        elif address is not None:
            assert address in found
    assert kept.keys() == stubs.keys()
