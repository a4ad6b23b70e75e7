"""PAMSPEC §7.5: the scope and its boundary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pamctl.errors import AccessDenied, InvalidRequest, ObjectNotFound, PamError, PolicyDenied
from pamctl.model.documents import check, schema
from pamctl.service.store import Store
from tests.conformance.memories import HUMAN, SCOPE, SEEN, Memories

ELSEWHERE = "project:elsewhere"

ON_AN_OBJECT: dict[str, Callable[[Memories, Any], Any]] = {
    "read": lambda here, of: here.read(of),
    "read of a version": lambda here, of: here.read(of, version_id=of["version_id"]),
    "history": lambda here, of: here.versions(of),
    "update": lambda here, of: here.update(of, canonical_content="other"),
    "transition": lambda here, of: here.move(of, "lifecycle", "archived"),
    "delete": lambda here, of: here.delete(of),
    "relate": lambda here, of: here.perform(
        "relate",
        source_object_id=of["object_id"],
        target_object_id=of["object_id"],
        relationship_type="supports",
        provenance=SEEN,
    ),
    "promote": lambda here, of: here.perform(
        "promote",
        source_object_id=of["object_id"],
        expected_version_id=of["version_id"],
        target_object_type="claim",
        target_canonical_content="other",
        provenance=SEEN,
    ),
    "walk": lambda here, of: here.found(related_to={"object_id": of["object_id"]}),
}
"""Operations that name an object, on one that is in another scope."""


@pytest.fixture
def elsewhere(store: Store) -> Memories:
    return Memories(store, ELSEWHERE)


def test_7_5_an_object_belongs_to_one_scope(memories: Memories, elsewhere: Memories) -> None:
    """The same id in two scopes names two objects, each with a history of its own."""
    one = memories.create("here", object_id="mem:same")
    other = elsewhere.create("there", object_id="mem:same")
    assert (one["scope_id"], other["scope_id"]) == (SCOPE, ELSEWHERE)
    assert memories.read("mem:same") == one
    assert elsewhere.read("mem:same") == other
    assert memories.update(one, canonical_content="changed")["scope_id"] == SCOPE
    assert elsewhere.read("mem:same") == other


@pytest.mark.parametrize(
    "operation",
    [
        *("create", "read", "update", "transition", "delete", "relate", "promote", "query"),
        *("history", "log", "scope_policy", "scope_show", "scope_policy_test"),
        *("grant_delegation", "check_delegation", "revoke_delegation", "list_delegations"),
    ],
)
def test_7_5_every_operation_is_evaluated_within_a_scope(store: Store, operation: str) -> None:
    """None can be asked for without saying in which."""
    assert "scope_id" in schema(f"requests/{operation}")["required"]
    with pytest.raises(InvalidRequest):
        check(f"requests/{operation}", {})


@pytest.mark.parametrize("operation", ON_AN_OBJECT)
def test_7_5_no_operation_reaches_an_object_of_another_scope(
    memories: Memories, elsewhere: Memories, operation: str
) -> None:
    made = elsewhere.create("tea", object_type="observation")
    before = elsewhere.head()
    with pytest.raises(ObjectNotFound):
        ON_AN_OBJECT[operation](memories, made)
    assert elsewhere.head() == before


def test_7_5_a_search_stays_in_its_scope(memories: Memories, elsewhere: Memories) -> None:
    """There is no search over all scopes, by default or otherwise."""
    elsewhere.create("rare tea")
    made = memories.create("common tea")
    assert [item["object_id"] for item in memories.found(text="tea")] == [made["object_id"]]
    assert memories.found(text="rare") == []


def test_7_5_a_reference_to_another_scope_grants_no_access(
    memories: Memories, elsewhere: Memories
) -> None:
    """A relationship that both policies permit still opens nothing."""
    here, there = memories.create("here"), elsewhere.create("there")
    _open(memories, "out", ELSEWHERE)
    _open(elsewhere, "in", SCOPE)
    memories.perform(
        "relate",
        source_object_id=here["object_id"],
        target_object_id=there["object_id"],
        target_scope_id=ELSEWHERE,
        relationship_type="supports",
        policy_basis="policy:test",
        provenance=SEEN,
    )
    with pytest.raises(ObjectNotFound):
        memories.read(there)
    assert memories.found(related_to={"object_id": here["object_id"]}) == []


@pytest.mark.parametrize("opened", [(), ("out",), ("in",)], ids=str)
def test_7_5_access_across_scopes_takes_the_policy_of_both(
    memories: Memories, elsewhere: Memories, opened: tuple[str, ...]
) -> None:
    elsewhere.create("there")
    if "out" in opened:
        _open(memories, "out", ELSEWHERE)
    if "in" in opened:
        _open(elsewhere, "in", SCOPE)
    with pytest.raises(PolicyDenied):
        _delegate_across(memories)


def test_7_5_and_the_authority_over_what_is_there(memories: Memories, elsewhere: Memories) -> None:
    """Both policies open the way; whoever holds nothing there gives nothing there."""
    elsewhere.create("there")
    _open(memories, "out", ELSEWHERE)
    closed = {"rule_id": "rule:closed", "effect": "deny", "operations": ["read"]}
    _open(elsewhere, "in", SCOPE, rules=[closed])
    with pytest.raises(AccessDenied):
        _delegate_across(memories)
    _open(elsewhere, "in", SCOPE)
    assert _delegate_across(memories)


def test_7_5_the_index_is_the_scopes_own(memories: Memories, elsewhere: Memories) -> None:
    """One file a scope: what one is asked cannot come from another."""
    memories.create("here")
    elsewhere.create("there")
    store = memories.store
    files = [
        store.layout.index_file(store.open_scope(scope_id).layout)
        for scope_id in (SCOPE, ELSEWHERE)
    ]
    assert len(set(files)) == 2
    store.close()
    held = [
        b"".join(part.read_bytes() for part in file.parent.glob(f"{file.name}*")) for file in files
    ]
    assert b"there" not in held[0]
    assert b"there" in held[1]


def _open(memories: Memories, direction: str, scope_id: str, **more: Any) -> None:
    way = {
        "rule_id": f"rule:{direction}",
        "direction": direction,
        "scopes": [scope_id],
        "operations": ["read", "relate"],
    }
    opened = {"policy_version": 1, "default_effect": "allow", "cross_scope": [way], **more}
    memories.perform("scope_policy", policy=opened)


def _delegate_across(memories: Memories) -> Any:
    return memories.perform(
        "grant_delegation",
        granting_actor=HUMAN,
        delegated_actor={"actor_id": "actor:agent:bot", "actor_kind": "agent"},
        granted_operations=["read"],
        target_scope_id=ELSEWHERE,
        policy_basis="policy:test",
        not_before="2025-01-01T00:00:00Z",
        not_after="2030-01-01T00:00:00Z",
    )


def test_7_5_a_refusal_is_the_same_for_every_scope(memories: Memories) -> None:
    """What is in another scope is refused as what is nowhere."""
    other = Memories(memories.store, ELSEWHERE).create("there")
    answers = []
    for object_id in (other["object_id"], "mem:nowhere"):
        with pytest.raises(PamError) as refused:
            memories.read(object_id)
        answers.append(repr(refused.value.envelope("op:1")).replace(object_id, "ID"))
    assert answers[0] == answers[1]
