"""Queries by similarity through the Python API: any filter, any actor, any page, against a plain
ranking; and what damage and races do."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="search by similarity needs the extra 'vectors'")

from pamctl.errors import AccessDenied, EmbeddingSpaceMismatch, ObjectDeleted, StoreDamaged
from pamctl.rules.authorization import default_policy
from pamctl.service import embeddings as service
from pamctl.service.store import Store
from tests.conformance.memories import AGENT, HUMAN, SCOPE, Memories
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE

TYPES = ("claim", "task", "decision")
STATES = ("unverified", "corroborated")
HIDDEN = "decision"


@pytest.fixture
def memories(store: Store) -> Memories:
    return Memories(store)


def put(memories: Memories, object_id: str, vector: list[float], space: str = "emb:a") -> None:
    embedding = {"object_id": object_id, "vector": vector, "embedding_space_id": space}
    memories.perform("embedding_put", embeddings=[embedding])


def ask(memories: Memories, **more: Any) -> Any:
    return memories.perform("query", embedding_space_id="emb:a", **{"any_state": True, **more})


@pytest.fixture
def mixed(memories: Memories) -> Memories:
    """Objects of every type and state, some without vectors; an agent sees no decisions."""
    memories.perform("space_add", space=SPACE)
    for number in range(30):
        memories.create(
            {"text": f"memory {number % 4}"},
            object_id=f"mem:{number}",
            object_type=TYPES[number % 3],
            validation_state=STATES[number % 2],
        )
        if number % 5:
            put(memories, f"mem:{number}", [number % 7 - 3, number % 4])
    rule = {
        "rule_id": "rule:hidden",
        "effect": "deny",
        "actors": [AGENT["actor_id"]],
        "object_types": [HIDDEN],
    }
    policy = {**default_policy(), "rules": [rule]}
    memories.perform("scope_policy", policy=policy)
    return memories


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    wanted=st.sets(st.sampled_from(TYPES), min_size=1),
    state=st.none() | st.sampled_from(STATES),
    agent=st.booleans(),
    query=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
    limit=st.integers(1, 9),
)
def test_pages_are_a_plain_ranking_of_what_the_filters_and_the_policy_leave(
    mixed: Memories, wanted: set[str], state: str | None, agent: bool, query: Any, limit: int
) -> None:
    asked: dict[str, Any] = {"object_type": sorted(wanted), "vector": list(query)}
    if state is not None:
        asked["validation_state"] = [state]
    expected = []
    for number in range(30):
        seen = TYPES[number % 3] in wanted and not (agent and TYPES[number % 3] == HIDDEN)
        if seen and state in (None, STATES[number % 2]) and number % 5:
            expected.append((-_cosine((number % 7 - 3, number % 4), query), f"mem:{number}"))
    who = Memories(mixed.store, SCOPE, AGENT) if agent else mixed
    found: list[str] = []
    cursor = None
    while True:
        page = ask(who, **asked, limit=limit, count=True, **({"cursor": cursor} if cursor else {}))
        found += [item["object_id"] for item in page["items"]]
        assert page["total"] == len(expected)
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == [object_id for _, object_id in sorted(expected)]


def _cosine(one: Any, other: Any) -> float:
    lengths = [(a * a + b * b) ** 0.5 for a, b in (one, other)]
    if not all(lengths):
        return 0.0
    return round((one[0] * other[0] + one[1] * other[1]) / (lengths[0] * lengths[1]), 9) + 0.0


def test_what_is_put_by_another_process_is_found(mixed: Memories, tmp_path: Path) -> None:
    """A store that is open for long notices new vectors, new versions and what went."""
    import pamctl

    asked: dict[str, Any] = {"vector": [0, 1], "limit": 1}
    ask(mixed, **asked)
    other = Memories(pamctl.open_store(tmp_path / ".pam"))
    other.create("new", object_id="mem:0-new")
    put(other, "mem:0-new", [0, 5])
    assert ask(mixed, **asked)["items"][0]["object_id"] == "mem:0-new"
    other.delete(other.read("mem:0-new"))
    assert ask(mixed, **asked)["items"][0]["object_id"] != "mem:0-new"


def test_numbers_that_are_none_are_damage_and_said(mixed: Memories) -> None:
    (path,) = mixed.store.directory.scope(SCOPE).embeddings.rglob("*.f32")
    data = bytearray(path.read_bytes())
    data[:8] = struct.pack("<2f", float("nan"), 1)
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match="no number"):
        ask(mixed, vector=[1, 0])


def test_an_object_that_was_hidden_meanwhile_gets_no_vector(
    mixed: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the version and the lock, somebody deletes it: what was worked out
    before does not count."""
    lock = service.lock

    def late(layout: Any) -> Any:
        monkeypatch.setattr(service, "lock", lock)
        mixed.delete(mixed.read("mem:1"))
        return lock(layout)

    monkeypatch.setattr(service, "lock", late)
    with pytest.raises(ObjectDeleted):
        put(mixed, "mem:1", [1, 1])
    items = mixed.perform("embedding_export", embedding_space_id="emb:a")["items"]
    assert "mem:1" not in [item["object_id"] for item in items]


