"""PAMSPEC §7.5, §8.2, §8.5, §15.2 and §18.4: export and import."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.cli.checking import checked
from pamctl.errors import AccessDenied, ObjectNotFound
from tests.conformance.carrying import another_store, exported, imported
from tests.conformance.memories import AGENT, SCOPE, SEEN, Memories

ELSEWHERE = "project:elsewhere"


def test_7_5_an_export_keeps_the_identity_of_scopes(memories: Memories, tmp_path: Path) -> None:
    made = memories.create("tea")
    Memories(memories.store, ELSEWHERE).create("there")
    bundle = exported(memories.store)
    header = json.loads(bundle.partition(b"\n")[0])
    assert [scope["scope_id"] for scope in header["scopes"]] == [ELSEWHERE, SCOPE]
    other = Memories(another_store(tmp_path))
    imported(other.store, bundle)
    assert other.read(made) == made
    assert other.head() == memories.head()
    assert exported(other.store) == bundle


def test_7_5_a_scope_is_remapped_when_asked_and_it_is_recorded(
    memories: Memories, tmp_path: Path
) -> None:
    made = memories.create("tea")
    other = Memories(another_store(tmp_path), "project:tea")
    answer = imported(other.store, exported(memories.store), map_scopes={SCOPE: "project:tea"})
    (scope,) = answer["scopes"]
    assert (scope["scope_id"], scope["from_scope_id"]) == ("project:tea", SCOPE)
    assert other.read(made) == {**made, "scope_id": "project:tea"}
    ledger = other.store.open_scope("project:tea").layout.ledger.read_bytes().splitlines()
    entry = json.loads(ledger[-1])
    assert entry["kind"] == "import"
    assert entry["body"]["origin"]["scope_id"] == SCOPE
    assert entry["body"]["origin"]["head"] == memories.head()["head"]


@pytest.mark.parametrize("name", ["com.example.recipe", "https://example.com/types#recipe"])
def test_8_2_unknown_extension_types_are_kept(
    memories: Memories, tmp_path: Path, name: str
) -> None:
    """By an import that takes a scope over, and by one that records its objects anew."""
    content = {"steps": ["boil", {"minutes": 3}], "ö": None}
    made = memories.create(content, object_type=name, schema_id="https://example.com/recipe")
    other = Memories(another_store(tmp_path))
    bundle = exported(memories.store)
    imported(other.store, bundle)
    assert other.read(made) == made
    assert other.store.version_bytes(SCOPE, made["version_id"]) == memories.store.version_bytes(
        SCOPE, made["version_id"]
    )
    imported(other.store, bundle, map_scopes={SCOPE: ELSEWHERE})
    assert Memories(other.store, ELSEWHERE).read(made) == {**made, "scope_id": ELSEWHERE}
    assert checked(other.store.path)["clean"]


@pytest.mark.parametrize("name", ["supports", "com.example.mentors", "a word of one's own"])
def test_8_5_unknown_relationship_types_are_kept(
    memories: Memories, tmp_path: Path, name: str
) -> None:
    ends = [memories.create(text)["object_id"] for text in ("a", "b")]
    made = memories.perform(
        "relate",
        source_object_id=ends[0],
        target_object_id=ends[1],
        relationship_type=name,
        directionality="directed",
        provenance=SEEN,
    )
    other = Memories(another_store(tmp_path))
    bundle = exported(memories.store)
    imported(other.store, bundle)
    assert other.read(made["relationship_id"]) == made["envelope"]
    imported(other.store, bundle, map_scopes={SCOPE: ELSEWHERE})
    again = Memories(other.store, ELSEWHERE).read(made["relationship_id"])
    assert again == {**made["envelope"], "scope_id": ELSEWHERE}


def test_15_2_exports_keep_to_their_scope(memories: Memories) -> None:
    made = memories.create("here")
    Memories(memories.store, ELSEWHERE).create("there")
    bundle = exported(memories.store, scope_ids=[SCOPE])
    assert made["object_id"].encode() in bundle
    assert ELSEWHERE.encode() not in bundle
    assert b"there" not in bundle


def test_15_2_exports_leave_out_what_the_actor_may_not_see(memories: Memories) -> None:
    """Not even that it is there: its ledger lines are digests."""
    seen = memories.create("tea")
    hidden = memories.create({"title": "the plan"}, object_type="decision")
    policy = memories.store.scope_show(scope_id=SCOPE)["policy"]
    rule = {
        "rule_id": "rule:plans",
        "effect": "deny",
        "actors": [AGENT["actor_id"]],
        "operations": ["read"],
        "object_types": ["decision"],
    }
    memories.perform("scope_policy", policy={**policy, "rules": [rule]})
    bundle = exported(memories.store, scope_ids=[SCOPE])
    assert hidden["object_id"].encode() in bundle
    target = io.BytesIO()
    pamctl.export_bundle(memories.store, target, scope_ids=[SCOPE], actor=AGENT)
    partial = target.getvalue()
    assert seen["object_id"].encode() in partial
    for trace in (hidden["object_id"], hidden["version_id"], "the plan", "decision"):
        assert trace.encode() not in partial
    assert json.loads(partial.partition(b"\n")[0])["withheld"] is True


def test_15_2_whoever_may_not_export_exports_nothing(memories: Memories) -> None:
    memories.create("tea")
    policy = memories.store.scope_show(scope_id=SCOPE)["policy"]
    rule = {"rule_id": "rule:stay", "effect": "deny", "operations": ["export", "import"]}
    memories.perform("scope_policy", policy={**policy, "rules": [rule]})
    with pytest.raises(AccessDenied):
        exported(memories.store, scope_ids=[SCOPE])
    assert memories.events()[-1]["event_type"] == "access_denied"
    assert memories.events()[-1]["payload"]["operation"] == "export"


def test_15_2_an_export_is_on_record_where_policy_wants_reads_to_be(memories: Memories) -> None:
    memories.create("tea")
    policy = memories.store.scope_show(scope_id=SCOPE)["policy"]
    memories.perform("scope_policy", policy={**policy, "read_audit": True})
    bundle = exported(memories.store, scope_ids=[SCOPE])
    event = memories.events()[-1]
    assert (event["event_type"], event["payload"]["operation"]) == ("tool_invoked", "export")
    assert event["event_id"].encode() not in bundle


def test_15_2_imports_keep_to_their_scope(memories: Memories, tmp_path: Path) -> None:
    made = memories.create("tea")
    other = another_store(tmp_path)
    kept = Memories(other, ELSEWHERE)
    mine = kept.create("mine")
    before = kept.head()
    imported(other, exported(memories.store))
    assert kept.head() == before
    assert [item["object_id"] for item in kept.found()] == [mine["object_id"]]
    with pytest.raises(ObjectNotFound):
        kept.read(made)


def test_18_4_the_whole_of_a_scope_can_be_exported(memories: Memories, tmp_path: Path) -> None:
    """Histories, states, tombstones and events: what the origin answers, the copy answers."""
    made = memories.create("tea")
    made = memories.update(made, canonical_content="green tea")
    memories.move(made, "validation", "corroborated")
    gone = memories.create("gone")
    memories.delete(gone)
    bundle = exported(memories.store)
    for line in bundle.splitlines():
        json.loads(line)
    other = Memories(another_store(tmp_path))
    imported(other.store, bundle)

    def answers(one: Memories) -> list[Any]:
        return [
            one.versions(made),
            one.versions(gone),
            one.found(),
            one.events(),
            one.found(text="green"),
            one.head(),
        ]

    assert answers(other) == answers(memories)
    assert checked(other.store.path)["clean"]
