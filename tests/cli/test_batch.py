"""`pamctl batch`: many operations in, a durable result a line out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pamctl.encoding.canonical import canonical
from pamctl.limits import GROUP_OPERATIONS_MAX
from pamctl.model.documents import check
from tests.cli.conftest import Outcome, Program
from tests.conftest import pamctl_program

Remember = Callable[..., Any]


def create(text: Any, **arguments: Any) -> dict[str, Any]:
    provenance = {"activity": "created"}
    content = {"object_type": "claim", "canonical_content": text, "provenance": provenance}
    return {"operation": "create", "arguments": {**content, **arguments}}


def lines_of(requests: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(request).encode() + b"\n" for request in requests)


def results_of(outcome: Outcome) -> list[Any]:
    results = [json.loads(line) for line in outcome.stdout.splitlines()]
    for result in results:
        check("batch-result", result)
    return results


def test_results_come_in_order_with_their_lines(in_store: Program) -> None:
    requests = lines_of([create("a"), {**create("b"), "request_id": "second"}])
    done = in_store("batch", stdin=requests + b"\n  \n" + lines_of([create("c")]))
    assert done.status == 0
    assert done.stderr == b""
    results = results_of(done)
    assert [result["line"] for result in results] == [1, 2, 5]
    assert [result.get("request_id") for result in results] == [None, "second", None]
    contents = [result["result"]["envelope"]["canonical_content"] for result in results]
    assert contents == ["a", "b", "c"]
    assert done.stdout == b"".join(canonical(result) + b"\n" for result in results)


def test_a_file_is_read_and_scope_and_actor_are_filled_in(in_store: Program) -> None:
    (in_store.folder / "requests.jsonl").write_bytes(
        lines_of([create("a"), create("b", scope_id="project:own")])
    )
    flags = ("--scope", "project:given", "--actor", "actor:given")
    results = results_of(in_store("batch", "requests.jsonl", *flags))
    envelopes = [result["result"]["envelope"] for result in results]
    assert [envelope["scope_id"] for envelope in envelopes] == ["project:given", "project:own"]
    assert {envelope["actor"]["actor_id"] for envelope in envelopes} == {"actor:given"}


def test_the_first_failure_ends_the_batch_and_what_was_before_stands(in_store: Program) -> None:
    requests = [create("a"), create("b", lifecycle_state="activ"), create("c")]
    done = in_store("batch", stdin=lines_of(requests))
    assert done.status == 2
    results = results_of(done)
    assert [sorted(result) for result in results] == [["line", "result"], ["error", "line"]]
    error = json.loads(done.stderr)
    assert error["code"] == results[1]["error"]["code"] == "invalid_request"
    assert error["operation_id"] == results[1]["error"]["operation_id"]
    assert error["details"]["line"] == 2
    assert len(in_store("query", "--any-state").json["items"]) == 1


def test_it_can_go_on_behind_failures(in_store: Program) -> None:
    requests = lines_of([create("a")]) + b"{]\n" + lines_of([create("b"), {"operation": "reed"}])
    done = in_store("batch", "--continue-on-error", stdin=requests)
    assert done.status == 2
    results = results_of(done)
    assert ["result" in result for result in results] == [True, False, True, False]
    error = json.loads(done.stderr)
    assert error["details"]["line"] == 2
    assert error["message"].startswith("line 2: the line is not JSON")
    assert results[1]["error"]["message"].startswith("the line is not JSON")
    assert error["details"]["operations_failed"] == 2
    assert "did you mean 'read'?" in results[3]["error"]["details"]["hint"]


def test_atomic_is_all_or_nothing(in_store: Program) -> None:
    good, bad = [create("a"), create("b")], create("c", validation_state="sure")
    failed = in_store("batch", "--atomic", stdin=lines_of([*good, bad]))
    assert failed.status == 2
    assert failed.error["details"]["line"] == 3
    assert failed.error["message"].startswith("line 3: ")
    assert in_store("query", "--any-state").json["items"] == []
    done = in_store("batch", "--atomic", stdin=lines_of(good))
    assert len(results_of(done)) == 2
    assert len(in_store("query", "--any-state").json["items"]) == 2


def test_atomic_does_not_go_on_behind_failures(in_store: Program) -> None:
    refused = in_store("batch", "--atomic", "--continue-on-error", stdin=lines_of([create("a")]))
    assert refused.error["code"] == "invalid_request"
    assert "--continue-on-error" in refused.error["message"]


def test_atomic_takes_nothing_that_commits_by_itself(in_store: Program) -> None:
    requests = [create("a"), {"operation": "scope_create", "arguments": {"scope_id": "a:b"}}]
    failed = in_store("batch", "--atomic", stdin=lines_of(requests))
    assert failed.status == 2
    assert failed.error["details"]["line"] == 2
    assert in_store("query", "--any-state").json["items"] == []


def test_reads_see_the_writes_before_them(in_store: Program) -> None:
    requests = [
        create("tea", object_id="mem:tea"),
        {"operation": "read", "arguments": {"object_id": "mem:tea"}},
        {"operation": "history", "arguments": {"object_id": "mem:tea"}},
        {"operation": "query", "arguments": {"validation_state": "unverified"}},
        {"operation": "status"},
    ]
    made, read, history, query, status = (
        result["result"] for result in results_of(in_store("batch", stdin=lines_of(requests)))
    )
    assert read == made["envelope"]
    assert history == query == [read]
    assert status["scopes"][0]["objects"] == 1


def test_one_change_builds_on_another_in_a_group(in_store: Program) -> None:
    requests = [
        create("tea", object_id="mem:tea", idempotency_key="k"),
        *(
            {
                "operation": "update",
                "arguments": {
                    "object_id": "mem:tea",
                    "expected_version_id": "ver:unknown",
                    "canonical_content": "x",
                    "provenance": {"activity": "updated"},
                },
            },
        ),
    ]
    done = in_store("batch", stdin=lines_of(requests))
    assert done.status == 4
    assert "current_version_id" in json.loads(done.stderr)["details"]
    again = results_of(in_store("batch", stdin=lines_of(requests[:1])))
    assert again[0]["result"]["replayed"]


def test_a_batch_larger_than_a_group_is_committed_in_groups(in_store: Program) -> None:
    count = GROUP_OPERATIONS_MAX + 10
    requests = lines_of([create(n, idempotency_key=f"k{n}") for n in range(count)])
    first = results_of(in_store("batch", stdin=requests))
    assert [result["line"] for result in first] == list(range(1, count + 1))
    packs = list((in_store.folder / ".pam" / "scopes").rglob("packs/*.jsonl"))
    assert len(packs) == 2
    again = results_of(in_store("batch", stdin=requests))
    assert all(result["result"]["replayed"] for result in again)
    assert in_store("status").json["scopes"][0]["objects"] == count


def test_input_that_pauses_is_committed_and_answered_meanwhile(in_store: Program) -> None:
    with subprocess.Popen(
        [pamctl_program(), "batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=in_store.folder,
        env=in_store.environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for n in range(3):
            process.stdin.write(lines_of([create(n)]))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["line"] == n + 1
            # The lock is free while the batch waits.
            assert in_store("create", "--type", "claim", "--content", "1").status == 0
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_lines_without_an_end_and_with_foreign_ends_are_taken(in_store: Program) -> None:
    line = lines_of([create("a")])[:-1]
    results = results_of(in_store("batch", stdin=line + b"\r\n" + line))
    assert [result["line"] for result in results] == [1, 2]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"[]", "not a JSON object"),
        (b'{"arguments":{}}', "no operation"),
        (b'{"operation":1}', "not a string"),
        (b'{"operation":"create","arguments":[]}', "arguments"),
        (b'{"operation":"create","arguments":{},"op":1}', "'op'"),
        (b'{"operation":"status","request_id":{}}', "request_id"),
        (b'{"operation":"status","operation":"status"}', "twice"),
        (b'{"operation":"create","arguments":{"canonical_content":"\xff"}}', "UTF-8"),
    ],
)
def test_lines_that_are_no_requests_are_refused(in_store: Program, line: bytes, said: str) -> None:
    done = in_store("batch", stdin=line + b"\n")
    assert done.status == 2
    (result,) = results_of(done)
    assert result["error"]["code"] == "invalid_request"
    assert said in result["error"]["message"]


def test_nothing_in_is_nothing_out(in_store: Program) -> None:
    assert in_store("batch") == Outcome(0, b"", b"")
    missing = in_store("batch", "nothing.jsonl")
    assert missing.status == 2
    assert "No such file" in missing.error["message"]


def test_a_long_batch_may_come_from_a_file_that_standard_input_is(in_store: Program) -> None:
    """As `pamctl batch < requests.jsonl`: the copy that reads ahead reads it there."""
    count = 2 * GROUP_OPERATIONS_MAX + 1
    file = in_store.folder / "requests.jsonl"
    file.write_bytes(lines_of([create(f"cup {number}") for number in range(count)]))
    with open(file, "rb") as requests:
        done = in_store("batch", "--quiet", stdin=requests.fileno())
    assert (done.status, done.stderr) == (0, b"")
    numbers = [json.loads(line)["line"] for line in done.stdout.splitlines()]
    assert numbers == list(range(1, count + 1))


_PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL,"
    " check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def test_memory_does_not_grow_with_the_input(in_store: Program, thorough: bool) -> None:
    if not thorough:
        pytest.skip("writes tens of thousands of memories; --thorough does")
    peaks = []
    for groups in (2, 8):
        count = groups * GROUP_OPERATIONS_MAX
        file = in_store.folder / f"{count}.jsonl"
        file.write_bytes(lines_of([create(f"cup {n} of {count}") for n in range(count)]))
        command = [sys.executable, "-c", _PEAK, str(pamctl_program()), "batch", str(file)]
        done = subprocess.run(
            command, cwd=in_store.folder, env=in_store.environment, capture_output=True, check=True
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.25 * peaks[0]
