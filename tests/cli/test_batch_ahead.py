"""`pamctl batch` on a long file, of which a copy of the process reads the next group."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pamctl.limits import GROUP_OPERATIONS_MAX
from tests.cli.conftest import Outcome, Program
from tests.cli.test_batch import create, lines_of
from tests.conftest import pamctl_program


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


def test_a_copy_that_is_gone_ends_the_batch_behind_what_was_answered(in_store: Program) -> None:
    file = in_store.folder / "requests.jsonl"
    file.write_bytes(lines_of([create(n) for n in range(2 * GROUP_OPERATIONS_MAX + 1)]))
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
            pytest.skip("nothing is read ahead here, or nothing tells of it")
        (copy,) = children.read_text().split()
        os.kill(int(copy), signal.SIGKILL)
        rest, error = process.communicate(timeout=60)
    assert process.returncode == 75
    assert json.loads(error)["code"] == "service_unavailable"
    assert len((answered + rest).splitlines()) == GROUP_OPERATIONS_MAX
    assert in_store("status").json["scopes"][0]["objects"] == GROUP_OPERATIONS_MAX


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
