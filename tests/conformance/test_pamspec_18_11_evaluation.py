"""PAMSPEC §18.11: sealed snapshots, and evaluation that can be repeated."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.errors import InvalidRequest, InvalidStateTransition, PolicyDenied, SnapshotNotFound
from pamctl.model.documents import check
from pamctl.service import evaluation
from pamctl.service.store import Store
from tests.conformance.memories import HUMAN, SCOPE, SEEN, Memories

START = "2026-07-17T00:00:00Z"
DECLARED: dict[str, Any] = {
    "deterministic_clock": {"clock_ref": "clock:frozen", "start_at": START, "tick_ms": 250},
    "deterministic_rng_seed": 1729,
    "evaluation_run_id": "eval:run:1",
}


def seal(memories: Memories, snapshot_id: str = "snap:1", **stated: Any) -> Any:
    return memories.perform("snapshot_create", snapshot_id=snapshot_id, **stated)["snapshot"]


def evaluate(store: Store, snapshot_id: str = "snap:1", into: str | None = None) -> Memories:
    """The scope of an evaluation that has begun, by the actor of the tests."""
    begun = evaluation.begin(
        store,
        source_scope_id=SCOPE,
        snapshot_id=snapshot_id,
        scope_id=into,
        actor=HUMAN,
    )
    return Memories(store, begun.scope_id)


def work(there: Memories) -> None:
    """A little of everything that writes."""
    first = there.create({"text": "found"}, object_id="mem:first", idempotency_key="k")
    there.update(first, canonical_content={"text": "found more"})
    second = there.create("second")
    there.perform(
        "relate",
        source_object_id="mem:first",
        target_object_id=second["object_id"],
        relationship_type="supports",
        provenance=SEEN,
    )
    there.move(second, "validation", "corroborated")
    plan = there.create({"task_ref": "task:1", "content": "x"}, object_type="working_memory")
    there.perform(
        "promote",
        source_object_id=plan["object_id"],
        expected_version_id=plan["version_id"],
        target_object_type="claim",
        target_canonical_content="kept",
        provenance=SEEN,
    )


def ledger(store: Store, scope_id: str) -> bytes:
    return store.directory.scope(scope_id).ledger.read_bytes()


def versions(store: Store, scope_id: str) -> list[Any]:
    """Every stored version of a scope."""
    layout = store.directory.scope(scope_id)
    lines = [path.read_bytes() for path in sorted(layout.versions.glob("*/*.json"))]
    for pack in sorted(layout.packs.glob("*.jsonl")):
        lines += pack.read_bytes().splitlines()
    return [json.loads(line)["envelope"] for line in lines]


def test_18_11_a_snapshot_is_a_descriptor_of_the_draft(memories: Memories) -> None:
    """It is sealed, stands at a fixed ledger sequence, and says what belongs to it."""
    made = memories.create()
    snapshot = seal(memories, included_object_ids=[made["object_id"]], **DECLARED)
    check("snapshot", snapshot)
    assert snapshot["sealed"] is True
    assert snapshot["ledger_sequence_high_watermark"] == 1
    assert snapshot["included_object_ids"] == [made["object_id"]]
    assert seal(memories, "snap:all")["included_embedding_space_ids"] == []


def test_18_11_a_sealed_snapshot_never_changes(memories: Memories) -> None:
    """A second snapshot under its id is refused, whatever it says, and nothing changes
    (vector evaluation-snapshot-membership-mutated)."""
    first, second = memories.create(), memories.create()
    sealed = seal(memories, included_object_ids=[first["object_id"]])
    head = memories.head()
    for members in ([first["object_id"], second["object_id"]], [first["object_id"]]):
        with pytest.raises(InvalidStateTransition) as refused:
            seal(memories, included_object_ids=members)
        assert refused.value.policy_rule_id == "evaluation_snapshot_membership_frozen"
    assert memories.head() == head
    assert memories.perform("snapshot_show", snapshot_id="snap:1")["snapshot"] == sealed


def test_18_11_a_change_is_another_snapshot(memories: Memories) -> None:
    """What is written later belongs to the next snapshot and not to the one before."""
    memories.create(object_id="mem:1")
    seal(memories)
    memories.create(object_id="mem:2")
    seal(memories, "snap:2")
    sizes = [
        memories.perform("snapshot_show", snapshot_id=name)["members"]
        for name in ("snap:1", "snap:2")
    ]
    assert sizes == [1, 2]


def test_18_11_the_declared_clock_gives_every_time(store: Store, memories: Memories) -> None:
    """No time in what an evaluation writes comes from anywhere else, and it goes on from one
    process to the next."""
    memories.create()
    seal(memories, **DECLARED)
    there = evaluate(store)
    work(there)
    times = [event["recorded_at"] for event in there.events()]
    assert times == [
        f"2026-07-17T00:00:{number // 4:02}.{number % 4 * 25:02}0000Z"
        for number in range(len(times))
    ]
    for envelope in versions(store, there.scope_id):
        assert envelope["committed_at"] in times
        assert envelope["recorded_at"] in times
    again = pamctl.open_store(store.path)
    evaluation.enter(again, evaluation.as_document(store.evaluation))  # type: ignore[arg-type]
    Memories(again, there.scope_id).create()
    last = there.events()[-1]["recorded_at"]
    assert last > times[-1]
    assert last.startswith("2026-07-17T00:00:0")


def test_18_11_the_declared_seed_gives_every_identifier(tmp_path: Path, store: Store) -> None:
    """Two runs of one evaluation write the same bytes; another seed gives other ones."""
    here = Memories(store)
    here.create()
    seal(here, **DECLARED)
    seal(here, "snap:other", **{**DECLARED, "deterministic_rng_seed": 1730})
    ledgers = []
    for run, snapshot_id in enumerate(("snap:1", "snap:1", "snap:other")):
        copy = tmp_path / f"copy-{run}.pam"
        shutil.copytree(store.path, copy)
        opened = pamctl.open_store(copy)
        there = evaluate(opened, snapshot_id, into="evaluation:same")
        work(there)
        ledgers.append((ledger(opened, there.scope_id), versions(opened, there.scope_id)))
    assert ledgers[0] == ledgers[1]
    assert ledgers[0] != ledgers[2]


def test_18_11_the_seed_makes_no_keys(store: Store, memories: Memories) -> None:
    """What must not be guessed is never a function of a declared seed."""
    memories.create()
    seal(memories, **DECLARED)
    before = store.sources
    evaluate(store)
    assert store.sources is before


def test_18_11_the_run_is_named_in_every_version_and_event(
    store: Store, memories: Memories
) -> None:
    """What an evaluation wrote can be told from everything else."""
    memories.create()
    seal(memories, **DECLARED)
    before = [*memories.events(), memories.found()[0]]
    assert "eval:run:1" not in json.dumps(before)
    there = evaluate(store)
    work(there)
    stored = versions(store, there.scope_id)
    assert len(stored) >= 7
    for envelope in stored:
        assert "eval:run:1" in envelope["provenance"]["evidence_refs"]
    for event in there.events():
        assert event["payload"]["evaluation_run_id"] == "eval:run:1"


def test_18_11_two_snapshots_can_be_compared(memories: Memories) -> None:
    """What was added, what is there no more, and which versions and states moved."""
    kept, changed = memories.create(object_id="mem:kept"), memories.create(object_id="mem:new")
    gone = memories.create(object_id="mem:gone")
    seal(memories, included_object_ids=["mem:kept", "mem:new", "mem:gone"])
    moved = memories.move(changed, "validation", "corroborated")
    memories.create(object_id="mem:added")
    seal(memories, "snap:2", included_object_ids=["mem:kept", "mem:new", "mem:added"])
    answer = memories.perform("snapshot_diff", from_snapshot_id="snap:1", to_snapshot_id="snap:2")
    found = {item["object_id"]: item for item in answer["items"]}
    assert list(found) == ["mem:added", "mem:gone", "mem:new"]
    assert kept["object_id"] not in found
    assert found["mem:added"]["change"] == "added"
    assert found["mem:gone"]["change"] == "removed"
    assert found["mem:gone"]["from"]["version_id"] == gone["version_id"]
    assert found["mem:new"]["from"]["version_id"] == changed["version_id"]
    assert found["mem:new"]["to"]["version_id"] == moved["version_id"]
    assert not found["mem:new"]["content_changed"]
    assert found["mem:new"]["states"] == {
        "validation": {"from": "unverified", "to": "corroborated"}
    }


def test_18_11_two_runs_can_be_compared(store: Store, memories: Memories) -> None:
    """Runs of one seed give the same object the same id, each in its own scope, so that a
    comparison shows what differs between them."""
    memories.create()
    seal(memories, **DECLARED)
    path = store.path
    for number, text in enumerate(("same", "other")):
        opened = pamctl.open_store(path)
        there = evaluate(opened, into=f"evaluation:{number}")
        there.create(text)
        there.create("same in both")
        seal(there, "snap:end")
    answer = Memories(pamctl.open_store(path), "evaluation:0").perform(
        "snapshot_diff",
        from_snapshot_id="snap:end",
        to_snapshot_id="snap:end",
        to_scope_id="evaluation:1",
    )
    (item,) = answer["items"]
    assert item["change"] == "changed"
    assert item["content_changed"]
    assert item["from"] == item["to"]


def test_18_11_an_evaluation_changes_nothing_outside_its_scope(
    store: Store, memories: Memories
) -> None:
    """Whatever it tries, no other ledger grows, and no other scope is made."""
    made = memories.create(object_id="mem:1")
    memories.store.scope_create(scope_id="workspace:third", actor=HUMAN)
    seal(memories, **DECLARED)
    before = {name: ledger(store, name) for name in (SCOPE, "workspace:third")}
    there = evaluate(store)
    outside = [
        lambda: memories.create("x"),
        lambda: memories.update(made, canonical_content="x"),
        lambda: memories.delete(made),
        lambda: memories.perform("snapshot_create"),
        lambda: memories.perform("embedding_delete", object_id="mem:1"),
        lambda: Memories(store, "workspace:third").create("x"),
        lambda: Memories(store, "workspace:new").create("x"),
        lambda: store.scope_create(scope_id="workspace:new", actor=HUMAN),
        lambda: memories.perform("scope_policy", policy=store.scope_show(scope_id=SCOPE)["policy"]),
    ]
    for attempt in outside:
        with pytest.raises(PolicyDenied) as refused:
            attempt()
        assert refused.value.policy_rule_id == "evaluation_scope_only"
    work(there)
    store.rebuild_index(scope_id=SCOPE)
    assert {name: ledger(store, name) for name in before} == before
    names = [scope["scope_id"] for scope in store.scope_list()["items"]]
    assert names == [there.scope_id, SCOPE, "workspace:third"]


def test_18_11_an_evaluation_sees_its_source_through_the_snapshot(
    store: Store, memories: Memories
) -> None:
    """What was written after the snapshot is not there for it, however it looks."""
    made = memories.create({"text": "as it was"}, object_id="mem:1")
    seal(memories, **DECLARED)
    later = memories.update(made, canonical_content={"text": "later"})
    memories.create({"text": "later still"}, object_id="mem:2")
    seal(memories, "snap:2")
    evaluate(store)
    assert memories.read("mem:1") == made
    assert memories.read("mem:1", at_sequence=2) == made
    assert memories.found() == [made]
    assert memories.found(as_of=3) == [made]
    assert memories.versions(made) == [made]
    assert [event["sequence"] for event in memories.events()] == [1]
    for looking in (
        lambda: memories.read("mem:2"),
        lambda: memories.read("mem:1", version_id=later["version_id"]),
    ):
        with pytest.raises(pamctl.errors.ObjectNotFound):
            looking()
    with pytest.raises(PolicyDenied):
        memories.read("mem:1", snapshot_id="snap:2")


def test_18_11_an_evaluation_begins_with_nothing(store: Store, memories: Memories) -> None:
    """A scope that was used gives no run that could be repeated, so it is refused; and there
    has to be such a snapshot."""
    seal(memories, **DECLARED)
    with pytest.raises(SnapshotNotFound):
        evaluate(store, "snap:none")
    with pytest.raises(InvalidRequest):
        evaluate(store, into=SCOPE)
    there = evaluate(store)
    assert there.scope_id == "evaluation:eval:run:1"
    with pytest.raises(InvalidRequest):
        evaluate(store, into="evaluation:inner")
