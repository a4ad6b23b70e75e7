"""How commands fail: the envelope in a pipe, a sentence at a terminal, the exit status."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from pamctl.model.documents import check
from tests.cli.conftest import Program
from tests.conftest import pamctl_program

Remember = Callable[..., Any]


def test_a_failure_in_a_pipe_is_the_error_envelope(in_store: Program) -> None:
    failed = in_store("read", "mem:nothing", "--operation-id", "op:mine")
    assert failed.status == 3
    check("error", failed.error)
    assert failed.error["code"] == "object_not_found"
    assert failed.error["operation_id"] == "op:mine"


def test_a_failure_at_a_terminal_is_a_sentence_and_advice(in_store: Program) -> None:
    status, shown = in_store.at_terminal("creat", env={"NO_COLOR": "1"})
    assert status == 2
    assert shown == "pamctl: there is no command 'creat'\n  did you mean 'create'?\n"


def test_without_a_store_it_says_how_to_make_one(pamctl: Program) -> None:
    failed = pamctl("status")
    assert failed.status == 3
    assert failed.error["code"] == "scope_not_found"
    assert "pamctl init" in failed.error["details"]["hint"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("creat",), "did you mean 'create'?"),
        (("read",), "missing argument 'OBJECT'"),
        (("read", "mem:a", "mem:b"), "unexpected extra argument"),
        (("read", "mem:a", "--stor", "x"), "--store"),
        (("query", "--lifecycle", "activ"), "did you mean 'active'?"),
        (("query", "--format", "xml"), "--format"),
        (("query", "--limit", "many"), "--limit"),
        (("transition", "mem:a", "validity", "x"), "did you mean 'validation'?"),
        (("create", "--type", "claim"), "--content is missing"),
        (("scope", "lst"), "did you mean 'list'?"),
        (("log", "--event-class", "object_creatd"), "did you mean 'object_created'?"),
        (("query", "--type", "clam"), "did you mean 'claim'?"),
        (("query", "--order-by", "comitted_at"), "did you mean 'committed_at'?"),
        (("read", "mem:a", "--porint", "x"), "did you mean '--print'?"),
        (("read", "mem:a", "--qqqq"), "pamctl read --help"),
        (("--store", "here", "status"), "'pamctl COMMAND --store'"),
        (("key", "--json", "list"), "'pamctl key COMMAND --json'"),
        (("key", "import", "laptop.pem", "--name", "laptop"), "pamctl key import --help"),
        (("create", "--type", "claim", "--content", "[9007199254740992]"), "/0 is the integer"),
        (("create", "--type", "claim", "--content", "[9007199254740992]"), "in quotes"),
        (("create", "--type", "claim", "--content", "tea"), "quotes of its own"),
        (("help", "exit-code"), "did you mean 'exit-codes'?"),
        (("help", "read"), "pamctl read --help"),
        (("completion", "tcsh"), "tcsh"),
        (("completion",), "\"missing argument 'SHELL'\""),
        (("key", "trust", "a.pem"), "<adapter|author>"),
        (("--nonsense",), "--nonsense"),
        ((), "needs a command"),
        (("scope",), "needs a command"),
    ],
)
def test_usage_errors_are_invalid_requests_that_help(
    in_store: Program, words: tuple[str, ...], said: str
) -> None:
    failed = in_store(*words)
    assert failed.status == 2
    assert failed.error["code"] == "invalid_request"
    assert said.lower() in json.dumps(failed.error, ensure_ascii=False).lower()


def test_an_unknown_object_type_of_another_organisation_is_let_pass(in_store: Program) -> None:
    assert in_store("query", "--type", "com.example.note").json["items"] == []
    assert in_store("query", "--type", "https://example.com/note").json["items"] == []


def test_a_version_conflict_says_who_when_and_how_to_see_it(
    in_store: Program, remember: Remember
) -> None:
    made = remember("tea", "--id", "mem:tea", "--actor", "actor:local:ann")
    failed = in_store("update", "mem:tea", "--expect", "ver:old", "--content", "1")
    assert failed.status == 4
    assert "actor:local:ann" in failed.error["message"]
    assert made["envelope"]["committed_at"] in failed.error["message"]
    details = failed.error["details"]
    assert details["current_version_id"] == made["version_id"]
    assert details["changed_by"] == "actor:local:ann"
    command = details["hint"].split("`")[1]
    assert in_store.shell(command).json["version_id"] == made["version_id"]
    taken = in_store("create", "--type", "claim", "--content", "1", "--id", "mem:tea")
    assert taken.status == 4
    assert "actor:local:ann" in taken.error["message"]


def test_a_refused_transition_prints_the_rule_that_permits_it(
    in_store: Program, remember: Remember
) -> None:
    version = remember("tea", "--id", "mem:tea", "--lifecycle", "scratch")["version_id"]
    words = ("transition", "mem:tea", "lifecycle", "active", "--expect", version)
    failed = in_store(*words, "--policy-basis", "true")
    assert failed.status == 6
    assert failed.error["details"]["allowed"] == ["candidate", "archived"]
    hint = failed.error["details"]["hint"]
    rule = json.loads(hint[hint.index("{") : hint.index("}") + 1])
    policy = in_store("scope", "show", "workspace:default").json["policy"]
    policy["overrides"].append(rule)
    in_store("scope", "policy", "workspace:default", "--policy", json.dumps(policy))
    done = in_store(*words, "--policy-basis", "true", "--override", rule["rule_id"])
    assert done.json["envelope"]["lifecycle_state"] == "active"
    other = in_store(*words, "--policy-basis", "x", "--override", rule["rule_id"], "--actor", "a:b")
    assert other.status in (4, 7)


def test_a_bare_call_at_a_terminal_shows_help(pamctl: Program) -> None:
    status, shown = pamctl.at_terminal()
    assert status == 2
    assert shown.startswith("Usage: pamctl")
    assert "create" in shown


def test_odd_identifiers_come_behind_two_dashes(in_store: Program) -> None:
    failed = in_store("read", "--", "--json")
    assert failed.status in (2, 3)
    assert "--json" in failed.error["message"]


def test_a_store_of_an_unknown_format_is_refused(in_store: Program) -> None:
    path = in_store.folder / ".pam" / "store.json"
    config = json.loads(path.read_text())
    path.chmod(0o644)
    path.write_text(json.dumps({**config, "format_version": 99}))
    failed = in_store("status")
    assert failed.status == 2
    assert failed.error["code"] == "invalid_request"


def test_a_store_that_cannot_be_written_is_read(in_store: Program, remember: Remember) -> None:
    object_id = remember("tea")["object_id"]
    store = in_store.folder / ".pam"
    folders = [store, *(path for path in store.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    bound = in_store.bound_by_permissions()
    try:
        assert bound("read", object_id).json["object_id"] == object_id
        refused = bound("create", "--type", "claim", "--content", "1")
        assert refused.status == 75
        assert refused.error["code"] == "service_unavailable"
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_a_defect_is_told_without_a_traceback(in_store: Program) -> None:
    (in_store.folder / "sitecustomize.py").write_text(
        "import pamctl.cli.terminal.output\n"
        "def broken(value): raise RuntimeError('boom')\n"
        "pamctl.cli.terminal.output.write_json = broken\n"
    )
    environment = {"PYTHONPATH": str(in_store.folder)}
    failed = in_store("status", env=environment)
    assert failed.status == 1
    assert b"Traceback" not in failed.stderr
    assert b"internal_error" in failed.stderr
    told = in_store("status", env={**environment, "PAM_DEBUG": "1"})
    assert told.status == 1
    assert b"Traceback" in told.stderr
    assert b"boom" in told.stderr


def test_interrupted_is_130_and_the_store_is_whole(in_store: Program) -> None:
    process = subprocess.Popen(
        [pamctl_program(), "batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=in_store.folder,
        env=in_store.environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    line = {"operation": "create", "arguments": _claim("tea")}
    process.stdin.write(json.dumps(line).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["line"] == 1
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(in_store("query", "--any-state").json["items"]) == 1


def _claim(text: str) -> dict[str, Any]:
    return {
        "object_type": "claim",
        "canonical_content": text,
        "provenance": {"activity": "created"},
    }
