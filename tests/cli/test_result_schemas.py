"""Every command that prints JSON has a schema of it, and prints what its schema says."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.cli.catalogue import VERBS, Words
from tests.cli.conftest import Outcome
from tests.cli.forked import Forked
from tests.cli.result_schemas import (
    LINES,
    NO_JSON,
    command_of,
    fault_in,
    require_result,
    schema_of,
)
from tests.conformance.test_pamspec_7_8_embedding_spaces import SPACE
from tests.conftest import clean_environment
from tests.schemas.published import RESULTS, published_names

WITH_SCHEMA = [words for words in VERBS if words not in NO_JSON]
EVERY = pytest.mark.parametrize("words", WITH_SCHEMA, ids=" ".join)

Answers = dict[Words, list[Any]]


class Story:
    """Calls in one store, and what each was answered, by command."""

    def __init__(self, program: Forked) -> None:
        self.program = program
        self.answers: Answers = defaultdict(list)

    def __call__(self, *call: str, may_refuse: bool = False) -> Any:
        outcome = self.program(*call)
        assert outcome.status == 0 or (may_refuse and outcome.status == 11), (call, outcome)
        said = [json.loads(line) for line in outcome.stdout.splitlines()]
        words = command_of(call)
        assert words is not None
        self.answers[words] += said
        return said[0]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What every command answers when there is something to say."""
    folder = tmp_path_factory.mktemp("story")
    (folder / "policy.json").write_text("{}")
    tell = Story(Forked(folder, clean_environment(folder)))
    _store_and_memories(tell)
    _what_can_be_asked(tell)
    _others_and_vectors(tell, folder)
    _what_leaves(tell, folder)
    return tell.answers


def _store_and_memories(tell: Story) -> None:
    tell("init")
    tell("scope", "create", "team:kitchen")
    tell("scope", "policy", "team:kitchen")
    policy = tell("scope", "show", "team:kitchen")["policy"]
    policy["retention"] = [{"rule_id": "rule:at-once", "expires_after_sec": 0}]
    tell("scope", "policy", "team:kitchen", "--policy", json.dumps(policy))
    tell("create", "--type", "claim", "--content", '"chatter"', "--scope", "team:kitchen")
    tell("scope", "policy", "team:kitchen", "--test", "read", "--type", "claim")
    made = tell("create", "--type", "claim", "--id", "mem:tea", "--content", '{"text": "Tea."}')
    tell("snapshot", "create", "--id", "snap:1")
    changed = tell(
        *("update", "mem:tea", "--expect", made["version_id"]),
        *("--content", '{"text": "Tea at four."}'),
    )
    tell(
        *("transition", "mem:tea", "lifecycle", "deprecated"),
        *("--expect", changed["version_id"], "--policy-basis", "policy:default"),
    )
    plan = json.dumps({"task_ref": "task:plan", "content": ["gather"]})
    plan = tell(
        *("create", "--type", "working_memory", "--content", plan),
        *("--id", "mem:plan"),
    )
    tell(
        *("promote", "mem:plan", "--expect", plan["version_id"], "--type", "task"),
        *("--content", '{"title": "Draft."}', "--id", "mem:task"),
    )
    tell("relate", "mem:task", "supports", "mem:tea")
    for name, act in (("mem:a", "redact"), ("mem:b", "redact"), ("mem:c", "delete")):
        made = tell("create", "--type", "claim", "--id", name, "--content", '"secret"')
        how = ("--erase",) if name == "mem:b" else ()
        tell(act, name, "--expect", made["version_id"], "--policy-basis", "policy:default", *how)
    tell("expire", "--dry-run", "--scope", "team:kitchen")
    tell("expire", "--scope", "team:kitchen")
    tell("snapshot", "create", "--id", "snap:2")


def _what_can_be_asked(tell: Story) -> None:
    tell("status")
    tell("status", "--profiles")
    tell("scope", "list")
    tell("index", "status")
    tell("index", "rebuild")
    tell("pack")
    tell("config", "auto_create_scopes", "true")
    tell("config", "auto_create_scopes", "--show-origin")
    tell("config")
    tell("fsck")
    tell("repair")
    tell("read", "mem:tea")
    tell("read", "mem:tea", "--verify")
    tell("query", "--any-state", "--text", "tea", "--count", "--explain", "--snippets")
    tell("query", "--any-state", "--relationships")
    tell("history", "mem:tea")
    tell("history", "mem:tea", "--events")
    tell("history", "mem:tea", "--diff")
    tell("history", "mem:tea", "--verify")
    tell("diff", "mem:tea")
    tell("diff", "mem:tea", "1", "3")
    tell("log")
    tell("snapshot", "list")
    tell("snapshot", "show", "snap:1")
    tell("snapshot", "diff", "snap:1", "snap:2")
    opened = tell("subscribe", "open", "--ack", "explicit", "--after", "0")["subscription_id"]
    tell("subscribe", "poll", opened)
    tell("subscribe", "ack", opened, "1")
    tell("subscribe", "follow", opened, "--limit", "1")
    tell("subscribe", "list")
    tell("subscribe", "close", opened)
    tell("stdio")


