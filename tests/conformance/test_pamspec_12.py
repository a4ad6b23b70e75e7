"""PAMSPEC §12: consistency and concurrency."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import pamctl
from pamctl.errors import DuplicateOperation, PamError
from tests.conformance.memories import AGENT, Memories
from tests.conftest import Run

CREATE = ("create", "--type", "claim", "--idempotency-key", "key:1", "--content")


def reopened(memories: Memories) -> Memories:
    memories.store.close()
    return Memories(pamctl.open_store(memories.store.path))


@pytest.mark.parametrize("lost", [False, True], ids=["index kept", "index lost"])
def test_12_a_key_is_remembered_by_the_store_and_not_by_the_process(
    memories: Memories, lost: bool
) -> None:
    made = memories.create("tea", idempotency_key="key:1")
    memories.store.close()
    if lost:
        for file in memories.store.path.glob("index/*"):
            file.unlink()
    anew = reopened(memories)
    head = anew.head()
    assert anew.create("tea", idempotency_key="key:1") == made
    with pytest.raises(DuplicateOperation):
        anew.create("coffee", idempotency_key="key:1")
    assert anew.head() == head


def test_12_a_key_survives_the_process(run: Run) -> None:
    """Three processes: the first creates, the second is answered the same, the third refused."""
    assert run("init").returncode == 0
    first = json.loads(run(*CREATE, '"tea"').stdout)
    again = json.loads(run(*CREATE, '"tea"').stdout)
    assert (first.pop("replayed"), again.pop("replayed")) == (False, True)
    assert again == first
    refused = run(*CREATE, '"coffee"')
    assert refused.returncode == 5
    assert json.loads(refused.stderr)["code"] == "duplicate_operation"


def test_12_a_key_survives_a_process_that_is_killed(run: Run, tmp_path: Any) -> None:
    """kill -9 right after the answer: what was acknowledged is remembered."""
    assert run("init").returncode == 0
    asked = {
        "request_id": 1,
        "operation": "create",
        "arguments": {
            "scope_id": "workspace:default",
            "object_type": "claim",
            "canonical_content": "tea",
            "actor": AGENT,
            "provenance": {"activity": "observed"},
            "idempotency_key": "key:1",
        },
    }
    line = json.dumps(asked).encode() + b"\n"
    answers = []
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-m", "pamctl", "stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=tmp_path,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            process.stdin.write(line)
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline())["result"])
            process.kill()
    assert [answer.pop("replayed") for answer in answers] == [False, True]
    assert answers[0] == answers[1]


Refusal = Callable[[Memories], dict[str, Any]]

# What the same request meets again, whatever happens meanwhile.
STABLE: dict[str, Refusal] = {
    "invalid_request": lambda memories: {"availability_state": "redacted"},
    "object_deleted": lambda memories: {
        "object_id": memories.delete(memories.create())["object_id"]
    },
}


@pytest.mark.parametrize("code", STABLE)
def test_12_the_same_again_meets_the_same_stable_error(memories: Memories, code: str) -> None:
    asked = STABLE[code](memories)
    with pytest.raises(PamError) as first:
        memories.create(**asked, idempotency_key="key:1")
    anew = reopened(memories)
    with pytest.raises(PamError) as again:
        anew.create(**asked, idempotency_key="key:1")
    assert first.value.code == again.value.code == code
    assert first.value.message == again.value.message
    with pytest.raises(DuplicateOperation):
        anew.create("other", idempotency_key="key:1")


def test_12_an_error_that_may_pass_is_not_held_against_a_key(memories: Memories) -> None:
    made = memories.create()
    newer = memories.update(made, canonical_content="newer")
    with pytest.raises(PamError) as caught:
        memories.update(made, canonical_content="mine", idempotency_key="key:1")
    assert caught.value.code == "version_conflict"
    merged = memories.update(newer, canonical_content="mine", idempotency_key="key:1")
    assert memories.read(made) == merged


def test_12_a_version_and_its_event_are_there_together(memories: Memories) -> None:
    version = memories.create()
    for number in range(10):
        version = memories.update(version, canonical_content=number)
        versions = [item["version_id"] for item in memories.versions(version)]
        events = [event["version_id"] for event in memories.events()]
        assert versions == events


def test_12_if_one_cannot_be_committed_neither_is(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that refuses: no version, no event, and the next attempt succeeds."""
    import os

    made = memories.create()
    head = memories.head()

    def refuse(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", refuse)
        broken.setattr(os, "fdatasync", refuse)
        with pytest.raises(PamError) as caught:
            memories.update(made, canonical_content="lost")
        assert caught.value.code == "service_unavailable"
        assert caught.value.retryable
    anew = reopened(memories)
    assert anew.head() == head
    assert anew.versions(made) == [made]
    anew.update(made, canonical_content="kept")


def test_12_what_was_written_is_read_at_once(memories: Memories) -> None:
    """By whoever looks, through a store that was open before it was written as well."""
    other = Memories(pamctl.open_store(memories.store.path), actor=AGENT)
    version = memories.create("0")
    for number in range(5):
        assert other.read(version) == version
        assert other.found(text=str(number)) == [version]
        version = memories.update(version, canonical_content=str(number + 1))


def test_12_times_of_clients_are_converted_and_not_believed(memories: Memories) -> None:
    made = memories.create(observed_at="2999-01-01T02:00:00+02:00")
    assert made["observed_at"] == "2999-01-01T00:00:00Z"
    assert made["committed_at"] < made["observed_at"]
    for ambiguous in ("2026-01-01T00:00:00", "2026-01-01", "yesterday", "1767225600"):
        with pytest.raises(PamError) as caught:
            memories.create(observed_at=ambiguous)
        assert caught.value.code == "invalid_request"


def test_12_a_clock_that_goes_backwards_orders_nothing(tmp_path: Any) -> None:
    readings = iter(range(2_000_000_000_000_000_000, 0, -1_000_000_000_000_000))
    store = pamctl.init_store(tmp_path / ".pam", clock=lambda: next(readings))
    memories = Memories(store)
    version = memories.create()
    for number in range(4):
        later = memories.update(version, canonical_content=number)
        assert later["sequence"] == version["sequence"] + 1
        assert later["committed_at"] < version["committed_at"]
        version = later
    assert memories.read(version) == version
    assert [event["sequence"] for event in memories.events()] == [1, 2, 3, 4, 5]
