"""`pamctl query`: expressions, words, explanations and pages, as a user has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program


@pytest.fixture
def three(remember: Callable[..., Any], in_store: Program) -> Program:
    remember("The painted sunrise", "--id", "mem:a", "--activity", "read")
    remember("A class about painting", "--id", "mem:b")
    in_store(
        *("create", "--type", "task", "--id", "mem:c"),
        *("--content", '{"n": 5, "rows": [{"m": 1}, {"m": 9}], "first name": "Ada"}'),
    )
    return in_store


def found(program: Program, *flags: str) -> str:
    answer = program("query", "--any-state", *flags).json
    return "".join(item["object_id"][-1] for item in answer["items"])


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--where", "content.n > 4"), "c"),
        (("--where", "content.text exists", "--where", "not provenance.activity = 'read'"), "b"),
        (("--where", 'content["first name"] starts with "A"'), "c"),
        (("--where", "content.rows[?@.m > 5] exists"), "c"),
        (("--where", "object_id in ('mem:a', 'mem:b')", "--order-by", "object_id:desc"), "ba"),
        (("--activity", "read"), "a"),
        (("--object", "mem:b", "--object", "mem:c"), "bc"),
        (("--integrity", "none"), ""),
        (("--text", "paint"), "ab"),
        (("--text", '"about painting"'), "b"),
    ],
)
def test_what_is_found(three: Program, flags: tuple[str, ...], expected: str) -> None:
    assert "".join(sorted(found(three, *flags))) == "".join(sorted(expected))
    if "--order-by" in flags:
        assert found(three, *flags) == expected


def test_the_version_that_an_object_has_now(three: Program) -> None:
    version = three("read", "mem:a", "--print", "version_id").stdout.decode().strip()
    assert found(three, "--version-is", version) == "a"


def test_a_caret_stands_under_what_is_wrong(three: Program) -> None:
    error = three("query", "--where", "content.n = ").error
    assert error["code"] == "invalid_request"
    assert error["details"] == {
        "hint": "a string is written in quotes",
        "pointer": "/where/0",
        "position": 12,
    }
    status, shown = three.at_terminal("query", "--where", "content.n ~ 5")
    assert status == 2
    lines = shown.splitlines()
    assert lines[1].index("~") == lines[2].index("^")


@pytest.mark.parametrize(
    "expression", ["", "a" * 20_000, "content.a = 'x", "\udcff", "content.a matches '('", "\x00"]
)
def test_no_expression_is_a_crash(three: Program, expression: str) -> None:
    if "\x00" in expression:
        return  # no command line can hold one
    done = three("query", "--where", expression)
    assert done.status == 2
    assert done.error["code"] == "invalid_request"


def test_the_passage_is_shown_to_people_and_stands_out(three: Program) -> None:
    status, shown = three.at_terminal("query", "--any-state", "--text", "painting")
    assert status == 0
    assert "\x1b[1mpainted\x1b[0m" in shown
    plain = three("query", "--any-state", "--text", "painting", "--format", "table")
    assert b"The painted sunrise" in plain.stdout
    assert b"\x1b" not in plain.stdout


def test_snippets_are_in_json_where_they_are_wanted(three: Program) -> None:
    answer = three("query", "--any-state", "--text", "painting", "--snippets").json
    places = {
        item["object_id"]: [snippet["text"][start:end] for start, end in snippet["matches"]]
        for item, snippet in zip(answer["items"], answer["snippets"], strict=True)
    }
    assert places == {"mem:a": ["painted"], "mem:b": ["painting"]}
    assert "snippets" not in three("query", "--any-state", "--text", "painting").json


def test_an_explanation_is_told_beside_lines(three: Program) -> None:
    done = three(
        *("query", "--any-state", "--format", "jsonl", "--explain"),
        *("--where", "content.n = 5 and object_type = 'task'"),
    )
    assert [json.loads(line)["object_id"] for line in done.stdout.splitlines()] == ["mem:c"]
    said = done.stderr.decode()
    assert "pamctl: index decides: object_type = 'task'" in said
    assert "pamctl: envelopes decide: content.n = 5" in said
    assert "pamctl: envelopes judged: 1" in said
    assert "pamctl: 1. mem:c: ledger_sequence 3" in said


def test_pages_of_an_expression(three: Program) -> None:
    asked = ("query", "--any-state", "--where", "sequence = 1", "--limit", "2", "--count")
    first = three(*asked).json
    rest = three(*asked, "--cursor", first["next_cursor"]).json
    ids = [item["object_id"] for item in (*first["items"], *rest["items"])]
    assert ids == ["mem:a", "mem:b", "mem:c"]
    assert first["total"] == rest["total"] == 3
    other = three("query", "--any-state", "--where", "sequence = 2", "--cursor", "x").error
    assert other["code"] == "invalid_request"


def test_a_person_is_told_why_there_is_nothing(three: Program) -> None:
    def said(*words: str, stdin: bytes = b"") -> str:
        done = three("query", "--format", "table", *words, stdin=stdin)
        assert done.status == 0, done.stderr
        return done.stderr.decode()

    assert "nothing that is trusted" in said("--type", "decision")
    other = said("--scope", "workspace:wrong", "--count")
    assert "nothing was written to workspace:wrong yet" in other
    assert "0 in all" in other
    document = b'{"query": {"kind": "structured"}, "pagination": {"limit": 5}}'
    assert said("--query-file", "-", stdin=document) == ""
    unknown = three("query", "--order-by", "colour").error["details"]["hint"]
    assert unknown.count("source_ref") == 1
    assert "com.example.note" in three("query", "--type", "zz").error["details"]["hint"]


def test_a_document_whose_query_is_none(three: Program) -> None:
    done = three("query", "--query-file", "-", stdin=b'{"query": 1, "pagination": {"limit": 5}}')
    assert done.error["details"]["pointer"] == "/query"


def test_expressions_reach_the_coprocess(three: Program) -> None:
    request = {
        "request_id": "1",
        "operation": "query",
        "arguments": {
            "scope_id": "workspace:default",
            "actor": {"actor_id": "actor:x", "actor_kind": "human"},
            "any_state": True,
            "where": "content.n = 5",
        },
    }
    done = three("stdio", stdin=json.dumps(request).encode() + b"\n")
    answer = json.loads(done.stdout.splitlines()[1])
    assert [item["object_id"] for item in answer["result"]] == ["mem:c"]
