"""PAMSPEC §14: every error code, from the command line, with its envelope and exit status."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pamctl.errors import CODES
from pamctl.model.documents import check
from tests.conftest import Run, clean_environment, pamctl_program, unmeasured

Command = Callable[..., "subprocess.CompletedProcess[bytes]"]

EXIT_STATUSES = {
    "invalid_request": 2,
    "invalid_object": 10,
    "unsupported_object_type": 10,
    "object_not_found": 3,
    "scope_not_found": 3,
    "access_denied": 7,
    "policy_denied": 7,
    "version_conflict": 4,
    "duplicate_operation": 5,
    "invalid_state_transition": 6,
    "relationship_conflict": 6,
    "embedding_space_mismatch": 10,
    "snapshot_not_found": 3,
    "retention_restriction": 8,
    "legal_hold": 8,
    "object_redacted": 9,
    "object_deleted": 9,
    "service_unavailable": 75,
    "internal_error": 1,
}
RETRYABLE = {"version_conflict", "service_unavailable"}


@pytest.fixture
def pamctl(run: Run) -> Run:
    """The program in a folder with a store."""
    assert run("init").returncode == 0
    return run


def created(pamctl: Run, *flags: str, content: str = '"tea"') -> dict[str, Any]:
    done = pamctl("create", "--type", "claim", "--content", content, *flags)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def moved(pamctl: Run, made: dict[str, Any], dimension: str, state: str) -> dict[str, Any]:
    done = pamctl(
        "transition", made["object_id"], dimension, state, "--expect", made["version_id"],
        "--policy-basis", "policy:test",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def refused(done: "subprocess.CompletedProcess[bytes]", code: str) -> dict[str, Any]:
    """The envelope of a refusal, which is all that was printed."""
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    envelope: dict[str, Any] = json.loads(done.stderr)
    check("error", envelope)
    assert envelope["code"] == code, envelope
    assert done.returncode == EXIT_STATUSES[code]
    assert envelope["retryable"] is (code in RETRYABLE)
    assert envelope["operation_id"]
    assert envelope["message"]
    return envelope


def changing(made: dict[str, Any], *words: str) -> tuple[str, ...]:
    """A command's words about a version."""
    return (*words[:1], made["object_id"], *words[1:], "--expect", made["version_id"])


BASIS = ("--policy-basis", "policy:test")


def test_14_the_codes_are_these_nineteen() -> None:
    assert {kind.code: kind.exit_status for kind in CODES} == EXIT_STATUSES
    assert {kind.code for kind in CODES if kind.retryable} == RETRYABLE


def test_14_invalid_request(pamctl: Run) -> None:
    refused(pamctl("create", "--type", "claim"), "invalid_request")
    refused(pamctl("create", "--type", "claim", "--content", '{"a":1,"a":2}'), "invalid_request")
    refused(pamctl("no-such-command"), "invalid_request")


def test_14_invalid_object(pamctl: Run) -> None:
    done = pamctl("create", "--type", "working_memory", "--content", '{"no": "task"}')
    assert refused(done, "invalid_object")["details"]["pointer"].startswith("/canonical_content")


def test_14_unsupported_object_type(pamctl: Run) -> None:
    done = pamctl("create", "--type", "nonsense", "--content", "1")
    refused(done, "unsupported_object_type")


def test_14_object_not_found(pamctl: Run) -> None:
    refused(pamctl("read", "mem:nothing"), "object_not_found")


def test_14_scope_not_found(run: Run) -> None:
    refused(run("status"), "scope_not_found")
    assert run("init").returncode == 0
    refused(run("scope", "show", "project:nowhere"), "scope_not_found")


def test_14_access_denied(pamctl: Run) -> None:
    deny = {"rule_id": "rule:no", "effect": "deny", "actors": ["actor:agent:*"]}
    policy = {"policy_version": 1, "default_effect": "allow", "rules": [deny]}
    done = pamctl("scope", "policy", "workspace:default", "--policy", json.dumps(policy))
    assert done.returncode == 0
    envelope = refused(pamctl("read", "mem:tea", "--actor", "actor:agent:spy"), "access_denied")
    assert envelope["policy_rule_id"] == "rule:no"


def test_14_policy_denied(pamctl: Run) -> None:
    policy = {"policy_version": 1, "default_effect": "allow", "overrides": []}
    done = pamctl("scope", "policy", "workspace:default", "--policy", json.dumps(policy))
    assert done.returncode == 0
    made = created(pamctl, "--lifecycle", "archived")
    refused(pamctl(*changing(made, "transition", "lifecycle", "active"), *BASIS), "policy_denied")


def test_14_version_conflict(pamctl: Run) -> None:
    """Vector stale-expected-version."""
    made = created(pamctl)
    update = changing(made, "update", "--content", '"more"')
    newer = json.loads(pamctl(*update).stdout)
    details = refused(pamctl(*update), "version_conflict")["details"]
    assert details["current_version_id"] == newer["version_id"]
    assert details["expected_version_id"] == made["version_id"]


def test_14_duplicate_operation(pamctl: Run) -> None:
    """Vector duplicate-operation-different-content."""
    created(pamctl, "--idempotency-key", "key:1")
    done = pamctl(
        "create", "--type", "claim", "--content", '"coffee"', "--idempotency-key", "key:1"
    )
    refused(done, "duplicate_operation")


