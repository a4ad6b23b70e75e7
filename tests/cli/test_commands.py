"""What each command does, from a store that is made to a memory that is deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program

Remember = Callable[..., Any]


def test_init_makes_a_store_once(pamctl: Program) -> None:
    first = pamctl("init").json
    again = pamctl("init").json
    assert first["created"]
    assert not again["created"]
    assert first["store_id"] == again["store_id"]
    assert first["path"] == str(pamctl.folder / ".pam")
    assert first["default_scope"] == "workspace:default"


@pytest.mark.parametrize(
    ("words", "env", "pointer"),
    [
        (("--scope", "bad scope"), {}, "/scope_id"),
        ((), {"PAM_SCOPE": "nocolon"}, "/scope_id"),
        (("--actor", "bad actor"), {}, "/actor/actor_id"),
    ],
)
def test_init_makes_nothing_under_a_name_that_is_none(
    pamctl: Program, words: tuple[str, ...], env: dict[str, str], pointer: str
) -> None:
    refused = pamctl("init", *words, env=env)
    assert refused.error["details"]["pointer"] == pointer
    assert not (pamctl.folder / ".pam").exists()


def test_init_takes_a_folder_and_a_default_scope(pamctl: Program) -> None:
    made = pamctl("init", "notes", "--scope", "workspace:notes").json
    assert made["path"] == str(pamctl.folder / "notes" / ".pam")
    assert made["default_scope"] == "workspace:notes"
    status = pamctl("status", env={"PAM_STORE": made["path"]}).json
    assert status["default_scope"] == "workspace:notes"


def test_the_nearest_store_above_is_found(in_store: Program, remember: Remember) -> None:
    object_id = remember("tea")["object_id"]
    below = in_store.folder / "a" / "b"
    below.mkdir(parents=True)
    assert Program(below, in_store.environment)("read", object_id).json["object_id"] == object_id


def test_create_answers_the_whole_result(in_store: Program, remember: Remember) -> None:
    made = remember("Tea is at four.", "--id", "mem:tea")
    assert made.keys() == {
        "envelope",
        "event_id",
        "ledger_sequence",
        "object_id",
        "operation_id",
        "replayed",
        "scope_id",
        "sequence",
        "version_id",
    }
    assert made["object_id"] == "mem:tea"
    assert made["envelope"]["canonical_content"] == {"text": "Tea is at four."}
    assert made["envelope"]["lifecycle_state"] == "active"
    assert made["envelope"]["validation_state"] == "unverified"
    assert made["envelope"]["provenance"]["activity"] == "created"
    assert not made["replayed"]


def test_create_takes_provenance_and_times_from_flags(remember: Remember) -> None:
    made = remember(
        "tea",
        *("--source", "urn:book:1", "--activity", "copied", "--source-confidence", "0.5"),
        *("--evidence", "urn:page:1", "--evidence", "urn:page:2"),
        *("--observed-at", "2026-01-02T03:04:05+01:00", "--valid-from", "2026-01-01T00:00:00Z"),
    )
    envelope = made["envelope"]
    provenance = envelope["provenance"]
    assert provenance["source_ref"] == "urn:book:1"
    assert provenance["activity"] == "copied"
    assert provenance["source_confidence"] == 0.5
    assert provenance["evidence_refs"] == ["urn:page:1", "urn:page:2"]
    assert provenance["observed_at"] == envelope["observed_at"] == "2026-01-02T02:04:05Z"
    assert envelope["valid_from"] == "2026-01-01T00:00:00Z"


def test_flags_add_to_a_provenance_file(in_store: Program, remember: Remember) -> None:
    document = {"activity": "imported", "source_ref": "urn:a"}
    (in_store.folder / "provenance.json").write_text(json.dumps(document))
    made = remember("tea", "--provenance-file", "provenance.json", "--source", "urn:b")
    provenance = made["envelope"]["provenance"]
    assert provenance["activity"] == "imported"
    assert provenance["source_ref"] == "urn:b"


def test_an_idempotency_key_makes_a_repeated_create_a_replay(
    in_store: Program, remember: Remember
) -> None:
    first = remember("tea", "--idempotency-key", "k")
    again = remember("tea", "--idempotency-key", "k")
    assert again["replayed"]
    assert again["version_id"] == first["version_id"]
    other = in_store("create", "--type", "claim", "--content", '"no"', "--idempotency-key", "k")
    assert other.status == 5
    assert other.error["code"] == "duplicate_operation"


def test_update_in_its_three_ways(in_store: Program, remember: Remember) -> None:
    made = remember("tea")
    object_id = made["object_id"]
    version = made["version_id"]
    for way, expected in (
        (("--content", '{"text":"coffee","note":1}'), {"text": "coffee", "note": 1}),
        (("--merge-patch", '{"note":null,"cups":2}'), {"text": "coffee", "cups": 2}),
        (("--patch", '[{"op":"remove","path":"/cups"}]'), {"text": "coffee"}),
    ):
        updated = in_store("update", object_id, "--expect", version, *way).json
        assert updated["envelope"]["canonical_content"] == expected
        version = updated["version_id"]
    assert updated["sequence"] == 4


def test_update_refuses_two_ways_at_once(in_store: Program, remember: Remember) -> None:
    made = remember("tea")
    refused = in_store(
        *("update", made["object_id"], "--expect", made["version_id"]),
        *("--content", "1", "--merge-patch", "{}"),
    )
    assert refused.status == 2
    assert "--merge-patch" in refused.error["message"]


def test_a_stale_version_is_a_conflict_that_names_the_current_one(
    in_store: Program, remember: Remember
) -> None:
    made = remember("tea")
    stale = made["version_id"]
    update = ("update", made["object_id"], "--expect", stale, "--content")
    current = in_store(*update, '"one"').json["version_id"]
    refused = in_store(*update, '"two"')
    assert refused.status == 4
    assert refused.error["code"] == "version_conflict"
    assert refused.error["retryable"]
    assert refused.error["details"]["current_version_id"] == current


def test_transition_and_refused_transition(in_store: Program, remember: Remember) -> None:
    made = remember("tea")
    words = ("transition", made["object_id"], "validation")
    basis = ("--policy-basis", "two sources")
    moved = in_store(*words, "corroborated", "--expect", made["version_id"], *basis).json
    assert moved["envelope"]["validation_state"] == "corroborated"
    lifecycle = ("transition", made["object_id"], "lifecycle", "scratch")
    refused = in_store(*lifecycle, "--expect", moved["version_id"], *basis)
    assert refused.status == 6
    assert refused.error["code"] == "invalid_state_transition"


def test_delete_leaves_a_tombstone(in_store: Program, remember: Remember) -> None:
    made = remember("tea")
    object_id = made["object_id"]
    deleted = in_store(
        "delete", object_id, "--expect", made["version_id"], "--policy-basis", "asked"
    ).json
    assert deleted["envelope"]["availability_state"] == "deleted"
    gone = in_store("read", object_id)
    assert gone.status == 9
    assert gone.error["code"] == "object_deleted"
    tombstone = in_store("read", object_id, "--version", deleted["version_id"]).json
    assert tombstone["availability_state"] == "deleted"


def test_read_now_by_version_and_by_sequence(in_store: Program, remember: Remember) -> None:
    made = remember("tea")
    object_id = made["object_id"]
    in_store("update", object_id, "--expect", made["version_id"], "--content", '"coffee"')
    assert in_store("read", object_id).json["canonical_content"] == "coffee"
    old = {"text": "tea"}
    by_version = in_store("read", object_id, "--version", made["version_id"]).json
    by_sequence = in_store("read", object_id, "--at", str(made["ledger_sequence"])).json
    assert by_version["canonical_content"] == by_sequence["canonical_content"] == old


def test_print_gives_one_member(in_store: Program, remember: Remember) -> None:
    object_id = remember("a\nb ☕")["object_id"]
    assert in_store("read", object_id, "--print", "object_type").stdout == b"claim\n"
    text = in_store("read", object_id, "--print", "/canonical_content/text")
    assert text.stdout == "a\nb ☕\n".encode()
    assert in_store("read", object_id, "--print", "sequence").stdout == b"1\n"
    assert in_store("read", object_id, "--print", "actor").json["actor_kind"] == "human"
    wrong = in_store("read", object_id, "--print", "object_typ")
    assert wrong.status == 2
    assert wrong.error["details"]["hint"] == "did you mean 'object_type'?"


def test_history_of_versions_and_of_events(in_store: Program, remember: Remember) -> None:
    made = remember("tea")
    object_id = made["object_id"]
    in_store("update", object_id, "--expect", made["version_id"], "--content", '"coffee"')
    versions = in_store("history", object_id).json["items"]
    assert [version["sequence"] for version in versions] == [1, 2]
    events = in_store("history", object_id, "--events").json["items"]
    assert [event["event_type"] for event in events] == ["object_created", "object_updated"]
    later = in_store("history", object_id, "--from", "2").json["items"]
    assert [version["sequence"] for version in later] == [2]
    updates = in_store("history", object_id, "--event-class", "object_updated").json["items"]
    assert len(updates) == 1


def test_query_finds_what_is_trusted_unless_told_otherwise(
    in_store: Program, remember: Remember
) -> None:
    remember("green tea")
    trusted = remember("black tea", "--validation", "corroborated")
    remember("coffee", "--validation", "disputed")
    assert [item["object_id"] for item in in_store("query").json["items"]] == [trusted["object_id"]]
    assert len(in_store("query", "--any-state").json["items"]) == 3
    both = ("--validation", "unverified", "--validation", "corroborated")
    assert len(in_store("query", *both).json["items"]) == 2
    assert len(in_store("query", "--any-state", "--text", "tea").json["items"]) == 2
    assert in_store("query", "--type", "decision", "--any-state").json["items"] == []


def test_query_pages_follow_one_another(in_store: Program, remember: Remember) -> None:
    made = [remember(f"cup {n}", "--validation", "corroborated")["object_id"] for n in range(5)]
    found: list[str] = []
    cursor: tuple[str, ...] = ()
    for _ in range(3):
        page = in_store("query", "--limit", "2", *cursor).json
        found += [item["object_id"] for item in page["items"]]
        cursor = ("--cursor", page["next_cursor"] or "")
    assert found == made
    assert page["next_cursor"] is None


def test_query_file_is_the_drafts_document(in_store: Program, remember: Remember) -> None:
    made = remember("tea", "--validation", "corroborated")
    document = {
        "query": {"kind": "structured", "text": "tea", "filters": {"object_type": ["claim"]}},
        "pagination": {"limit": 10},
    }
    answer = in_store("query", "--query-file", "-", stdin=json.dumps(document).encode()).json
    assert [item["object_id"] for item in answer["items"]] == [made["object_id"]]


def test_log_is_the_ledger_in_order(in_store: Program, remember: Remember) -> None:
    made = [remember(f"cup {n}") for n in range(3)]
    events = in_store("log").json["items"]
    created = [event for event in events if event["event_type"] == "object_created"]
    assert [event["object_id"] for event in created] == [one["object_id"] for one in made]
    after = str(made[1]["ledger_sequence"])
    assert [e["event_id"] for e in in_store("log", "--after", after).json["items"]] == [
        made[2]["event_id"]
    ]
    lines = in_store("log", "--format", "jsonl", "--object", made[0]["object_id"])
    assert lines.stdout.count(b"\n") == 1
    assert json.loads(lines.stdout)["event_id"] == made[0]["event_id"]


def test_scopes_are_made_listed_shown_and_governed(in_store: Program) -> None:
    made = in_store("scope", "create", "project:kitchen", "--parent", "workspace:default").json
    assert made["scope_id"] == "project:kitchen"
    assert made["parent_scope_id"] == "workspace:default"
    listed = in_store("scope", "list").json["items"]
    assert [scope["scope_id"] for scope in listed] == ["project:kitchen", "workspace:default"]
    policy = {
        "policy_version": 1,
        "default_effect": "allow",
        "rules": [
            {"rule_id": "rule:no-claims", "effect": "deny", "operations": ["create"]},
        ],
        "overrides": [],
    }
    in_store("scope", "policy", "project:kitchen", "--policy", json.dumps(policy))
    assert in_store("scope", "policy", "project:kitchen").json == policy
    assert in_store("scope", "show", "project:kitchen").json["policy"] == policy
    refused = in_store(
        *("create", "--scope", "project:kitchen", "--type", "claim", "--content", '"tea"')
    )
    assert refused.status == 7


def test_status_tells_counts_and_heads(in_store: Program, remember: Remember) -> None:
    remember("tea")
    status = in_store("status").json
    (scope,) = status["scopes"]
    assert scope["scope_id"] == "workspace:default"
    assert (scope["objects"], scope["versions"], scope["events"]) == (1, 1, 1)
    assert len(scope["head"]) == 64


def test_the_index_can_be_rebuilt(in_store: Program, remember: Remember) -> None:
    remember("tea", "--validation", "corroborated")
    before = in_store("query", "--text", "tea").json["items"]
    rebuilt = in_store("index", "rebuild").json["items"]
    assert [scope["scope_id"] for scope in rebuilt] == ["workspace:default"]
    assert in_store("index", "status").json["items"] == rebuilt
    assert in_store("query", "--text", "tea").json["items"] == before
    assert in_store("log").json["items"][-1]["event_type"] == "index_rebuilt"


def test_scope_and_actor_come_from_flag_environment_and_default(
    in_store: Program, remember: Remember
) -> None:
    from_environment = {"PAM_SCOPE": "project:env", "PAM_ACTOR": "actor:env"}
    words = ("create", "--type", "claim", "--content", '"tea"')
    made = in_store(*words, env=from_environment).json
    assert made["scope_id"] == "project:env"
    assert made["envelope"]["actor"] == {"actor_id": "actor:env", "actor_kind": "human"}
    flags = ("--scope", "project:flag", "--actor", "actor:flag", "--actor-kind", "agent")
    made = in_store(*words, *flags, env=from_environment).json
    assert made["scope_id"] == "project:flag"
    assert made["envelope"]["actor"] == {"actor_id": "actor:flag", "actor_kind": "agent"}
    made = remember("tea")
    assert made["scope_id"] == "workspace:default"
    assert made["envelope"]["actor"]["actor_id"].startswith("actor:local:")


def test_a_whole_actor_comes_from_a_file(in_store: Program, remember: Remember) -> None:
    actor = {"actor_id": "actor:bot", "actor_kind": "agent", "display_name": "Bot"}
    (in_store.folder / "actor.json").write_text(json.dumps(actor))
    assert remember("tea", "--actor-file", "actor.json")["envelope"]["actor"] == actor
    both = in_store("read", "mem:x", "--actor-file", "actor.json", "--actor", "actor:other")
    assert both.status == 2


def test_an_operation_can_be_named(remember: Remember) -> None:
    assert remember("tea", "--operation-id", "op:mine")["operation_id"] == "op:mine"
