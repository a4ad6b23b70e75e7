"""PAMSPEC §13 and §18.10: the bindings keep what the operations mean.

The same requests go through the Python API, `pamctl batch`, `pamctl stdio` and the commands;
what differs between the answers is what the service draws or reads from its clock.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.bindings.operations import perform
from pamctl.errors import PamError
from tests.conformance.coprocess import Coprocess
from tests.conftest import Run

SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:human:ada", "actor_kind": "human"}
COMMON = {"scope_id": SCOPE, "actor": ACTOR}
SEEN = {"activity": "observed"}
POLICY = {
    "policy_version": 1,
    "default_effect": "allow",
    "default_policy_basis": "policy:test",
    "overrides": [],
    "rules": [
        {"rule_id": "rule:no-tasks", "effect": "deny", "object_types": ["task"]},
    ],
}

Request = tuple[str, dict[str, Any]]


def create(content: Any, **more: Any) -> Request:
    given = {"object_type": "claim", "canonical_content": content, "provenance": SEEN, **more}
    return "create", {**COMMON, **given}


def on(object_id: str) -> dict[str, Any]:
    return {**COMMON, "object_id": object_id, "expected_version_id": "CURRENT"}


def relate(source: str, target: str) -> Request:
    ends = {"source_object_id": source, "target_object_id": target}
    return "relate", {**COMMON, **ends, "relationship_type": "supports", "provenance": SEEN}


SCRIPT: list[Request] = [
    ("scope_policy", {**COMMON, "policy": POLICY}),
    create("tea", object_id="mem:tea", idempotency_key="key:tea"),
    create("tea", object_id="mem:tea", idempotency_key="key:tea"),
    create("coffee", object_id="mem:tea", idempotency_key="key:tea"),
    create("tea", object_id="mem:tea"),
    create("plan", object_id="mem:plan", object_type="task"),
    create("x", object_type="nonsense"),
    create({}, object_type="working_memory"),
    ("read", {**COMMON, "object_id": "mem:tea"}),
    ("read", {**COMMON, "object_id": "mem:nothing"}),
    ("read", {**COMMON, "object_id": "mem:tea", "scope_id": "project:other"}),
    (
        "update",
        {
            **COMMON,
            "object_id": "mem:tea",
            "expected_version_id": "ver:stale",
            "canonical_content": "late",
            "provenance": SEEN,
        },
    ),
    (
        "transition",
        {
            **COMMON,
            "object_id": "mem:tea",
            "expected_version_id": "CURRENT",
            "dimension": "lifecycle",
            "target_state": "scratch",
        },
    ),
    (
        "transition",
        {
            **COMMON,
            "object_id": "mem:tea",
            "expected_version_id": "CURRENT",
            "dimension": "retention",
            "target_state": "legal_hold",
        },
    ),
    ("delete", {**COMMON, "object_id": "mem:tea", "expected_version_id": "CURRENT"}),
    create("milk", object_id="mem:milk", validation_state="corroborated"),
    ("query", {**COMMON}),
    ("query", {**COMMON, "any_state": True, "text": "tea"}),
    ("history", {**COMMON, "object_id": "mem:tea"}),
    ("delete", {**COMMON, "object_id": "mem:milk", "expected_version_id": "CURRENT"}),
    ("read", {**COMMON, "object_id": "mem:milk"}),
    ("history", {**COMMON, "object_id": "mem:milk"}),
    create({"a": "tea", "b": 1}, object_id="mem:part"),
    ("redact", {**on("mem:part"), "paths": ["/a"]}),
    ("redact", {**on("mem:part"), "paths": ["/nothing"]}),
    ("read", {**COMMON, "object_id": "mem:part"}),
    ("redact", on("mem:part")),
    ("redact", {**on("mem:part"), "expected_version_id": "ver:stale"}),
    ("read", {**COMMON, "object_id": "mem:part"}),
    ("redact", on("mem:tea")),
    ("history", {**COMMON, "object_id": "mem:part"}),
    create({"task_ref": "task:1", "content": 1}, object_id="mem:w", object_type="working_memory"),
    (
        "promote",
        {
            **COMMON,
            "source_object_id": "mem:part",
            "expected_version_id": "ver:any",
            "target_object_type": "claim",
            "target_canonical_content": 1,
            "provenance": SEEN,
        },
    ),
    relate("mem:w", "mem:tea"),
    relate("mem:w", "mem:tea"),
    relate("mem:w", "mem:nothing"),
    ("query", {**COMMON, "any_state": True, "related_to": {"object_id": "mem:w"}}),
    ("log", {**COMMON}),
]


class Sender:
    """Carries out the script's requests and remembers the version that each object has."""

    def __init__(self) -> None:
        self.current: dict[str, str] = {}

    def filled(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if arguments.get("expected_version_id") != "CURRENT":
            return arguments
        return {**arguments, "expected_version_id": self.current[arguments["object_id"]]}

    def note(self, answer: Any) -> Any:
        if isinstance(answer, dict) and "version_id" in answer and "object_id" in answer:
            self.current[answer["object_id"]] = answer["version_id"]
        return answer


def plain(value: Any) -> Any:
    """An answer without what is drawn or read from a clock."""
    text = json.dumps(value, sort_keys=True)
    text = re.sub(r"\b(ver|evt|prov|op|store|rel):[0-9a-f]{32}", r"\1:*", text)
    text = re.sub(r"20\d\d-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    return json.loads(text)


def error(envelope: dict[str, Any]) -> Any:
    kept = {name: envelope[name] for name in ("code", "message", "retryable", "details")}
    return plain({**kept, "policy_rule_id": envelope.get("policy_rule_id")})


def through_python(folder: Path) -> list[Any]:
    store, sender = pamctl.init_store(folder / ".pam"), Sender()
    answers = []
    for operation, arguments in SCRIPT:
        try:
            answer = perform(store, operation, sender.filled(arguments))
            answers.append(plain(sender.note(answer)))
        except PamError as refused:
            answers.append(error(refused.envelope()))
    return answers


def through_stdio(folder: Path, run: Run) -> list[Any]:
    assert run("init", cwd=folder).returncode == 0
    sender, answers = Sender(), []
    with Coprocess(folder) as coprocess:
        for operation, arguments in SCRIPT:
            answer = coprocess.send(operation, sender.filled(arguments))
            if "error" in answer:
                answers.append(error(answer["error"]))
            else:
                answers.append(plain(sender.note(answer["result"])))
    return answers


def through_batch(folder: Path, run: Run) -> list[Any]:
    """A run a request, because the script has to know the versions."""
    assert run("init", cwd=folder).returncode == 0
    sender, answers = Sender(), []
    for operation, arguments in SCRIPT:
        line = json.dumps({"operation": operation, "arguments": sender.filled(arguments)})
        done = run("batch", cwd=folder, stdin=line.encode())
        answer = json.loads((done.stdout or done.stderr).splitlines()[0])
        if "error" in answer:
            assert answer["error"]["details"].pop("line") == 1
            answers.append(error(answer["error"]))
        else:
            answers.append(plain(sender.note(answer["result"])))
    return answers


@pytest.mark.parametrize("binding", ["stdio", "batch"])
def test_13_a_binding_answers_as_the_library_does(tmp_path: Path, run: Run, binding: str) -> None:
    folders = [tmp_path / name for name in ("python", binding)]
    for folder in folders:
        folder.mkdir()
    expected = through_python(folders[0])
    through = {"stdio": through_stdio, "batch": through_batch}[binding]
    answers = through(folders[1], run)
    for (operation, arguments), answer, wanted in zip(SCRIPT, answers, expected, strict=True):
        assert answer == wanted, (operation, arguments)
    codes = {answer["code"] for answer in answers if isinstance(answer, dict) and "code" in answer}
    assert {
        "duplicate_operation",
        "version_conflict",
        "access_denied",
        "unsupported_object_type",
        "invalid_object",
        "object_not_found",
        "invalid_state_transition",
        "legal_hold",
        "object_deleted",
        "object_redacted",
        "invalid_request",
        "relationship_conflict",
    } <= codes


def test_13_a_denial_reveals_nothing_through_any_binding(tmp_path: Path, run: Run) -> None:
    """An object that is there, one that is not, and one of another scope: one answer."""
    assert run("init").returncode == 0
    there = json.loads(run("create", "--type", "claim", "--content", '"secret"').stdout)
    elsewhere = json.loads(
        run("create", "--type", "claim", "--content", '"secret"', "--scope", "project:b").stdout
    )
    deny = {"rule_id": "rule:no", "effect": "deny", "actors": ["actor:agent:*"]}
    policy = json.dumps({**POLICY, "rules": [deny]})
    assert run("scope", "policy", SCOPE, "--policy", policy).returncode == 0
    asking = ("--actor", "actor:agent:spy", "--operation-id", "op:1")
    outcomes = set()
    for object_id in (there["object_id"], elsewhere["object_id"], "mem:nothing"):
        for command in (("read",), ("history",)):
            done = run(*command, object_id, *asking)
            outcomes.add((command, done.returncode, done.stdout, done.stderr))
    assert len(outcomes) == 2
    with Coprocess(tmp_path) as coprocess:
        spy = {"actor_id": "actor:agent:spy", "actor_kind": "agent"}
        answers = {
            json.dumps(
                coprocess.ask(
                    "read", scope_id=SCOPE, object_id=name, actor=spy, operation_id="op:1"
                )
            )
            for name in (there["object_id"], elsewhere["object_id"], "mem:nothing")
        }
    assert len(answers) == 1
    assert "access_denied" in answers.pop()
