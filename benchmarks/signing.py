"""What signing costs: the same work by an actor that is bound to a key and by one that is not.

    python -m benchmarks.signing [CREATES]

- One signature and one verification, bare, as the library makes them.
- `pamctl create` and `pamctl query` as processes, each against `import typer` and each other.
- A single durable create through the Python API.
- `pamctl batch` of keyed creates, and `pamctl fsck` of what it wrote.

About two minutes for 20,000 creates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median

import pamctl
from benchmarks.measure import HEADER, Comparison, command, in_turn
from benchmarks.throughput import ACTOR, PAMCTL, requests
from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.version_signatures import sign, verified
from pamctl.service.store import Store


def made(folder: Path, name: str, *, bound: bool) -> Path:
    """A store whose benchmarking actor is bound to a key, or is not."""
    path = folder / name / ".pam"
    pamctl.init_store(path, actor=ACTOR, owner_key=bound).close()
    return path


def bare(folder: Path) -> list[Comparison]:
    """A signature and its verification against the library's own."""
    key = PrivateKey.from_seed(os.urandom(32))
    store = pamctl.open_store(made(folder, "bare", bound=False))
    request = next(iter(requests(1)))["arguments"]
    envelope = store.create(**request)["envelope"]
    whole = {**envelope, "integrity": sign(envelope, key)}
    message = json.dumps(envelope).encode()
    signature = key.sign(message)

    def many(act: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(500):
                act()

        return run

    pairs = (
        ("sign a version / sign its bytes", lambda: sign(envelope, key), lambda: key.sign(message)),
        (
            "verify a version / verify its bytes",
            lambda: verified(whole),
            lambda: key.public.verify(signature, message),
        ),
    )
    rows = []
    for name, ours, peer in pairs:
        ours_sec, peer_sec = in_turn(many(ours), many(peer), 15)
        rows.append(Comparison(name, ours_sec / 500, peer_sec / 500, ""))
    return rows


def processes(folder: Path, rounds: int) -> list[Comparison]:
    """Whole commands, by a bound actor and by another, against the imports they cannot avoid."""
    words = {
        "create": ["create", "--type", "claim", "--content", '"x"'],
        "query": ["query", "--limit", "1"],
    }
    rows = []
    typer = command([sys.executable, "-c", "import typer"])
    for verb, arguments in words.items():
        runs = {}
        for bound in (True, False):
            path = str(made(folder, f"{verb}-{bound}", bound=bound))
            actor = ["--actor", ACTOR["actor_id"], "--store", path]
            runs[bound] = command([PAMCTL, *arguments, *actor])
        ours, peer = in_turn(runs[True], typer, rounds)
        target = "<= 2.2" if verb == "create" else ""
        rows.append(Comparison(f"`pamctl {verb}`, signed / `import typer`", ours, peer, target))
        ours, peer = in_turn(runs[True], runs[False], rounds)
        rows.append(Comparison(f"`pamctl {verb}`, signed / not", ours, peer, ""))
    return rows


def single(folder: Path, rounds: int) -> Comparison:
    """One durable create of each kind through the Python API."""

    def creating(store: Store) -> Callable[[], None]:
        remaining = iter([request["arguments"] for request in requests(rounds + 300)])

        def create() -> None:
            request = next(remaining)
            del request["idempotency_key"]
            store.create(**request)

        return create

    ours, peer = in_turn(
        creating(pamctl.open_store(made(folder, "one-signed", bound=True))),
        creating(pamctl.open_store(made(folder, "one-plain", bound=False))),
        rounds,
    )
    return Comparison("single durable create, signed / not", ours, peer, "")


def bulk(folder: Path, creates: int, rounds: int = 3) -> list[Comparison]:
    """The batch command and the check of what it wrote."""
    source = folder / "requests.jsonl"
    with open(source, "w") as out:
        for request in requests(creates):
            out.write(json.dumps(request, separators=(",", ":")) + "\n")
    numbers = count()
    took: dict[tuple[str, bool], list[float]] = {}

    def run(bound: bool) -> None:
        store = made(folder, f"bulk-{next(numbers)}", bound=bound)
        for name, words in (("batch", ["batch", str(source)]), ("fsck", ["fsck", "--jobs", "2"])):
            start = time.perf_counter()
            with open(os.devnull, "w") as nowhere:
                subprocess.run([PAMCTL, *words, "--store", str(store)], check=True, stdout=nowhere)
            took.setdefault((name, bound), []).append((time.perf_counter() - start) / creates)

    for _ in range(rounds):
        run(True)
        run(False)
    return [
        Comparison(
            f"{name}, a version, signed / not",
            median(took[name, True]),
            median(took[name, False]),
            "",
        )
        for name in ("batch", "fsck")
    ]


def main(creates: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        print(HEADER)
        for row in (
            *bare(folder),
            *processes(folder, 20),
            single(folder, 200),
            *bulk(folder, creates),
        ):
            print(row.row(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
