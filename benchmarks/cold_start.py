"""What starting costs: every command that reads, and every single write, against what the
interpreter and one import cost, against git, and against command lines of others.

    python -m benchmarks.cold_start [ROUNDS]

Everything runs once a round, in turn, and medians are compared. `pip install --group bench`
brings the other command lines; those that are not there are left out. A store of 1,000
memories is read, and written to; what checks a store, or a file that came from one, does so
on a signed store of five, because it is starting that is measured here, not the work.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pamctl

PAMCTL = str(Path(sys.executable).with_name("pamctl"))
SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:local:bench", "actor_kind": "human"}
IMPORT = "python -c 'import typer'"
TARGETS = {"read": 1.5, "write": 2.2}
MEMORIES = 1000
FEW = 5
SPACE = {
    "embedding_space_id": "space:bench:1",
    "provider": "bench",
    "model": "bench",
    "model_revision": "1",
    "dimensions": 2,
    "distance_metric": "cosine",
    "normalization": "l2",
    "preprocessing_profile": "none",
    "embedding_kind": "text",
    "canonicalization_rules": "none",
}


class Case(NamedTuple):
    """A command line that is measured.

    kind: `peer`, `read` or `write`.
    arguments: of round `number`, so that a write can be a new one each time.
    """

    name: str
    kind: str
    arguments: Callable[[int], Sequence[str]]


def peers() -> list[Case]:
    """What pamctl is compared with, as far as it is installed."""
    python = sys.executable
    cases = [
        Case("python -c ''", "peer", lambda _: [python, "-c", ""]),
        Case(IMPORT, "peer", lambda _: [python, "-c", "import typer"]),
    ]
    for name, *words in (
        ("git", "--version"),
        ("sqlite-utils", "--version"),
        ("http", "--version"),
    ):
        program = shutil.which(name, path=os.pathsep.join((PAMCTL.rpartition("/")[0], os.defpath)))
        if program is not None:
            call = [program, *words]
            cases.append(Case(" ".join((name, *words)), "peer", lambda _, call=call: call))
    return cases


def commands(store: Path, object_id: str) -> list[Case]:
    """Every command that reads, and every single write."""
    read = [
        "--version",
        "--help",
        "help states",
        "completion bash",
        "config",
        "status",
        f"read {object_id}",
        "query --limit 10 --any-state",
        'query --where object_type="claim" --limit 10',
        "query --text 517 --limit 10",
        "query --text memory --limit 10",
        f"history {object_id}",
        f"diff {object_id}",
        "log --limit 10",
        "scope list",
        f"scope show {SCOPE}",
        f"scope policy {SCOPE}",
        "index status",
        "snapshot list",
        "snapshot show snap:bench",
        "snapshot diff snap:bench snap:bench",
        "space list",
        "space show space:bench:1",
        "schema list",
        "schema show urn:bench:1",
        "delegate list",
        "subscribe list",
        "embed status",
        "key list",
        "key show bench",
    ]
    cases = [Case(f"pamctl {words}", "read", _of(store, words)) for words in read]
    writes = {
        "create": lambda n: ["create", "--type", "claim", "--content", '"x"'],
        "create, with a key": lambda n: [
            *("create", "--type", "claim", "--content", '"x"'),
            *("--idempotency-key", f"cold:{n}"),
        ],
        "update": lambda n: [*("update", f"mem:{n}", "--expect", f"{n}", "--content", '"y"')],
        "transition": lambda n: [
            *("transition", f"mem:{n + MEMORIES // 4}", "validation", "disputed"),
            *("--expect", f"{n + MEMORIES // 4}", "--policy-basis", "bench"),
        ],
        "relate": lambda n: ["relate", f"mem:{n}", f"about:{n}", f"mem:{n + 1}"],
        "delete": lambda n: [
            *("delete", f"mem:{n + MEMORIES // 2}", "--expect"),
            *(f"{n + MEMORIES // 2}", "--policy-basis", "bench"),
        ],
        "snapshot create": lambda n: ["snapshot", "create"],
    }
    for name, words in writes.items():
        cases.append(
            Case(
                f"pamctl {name}",
                "write",
                lambda n, words=words: [PAMCTL, *words(n), "--store", str(store)],
            )
        )
    return cases


def checks(folder: Path) -> list[Case]:
    """Every command that checks, each on the signed store of a few memories that is made for
    them in `folder`, or on what came from it."""
    folder.mkdir()
    store = folder / ".pam"
    _run("init", str(folder))
    for number in range(FEW):
        words = ("create", "--type", "claim", "--content", f'"Memory {number}"')
        _run(*words, "--validation", "corroborated", "--store", str(store))
    bundle, checkpoint, owner = (folder / name for name in ("all.pamb", "head", "owner.pem"))
    _run("export", "--output", str(bundle), "--store", str(store))
    _run("checkpoint", "create", "--output", str(checkpoint), "--store", str(store))
    owner.write_text(
        json.loads(_run("key", "show", "owner", "--store", str(store)))["public_key_pem"]
    )
    _run("key", "generate", "bench", "--store", str(store))
    made = folder / "made"
    asked = ("--request", "memory", "--out", str(made), "--store", str(store))
    _run("project", "--key", "bench", *asked)
    at = json.loads((made / "record.json").read_bytes())["created_at"]
    return [
        Case(f"pamctl {shown}", "read", lambda _, words=words: [PAMCTL, *words])
        for shown, words in {
            "fsck": ("fsck", "--store", str(store)),
            "repair": ("repair", "--store", str(store)),
            "audit": ("audit", "--store", str(store)),
            "verify-export": ("verify-export", str(bundle)),
            "verify-projection": (
                *("verify-projection", str(made), "--at", at),
                *("--store", str(store)),
            ),
            "checkpoint verify": (
                *("checkpoint", "verify", str(checkpoint), "--trust", str(owner)),
            ),
        }.items()
    ]


def _run(*words: str) -> bytes:
    """What a command prints."""
    return subprocess.run([PAMCTL, *words], check=True, stdout=subprocess.PIPE).stdout


def _of(store: Path, words: str) -> Callable[[int], Sequence[str]]:
    call = [PAMCTL, *words.split()]
    if words.split()[0] not in ("--version", "--help", "help", "completion"):
        call += ["--store", str(store)]
    return lambda _: call


def measure(cases: Sequence[Case], rounds: int, warm_up: int = 2) -> dict[str, float]:
    """Median seconds of each, run in turn."""
    took: dict[str, list[float]] = {case.name: [] for case in cases}
    for number in range(rounds + warm_up):
        for case in cases:
            arguments = case.arguments(number)
            start = time.perf_counter()
            subprocess.run(
                arguments, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            if number >= warm_up:
                took[case.name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in took.items()}


def main(rounds: int) -> None:
    """Print the table."""
    assert rounds + 4 < MEMORIES // 4
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ".pam"
        store = pamctl.init_store(path)
        versions = []
        with store.group() as group:
            for number in range(MEMORIES):
                made = group.perform(
                    "create",
                    {
                        "scope_id": SCOPE,
                        "object_id": f"mem:{number}",
                        "object_type": "claim",
                        "canonical_content": {"statement": f"Memory number {number}."},
                        "actor": ACTOR,
                        "provenance": {"activity": "created"},
                        "validation_state": "corroborated",
                    },
                )
                versions.append(made["version_id"])
        store.snapshots.create(scope_id=SCOPE, actor=ACTOR, snapshot_id="snap:bench")
        store.spaces.add(scope_id=SCOPE, actor=ACTOR, space=SPACE)
        store.schemas.add(scope_id=SCOPE, actor=ACTOR, schema_id="urn:bench:1", schema=True)
        store.close()
        _run("key", "generate", "bench", "--store", str(path), "--quiet")
        cases = [*peers(), *commands(path, f"mem:{MEMORIES - 1}"), *checks(Path(folder) / "few")]
        cases = [_with_versions(case, versions) for case in cases]
        took = measure(cases, rounds)
    base = took[IMPORT]
    print("| command | ms | / import typer | target |\n|---|---|---|---|")
    for case in cases:
        target = f"< {TARGETS[case.kind]}" if case.kind in TARGETS else ""
        ratio = took[case.name] / base
        print(f"| `{case.name}` | {took[case.name] * 1e3:.1f} | {ratio:.2f} | {target} |")


def _with_versions(case: Case, versions: Sequence[str]) -> Case:
    """A case whose --expect names the version that the memory of its number has."""

    def arguments(number: int) -> Sequence[str]:
        words = list(case.arguments(number))
        if "--expect" in words:
            place = words.index("--expect") + 1
            words[place] = versions[int(words[place])]
        return words

    return case._replace(arguments=arguments)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
