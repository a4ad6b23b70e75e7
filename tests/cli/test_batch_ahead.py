"""`pamctl batch` on a long file, of which a copy of the process reads the next group."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pamctl.index.scope_index import ScopeIndex
from pamctl.limits import GROUP_OPERATIONS_MAX
from pamctl.store.layout import ScopeLayout, StoreLayout
from pamctl.store.ledger import Ledger
from tests.cli.conftest import Outcome, Program
from tests.cli.test_batch import create, lines_of
from tests.conftest import pamctl_program
from tests.hand_made_ledger import rows_of, table_rows


def second_group(object_id: str) -> list[bytes]:
    """Lines of every kind that is handed over in its own way, for one object among others."""
    requests: list[Any] = [
        {**create("a", object_id=object_id, idempotency_key=object_id), "request_id": 7},
        {**create("a", object_id=object_id, idempotency_key=object_id), "request_id": "again"},
        {"operation": "read", "arguments": {"object_id": object_id}},
        {"operation": "history", "arguments": {"object_id": object_id}},
        {"operation": "redact", "arguments": {"object_id": object_id, "redaction_target": 1}},
        {"operation": "cretae", "arguments": {}},
        {"operation": "create", "arguments": {"object_type": "claim"}},
        create("b", observed_at="yesterday"),
        create({"\U0001f600": 1, "\uffff": 2, "z": -0.5}, idempotency_key=f"{object_id}:names"),
        create({"whole": 1.0, "none": None, "list": [True, []]}),
    ]
    spelled = b'{"operation":"create","arguments":{"canonical_content":12345678901234567890}}\n'
    twice = b'{"operation":"create","operation":"read","arguments":{}}\n'
    return [*(lines_of([request]) for request in requests), b"no JSON\n", b"\n", spelled, twice]


def told(outcome: Outcome, object_id: str) -> list[Any]:
    """What was answered to the second group, as far as it is the same each time."""
    answers = []
    for line in outcome.stdout.splitlines()[GROUP_OPERATIONS_MAX:]:
        answer = json.loads(line.replace(object_id.encode(), b"mem:this"))
        error, result = answer.get("error", {}), answer.get("result", {})
        if isinstance(result, list):
            (result,) = result
        envelope = result.get("envelope", result)
        answers.append(
            (
                answer["line"],
                answer.get("request_id"),
                (error.get("code"), error.get("message"), error.get("details")),
                (result.get("replayed"), envelope.get("canonical_content")),
            )
        )
    return answers


def test_lines_that_are_read_ahead_are_answered_as_others_are(in_store: Program) -> None:
    first = lines_of([create(n) for n in range(GROUP_OPERATIONS_MAX)])
    file = in_store.folder / "requests.jsonl"
    file.write_bytes(first + b"".join(second_group("mem:from-a-file")))
    ahead = in_store("batch", str(file), "--continue-on-error")
    data = first + b"".join(second_group("mem:from-a-pipe"))
    piped = in_store("batch", "--continue-on-error", stdin=data)
    assert ahead.status == piped.status
    answers = told(ahead, "mem:from-a-file")
    assert answers == told(piped, "mem:from-a-pipe")
    assert [code is None for _, _, (code, _, _), _ in answers].count(True) == 6
    assert answers[1][3][0] is True
    # What was taken for plain, and was not, would be in another form than the canonical one.
    assert in_store("fsck").status == 0


def batch_without_one_of_its_copies(in_store: Program, which: int) -> tuple[int, bytes, bytes]:
    """The status of a batch of three groups, and what it prints, where the copy that reads, or
    the one that puts rows into the index, is killed after the first."""
    file = in_store.folder / "requests.jsonl"
    # Longer together than what a pipe holds.
    requests = [create(f"{n:1000}") for n in range(2 * GROUP_OPERATIONS_MAX + 1)]
    file.write_bytes(lines_of(requests))
    with subprocess.Popen(
        [pamctl_program(), "batch", str(file)],
        bufsize=0,  # what was read of a line is not to be kept from `communicate`
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=in_store.folder,
        env=in_store.environment,
    ) as process:
        assert process.stdout is not None
        # It answers the first group, and more than a pipe holds of it.
        answered = process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists() or (os.cpu_count() or 1) < 2:
            process.kill()
            pytest.skip("nothing is done by copies here, or nothing tells of them")
        copies = children.read_text().split()
        assert len(copies) == 2
        os.kill(int(copies[which]), signal.SIGKILL)
        rest, error = process.communicate(timeout=60)
    return process.returncode, answered + rest, error


def test_a_copy_that_is_gone_ends_the_batch_behind_what_was_answered(in_store: Program) -> None:
    status, answered, error = batch_without_one_of_its_copies(in_store, which=0)
    assert status == 75
    assert json.loads(error)["code"] == "service_unavailable"
    assert len(answered.splitlines()) == GROUP_OPERATIONS_MAX
    assert in_store("status").json["scopes"][0]["objects"] == GROUP_OPERATIONS_MAX


def test_without_the_copy_that_fills_the_index_a_batch_does_so_itself(in_store: Program) -> None:
    objects = 2 * GROUP_OPERATIONS_MAX + 1
    status, answered, error = batch_without_one_of_its_copies(in_store, which=1)
    assert (status, error) == (0, b"")
    assert len(answered.splitlines()) == objects
    assert has_followed(in_store)
    assert in_store("query", "--any-state", "--count", "--limit", "1").json["total"] == objects


def has_followed(in_store: Program) -> bool:
    """Whether the index file holds what one does that is made of the ledger."""
    layout = StoreLayout(in_store.folder / ".pam")
    (scope,) = layout.scopes.iterdir()
    ledger = Ledger(ScopeLayout(scope))
    with closing(sqlite3.connect(layout.index_file(ScopeLayout(scope)))) as database:
        return rows_of(database) == table_rows(ScopeIndex.made_of(ledger.commits()))


def test_what_the_index_has_not_followed_yet_counts(in_store: Program) -> None:
    def keyed(name: str, **more: Any) -> dict[str, Any]:
        return create(name, object_id=f"mem:{name}", idempotency_key=f"key:{name}", **more)

    names = [f"n{number}" for number in range(3 * GROUP_OPERATIONS_MAX)]
    requests: list[Any] = [keyed(name) for name in names]
    # Each of these is in the group before, when its own is worked out.
    second, third = GROUP_OPERATIONS_MAX + 7, 2 * GROUP_OPERATIONS_MAX + 9
    requests[second] = keyed(names[3])
    requests[second + 1] = create("other", object_id=f"mem:{names[4]}")
    requests[third] = keyed(names[GROUP_OPERATIONS_MAX + 5])
    requests[third + 1] = {"operation": "read", "arguments": {"object_id": f"mem:{names[-1]}"}}
    requests[third + 2] = {
        "operation": "read",
        "arguments": {"object_id": f"mem:{names[GROUP_OPERATIONS_MAX + 6]}"},
    }
    requests[third + 3] = create("other", object_id=f"mem:{names[GROUP_OPERATIONS_MAX + 8 + 1]}")
    file = in_store.folder / "requests.jsonl"
    file.write_bytes(lines_of(requests))
    done = in_store("batch", str(file), "--continue-on-error")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[second]["result"]["replayed"] is True
    assert answers[second]["result"]["version_id"] == answers[3]["result"]["version_id"]
    assert answers[second + 1]["error"]["code"] == "version_conflict"
    assert answers[third]["result"]["replayed"] is True
    assert answers[third + 1]["error"]["code"] == "object_not_found"
    assert answers[third + 2]["result"]["object_id"] == f"mem:{names[GROUP_OPERATIONS_MAX + 6]}"
    assert answers[third + 3]["error"]["code"] == "version_conflict"
    failed = [number for number, answer in enumerate(answers) if "error" in answer]
    assert failed == [second + 1, third + 1, third + 3]
    assert in_store("fsck").status == 0
    assert has_followed(in_store)


def test_others_may_write_between_two_groups(in_store: Program) -> None:
    objects = 4 * GROUP_OPERATIONS_MAX
    requests = [create(n, idempotency_key=f"key:{n}") for n in range(objects)]
    file = in_store.folder / "requests.jsonl"
    file.write_bytes(lines_of(requests))
    with subprocess.Popen(
        [pamctl_program(), "batch", str(file)],
        stdout=subprocess.DEVNULL,
        cwd=in_store.folder,
        env=in_store.environment,
    ) as process:
        others = 0
        while process.poll() is None:
            # What the batch has asked for, or is about to.
            request = requests[others * 997 % objects]
            assert in_store("batch", stdin=lines_of([request])).status == 0
            others += 1
    assert process.returncode == 0
    assert others > 0
    assert in_store("query", "--any-state", "--count", "--limit", "1").json["total"] == objects
    assert in_store("fsck").status == 0
    assert has_followed(in_store)


@pytest.mark.parametrize("answered", [1, GROUP_OPERATIONS_MAX + 1])
def test_a_batch_that_is_killed_is_done_once_when_it_is_repeated(
    in_store: Program, answered: int
) -> None:
    objects = 2 * GROUP_OPERATIONS_MAX + 100
    file = in_store.folder / "requests.jsonl"
    file.write_bytes(lines_of([create(n, idempotency_key=f"key:{n}") for n in range(objects)]))
    with subprocess.Popen(
        [pamctl_program(), "batch", str(file)],
        stdout=subprocess.PIPE,
        cwd=in_store.folder,
        env=in_store.environment,
    ) as process:
        assert process.stdout is not None
        seen = [json.loads(process.stdout.readline()) for _ in range(answered)]
        process.kill()
    assert in_store("fsck").status in (0, 11)
    again = [json.loads(line) for line in in_store("batch", str(file)).stdout.splitlines()]
    assert [one["result"]["version_id"] for one in again[:answered]] == [
        one["result"]["version_id"] for one in seen
    ]
    assert all(one["result"]["replayed"] for one in again[:answered])
    assert in_store("query", "--any-state", "--count", "--limit", "1").json["total"] == objects
    assert in_store("fsck").status == 0
    assert has_followed(in_store)


def test_a_batch_that_ends_early_leaves_no_copy_behind(in_store: Program) -> None:
    file = in_store.folder / "requests.jsonl"
    requests = [create(n) for n in range(3 * GROUP_OPERATIONS_MAX)]
    requests[10] = {"operation": "create", "arguments": {}}
    file.write_bytes(lines_of(requests))
    # A copy that went on would hold the other ends of these open.
    refused = in_store("batch", str(file))
    assert refused.status == 2
    assert json.loads(refused.stderr)["details"]["line"] == 11
    assert len(refused.stdout.splitlines()) == 11
