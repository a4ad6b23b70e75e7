"""`pamctl stdio`: the coprocess that cli.md specifies."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pamctl.limits import DOCUMENT_BYTES_MAX
from tests.cli.conftest import Program
from tests.conftest import pamctl_program

ACTOR = {"actor_id": "actor:bot", "actor_kind": "agent"}
SCOPE = "workspace:test"


class Coprocess:
    """A running `pamctl stdio`."""

    def __init__(self, program: Program, *words: str) -> None:
        self.process = subprocess.Popen(
            [pamctl_program(), "stdio", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.folder,
            env=program.environment,
        )
        self.hello = self.line()
        self._requests = 0

    def line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def send(self, line: bytes) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return self.line()

    def ask(self, operation: str, **arguments: Any) -> Any:
        """The result of an operation, or its error."""
        self._requests += 1
        request = {
            "request_id": self._requests,
            "operation": operation,
            "arguments": {"scope_id": SCOPE, **arguments},
        }
        answer = self.send(json.dumps(request).encode())
        assert answer.pop("request_id") == self._requests
        (outcome,) = answer.values()
        return outcome

    def create(self, content: Any, **arguments: Any) -> Any:
        return self.ask(
            "create",
            **{
                "object_type": "claim",
                "canonical_content": content,
                "actor": ACTOR,
                "provenance": {"activity": "created"},
                **arguments,
            },
        )

    def end(self) -> int:
        """Ends its input and answers its status; it must have said nothing else."""
        stdout, stderr = self.process.communicate(timeout=60)
        assert stdout == b""
        assert stderr == b""
        return self.process.returncode


@pytest.fixture
def coprocess(pamctl: Program) -> Iterator[Coprocess]:
    running = Coprocess(pamctl, "--ephemeral")
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.communicate()


def test_hello_says_what_it_is(coprocess: Coprocess) -> None:
    hello = coprocess.hello
    assert hello["type"] == "hello"
    assert hello["protocol_version"] == 1
    assert hello["implementation"]["name"] == "pamctl"
    assert set(hello["adapter"]) == {"name", "version"}
    assert hello["spec_commit"] == ""
    assert "PAMSPEC-Lite" in hello["profiles_supported"]
    assert coprocess.end() == 0


def test_a_memory_from_create_to_delete(coprocess: Coprocess) -> None:
    made = coprocess.create({"text": "tea"})
    assert {"object_id", "version_id", "sequence", "envelope", "event_id", "operation_id"} <= set(
        made
    )
    object_id, version = made["object_id"], made["version_id"]
    assert coprocess.ask("read", object_id=object_id) == made["envelope"]
    change = {"object_id": object_id, "actor": ACTOR, "provenance": {"activity": "changed"}}
    updated = coprocess.ask(
        "update", **change, expected_version_id=version, canonical_content={"text": "coffee"}
    )
    moved = coprocess.ask(
        "transition",
        **change,
        expected_version_id=updated["version_id"],
        dimension="validation",
        target_state="corroborated",
    )
    assert coprocess.ask("query") == [moved["envelope"]]
    assert coprocess.ask("query", text="coffee", object_type="claim") == [moved["envelope"]]
    history = coprocess.ask("history", object_id=object_id)
    assert history == [made["envelope"], updated["envelope"], moved["envelope"]]
    events = coprocess.ask("inspect_history", object_id=object_id, kind="events")["items"]
    assert [event["event_type"] for event in events] == [
        "object_created",
        "object_updated",
        "validation_transitioned",
    ]
    deleted = coprocess.ask("delete", **change, expected_version_id=moved["version_id"])
    assert deleted["envelope"]["availability_state"] == "deleted"
    assert coprocess.ask("read", object_id=object_id)["code"] == "object_deleted"
    assert coprocess.end() == 0


def test_query_document_answers_a_page(coprocess: Coprocess) -> None:
    made = coprocess.create("tea", validation_state="corroborated")
    document = {
        "operation_id": "op:query",
        "query": {"kind": "structured", "filters": {"validation_state": ["corroborated"]}},
        "pagination": {"limit": 25},
        "ordering": {"tie_break": ["sequence", "object_id", "version_id"]},
    }
    page = coprocess.ask("query", **document)
    assert page["items"] == [made["envelope"]]
    assert page["next_cursor"] is None
    semantic = {**document, "query": {"kind": "semantic", "text": "tea"}}
    refused = coprocess.ask("query", **semantic, embedding_space_id="embspace:none")
    assert (refused["code"], refused["details"]["pointer"]) == ("invalid_request", "/ordering")
    del semantic["ordering"]
    refused = coprocess.ask("query", **semantic, embedding_space_id="embspace:none")
    assert refused["code"] == "embedding_space_mismatch"


def test_a_scope_reads_as_empty_before_its_first_write(coprocess: Coprocess) -> None:
    assert coprocess.ask("read", object_id="mem:nothing")["code"] == "object_not_found"
    assert coprocess.ask("query") == []


@pytest.mark.parametrize(
    "line",
    [
        b"no json",
        b"[1]",
        b"\xff",
        b'{"request_id":7}',
        b'{"request_id":7,"operation":"relate_all","arguments":{}}',
        b'{"request_id":7,"operation":"status","arguments":[]}',
        b'{"request_id":7,"operation":"read","arguments":{"scope_id":"a:b"}}',
        b'{"request_id":7,"operation":"read","arguments":{"scope_id":"a:b","object_id":3}}',
        b'{"request_id":7,"operation":"query","arguments":{"scope_id":"a:b","limit":0}}',
    ],
)
def test_what_is_no_request_is_answered_and_the_next_one_too(
    coprocess: Coprocess, line: bytes
) -> None:
    answer = coprocess.send(line)
    assert set(answer) == {"request_id", "error"}
    assert answer["request_id"] == (7 if b'"request_id":7' in line else None)
    assert answer["error"]["code"] == "invalid_request"
    assert {"code", "message", "retryable", "details"} <= set(answer["error"])
    assert coprocess.ask("create", object_type="claim")["code"] == "invalid_request"
    assert coprocess.create("tea")["object_id"]


def test_a_line_without_bounds_does_not_end_it(coprocess: Coprocess) -> None:
    answer = coprocess.send(b'"' + b"x" * (3 * DOCUMENT_BYTES_MAX) + b'"')
    assert answer["error"]["code"] == "invalid_request"
    assert "DOCUMENT_BYTES_MAX" in answer["error"]["message"]
    assert coprocess.create("tea")["object_id"]


def test_an_error_keeps_the_name_of_its_operation(coprocess: Coprocess) -> None:
    refused = coprocess.ask("read", object_id="mem:nothing", operation_id="op:mine")
    assert refused["operation_id"] == "op:mine"


def test_it_serves_a_store_that_others_write_to(in_store: Program) -> None:
    coprocess = Coprocess(in_store)
    made = coprocess.create("tea", scope_id="workspace:default")
    assert in_store("read", made["object_id"]).json == made["envelope"]
    other = in_store("create", "--type", "claim", "--content", '"coffee"').json
    read = coprocess.ask("read", scope_id="workspace:default", object_id=other["object_id"])
    assert read == other["envelope"]
    assert coprocess.end() == 0


@pytest.mark.parametrize("ending", [None, signal.SIGTERM, signal.SIGINT])
def test_an_ephemeral_store_is_gone_afterwards(
    pamctl: Program, tmp_path: Path, ending: signal.Signals | None
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    pamctl.environment["TMPDIR"] = str(temporary)
    coprocess = Coprocess(pamctl, "--ephemeral")
    coprocess.create("tea")
    assert len(list(temporary.iterdir())) == 1
    if ending is not None:
        coprocess.process.send_signal(ending)
    coprocess.process.communicate(timeout=60)
    assert list(temporary.iterdir()) == []
    assert (
        coprocess.process.returncode == {None: 0, signal.SIGTERM: 143, signal.SIGINT: 130}[ending]
    )


def test_without_a_store_it_says_so(pamctl: Program) -> None:
    assert tempfile.gettempdir()
    failed = pamctl("stdio")
    assert failed.status == 3
    assert failed.error["code"] == "scope_not_found"
