"""Instances of the requests about snapshots, Embedding Spaces and vectors."""

from __future__ import annotations

from typing import Any

from pamctl.limits import (
    CHECKPOINT_BYTES_MAX,
    EMBEDDING_DIMENSIONS_MAX,
    EMBEDDINGS_PER_REQUEST_MAX,
)
from tests.schemas.instances import ACTOR, NOON, NOTE_SCHEMA, SPACE
from tests.schemas.tables import MISSING, Fault, Table, edited, merged

HERE = {"scope_id": "workspace:garden"}
ASKED = {"actor": ACTOR, "operation_id": "op:1"}
PAGED = merged(ASKED, {"limit": 5, "cursor": "mem:rose"})
CREATE: dict[str, Any] = merged(
    HERE,
    ASKED,
    {
        "snapshot_id": "snap:1",
        "at_sequence": 4,
        "included_object_ids": ["mem:rose"],
        "included_embedding_space_ids": ["space:small:1"],
        "deterministic_clock": {"clock_ref": "clock:frozen", "start_at": NOON, "tick_ms": 1},
        "deterministic_rng_seed": -7,
        "evaluation_run_id": "eval:run:1",
        "idempotency_key": "k",
    },
)
DIFF = merged(
    HERE,
    PAGED,
    {
        "from_snapshot_id": "snap:1",
        "to_snapshot_id": "snap:2",
        "to_scope_id": "evaluation:1",
        "object_id": "mem:rose",
    },
)
VECTOR = {
    "object_id": "mem:rose",
    "version_id": "ver:1",
    "embedding_space_id": "space:small:1",
    "vector": [0.5, -1, 0],
}
PUT: dict[str, Any] = merged(HERE, ASKED, {"embeddings": [VECTOR]})
_ACTOR = Fault("/actor/actor_kind", MISSING, code="invalid_object")
_SCOPE = Fault("/scope_id", MISSING)

