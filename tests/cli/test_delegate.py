"""`pamctl delegate`, `--delegation` and `scope policy --test`, as a script uses them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Program

AGENT = ("--actor", "actor:agent:helper", "--actor-kind", "agent")
OTHER = ("--actor", "actor:agent:other", "--actor-kind", "agent")
NO_AGENTS = {
    "policy_version": 1,
    "default_effect": "allow",
    "rules": [{"rule_id": "rule:no-agents", "effect": "deny", "actor_kinds": ["agent"]}],
}
HERE = "workspace:default"


@pytest.fixture
def closed(in_store: Program) -> Program:
    """A store with one memory, in which agents may do nothing by themselves."""
    in_store("create", "--type", "claim", "--id", "mem:tea", "--content", '"tea"').json  # noqa: B018
    in_store("scope", "policy", HERE, "--policy", json.dumps(NO_AGENTS)).json  # noqa: B018
    return in_store


def grant(program: Program, *operations: str, **flags: str) -> str:
    words = [word for operation in operations for word in ("--operation", operation)]
    more = [word for name, value in flags.items() for word in (f"--{name}", value)]
    granted = program(
        *("delegate", "grant", "actor:agent:helper", *words, *more),
        *("--not-after", "2999-01-01T00:00:00Z", "--policy-basis", "policy:test"),
    )
    return str(granted.json["delegation_id"])


def test_a_delegation_is_granted_exercised_revoked_and_listed(closed: Program) -> None:
    assert closed("read", "mem:tea", *AGENT).status == 7
    lent = grant(closed, "read", "create", type="claim")
    read = closed("read", "mem:tea", *AGENT, "--delegation", lent)
    assert read.json["canonical_content"] == "tea"
    made = closed("create", "--type", "claim", "--content", "1", *AGENT, "--delegation", lent).json
    assert made["envelope"]["provenance"]["actor"]["delegation_id"] == lent
    assert (
        closed("create", "--type", "task", "--content", "1", *AGENT, "--delegation", lent).status
        == 7
    )
    (item,) = closed("delegate", "list").json["items"]
    assert (item["effective"], item["used"]) == (True, 2)
    revoked = closed("delegate", "revoke", lent, "--policy-basis", "policy:done").json
    assert revoked["envelope"]["lifecycle_state"] == "archived"
    assert closed("read", "mem:tea", *AGENT, "--delegation", lent).error["code"] == "access_denied"
    assert closed("delegate", "list", "--effective").json["items"] == []
    (item,) = closed("delegate", "list", "--to", "actor:agent:helper", *AGENT).json["items"]
    assert item["reason"] == "revoked"


def test_checks_count_and_are_refused_alike(closed: Program) -> None:
    lent = grant(closed, "read", **{"usage-limit": "1"})
    assert closed("delegate", "check", lent, "read", *AGENT).json["delegation_id"] == lent
    answers = []
    for words in ((lent, "read", *AGENT), ("del:never", "read", *AGENT)):
        refused = closed("delegate", "check", *words, "--operation-id", "op:1")
        assert refused.status == 7
        answers.append(refused.error)
    assert answers[0] == answers[1]
    asked = closed("delegate", "check", lent, "read", "--delegate", "actor:agent:helper", *OTHER)
    assert asked.error["policy_rule_id"] == "rule:no-agents"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--not-before", "2999-01-01T00:00:01Z", "--operation", "read"), 7),
        (("--operation", "reed"), 2),
        (("--operation", "read", "--usage-limit", "0"), 2),
        (("--operation", "read", "--type", "claims"), 2),
        ((), 2),
    ],
)
def test_a_grant_that_cannot_be_is_refused(
    closed: Program, words: tuple[str, ...], status: int
) -> None:
    granted = closed(
        *("delegate", "grant", "actor:agent:helper", *words),
        *("--not-after", "2999-01-01T00:00:00Z", "--policy-basis", "policy:test"),
    )
    assert granted.status == status
    assert granted.error


def test_a_grant_with_a_key_happens_once(closed: Program) -> None:
    first = grant(closed, "read", **{"idempotency-key": "k"})
    assert grant(closed, "read", **{"idempotency-key": "k"}) == first
    assert len(closed("delegate", "list").json["items"]) == 1


def test_what_was_lent_is_passed_on_under_the_delegation(in_store: Program) -> None:
    lent = grant(in_store, "read", "query")
    words = ("delegate", "grant", "actor:agent:other", "--operation", "read")
    end = ("--not-after", "2998-01-01T00:00:00Z", "--policy-basis", "policy:test")
    begin = ("--not-before", "2997-01-01T00:00:00Z")
    passed = in_store(*words, *begin, *end, *AGENT, "--delegation", lent).json
    assert passed["envelope"]["granting_actor"]["delegation_id"] == lent
    wider = in_store(*words, "--operation", "delete", *begin, *end, *AGENT, "--delegation", lent)
    assert wider.error["policy_rule_id"] == "rule:delegation"


def test_an_actor_file_and_the_flag_must_agree(closed: Program) -> None:
    actor = {"actor_id": "actor:agent:helper", "actor_kind": "agent", "delegation_id": "del:1"}
    refused = closed(
        *("read", "mem:tea", "--actor-file", "-", "--delegation", "del:2"),
        stdin=json.dumps(actor).encode(),
    )
    assert refused.error["code"] == "invalid_request"


def outcomes(program: Program, *words: str) -> tuple[int, bytes, Any]:
    outcome = program(*words, "--operation-id", "op:1")
    return outcome.status, outcome.stdout, outcome.error


@pytest.mark.parametrize(
    "words",
    [
        ("read", "ID"),
        ("history", "ID"),
        ("update", "ID", "--expect", "ver:1", "--content", "1"),
        ("delete", "ID", "--expect", "ver:1", "--policy-basis", "p"),
        ("transition", "ID", "validation", "disputed", "--expect", "ver:1", "--policy-basis", "p"),
    ],
    ids=lambda words: words[0],
)
def test_to_whom_is_refused_all_identifiers_are_alike(
    closed: Program, words: tuple[str, ...]
) -> None:
    closed("create", "--type", "claim", "--id", "mem:far", "--content", "1", "--scope", "project:x")
    told = [
        outcomes(closed, *(identifier if word == "ID" else word for word in words), *AGENT)
        for identifier in ("mem:tea", "mem:never", "mem:far")
    ]
    assert told[0] == told[1] == told[2]
    assert told[0][0] == 7


def test_denials_are_on_record_reads_too(closed: Program) -> None:
    closed("read", "mem:tea", *AGENT)
    closed("query", *AGENT)
    recorded = closed("log", "--event-class", "access_denied").json["items"]
    assert [event["payload"]["operation"] for event in recorded] == ["read", "query"]


def test_who_cannot_write_the_store_is_refused_all_the_same(closed: Program) -> None:
    bound = closed.bound_by_permissions()
    folders = [closed.folder / ".pam", *(closed.folder / ".pam").rglob("*")]
    for path in folders:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        told = [outcomes(bound, "read", identifier, *AGENT) for identifier in ("mem:tea", "mem:no")]
        readable = bound("read", "mem:tea")
    finally:
        for path in folders:
            path.chmod(path.stat().st_mode | 0o200)
    assert told[0] == told[1]
    assert told[0][0] == 7
    assert readable.json["canonical_content"] == "tea"


def test_a_policy_explains_itself_without_acting(closed: Program) -> None:
    head = closed("status").json["scopes"][0]["head"]
    test = ("scope", "policy", HERE, "--test")
    refused = closed(*test, "read", *AGENT)
    assert (refused.status, refused.stderr) == (11, b"")
    assert json.loads(refused.stdout) == {
        "actor_id": "actor:agent:helper",
        "allowed": False,
        "operation": "read",
        "policy_rule_id": "rule:no-agents",
        "scope_id": HERE,
    }
    assert closed(*test, "read").json["allowed"]
    draft = {**NO_AGENTS, "rules": []}
    assert closed(*test, "read", *AGENT, "--policy", json.dumps(draft)).json["allowed"]
    assert closed("status").json["scopes"][0]["head"] == head


@pytest.mark.parametrize(
    "words",
    [
        ("--test", "reed"),
        ("--type", "claim"),
        ("--test", "read", "--policy", '{"policy_version": 1}'),
        ("--test", "read", "--policy", "[]"),
    ],
)
def test_a_question_that_is_none_is_refused(closed: Program, words: tuple[str, ...]) -> None:
    assert closed("scope", "policy", HERE, *words).error["code"] == "invalid_request"


def test_a_scope_says_plainly_what_it_permits(in_store: Program) -> None:
    shown = in_store("scope", "show", HERE, "--format", "table").stdout.decode()
    assert "everything to everybody" in shown
    in_store("scope", "policy", HERE, "--policy", json.dumps(NO_AGENTS))
    shown = in_store("scope", "show", HERE, "--format", "table").stdout.decode()
    assert "everything that no rule refuses" in shown
    assert "deny everything for every agent" in shown


def test_the_coprocess_asks_the_policy_about_whoever_started_it(closed: Program) -> None:
    """A client cannot get around a policy by not saying who asks."""
    read = {"operation": "read", "arguments": {"scope_id": HERE, "object_id": "mem:tea"}}
    line = json.dumps(read).encode() + b"\n"
    answers = [
        json.loads(closed("stdio", *words, stdin=line).stdout.splitlines()[1])
        for words in ((), AGENT)
    ]
    assert answers[0]["result"]["canonical_content"] == "tea"
    assert answers[1]["error"]["code"] == "access_denied"


def test_a_batch_acts_under_a_delegation(closed: Program) -> None:
    lent = grant(closed, "create", **{"usage-limit": "2"})
    create = {"object_type": "claim", "canonical_content": 1, "provenance": {"activity": "x"}}
    line = json.dumps({"operation": "create", "arguments": create}).encode() + b"\n"
    done = closed("batch", *AGENT, "--delegation", lent, stdin=line * 3)
    assert done.status == 7
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [("result" in line) for line in lines] == [True, True, False]
    recorded = closed("log", "--event-class", "delegation_exercised").json["items"]
    assert len(recorded) == 2