def test_14_invalid_state_transition(pamctl: Run) -> None:
    made = created(pamctl)
    done = pamctl(*changing(made, "transition", "lifecycle", "candidate"), *BASIS)
    refused(done, "invalid_state_transition")


def test_14_relationship_conflict(pamctl: Run) -> None:
    created(pamctl, "--id", "mem:a")
    created(pamctl, "--id", "mem:b")
    relate = ("relate", "mem:a", "supports", "mem:b")
    assert pamctl(*relate).returncode == 0
    refused(pamctl(*relate), "relationship_conflict")


def test_14_embedding_space_mismatch(pamctl: Run, tmp_path: Path) -> None:
    """A question for what is similar, in a space that the scope does not have."""
    document = {
        "operation_id": "op:1",
        "scope_id": "workspace:default",
        "query": {"kind": "semantic", "text": "tea"},
        "pagination": {"limit": 5},
        "embedding_space_id": "embspace:nowhere",
    }
    (tmp_path / "query.json").write_text(json.dumps(document))
    refused(pamctl("query", "--query-file", "query.json"), "embedding_space_mismatch")


def test_14_snapshot_not_found(pamctl: Run, tmp_path: Path) -> None:
    document = {
        "operation_id": "op:1",
        "scope_id": "workspace:default",
        "query": {"kind": "structured"},
        "pagination": {"limit": 5},
        "snapshot_id": "snap:nothing",
    }
    (tmp_path / "query.json").write_text(json.dumps(document))
    refused(pamctl("query", "--query-file", "query.json"), "snapshot_not_found")
    created(pamctl, "--id", "mem:tea")
    refused(pamctl("read", "mem:tea", "--snapshot", "snap:nothing"), "snapshot_not_found")
    refused(pamctl("query", "--snapshot", "snap:nothing"), "snapshot_not_found")


def test_14_retention_restriction(pamctl: Run) -> None:
    made = moved(pamctl, created(pamctl), "retention", "pending_deletion")
    done = pamctl(*changing(made, "update", "--content", '"more"'))
    refused(done, "retention_restriction")


def test_14_legal_hold(pamctl: Run) -> None:
    """Vector deletion-blocked-by-legal-hold."""
    made = moved(pamctl, created(pamctl), "retention", "legal_hold")
    refused(pamctl(*changing(made, "delete"), *BASIS), "legal_hold")


def test_14_object_redacted(pamctl: Run) -> None:
    made = moved(pamctl, created(pamctl), "availability", "redacted")
    refused(pamctl("read", made["object_id"]), "object_redacted")


def test_14_object_deleted(pamctl: Run) -> None:
    made = created(pamctl)
    assert pamctl(*changing(made, "delete"), *BASIS).returncode == 0
    refused(pamctl("read", made["object_id"]), "object_deleted")


def test_14_service_unavailable(pamctl: Run, tmp_path: Path) -> None:
    """A disk that takes no more: nothing is printed, nothing half written, and later it works."""
    made = created(pamctl)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, resource, signal, sys\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
            "os.execv(sys.argv[1], sys.argv[1:])",
            str(pamctl_program()),
            *changing(made, "update", "--content", '"more"'),
        ],
        capture_output=True,
        cwd=tmp_path,
        # What was measured would have to be written as well.
        env=unmeasured(clean_environment(tmp_path)),
        timeout=60,
        check=False,
    )
    refused(done, "service_unavailable")
    assert json.loads(pamctl("read", made["object_id"]).stdout) == made["envelope"]
    assert pamctl(*changing(made, "update", "--content", '"more"')).returncode == 0


def test_14_internal_error(pamctl: Run, tmp_path: Path) -> None:
    """A ledger whose past was edited."""
    created(pamctl)
    created(pamctl)
    (ledger,) = tmp_path.glob(".pam/scopes/*/ledger.jsonl")
    ledger.write_bytes(ledger.read_bytes().replace(b"object_created", b"object_updated", 1))
    for file in tmp_path.glob(".pam/index/*"):
        file.unlink()
    refused(pamctl("log"), "internal_error")


def test_14_an_error_tells_nothing_of_content(pamctl: Run) -> None:
    made = created(pamctl, content='{"secret": "tea"}')
    held = moved(pamctl, made, "retention", "legal_hold")
    commands = (
        changing(made, "update", "--content", '"more"'),
        (*changing(held, "delete"), *BASIS),
        (*changing(held, "transition", "lifecycle", "scratch"), *BASIS),
        changing(held, "update", "--patch", '[{"op":"remove","path":"/nothing"}]'),
        ("create", "--type", "claim", "--content", "1", "--id", made["object_id"]),
    )
    for command in commands:
        done = pamctl(*command)
        assert done.returncode != 0
        assert b"tea" not in done.stderr
        assert b"secret" not in done.stderr


def test_14_the_operation_of_an_error_is_the_one_that_was_named(pamctl: Run) -> None:
    done = pamctl("read", "mem:nothing", "--operation-id", "op:mine")
    assert refused(done, "object_not_found")["operation_id"] == "op:mine"