_TABLES = {
    "snapshot_create": Table(
        "invalid_request",
        [CREATE, merged(HERE, {"actor": ACTOR})],
        [
            _SCOPE,
            _ACTOR,
            Fault("/actor", MISSING),
            Fault("/snapshot_id", "one"),
            Fault("/at_sequence", -1),
            Fault("/included_object_ids/0", "rose"),
            Fault("/included_object_ids", ["mem:rose", "mem:rose"]),
            Fault("/deterministic_clock/start_at", MISSING),
            Fault("/deterministic_clock/start_at", "2026-03-01"),
            Fault("/deterministic_clock/tick_ms", 0),
            Fault("/deterministic_rng_seed", 1.5),
            Fault("/evaluation_run_id", "run"),
            Fault("/idempotency_key", ""),
            Fault("/sealed", False),
        ],
    ),
    "snapshot_list": Table(
        "invalid_request", [merged(HERE, PAGED), HERE], [_SCOPE, _ACTOR, Fault("/limit", 0)]
    ),
    "snapshot_show": Table(
        "invalid_request",
        [merged(HERE, ASKED, {"snapshot_id": "snap:1"})],
        [_SCOPE, _ACTOR, Fault("/snapshot_id", MISSING), Fault("/sealed", True)],
    ),
    "snapshot_diff": Table(
        "invalid_request",
        [DIFF],
        [
            _SCOPE,
            _ACTOR,
            Fault("/from_snapshot_id", MISSING),
            Fault("/to_snapshot_id", "two"),
            Fault("/to_scope_id", ""),
            Fault("/limit", 2.5),
            Fault("/exit_code", True),
        ],
    ),
    "space_add": Table(
        "invalid_request",
        [merged(HERE, ASKED, {"space": SPACE, "idempotency_key": "k"})],
        [
            _SCOPE,
            _ACTOR,
            Fault("/actor", MISSING),
            Fault("/space", MISSING),
            Fault("/space/dimensions", 0),
            Fault("/space/model_revision", MISSING),
            Fault("/space/colour", "red"),
        ],
    ),
    "checkpoint_record": Table(
        "invalid_request",
        [merged(HERE, ASKED, {"checkpoint": "pam/x\n1\ny\n", "idempotency_key": "k"})],
        [
            _SCOPE,
            _ACTOR,
            Fault("/actor", MISSING),
            Fault("/checkpoint", MISSING),
            Fault("/checkpoint", ""),
            Fault("/checkpoint", "x" * (CHECKPOINT_BYTES_MAX + 1)),
            Fault("/checkpoint", 7),
        ],
    ),
    "schema_add": Table(
        "invalid_request",
        [
            merged(HERE, ASKED, {"schema_id": NOTE_SCHEMA, "schema": {}, "idempotency_key": "k"}),
            merged(HERE, {"actor": ACTOR, "schema_id": NOTE_SCHEMA, "schema": False}),
        ],
        [
            _SCOPE,
            _ACTOR,
            Fault("/actor", MISSING),
            Fault("/schema_id", MISSING),
            Fault("/schema_id", "note"),
            Fault("/schema", MISSING),
            Fault("/schema", "{}"),
            Fault("/dialect", "draft-07"),
        ],
    ),
    "schema_list": Table(
        "invalid_request", [merged(HERE, ASKED), HERE], [_SCOPE, _ACTOR, Fault("/limit", 1)]
    ),
    "schema_show": Table(
        "invalid_request",
        [merged(HERE, ASKED, {"schema_id": NOTE_SCHEMA})],
        [_SCOPE, _ACTOR, Fault("/schema_id", MISSING), Fault("/schema_id", "note")],
    ),
    "space_list": Table(
        "invalid_request", [merged(HERE, ASKED), HERE], [_SCOPE, _ACTOR, Fault("/limit", 1)]
    ),
    "space_show": Table(
        "invalid_request",
        [merged(HERE, ASKED, {"embedding_space_id": "space:small:1"})],
        [_SCOPE, _ACTOR, Fault("/embedding_space_id", MISSING), Fault("/space_id", "space:1")],
    ),
    "embedding_put": Table(
        "invalid_request",
        [PUT, edited(PUT, "/embeddings/0/embedding_space_id", MISSING)],
        [
            _SCOPE,
            _ACTOR,
            Fault("/embeddings", []),
            Fault("/embeddings", [VECTOR] * (EMBEDDINGS_PER_REQUEST_MAX + 1)),
            Fault("/embeddings/0/object_id", MISSING),
            Fault("/embeddings/0/vector", MISSING),
            Fault("/embeddings/0/vector", []),
            Fault("/embeddings/0/vector", [0] * (EMBEDDING_DIMENSIONS_MAX + 1)),
            Fault("/embeddings/0/vector/1", "1"),
            Fault("/embeddings/0/dimensions", 3),
        ],
    ),
    "embedding_delete": Table(
        "invalid_request",
        [
            merged(HERE, ASKED, {"object_id": "mem:rose", "embedding_space_id": "space:small:1"}),
            merged(HERE, {"actor": ACTOR, "object_id": "mem:rose"}),
            merged(HERE, {"actor": ACTOR, "embedding_space_id": "space:small:1"}),
        ],
        [
            _SCOPE,
            _ACTOR,
            Fault("", merged(HERE, {"actor": ACTOR}), ""),
            Fault("/object_id", "rose"),
            Fault("/all", True),
        ],
    ),
    "embedding_status": Table(
        "invalid_request",
        [merged(HERE, ASKED, {"embedding_space_id": "space:small:1"}), HERE],
        [_SCOPE, _ACTOR, Fault("/embedding_space_id", "small")],
    ),
    "embedding_export": Table(
        "invalid_request",
        [merged(HERE, PAGED, {"embedding_space_id": "space:small:1"})],
        [_SCOPE, _ACTOR, Fault("/embedding_space_id", MISSING), Fault("/limit", 0)],
    ),
    "embedding_pending": Table(
        "invalid_request",
        [merged(HERE, PAGED, {"embedding_space_id": "space:small:1"})],
        [
            _SCOPE,
            _ACTOR,
            Fault("/embedding_space_id", MISSING),
            Fault("/limit", 0),
            Fault("/cursor", 5),
        ],
    ),
    "embedding_generate": Table(
        "invalid_request",
        [merged(HERE, PAGED)],
        [
            _SCOPE,
            _ACTOR,
            Fault("/actor", MISSING),
            Fault("/limit", 0),
            Fault("/embedding_space_id", "space:small:1"),
        ],
    ),
}

EVALUATION_TABLES = {f"requests/{operation}": table for operation, table in _TABLES.items()}