def test_a_dead_writer_leaves_no_pinned_vector_for_good(
    mixed: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes and leaves vectors behind: the next rebuild sees to it."""
    put(mixed, "mem:1", [0.125, 0.25])
    mixed.perform("snapshot_create", snapshot_id="snap:1")
    put(mixed, "mem:2", [1, 1])
    with monkeypatch.context() as patched:
        patched.setattr("pamctl.store.embedding_upkeep.withdraw", lambda layout, entries: None)
        mixed.delete(mixed.read("mem:1"))
    folder = mixed.store.directory.scope(SCOPE).embeddings

    def kept() -> bool:
        secret = struct.pack("<2f", 0.125, 0.25)
        return any(secret in path.read_bytes() for path in folder.rglob("*.f32"))

    assert kept()
    assert "mem:1" not in [item["object_id"] for item in ask(mixed, vector=[0, 1])["items"]]
    mixed.store.rebuild_index(scope_id=SCOPE)
    assert not kept()
    assert ask(mixed, vector=[0, 1], snapshot_id="snap:1")["similarity"]["best_effort"]


def test_what_an_embedder_is_given_is_governed_and_on_record(mixed: Memories) -> None:
    agent = Memories(mixed.store, SCOPE, AGENT)
    page = agent.perform("embedding_pending", embedding_space_id="emb:a")
    assert [item["object_id"] for item in page["items"]] == ["mem:0", "mem:10", "mem:15", "mem:25"]
    rules = [
        {"rule_id": "no-vectors", "effect": "deny", "operations": ["put_embedding"]},
    ]
    policy = {**default_policy(), "rules": rules, "read_audit": True}
    mixed.perform("scope_policy", policy=policy)
    agent.perform("embedding_pending", embedding_space_id="emb:a")
    with pytest.raises(AccessDenied):
        agent.perform("embedding_generate")
    read, denied = mixed.events(event_classes=["tool_invoked", "access_denied"])
    assert read["payload"]["tool_name"] == "pamspec.query"
    assert denied["actor"]["actor_id"] == AGENT["actor_id"]


def test_the_built_in_embedder_goes_on_where_it_stopped(mixed: Memories) -> None:
    first = mixed.store.embeddings.generate(scope_id=SCOPE, actor=HUMAN, limit=20)
    assert (first["embedded"], first["next_cursor"] is not None) == (20, True)
    rest = mixed.store.embeddings.generate(
        scope_id=SCOPE, actor=HUMAN, limit=20, cursor=first["next_cursor"]
    )
    assert (rest["embedded"], rest["next_cursor"]) == (10, None)
    with pytest.raises(EmbeddingSpaceMismatch):
        mixed.store.embeddings.pending(
            scope_id="workspace:none", actor=HUMAN, embedding_space_id="emb:a"
        )
