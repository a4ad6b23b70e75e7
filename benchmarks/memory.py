"""The peak memory of every kind of command on a large store.

    python -m benchmarks.memory STORE            # one that benchmarks.scale --folder keeps

Commands run one after the other on the largest scope, in an order in which each finds what it
needs, and write into the store what they write. Memory does not depend on what else the machine
does. A command that makes processes counts with its largest one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.generated_store import object_id, scope_ids
from benchmarks.measure import command

PAMCTL = str(Path(sys.executable).with_name("pamctl"))
SCOPE = scope_ids()[0]
_BATCH = 20_000
_MEASURED = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
sys.stderr.write("\\n" + str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Step(NamedTuple):
    """A command: its name in the table, its words, and what it reads on standard input."""

    name: str
    words: list[str]
    given: bytes | None = None


def steps(store: Path, folder: Path, tag: str) -> Iterator[Step]:
    """Commands, each once; `tag` makes what they write new."""
    at = ["--store", str(store)]
    scoped = [*at, "--scope", SCOPE]
    yield from (Step(" ".join(words), [*words, *at]) for words in _OF_A_STORE)
    for name, words in _LOOKING.items():
        yield Step(name, [*words, *scoped])
    yield from _writing(scoped, f"mem:{tag}")
    yield Step(f"batch of {_BATCH:,} creates", ["batch", *scoped], _creates(tag))
    yield Step("pack", ["pack", *at])
    snapshot = f"snap:{tag}"
    yield Step("snapshot create", ["snapshot", "create", "--id", snapshot, *scoped])
    yield Step("snapshot show", ["snapshot", "show", snapshot, *scoped])
    second = f"{snapshot}:second"
    command([PAMCTL, "snapshot", "create", "--id", second, *scoped])()
    yield Step("snapshot diff", ["snapshot", "diff", snapshot, second, *scoped])
    asked = [PAMCTL, "query", "--text", "bau kifel"]
    yield Step("evaluate", ["evaluate", "--snapshot", snapshot, *scoped, "--", *asked])
    opened = ["subscribe", "open", "--after", "0", *scoped]
    yield Step("subscribe open", opened)
    polled = ["subscribe", "poll", _told(opened)["subscription_id"], "--limit", "1000"]
    yield Step("subscribe poll", [*polled, *scoped])
    yield from _governing(scoped, tag)
    yield from _embedding(scoped)
    yield from _signing(at, scoped, folder, tag)
    yield from _carrying(at, scoped, folder)
    yield Step("fsck", ["fsck", *at])
    yield Step("fsck --jobs 1", ["fsck", "--jobs", "1", *at])
    yield Step("repair", ["repair", *at])


_ONE = object_id(0, 0)
_BECAUSE = ["--policy-basis", "tea"]
_TASK = '{"task_ref": "task:tea", "content": ["black?", "green?"]}'
_OF_A_STORE = (["status"], ["scope", "list"], ["scope", "show", SCOPE], ["index", "status"])
_LOOKING = {
    "read": ["read", _ONE],
    "history": ["history", _ONE],
    "diff": ["diff", object_id(0, 5)],
    "log": ["log", "--limit", "1000"],
    "query, filtered": ["query", "--type", "decision", "--limit", "1000"],
    "query, words": ["query", "--text", "bau kifel", "--limit", "1000"],
    "query, counted": ["query", "--count", "--any-state"],
    "delegate list": ["delegate", "list"],
    "subscribe list": ["subscribe", "list"],
    "snapshot list": ["snapshot", "list"],
    "space list": ["space", "list"],
    "expire --dry-run": ["expire", "--dry-run"],
}


def _writing(scoped: list[str], name: str) -> Iterator[Step]:
    yield Step("create", ["create", "--type", "claim", "--content", '"tea"', "--id", name, *scoped])
    for words in (
        ["update", "--content", '"green tea"'],
        ["transition", "lifecycle", "deprecated", *_BECAUSE],
        ["redact", *_BECAUSE],
        ["redact", "--erase", "--yes", *_BECAUSE],
        ["delete", *_BECAUSE],
    ):
        called = " ".join(words[: 2 if "--erase" in words else 1])
        on = _made(f"{name}:{len(words)}:{words[0]}", "claim", '"tea"', scoped)
        yield Step(called, [words[0], *on, *words[1:], *scoped])
    on = _made(f"{name}:plan", "working_memory", _TASK, scoped)
    yield Step("promote", ["promote", *on, "--type", "decision", "--content", '"tea"', *scoped])
    yield Step("relate", ["relate", name, "related_to", _ONE, *scoped])
    yield Step("expire", ["expire", *scoped])


def _made(name: str, kind: str, content: str, scoped: list[str]) -> list[str]:
    """A new memory, as the words with which a command changes it."""
    words = ["create", "--type", kind, "--content", content, "--id", name, *scoped]
    return [name, "--expect", str(_told(words)["version_id"])]


def _governing(scoped: list[str], tag: str) -> Iterator[Step]:
    schema = f"https://example.com/{tag}"
    yield Step("schema add", ["schema", "add", schema, "--schema", "{}", *scoped])
    yield Step("schema list", ["schema", "list", *scoped])
    lent = ["--operation", "read", "--not-after", "2100-01-01T00:00:00Z", "--policy-basis", "tea"]
    yield Step("delegate grant", ["delegate", "grant", f"agent:{tag}", *lent, *scoped])
    yield Step("scope policy", ["scope", "policy", SCOPE, *scoped[:2]])


def _embedding(scoped: list[str]) -> Iterator[Step]:
    yield Step("embed run", ["embed", "run", "--builtin", *scoped])
    yield Step("embed status", ["embed", "status", *scoped])
    space = ["--space", _told(["space", "list", *scoped])["items"][0]["embedding_space_id"]]
    yield Step("embed export", ["embed", "export", *space, "--limit", "1000", *scoped])
    yield Step("query, similar", ["query", *space, "--like", _ONE, "--any-state", *scoped])
    yield Step("query, hybrid", ["query", "--hybrid", "--text", "bau kifel", *scoped])


def _signing(at: list[str], scoped: list[str], folder: Path, tag: str) -> Iterator[Step]:
    key, signed = f"owner-{tag}", str(folder / "checkpoint")
    yield Step("key generate", ["key", "generate", key, "--owner", *at])
    made = ["checkpoint", "create", "--key", key, "--output", signed]
    yield Step("checkpoint create", [*made, *scoped])
    proved = ["checkpoint", "prove", "--event", "17", "--output", str(folder / "proof")]
    yield Step("checkpoint prove", [*proved, *scoped])
    trust = ["--trust", str(Path(at[1]) / "keys" / f"{key}.json")]
    yield Step("checkpoint verify", ["checkpoint", "verify", signed, *trust, *at])
    wanted = ["--type", "decision", "--text", "bau kifel", "--request", "tea?"]
    made = ["project", "--key", key, "--out", str(folder / "projection"), *wanted]
    yield Step("project", [*made, *scoped])
    record = str(folder / "projection" / "record.json")
    yield Step("verify-projection", ["verify-projection", record, *at])
    wanted = ["--any-state", "--limit", "1000", "--request", "tea?", "--explain"]
    made = ["project", "--key", key, "--out", str(folder / "explained"), *wanted]
    yield Step("project --explain", [*made, *scoped])


def _carrying(at: list[str], scoped: list[str], folder: Path) -> Iterator[Step]:
    bundle, everything = str(folder / "scope.jsonl"), str(folder / "all.jsonl.zst")
    other = str(folder / "other" / ".pam")
    yield Step("export of a scope", ["export", "--output", bundle, *scoped])
    yield Step("verify-export of it", ["verify-export", bundle])
    command([PAMCTL, "init", "--store", other])()
    yield Step("import --dry-run of it", ["import", bundle, "--dry-run", "--store", other])
    yield Step("import of it", ["import", bundle, "--store", other])
    yield Step("export of all scopes", ["export", "--all-scopes", "--output", everything, *at])
    yield Step("verify-export of them", ["verify-export", everything])
    yield Step("audit", ["audit", "--html", str(folder / "report.html"), *at])


def _told(words: list[str]) -> Any:
    done = subprocess.run([PAMCTL, *words, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


def _creates(tag: str) -> bytes:
    arguments = (
        {
            "object_id": f"mem:{tag}:{number}",
            "object_type": "claim",
            "canonical_content": {"text": f"kifel bau {number}", "more": "x" * 400},
            "provenance": {"activity": "noted"},
            "idempotency_key": f"{tag} {number}",
        }
        for number in range(_BATCH)
    )
    requests = ({"operation": "create", "arguments": one} for one in arguments)
    return b"".join(json.dumps(request).encode() + b"\n" for request in requests)


def peak_mib(step: Step, folder: Path) -> float:
    """The peak memory of a command in MiB. It is run from a small process: a child counts with
    what its parent had in memory."""
    state = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    program = [sys.executable, "-S", "-c", _MEASURED, PAMCTL, *step.words]
    with tempfile.TemporaryFile() as answers:
        done = subprocess.run(
            program, input=step.given or b"", stdout=answers, stderr=subprocess.PIPE, env=state
        )
    if done.returncode:
        raise SystemExit(f"{step.words} ended with {done.returncode}: {done.stderr.decode()}")
    return int(done.stderr.splitlines()[-1]) / 1024


def table(store: Path, folder: Path) -> Iterator[str]:
    """Lines of a table in Markdown. `folder`: where files may be left."""
    yield "| peak memory of | MiB |"
    yield "|---|---|"
    for step in steps(store, folder, str(time.time_ns())):
        yield f"| {step.name} | {peak_mib(step, folder):.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="The peak memory of commands.")
    parser.add_argument("store", type=Path, help="a store that benchmarks.scale --folder keeps")
    store = parser.parse_args().store
    with tempfile.TemporaryDirectory(dir=store.parent) as folder:
        for line in table(store, Path(folder)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