def _others_and_vectors(tell: Story, folder: Path) -> None:
    helper = "actor:agent:helper"
    granted = tell(
        *("delegate", "grant", helper, "--operation", "read"),
        *("--not-after", "2999-01-01T00:00:00Z", "--policy-basis", "policy:default"),
    )["delegation_id"]
    tell("delegate", "check", granted, "read", "--actor", helper)
    tell("delegate", "list")
    tell("delegate", "revoke", granted)
    tell("schema", "add", "urn:example:note", "--schema", '{"type": "object"}')
    tell("schema", "list")
    tell("schema", "show", "urn:example:note")
    tell("space", "add", "--descriptor", json.dumps(SPACE))
    tell("space", "list")
    tell("space", "show", "emb:a")
    made = {"embedding_space_id": "emb:a", "vector": [1, 0]}
    vectors = [json.dumps({**made, "object_id": name}) for name in ("mem:tea", "mem:task")]
    (folder / "vectors.jsonl").write_text("\n".join(vectors))
    tell("embed", "put", "vectors.jsonl")
    tell("embed", "run", "--builtin")
    tell("embed", "status")
    tell("embed", "export", "--space", "emb:a")
    tell("query", "--any-state", "--space", "emb:a", "--like", "mem:tea")
    tell("embed", "delete", "--space", "emb:a")
    request = {"operation": "read", "arguments": {"object_id": "mem:tea"}}
    (folder / "requests.jsonl").write_text(json.dumps(request) + "\n")
    tell("batch", "requests.jsonl")


def _what_leaves(tell: Story, folder: Path) -> None:
    key = tell("key", "generate", "laptop")
    (folder / "theirs.pem").write_bytes(_private_key())
    tell("key", "import", "theirs", "theirs.pem")
    tell("key", "list")
    tell("key", "show", "laptop")
    (folder / "laptop.pub").write_text(key["public_key_pem"])
    project = ("project", "--request", "tea", "--policy", "policy.json", "--key", "laptop")
    tell(*project, "--out", "one")
    tell(*project, "--out", "two")
    tell("verify-projection", "one", may_refuse=True)
    tell("verify-projection", "one", "two", may_refuse=True)
    tell("export", "--output", "memory.jsonl")
    tell("verify-export", "memory.jsonl")
    (folder / "owner.pub").write_text(tell("key", "show", "owner")["public_key_pem"])
    signed = ("a.checkpoint", "--trust", "owner.pub")
    tell("checkpoint", "create", "--output", "a.checkpoint")
    tell("checkpoint", "prove", "--entry", "2", "--output", "2.proof")
    tell("checkpoint", "prove", "--from", "a.checkpoint")
    tell("checkpoint", "cosign", *signed, "--key", "laptop")
    tell("checkpoint", "verify", *signed, "--bundle", "memory.jsonl")
    tell("checkpoint", "verify", "a.checkpoint", may_refuse=True)
    pinned = ("--checkpoint", *signed)
    tell("audit", "memory.jsonl", *pinned, "--projections", "one", may_refuse=True)
    tell("init", "other")
    tell("import", "memory.jsonl", "--store", "other/.pam")
    tell("key", "trust", "laptop.pub", "--as", "author", "--store", "other/.pam")
    tell("key", "revoke", "laptop", "--reason", "lost")


def _private_key() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(bytes(32)).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def test_every_command_has_one_and_every_one_a_command() -> None:
    """A new command brings the schema of what it prints, or says in NO_JSON what it prints."""
    published = {name for name in published_names() if name.startswith(RESULTS)}
    assert published - {RESULTS + "common"} == {schema_of(words) for words in WITH_SCHEMA}
    assert set(NO_JSON) | LINES <= set(VERBS)


@EVERY
def test_what_it_prints_is_what_its_schema_says(answers: Answers, words: Words) -> None:
    name = schema_of(words)
    assert name is not None
    assert answers[words], "the story above does not call it"
    for answer in answers[words]:
        assert fault_in(name, answer) is None


@EVERY
def test_a_spoiled_result_is_refused(answers: Answers, words: Words) -> None:
    """An unknown member is, in the answer and in each thing that it lists; so is a list."""
    name = schema_of(words)
    assert name is not None
    for answer in answers[words]:
        assert fault_in(name, {**answer, "not_a_member": 1})
        assert fault_in(name, [answer])
        for member, value in answer.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                spoiled = [{**value[0], "not_a_member": 1}, *value[1:]]
                assert fault_in(name, {**answer, member: spoiled}), member


@EVERY
def test_a_result_that_lacks_something_is_refused(answers: Answers, words: Words) -> None:
    name = schema_of(words)
    assert name is not None
    assert all(fault_in(name, {}) for _ in answers[words])


def test_a_call_that_printed_something_else_fails_its_test() -> None:
    """What tests/cli/conftest.py and Forked ask of every call."""

    def held(*call: str, said: bytes, status: int = 0) -> None:
        require_result(call, Outcome(status, said, b""), {})

    held("scope", "list", said=b'{"items":[],"next_cursor":null}\n')
    held("scope", "list", said=b'{"items":[]}\n', status=1)
    held("read", "mem:tea", "--print", "canonical_content", said=b'{"text":"Tea."}\n')
    held("export", said=b'{"format":"pam-bundle"}\n')
    held("checkpoint", "create", "--output", "-", said=b"{}\n")
    spoiled: list[tuple[list[str], bytes]] = [
        (["scope", "list"], b'{"items":[]}\n'),
        (["scope", "list", "--format", "jsonl"], b'{"items":[],"next_cursor":null}\n'),
        (["log", "--follow", "--limit", "1"], b'{"items":[],"next_cursor":null}\n'),
        (["verify-export", "memory.jsonl"], b'{"valid":true}\n'),
        (["stdio"], b'{"type":"hello"}\n'),
    ]
    for call, said in spoiled:
        with pytest.raises(AssertionError, match="pamctl " + call[0]):
            held(*call, said=said)


def test_a_line_of_a_listing_is_a_thing_that_it_lists(answers: Answers) -> None:
    listed = [words for words in WITH_SCHEMA if "items" in answers[words][-1]]
    assert len(listed) > 15
    for words in listed:
        name, answer = str(schema_of(words)), answers[words][-1]
        assert answer["items"], words
        for item in answer["items"]:
            assert fault_in(name, item, line=True) is None
        assert fault_in(name, answer, line=True)
