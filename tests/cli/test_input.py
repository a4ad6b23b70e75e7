"""What commands accept: JSON in three ways, strictly."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.conftest import Program

CREATE = ("create", "--type", "claim")


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("--content", '{"text":"tea"}'), b""),
        (("--content-file", "content.json"), b""),
        (("--content", "-"), b'{"text":"tea"}'),
        (("--content-file", "-"), b'{"text":"tea"}\n'),
    ],
)
def test_content_comes_in_three_ways(
    in_store: Program, words: tuple[str, ...], stdin: bytes
) -> None:
    (in_store.folder / "content.json").write_text('{"text": "tea"}')
    made = in_store(*CREATE, *words, stdin=stdin).json
    assert made["envelope"]["canonical_content"] == {"text": "tea"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a":1,"a":2}', "'a' twice"),
        (b'{"a":9007199254740993}', "/a"),
        (b'{"a":NaN}', "/a"),
        (b'["\\ud800"]', "/0"),
        (b'\xef\xbb\xbf{"a":1}', "byte order mark"),
        (b'"\xff"', "not UTF-8"),
        (b"{", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_what_is_no_i_json_is_refused_with_its_place(
    in_store: Program, text: bytes, said: str
) -> None:
    failed = in_store(*CREATE, "--content", "-", stdin=text)
    assert failed.status == 2
    assert failed.error["code"] == "invalid_request"
    assert said in json.dumps(failed.error)


def test_text_without_quotes_is_told_about_them(in_store: Program) -> None:
    failed = in_store(*CREATE, "--content", "tea is at four")
    assert failed.status == 2
    assert "quotes" in failed.error["details"]["hint"]


def test_two_sources_and_missing_files_are_refused(in_store: Program) -> None:
    for words, said in (
        (("--content", "1", "--content-file", "x"), "both given"),
        (("--content-file", "nothing.json"), "No such file"),
        (("--content-file", "."), "directory"),
        (("--content", "-", "--provenance-file", "-"), "both read standard input"),
    ):
        failed = in_store(*CREATE, *words, stdin=b"{}")
        assert failed.status == 2
        assert said in failed.error["message"]


def test_closed_standard_input_is_an_error_only_where_it_is_read(in_store: Program) -> None:
    assert in_store.shell("pamctl status <&-").status == 0
    failed = in_store.shell("pamctl create --type claim --content - <&-")
    assert failed.status == 2
    assert "closed" in failed.error["message"]
    assert in_store.shell("pamctl batch <&-").status == 2


def test_times_need_an_offset(in_store: Program) -> None:
    failed = in_store(*CREATE, "--content", "1", "--observed-at", "2026-01-01T00:00:00")
    assert failed.status in (2, 10)
    assert "observed_at" in json.dumps(failed.error)
    for words in (
        ("--between", "committed_at", "2026-01-01T00:00:00", "-"),
        ("--as-of", "2026-01-01T00:00:00"),
        ("--between", "committed", "-", "2026-01-01T00:00:00Z"),
        ("--order-by", "taste"),
        ("--limit", "0"),
        ("--limit", "100000"),
        ("--cursor", "nonsense"),
    ):
        failed = in_store("query", *words)
        assert failed.status == 2, words
        assert failed.error["code"] == "invalid_request"


def test_long_arguments_are_taken(in_store: Program) -> None:
    content = json.dumps("x" * 100_000)
    made = in_store(*CREATE, "--content", content).json
    assert len(made["envelope"]["canonical_content"]) == 100_000


def test_a_terminal_as_input_is_announced(in_store: Program) -> None:
    controller, terminal = os.openpty()
    os.write(controller, b'"tea"\n\x04')
    made = in_store(*CREATE, "--content", "-", stdin=terminal)
    os.close(terminal)
    os.close(controller)
    assert made.json["envelope"]["canonical_content"] == "tea"
    assert b"Ctrl-D" in made.stderr
