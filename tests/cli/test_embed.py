"""`pamctl space` and `pamctl embed`, as a user runs them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE


@pytest.fixture
def spaced(in_store: Program, remember: Any) -> Program:
    for name in ("mem:1", "mem:2"):
        remember("Tea.", "--id", name)
    assert in_store("space", "add", "--descriptor", json.dumps(SPACE)).json["added"]
    return in_store


def lines(*embeddings: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(embedding).encode() + b"\n" for embedding in embeddings)


def test_vectors_go_in_and_come_out(spaced: Program) -> None:
    given = lines(
        {"object_id": "mem:1", "vector": [0.5, 1]},
        {"object_id": "mem:2", "vector": [0, 0.25], "embedding_space_id": "emb:a"},
    )
    kept = spaced("embed", "put", "--space", "emb:a", stdin=b"\n" + given).json
    assert kept["embedded"] == 2
    assert spaced("embed", "status").json["items"][0]["fresh"] == 2
    out = spaced("embed", "export", "--space", "emb:a", "--format", "jsonl")
    assert [json.loads(line)["vector"] for line in out.stdout.splitlines()] == [[0.5, 1], [0, 0.25]]
    assert spaced("embed", "delete", "mem:1").json == {
        "deleted": 1,
        "replayed": False,
        "scope_id": "workspace:default",
    }
    # What was exported can be put again.
    assert spaced("embed", "put", stdin=out.stdout).json["embedded"] == 2
    whole = spaced("embed", "export", "--space", "emb:a").json
    assert whole["space"]["model"] == "small"
    assert len(whole["items"]) == 2


@pytest.mark.parametrize(
    ("line", "code", "status"),
    [
        ({"object_id": "mem:1", "vector": [0, 1]}, "embedding_space_mismatch", 10),
        (
            {"object_id": "mem:1", "vector": [0], "embedding_space_id": "emb:a"},
            "embedding_space_mismatch",
            10,
        ),
        (
            {"object_id": "mem:none", "vector": [0, 1], "embedding_space_id": "emb:a"},
            "object_not_found",
            3,
        ),
        ({"object_id": "mem:1", "embedding_space_id": "emb:a"}, "invalid_request", 2),
        (
            {"object_id": "mem:1", "vector": "x", "embedding_space_id": "emb:a"},
            "invalid_request",
            2,
        ),
    ],
)
def test_refusals(spaced: Program, line: dict[str, Any], code: str, status: int) -> None:
    refused = spaced("embed", "put", stdin=lines(line))
    assert refused.status == status
    assert refused.error["code"] == code
    assert refused.error["details"]["lines"] == [1, 1]


def test_more_refusals(spaced: Program) -> None:
    changed = json.dumps({**SPACE, "model_revision": "2"})
    for words, status in (
        (("space", "add", "--descriptor", changed), 10),
        (("space", "add", "--descriptor", "{}"), 2),
        (("space", "show", "emb:none"), 10),
        (("embed", "export", "--space", "emb:none"), 10),
        (("embed", "status", "--space", "emb:none"), 10),
        (("embed", "delete"), 2),
    ):
        refused = spaced(*words)
        assert refused.status == status, words
        assert refused.error["code"]
    assert spaced("embed", "put", stdin=b"[]\n").status == 2
    assert spaced("space", "add", "--descriptor", json.dumps(SPACE)).json["added"] is False
    assert [space["embedding_space_id"] for space in spaced("space", "list").json["items"]] == [
        "emb:a"
    ]


def test_more_lines_than_are_kept_together(spaced: Program) -> None:
    line = {"object_id": "mem:1", "vector": [0, 1], "embedding_space_id": "emb:a"}
    many = lines(*[line] * 1001, {**line, "vector": [1]})
    refused = spaced("embed", "put", stdin=many)
    assert refused.error["details"]["embedded"] == 1000
    assert refused.error["details"]["lines"] == [1001, 1002]


def test_a_rebuild_is_on_record(spaced: Program) -> None:
    assert spaced("index", "rebuild", "--actor", "actor:human:ada").status == 0
    event = spaced("log", "--event-class", "index_rebuilt").json["items"][0]
    assert event["actor"]["actor_id"] == "actor:human:ada"
    assert "version_id" not in event


def test_tables(spaced: Program) -> None:
    spaced(
        "embed", "put", "--space", "emb:a", stdin=lines({"object_id": "mem:1", "vector": [0, 1]})
    )
    for words, text in (
        (("space", "list"), "local/small"),
        (("space", "show", "emb:a"), "cosine"),
        (("embed", "status"), "FRESH"),
        (("embed", "export", "--space", "emb:a"), "[0,1]"),
    ):
        status, screen = spaced.at_terminal(*words)
        assert status == 0
        assert text in screen
