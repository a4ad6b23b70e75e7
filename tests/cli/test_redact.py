"""`pamctl redact`, `delete --erase` and `expire`, and the same through batch and stdio."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
from collections.abc import Callable
from typing import Any

from tests.cli.conftest import Program
from tests.cli.test_stdio import Coprocess
from tests.remnants import remnants

Remember = Callable[..., Any]
SECRET = "qzxwvk wvqzkx"


def expect(made: Any) -> tuple[str, ...]:
    return ("--expect", made["version_id"], "--policy-basis", "asked by its subject")


def answering(program: Program, answer: str, *words: str) -> tuple[int, str]:
    """One run at a terminal where somebody types `answer` at the question."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*program.command, *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=program.folder,
        env={**program.environment, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(terminal)
    shown = b""
    while select.select([controller], [], [], 60)[0]:
        try:
            part = os.read(controller, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
        if shown.endswith(b"[y/N] "):
            os.write(controller, answer.encode() + b"\n")
    os.close(controller)
    return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")


def test_redact_hides_and_a_transition_shows(in_store: Program, remember: Remember) -> None:
    made = remember(SECRET)
    object_id = made["object_id"]
    hidden = in_store("redact", object_id, *expect(made)).json
    assert hidden["envelope"]["canonical_content"] == {"tombstone": True}
    assert in_store("read", object_id).error["code"] == "object_redacted"
    words = ("transition", object_id, "availability", "available", *expect(hidden))
    assert in_store(*words).json["envelope"]["canonical_content"] == {"text": SECRET}


def test_redact_masks_members(in_store: Program) -> None:
    content = json.dumps({"guest": {"name": "Ada", "phone": SECRET}, "a/b": 1})
    made = in_store("create", "--type", "claim", "--content", content, "--id", "mem:1").json
    words = ("redact", "mem:1", "--path", "/guest/phone", "--path", "/a~1b")
    hidden = in_store(*words, *expect(made)).json
    assert hidden["envelope"]["canonical_content"] == {
        "guest": {"name": "Ada", "phone": "[REDACTED]"},
        "a/b": "[REDACTED]",
    }
    again = in_store(*words, *expect(hidden))
    assert (again.status, again.error["code"]) == (6, "invalid_state_transition")
    nothing = in_store("redact", "mem:1", "--path", "/guest/age", *expect(hidden))
    assert (nothing.status, nothing.error["details"]["pointer"]) == (2, "/paths/0")
    malformed = in_store("redact", "mem:1", "--path", "guest", *expect(hidden))
    assert (malformed.status, malformed.error["details"]["pointer"]) == (2, "/paths/0")


def test_erasing_in_a_pipe_asks_nothing(in_store: Program, remember: Remember) -> None:
    made, kept = remember(SECRET), remember("kept")
    store = in_store.folder / ".pam"
    assert remnants(store, SECRET)
    erased = in_store("redact", made["object_id"], *expect(made), "--erase")
    assert erased.json["erased_versions"] == 1
    assert erased.stderr == b""
    assert remnants(store, SECRET) == []
    deleted = in_store("delete", kept["object_id"], *expect(kept)).json
    erased = in_store("delete", kept["object_id"], *expect(deleted), "--erase")
    assert erased.json["erased_versions"] == 1
    again = in_store("delete", kept["object_id"], *expect(deleted), "--erase")
    assert (again.status, again.error["code"]) == (9, "object_deleted")
    history = in_store("history", made["object_id"]).json["items"]
    assert [one["canonical_content"] for one in history] == [{"tombstone": True}] * 2
    read = in_store("read", made["object_id"], "--version", made["version_id"])
    assert (read.status, read.error["code"]) == (9, "object_redacted")


def test_erasing_at_a_terminal_asks_first(in_store: Program, remember: Remember) -> None:
    store = in_store.folder / ".pam"
    for operation, done in (("redact", "redacted"), ("delete", "deleted")):
        made = remember(SECRET)
        words = (operation, made["object_id"], *expect(made), "--erase")
        status, shown = answering(in_store, "n", *words)
        assert (status, "Erase all content of" in shown) == (130, True)
        assert "nothing was changed" in shown
        status, shown = answering(in_store, "", *words)
        assert status == 130
        assert in_store("read", made["object_id"]).status == 0
        status, shown = answering(in_store, "y", *words)
        assert status == 0, shown
        assert f"{done} {made['object_id']}" in shown
        assert "erased 1 versions" in shown
        assert remnants(store, SECRET) == []
        made = remember(SECRET)
        status, shown = in_store.at_terminal(
            operation, made["object_id"], *expect(made), "--erase", "--yes"
        )
        assert (status, "[y/N]" in shown) == (0, False)
    made = remember(SECRET)
    status, shown = in_store.at_terminal("redact", made["object_id"], *expect(made))
    assert (status, "[y/N]" in shown) == (0, False)


def test_text_that_stands_elsewhere_is_told_of(in_store: Program) -> None:
    content = json.dumps({"a": SECRET, "b": f"again {SECRET}"})
    made = in_store("create", "--type", "claim", "--content", content, "--id", "mem:1").json
    done = in_store("redact", "mem:1", "--path", "/a", "--erase", *expect(made))
    assert done.json["also_found_in"] == [done.json["version_id"]]
    assert b"also stands in members that were not named" in done.stderr
    assert SECRET.encode() not in done.stderr


def test_a_legal_hold_stops_it_in_batch_and_over_stdio_too(
    in_store: Program, remember: Remember
) -> None:
    made = remember("held", "--retention", "legal_hold", "--id", "mem:held")
    for words in (
        ("redact", "mem:held", "--erase"),
        ("redact", "mem:held", "--path", "/text"),
        ("delete", "mem:held"),
        ("delete", "mem:held", "--erase"),
        ("transition", "mem:held", "availability", "deleted"),
    ):
        refused = in_store(*words, *expect(made))
        assert (refused.status, refused.error["code"]) == (8, "legal_hold")
    arguments = {"object_id": "mem:held", "expected_version_id": made["version_id"]}
    requests = [
        {"operation": operation, "arguments": {**arguments, **more}}
        for operation in ("redact", "delete")
        for more in ({}, {"erase": True})
    ]
    lines = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
    done = in_store("batch", "--continue-on-error", stdin=lines)
    assert [json.loads(line)["error"]["code"] for line in done.stdout.splitlines()] == [
        "legal_hold"
    ] * 4
    coprocess = Coprocess(in_store)
    actor = {"actor_id": "actor:bot", "actor_kind": "agent"}
    for request in requests:
        error = coprocess.ask(
            request["operation"],
            **{**request["arguments"], "scope_id": "workspace:default", "actor": actor},
        )
        assert error["code"] == "legal_hold"
    coprocess.process.communicate(timeout=60)
    assert coprocess.process.returncode == 0
    assert in_store("read", "mem:held").json["version_id"] == made["version_id"]


def test_redact_through_batch(in_store: Program, remember: Remember) -> None:
    made = [remember(f"{SECRET} {number}") for number in range(3)]
    requests = [
        {
            "operation": "redact",
            "arguments": {
                "object_id": one["object_id"],
                "expected_version_id": one["version_id"],
                "erase": True,
                "idempotency_key": one["object_id"],
            },
        }
        for one in made
    ]
    lines = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
    for replayed in (False, True):
        done = in_store("batch", stdin=lines)
        results = [json.loads(line)["result"] for line in done.stdout.splitlines()]
        assert [result["replayed"] for result in results] == [replayed] * 3
        assert [result["erased_versions"] for result in results] == [1] * 3
        assert remnants(in_store.folder / ".pam", SECRET) == []


def test_expire(in_store: Program, remember: Remember) -> None:
    made = remember("chatter")
    held = remember("held", "--retention", "legal_hold")
    nothing = in_store("expire").json
    assert (nothing["items"], nothing["held"]) == ([], 0)
    scope = in_store("scope", "show", "workspace:default").json
    rules = [{"rule_id": "rule:at-once", "expires_after_sec": 0}]
    policy = json.dumps({**scope["policy"], "retention": rules})
    (in_store.folder / "policy.json").write_text(policy)
    words = ("scope", "policy", "workspace:default", "--policy-file", "policy.json")
    assert in_store(*words).status == 0
    dry = in_store("expire", "--dry-run")
    assert [item["object_id"] for item in dry.json["items"]] == [made["object_id"]]
    assert b"1 more would be due, were it not for a legal hold" in dry.stderr
    (item,) = in_store("expire", "--quiet").json["items"]
    assert (item["object_id"], item["policy_rule_id"]) == (made["object_id"], "rule:at-once")
    assert in_store("read", made["object_id"]).json["retention_state"] == "expired"
    assert in_store("read", held["object_id"]).json["retention_state"] == "legal_hold"
    assert in_store("expire").json["items"] == []
