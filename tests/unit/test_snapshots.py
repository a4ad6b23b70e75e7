"""Snapshots, spaces and vectors through the Python API: what the drafts leave to us."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pamctl
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidRequest,
    InvalidStateTransition,
    ObjectNotFound,
    PolicyDenied,
)
from pamctl.model.documents import check
from pamctl.rules.authorization import default_policy
from pamctl.service import evaluation
from pamctl.service.store import Store
from tests.conformance.memories import AGENT, HUMAN, SCOPE, Memories
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE


@pytest.fixture
def memories(store: Store) -> Memories:
    return Memories(store)


def seal(memories: Memories, snapshot_id: str = "snap:1", **stated: Any) -> Any:
    return memories.perform("snapshot_create", snapshot_id=snapshot_id, **stated)


def govern(store: Store, *rules: dict[str, Any]) -> None:
    numbered = [{"rule_id": f"rule:{place}", **rule} for place, rule in enumerate(rules)]
    policy = {**default_policy(), "rules": numbered}
    store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy=policy)


def test_a_key_makes_a_snapshot_once(memories: Memories) -> None:
    first = memories.perform("snapshot_create", idempotency_key="k")
    memories.create()
    again = memories.perform("snapshot_create", idempotency_key="k")
    assert again == {**first, "replayed": True}
    with pytest.raises(DuplicateOperation):
        memories.perform("snapshot_create", idempotency_key="k", at_sequence=0)
    added = memories.perform("space_add", space=SPACE, idempotency_key="s")
    assert memories.perform("space_add", space=SPACE, idempotency_key="s")["replayed"]
    assert added["added"]


def test_what_is_staged_belongs_to_a_snapshot(store: Store, memories: Memories) -> None:
    here = {"scope_id": SCOPE, "actor": HUMAN}
    made = {**here, "object_type": "claim", "canonical_content": 1, "provenance": {"activity": "x"}}
    with store.group(atomic=True) as group:
        group.perform("create", {**made, "object_id": "mem:1"})
        group.perform("space_add", {**here, "space": SPACE})
        group.perform("snapshot_create", {**here, "snapshot_id": "snap:1"})
        group.perform("create", {**made, "object_id": "mem:2"})
        with pytest.raises(InvalidStateTransition):
            group.perform("snapshot_create", {**here, "snapshot_id": "snap:1"})
    shown = memories.perform("snapshot_show", snapshot_id="snap:1")
    assert shown["members"] == 1
    assert shown["digest_matches"]
    assert shown["snapshot"]["included_embedding_space_ids"] == ["emb:a"]
    assert [item["object_id"] for item in memories.found(snapshot_id="snap:1")] == ["mem:1"]


def test_the_ledger_holds_what_its_schema_says(store: Store, memories: Memories) -> None:
    memories.create(object_id="mem:1")
    memories.perform("space_add", space=SPACE)
    seal(memories, included_object_ids=["mem:1"])
    memories.perform(
        "embedding_put",
        embeddings=[{"object_id": "mem:1", "vector": [0, 1], "embedding_space_id": "emb:a"}],
    )
    kinds = []
    for line in store.directory.scope(SCOPE).ledger.read_bytes().splitlines():
        check("ledger-entry", json.loads(line))
        kinds.append(json.loads(line)["kind"])
    assert kinds == ["scope", "policy", "event", "space", "snapshot", "event"]


def test_equal_states_have_equal_digests(memories: Memories) -> None:
    memories.create()
    one, other = (seal(memories, name)["snapshot"]["digest"] for name in ("snap:1", "snap:2"))
    assert one == other
    memories.create()
    assert seal(memories, "snap:3")["snapshot"]["digest"] != one
    assert seal(memories, "snap:4", at_sequence=1)["snapshot"]["digest"] == one


def test_lists_have_pages(memories: Memories) -> None:
    for number in range(5):
        memories.create(object_id=f"mem:{number}")
        seal(memories, f"snap:{number}")
    seal(memories, "snap:none", at_sequence=0)
    names, cursor = [], {}
    while cursor is not None:
        page = memories.perform("snapshot_list", limit=4, **cursor)
        names += [item["snapshot_id"] for item in page["items"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert names == [*(f"snap:{number}" for number in range(5)), "snap:none"]
    ask = {"from_snapshot_id": "snap:none", "to_snapshot_id": "snap:4"}
    page = memories.perform("snapshot_diff", limit=3, **ask)
    rest = memories.perform("snapshot_diff", limit=3, cursor=page["next_cursor"], **ask)
    ids = [item["object_id"] for item in (*page["items"], *rest["items"])]
    assert ids == [f"mem:{number}" for number in range(5)]
    assert rest["next_cursor"] is None
    (one,) = memories.perform("snapshot_diff", object_id="mem:3", **ask)["items"]
    assert one["object_id"] == "mem:3"


def test_a_policy_says_who_seals_describes_and_embeds(store: Store, memories: Memories) -> None:
    memories.create(object_id="mem:1")
    seal(memories)
    memories.perform("space_add", space=SPACE)
    refused = ["create_snapshot", "add_space", "put_embedding", "delete_embedding"]
    govern(
        store,
        {"effect": "deny", "actors": [AGENT["actor_id"]], "operations": refused},
        {
            "effect": "deny",
            "actors": [AGENT["actor_id"]],
            "operations": ["inspect_history", "query"],
        },
    )
    agent = Memories(store, actor=AGENT)
    vector = {"object_id": "mem:1", "vector": [0, 1], "embedding_space_id": "emb:a"}
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("snapshot_create", {}),
        ("snapshot_list", {}),
        ("snapshot_show", {"snapshot_id": "snap:1"}),
        ("snapshot_show", {"snapshot_id": "snap:none"}),
        ("snapshot_diff", {"from_snapshot_id": "snap:1", "to_snapshot_id": "snap:1"}),
        ("space_add", {"space": {**SPACE, "dimensions": 3}}),
        ("space_show", {"embedding_space_id": "emb:none"}),
        ("space_list", {}),
        ("embedding_put", {"embeddings": [vector]}),
        ("embedding_put", {"embeddings": [{**vector, "object_id": "mem:none"}]}),
        ("embedding_delete", {"object_id": "mem:none"}),
        ("embedding_status", {}),
        ("embedding_export", {"embedding_space_id": "emb:a"}),
    ]
    for operation, arguments in attempts:
        before = memories.head()["sequence"]
        with pytest.raises(AccessDenied):
            agent.perform(operation, **arguments)
        event = memories.events(after=before)[0]
        assert event["event_type"] == "access_denied", operation
        assert event["object_id" if "object_id" in event else "sequence"]


def test_a_snapshot_opens_no_way_around_a_policy(store: Store, memories: Memories) -> None:
    """Authority is that of the present."""
    memories.create(object_id="mem:1")
    memories.create({"title": "x"}, object_id="mem:task", object_type="task")
    seal(memories, "snap:0", at_sequence=0)
    seal(memories)
    memories.perform("space_add", space=SPACE)
    vectors = [
        {"object_id": name, "vector": [0, 1], "embedding_space_id": "emb:a"}
        for name in ("mem:1", "mem:task")
    ]
    memories.perform("embedding_put", embeddings=vectors)
    govern(
        store,
        {"effect": "deny", "actors": [AGENT["actor_id"]], "object_types": ["task"]},
    )
    agent = Memories(store, actor=AGENT)
    with pytest.raises(AccessDenied):
        agent.read("mem:task", snapshot_id="snap:1")
    assert [item["object_id"] for item in agent.found(snapshot_id="snap:1")] == ["mem:1"]
    changes = agent.perform("snapshot_diff", from_snapshot_id="snap:0", to_snapshot_id="snap:1")
    assert [item["object_id"] for item in changes["items"]] == ["mem:1"]
    exported = agent.perform("embedding_export", embedding_space_id="emb:a")["items"]
    assert [item["object_id"] for item in exported] == ["mem:1"]
    (standing,) = agent.perform("embedding_status")["items"]
    assert standing["fresh"] == 1
    with pytest.raises(ObjectNotFound):
        agent.perform("snapshot_create", included_object_ids=["mem:task"])


def test_an_evaluation_has_the_policy_of_its_snapshot(store: Store, memories: Memories) -> None:
    govern(store, {"effect": "deny", "actors": [AGENT["actor_id"]], "operations": ["create"]})
    seal(memories, deterministic_rng_seed=1)
    govern(store)
    begun = evaluation.begin(
        store, source_scope_id=SCOPE, snapshot_id="snap:1", scope_id="evaluation:1", actor=HUMAN
    )
    Memories(store, begun.scope_id).create()
    with pytest.raises(AccessDenied):
        Memories(store, begun.scope_id, AGENT).create()
    # The denial is on record where the evaluation may write.
    assert Memories(store, begun.scope_id).events()[-1]["event_type"] == "access_denied"


def test_a_denial_and_an_audit_stay_inside_an_evaluation(store: Store, memories: Memories) -> None:
    memories.create(object_id="mem:1")
    rule = {"rule_id": "rule:0", "effect": "deny", "actors": [AGENT["actor_id"]]}
    policy = {**default_policy(), "rules": [rule], "read_audit": True}
    store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy=policy)
    seal(memories)
    head = memories.head()
    begun = evaluation.begin(store, source_scope_id=SCOPE, snapshot_id="snap:1", actor=HUMAN)
    memories.read("mem:1")
    with pytest.raises(AccessDenied):
        Memories(store, actor=AGENT).read("mem:1")
    assert memories.head() == head
    inside = Memories(store, begun.scope_id).events()
    assert [event["event_type"] for event in inside] == ["tool_invoked", "access_denied"]


def test_an_evaluation_is_entered_in_its_own_store_alone(
    store: Store, memories: Memories, tmp_path: Any
) -> None:
    seal(memories)
    begun = evaluation.begin(store, source_scope_id=SCOPE, snapshot_id="snap:1", actor=HUMAN)
    document = evaluation.as_document(begun)
    other = pamctl.init_store(tmp_path / "other.pam")
    with pytest.raises(PolicyDenied):
        evaluation.enter(other, document)
    for wrong in ({}, [], "x", {**document, "scope_id": 4}):
        with pytest.raises(InvalidRequest):
            evaluation.enter(pamctl.open_store(store.path), wrong)  # type: ignore[arg-type]


def test_vectors_that_were_replaced_are_let_go_of(
    store: Store, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pamctl.service.embeddings._DEAD_ROWS_MAX", 3)
    memories.create(object_id="mem:1")
    memories.perform("space_add", space=SPACE)
    (folder,) = [store.directory.scope(SCOPE).embeddings]
    for number in range(12):
        vector = {"object_id": "mem:1", "vector": [0, number], "embedding_space_id": "emb:a"}
        memories.perform("embedding_put", embeddings=[vector])
        (vectors,) = folder.rglob("*.f32")
        assert vectors.stat().st_size <= 6 * 8
    (item,) = memories.perform("embedding_export", embedding_space_id="emb:a")["items"]
    assert item["vector"] == [0.0, 11.0]


def test_a_rebuild_lets_go_of_vectors_that_a_dead_writer_left(
    store: Store, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = memories.create(object_id="mem:1")
    memories.perform("space_add", space=SPACE)
    vector = {"object_id": "mem:1", "vector": [0, 1], "embedding_space_id": "emb:a"}
    memories.perform("embedding_put", embeddings=[vector])
    with monkeypatch.context() as patched:
        for name in ("withdraw", "follow"):
            patched.setattr(f"pamctl.store.embedding_upkeep.{name}", lambda layout, told: None)
        memories.delete(made)
    (vectors,) = store.directory.scope(SCOPE).embeddings.rglob("*.f32")
    assert vectors.stat().st_size == 8
    assert memories.perform("embedding_export", embedding_space_id="emb:a")["items"] == []
    store.rebuild_index(scope_id=SCOPE)
    (vectors,) = store.directory.scope(SCOPE).embeddings.rglob("*.f32")
    assert vectors.stat().st_size == 0


def test_vectors_are_deleted_by_object_and_by_space(memories: Memories) -> None:
    spaces = ("emb:a", "emb:b")
    for space_id in spaces:
        memories.perform("space_add", space={**SPACE, "embedding_space_id": space_id})
    for name in ("mem:1", "mem:2"):
        memories.create(object_id=name)
    vectors = [
        {"object_id": name, "vector": [0, 1], "embedding_space_id": space_id}
        for name in ("mem:1", "mem:2")
        for space_id in spaces
    ]
    memories.perform("embedding_put", embeddings=vectors)

    def delete(**what: str) -> int:
        return int(memories.perform("embedding_delete", **what)["deleted"])

    assert delete(object_id="mem:1", embedding_space_id="emb:a") == 1
    assert delete(object_id="mem:1", embedding_space_id="emb:a") == 0
    assert delete(object_id="mem:1") == 1
    assert delete(embedding_space_id="emb:b") == 1
    left = memories.perform("embedding_export", embedding_space_id="emb:a", limit=1)
    assert [item["object_id"] for item in left["items"]] == ["mem:2"]
    assert left["next_cursor"] is None


def test_a_redaction_meanwhile_is_noticed_under_the_lock(
    store: Store, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever puts a vector looks again once nobody else can."""
    from pamctl.service import embeddings

    made = memories.create(object_id="mem:1")
    memories.perform("space_add", space=SPACE)
    other = Memories(pamctl.open_store(store.path))
    lock = embeddings.lock

    def late(layout: Any) -> Any:
        monkeypatch.setattr(embeddings, "lock", lock)
        other.delete(made)
        return lock(layout)

    monkeypatch.setattr(embeddings, "lock", late)
    vector = {"object_id": "mem:1", "vector": [0, 1], "embedding_space_id": "emb:a"}
    with pytest.raises(pamctl.errors.ObjectDeleted):
        memories.perform("embedding_put", embeddings=[vector])
    assert not list(store.directory.scope(SCOPE).embeddings.rglob("*.f32"))


def test_a_delegation_lets_look_at_snapshots(store: Store, memories: Memories) -> None:
    memories.create(object_id="mem:1")
    seal(memories)
    govern(store, {"effect": "deny", "actors": [AGENT["actor_id"]]})
    granted = store.delegations.grant(
        scope_id=SCOPE,
        granting_actor=HUMAN,
        delegated_actor=AGENT,
        granted_operations=["read", "inspect_history"],
        policy_basis="policy:test",
        not_before="2020-01-01T00:00:00Z",
        not_after="2100-01-01T00:00:00Z",
    )
    agent = Memories(store, actor={**AGENT, "delegation_id": granted["delegation_id"]})
    assert agent.read("mem:1", snapshot_id="snap:1")["object_id"] == "mem:1"
    assert len(agent.perform("snapshot_list")["items"]) == 1
    ask = {"from_snapshot_id": "snap:1", "to_snapshot_id": "snap:1"}
    assert agent.perform("snapshot_diff", **ask)["items"] == []
    with pytest.raises(AccessDenied):
        agent.perform("snapshot_create")
    with pytest.raises(AccessDenied):
        Memories(store, actor=AGENT).read("mem:1", snapshot_id="snap:1")
