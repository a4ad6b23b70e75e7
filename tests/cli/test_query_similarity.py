"""`pamctl query` by similarity, as a user runs it: what is refused, and what is printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE

pytest.importorskip("numpy", reason="search by similarity needs the extra 'vectors'")

BUILTIN = "space:pamctl-hashed-text:1"


@pytest.fixture
def embedded(in_store: Program, remember: Any) -> Program:
    remember("A sunrise over the lake.", "--id", "mem:1")
    remember("The kiln is booked.", "--id", "mem:2")
    assert in_store("embed", "run", "--builtin").json["embedded"] == 2
    return in_store


def ask(program: Program, *words: str, stdin: bytes = b"") -> Any:
    return program("query", "--any-state", *words, stdin=stdin)


def test_every_way_of_asking(embedded: Program) -> None:
    vector = embedded("embed", "export", "--space", BUILTIN).json["items"][1]["vector"]
    for words, stdin in (
        (("--space", BUILTIN, "--text", "kilns"), b""),
        (("--space", BUILTIN, "--vector", "-"), json.dumps(vector).encode()),
        (("--space", BUILTIN, "--like", "mem:1"), b""),
        (("--hybrid", "--text", "the kiln"), b""),
        (("--hybrid", "--text", "kiln", "--space", BUILTIN, "--vector", "-"), json.dumps(vector)
         .encode()),
        (("--hybrid", "--text", "kiln", "--space", BUILTIN, "--like", "mem:1"), b""),
    ):  # fmt: skip
        answer = ask(embedded, *words, stdin=stdin).json
        assert answer["items"][0]["object_id"] == "mem:2", words
        assert answer["similarity"]["embedding_space_id"] == BUILTIN
        assert ask(embedded, *words, stdin=stdin).json == answer


def test_pages_go_on_where_they_ended(embedded: Program, remember: Any) -> None:
    for number in range(3, 8):
        remember("The kiln is booked.", "--id", f"mem:{number}")
    embedded("embed", "run", "--builtin")
    for words in (("--space", BUILTIN), ("--hybrid",)):
        asked = (*words, "--text", "kiln", "--limit", "3")
        found, more = [], ()
        while True:
            page = ask(embedded, *asked, *more).json
            found += [item["object_id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            more = ("--cursor", page["next_cursor"])
        # Equal scores stand in the order of their ids.
        assert found == ["mem:2", "mem:3", "mem:4", "mem:5", "mem:6", "mem:7", "mem:1"]
    refused = ask(embedded, "--space", BUILTIN, "--text", "lake", *more)
    assert refused.error["code"] == "invalid_request"


def test_refusals(embedded: Program) -> None:
    embedded("space", "add", "--descriptor", json.dumps(SPACE))
    odd = {**SPACE, "embedding_space_id": "emb:odd", "distance_metric": "hamming"}
    embedded("space", "add", "--descriptor", json.dumps(odd))
    for words, stdin, status in (
        (("--space", "emb:none", "--text", "tea"), b"", 10),
        (("--space", "emb:a", "--text", "tea"), b"", 10),
        (("--space", "emb:a", "--vector", "-"), b"[1]", 10),
        (("--space", "emb:odd", "--vector", "-"), b"[1, 0]", 10),
        (("--space", "emb:a", "--vector", "-"), b'["1", 0]', 2),
        (("--space", "emb:a", "--vector", "-"), b"[1e39, 0]", 2),
        (("--space", "emb:a", "--vector", "-"), b"[true, 0]", 2),
        (("--space", "emb:a", "--vector", "-"), b"{}", 2),
        (("--space", "emb:a", "--vector", "nowhere.json"), b"", 2),
        (("--space", "emb:a", "--like", "mem:1"), b"", 2),
        (("--space", "emb:a", "--like", "mem:none"), b"", 3),
        (("--space", "emb:a"), b"", 2),
        (("--vector", "-"), b"[1, 0]", 2),
        (("--like", "mem:1"), b"", 2),
        (("--hybrid",), b"", 2),
        (("--space", BUILTIN, "--text", "tea " * 2000), b"", 2),
        (("--space", BUILTIN, "--like", "mem:1", "--text", "tea"), b"", 2),
        (("--space", BUILTIN, "--text", "tea", "--order-by", "object_id"), b"", 2),
        (("--space", BUILTIN, "--text", "tea", "--relationships"), b"", 2),
        (("--space", BUILTIN, "--text", "tea", "--scope", "workspace:new"), b"", 10),
        (("--space", BUILTIN, "--text", "tea", "--exact", "--approximate"), b"", 2),
        (("--text", "tea", "--approximate"), b"", 2),
    ):
        refused = ask(embedded, *words, stdin=stdin)
        assert refused.status == status, (words, refused.stderr)
        assert refused.error["code"]


def test_without_numpy_it_says_what_to_install(embedded: Program) -> None:
    hidden = embedded.folder / "hidden"
    hidden.mkdir()
    (hidden / "numpy.py").write_text("raise ImportError('not here')\n")
    env = {"PYTHONPATH": str(hidden)}
    refused = embedded("query", "--hybrid", "--text", "tea", env=env)
    assert refused.error["code"] == "invalid_request"
    assert "pamctl[vectors]" in refused.error["details"]["hint"]
    # Whatever does not search does not need it.
    assert embedded("embed", "run", "--builtin", env=env).status == 0
    assert embedded("query", "--text", "kiln", "--any-state", env=env).status == 0


def test_an_approximate_search_is_asked_for_by_name(embedded: Program, remember: Any) -> None:
    pytest.importorskip("usearch", reason="search by a graph needs the extra 'approximate'")
    for number in range(3, 11):
        remember(f"Lake number {number}.", "--id", f"mem:{number}")
    embedded("embed", "run", "--builtin")
    asked = ("--space", BUILTIN, "--text", "sunrise", "--limit", "1")
    said = ask(embedded, *asked, "--approximate", "--format", "jsonl")
    assert f"semantic ranking in {BUILTIN}, approximate, best effort".encode() in said.stderr
    assert json.loads(said.stdout)["object_id"] == "mem:1"
    assert ask(embedded, *asked, "--exact").json["similarity"]["search"] == "exact"


def test_a_query_document(embedded: Program) -> None:
    """The draft's kinds, over the coprocess; its tie-break is ours."""
    document = {
        "operation_id": "op:1",
        "scope_id": "workspace:default",
        "query": {
            "kind": "semantic",
            "text": "kilns",
            "filters": {"validation_state": ["unverified"]},
        },
        "embedding_space_id": BUILTIN,
        "pagination": {"limit": 1},
        "ordering": {"tie_break": ["semantic_score", "object_id", "version_id"]},
        "explain_ranking": True,
    }
    actor = {"actor_id": "actor:agent:a", "actor_kind": "agent"}
    hybrid = {**document, "query": {**document["query"], "kind": "hybrid"}}
    other = {**document, "ordering": {"order_by": ["committed_at"]}}
    flat = {
        "scope_id": "workspace:default",
        "embedding_space_id": BUILTIN,
        "text": "kilns",
        "any_state": True,
    }
    requests = [
        {"request_id": str(n), "operation": "query", "arguments": {**arguments, "actor": actor}}
        for n, arguments in enumerate((document, hybrid, other, flat))
    ]
    stdin = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
    _, *answers = map(json.loads, embedded("stdio", stdin=stdin).stdout.splitlines())
    for answer, kind in zip(answers[:2], ("semantic", "hybrid"), strict=True):
        assert answer["result"]["items"][0]["object_id"] == "mem:2"
        assert answer["result"]["similarity"]["kind"] == kind
        assert answer["result"]["explanation"]
    assert answers[2]["error"]["code"] == "invalid_request"
    # An answer by similarity names its space, in the flat form too.
    assert answers[3]["result"]["similarity"]["embedding_space_id"] == BUILTIN


def test_lines_and_tables_say_on_the_side_how_they_were_ranked(embedded: Program) -> None:
    lines = ask(embedded, "--hybrid", "--text", "kiln", "--format", "jsonl")
    assert len(lines.stdout.splitlines()) == 2
    assert b"hybrid ranking in space:pamctl-hashed-text:1, exact, best effort" in lines.stderr
    status, screen = embedded.at_terminal("query", "--any-state", "--hybrid", "--text", "kiln")
    assert status == 0
    assert "is booked." in screen
