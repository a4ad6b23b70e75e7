"""Instances of what carries memory from one store to another."""

from __future__ import annotations

from typing import Any

from tests.schemas.instances import ACTOR, DIGEST, NOON, RELATIONSHIP
from tests.schemas.store_tables import STUB
from tests.schemas.tables import MISSING, Fault, Table, edited, merged

HERE = {"scope_id": "workspace:garden"}
LISTED: dict[str, Any] = {
    "scope_id": "workspace:garden",
    "scope_kind": "workspace",
    "parent_scope_id": "workspace:home",
    "store_id": "store:1",
    "head": "0" * 64,
    "entries": 4,
    "sequence": 2,
}
HEADER: dict[str, Any] = {
    "format": "pam-bundle",
    "format_version": 1,
    "kind": "scopes",
    "withheld": False,
    "embeddings": True,
    "scopes": [LISTED],
}
SELECTION = merged(HEADER, {"kind": "selection", "scopes": [merged(LISTED, {"root": "1" * 64})]})
COUNTS = {
    "embeddings": 0,
    "leaves": 1,
    "ledger": 4,
    "scopes": 1,
    "stubs": 0,
    "versions": 2,
}
FOOTER: dict[str, Any] = {"counts": COUNTS, "digest": DIGEST}
EMBEDDING = {
    "embedding_space_id": "space:1",
    "object_id": "mem:rose",
    "version_id": "ver:1",
    "vector": "AACAPwAAAEA",
}
WITHHELD: dict[str, Any] = {"envelope": STUB["envelope"], "withheld": {"address": DIGEST}}
CUSTODY: dict[str, Any] = {
    "bundle": DIGEST,
    "origin": {"store_id": "store:1", "scope_id": "workspace:garden", "head": "0" * 64},
    "imported_at": NOON,
    "actor": ACTOR,
    "from_entry": 1,
    "to_entry": 4,
    "withheld": 1,
    "signed": 2,
    "packs": ["0" * 64],
}
EXPORT: dict[str, Any] = merged(
    HERE,
    {
        "object_ids": ["mem:rose"],
        "snapshot_id": "snap:1",
        "withhold_version_ids": ["ver:1"],
        "withhold_object_ids": ["mem:rose"],
        "actor": ACTOR,
        "operation_id": "op:1",
    },
)
IMPORT: dict[str, Any] = merged(HERE, {"actor": ACTOR, "operation_id": "op:1"})

EXCHANGE_TABLES: dict[str, Table] = {
    "bundle-header": Table(
        "invalid_object",
        [HEADER, SELECTION, edited(HEADER, "/scopes/0/parent_scope_id", MISSING)],
        [
            Fault("/format", "pam-store"),
            Fault("/format_version", 2),
            Fault("/kind", "some"),
            Fault("/withheld", "no"),
            Fault("/scopes", []),
            Fault("/scopes/0/head", "00"),
            Fault("/scopes/0/entries", 0),
            Fault("/scopes/0/store_id", MISSING),
            Fault("/scopes/0/colour", "green"),
            Fault("/made_at", NOON),
        ],
    ),
    "bundle-footer": Table(
        "invalid_object",
        [FOOTER],
        [
            Fault("/digest", "0" * 64),
            Fault("/digest", MISSING),
            Fault("/counts/leaves", MISSING),
            Fault("/counts/leaves", -1),
            Fault("/counts/lines", 1),
        ],
    ),
    "bundle-embedding": Table(
        "invalid_object",
        [EMBEDDING],
        [
            Fault("/vector", "AACAPw=="),
            Fault("/vector", [1.0]),
            Fault("/version_id", MISSING),
            Fault("/salt", "A" * 22),
        ],
    ),
    "withheld-stub": Table(
        "internal_error",
        [
            WITHHELD,
            edited(
                WITHHELD,
                "/envelope",
                {
                    name: member
                    for name, member in RELATIONSHIP.items()
                    if name not in ("canonical_content", "integrity", "quality_signals")
                },
            ),
        ],
        [
            Fault("/envelope/canonical_content", "left over"),
            Fault("/envelope/sequence", MISSING),
            Fault("/withheld/address", "sha256:00"),
            Fault("/withheld", MISSING),
            Fault("/erased", STUB["erased"]),
        ],
    ),
    "custody": Table(
        "internal_error",
        [
            CUSTODY,
            edited(CUSTODY, "/origin", {"scope_id": "workspace:garden"}),
            merged(CUSTODY, {"replaces": {"0" * 64: "1" * 64}}),
        ],
        [
            Fault("/bundle", MISSING),
            Fault("/origin/scope_id", MISSING),
            Fault("/imported_at", "yesterday"),
            Fault("/from_entry", 0),
            Fault("/packs", ["../elsewhere"], "/packs/0"),
            Fault("/withheld", -1),
            Fault("/signed", MISSING),
            Fault("/trusted", True),
        ],
    ),
    "requests/export": Table(
        "invalid_request",
        [EXPORT, HERE],
        [
            Fault("/scope_id", MISSING),
            Fault("/object_ids", []),
            Fault("/object_ids", ["mem:rose", "mem:rose"]),
            Fault("/withhold_version_ids", "ver:1"),
            Fault("/scopes", ["workspace:garden"]),
        ],
    ),
    "requests/import": Table(
        "invalid_request",
        [IMPORT],
        [
            Fault("/scope_id", MISSING),
            Fault("/scope_id", "../garden"),
            Fault("/actor", MISSING),
            Fault("/force", True),
        ],
    ),
}
"""By document."""
