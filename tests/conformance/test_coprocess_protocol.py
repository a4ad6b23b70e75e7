"""`pamctl stdio` as another program's test suite would probe it: the protocol."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.coprocess import Coprocess

SCOPE = "workspace:test"


@pytest.fixture
def coprocess(tmp_path: Path) -> Iterator[Coprocess]:
    with Coprocess(tmp_path, "--ephemeral") as running:
        yield running


def test_the_first_line_says_who_speaks(coprocess: Coprocess) -> None:
    hello = coprocess.hello
    assert hello["type"] == "hello"
    assert hello["protocol_version"] == 1
    assert hello["implementation"]["name"] == "pamctl"
    assert {"name", "version"} <= set(hello["adapter"])
    assert hello["spec_commit"] == ""
    assert "PAMSPEC-Lite" in hello["profiles_supported"]


@pytest.mark.parametrize("request_id", ["a", 7, 0, "", 'é\n"', 2**53 - 1, None])
def test_the_request_id_comes_back_as_it_was(coprocess: Coprocess, request_id: Any) -> None:
    request = {"request_id": request_id, "operation": "query", "arguments": {"scope_id": SCOPE}}
    assert coprocess.write(json.dumps(request).encode())["request_id"] == request_id


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b"null", b'"x"', b'{"operation":"read"}garbage', b"\xff\xfe", b"{}"]
)
def test_a_line_that_is_no_request_is_answered(coprocess: Coprocess, line: bytes) -> None:
    answer = coprocess.write(line)
    assert answer["error"]["code"] == "invalid_request"
    assert answer["error"]["retryable"] is False
    assert coprocess.ask("query", scope_id=SCOPE) == []


@pytest.mark.parametrize("operation", ["", "drop", "Create", "create ", "__init__", "perform"])
def test_an_operation_that_is_not_there(coprocess: Coprocess, operation: str) -> None:
    assert coprocess.ask(operation, scope_id=SCOPE)["code"] == "invalid_request"


def test_answers_come_in_the_order_of_the_requests(coprocess: Coprocess) -> None:
    """Also when all were sent before the first answer was read."""
    process = coprocess.process
    assert process.stdin is not None
    assert process.stdout is not None
    lines = [
        json.dumps({"request_id": number, "operation": "query", "arguments": {"scope_id": SCOPE}})
        for number in range(50)
    ]
    process.stdin.write("".join(f"{line}\n" for line in lines).encode())
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in lines]
    assert [answer["request_id"] for answer in answers] == list(range(50))


def test_an_error_has_its_members(coprocess: Coprocess) -> None:
    error = coprocess.ask("read", scope_id=SCOPE, object_id="mem:nothing", operation_id="op:mine")
    assert {"code", "message", "retryable", "details"} <= set(error)
    assert error["operation_id"] == "op:mine"


def test_it_ends_when_its_input_does(coprocess: Coprocess) -> None:
    assert coprocess.end() == 0
