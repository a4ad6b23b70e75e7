"""What writing costs, against the fsyncs it cannot do without, git, and SQLite.

    python -m benchmarks.throughput [CREATES]

- A single durable create through the Python API, against the bare system calls that it
  needs: create + fsync + rename + directory fsync, append + fsync, of the same bytes.
- `pamctl batch` of keyed creates from a file, against `git fast-import` of blobs from a
  file, one for each create and as long as the version that pamctl stores for it. pamctl
  also validates, chains a ledger of two entries a create, records the key and indexes the
  text; git also compresses.
- The same batch against the same creates in SQLite, each in a durable transaction of its own
  that writes the object, its event, its key and its text. Once as SQLite comes, with a rollback
  journal, and once with the write-ahead log that one has to ask for.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import pamctl
from benchmarks.measure import HEADER, Comparison, in_turn

PAMCTL = str(Path(sys.executable).with_name("pamctl"))
SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:local:bench", "actor_kind": "human"}
WORDS = (  # noqa: SIM905 - lines of words are easier to read than a list of them
    "tea garden train letter morning neighbour recipe doctor violin market school "
    "river birthday ticket winter bicycle painting promise library holiday kitchen meeting"
).split()
DURABLE_SQLITE_CREATES = 2000


def requests(creates: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Keyed creates with the sizes of conversation turns."""
    chance = random.Random(seed)
    for number in range(creates):
        text = " ".join(chance.choice(WORDS) for _ in range(chance.randint(6, 40)))
        yield {
            "operation": "create",
            "arguments": {
                "scope_id": SCOPE,
                "object_type": "observation",
                "object_id": f"mem:turn:{number}",
                "canonical_content": {"speaker": chance.choice(WORDS), "text": text},
                "actor": ACTOR,
                "provenance": {
                    "activity": "observed",
                    "source_ref": f"urn:conversation:{number // 500}:{number}",
                    "observed_at": "2026-05-08T13:56:00Z",
                    "source_confidence": 0.9,
                },
                "idempotency_key": f"turn:{number}",
            },
        }


def single_create(folder: Path, rounds: int) -> Comparison:
    """One create, and the bare system calls for as many bytes."""
    store = pamctl.init_store(folder / "single" / ".pam")
    arguments = [request["arguments"] for request in requests(rounds + 300)]
    for request in arguments[:300]:
        del request["idempotency_key"]
        made = store.create(**request)
    version = store.version_bytes(SCOPE, made["version_id"])
    entry = b"x" * (store.status()["scopes"][0]["ledger_bytes"] // 302)
    remaining = iter(arguments[300:])

    def ours() -> None:
        request = next(remaining)
        del request["idempotency_key"]
        store.create(**request)

    ours_sec, floor_sec = in_turn(ours, _bare_commit(folder, version, entry), rounds - 2)
    return Comparison("single create / bare fsyncs", ours_sec, floor_sec, "<= 1.7")


def _bare_commit(folder: Path, version: bytes, entry: bytes) -> Callable[[], None]:
    place = folder / "bare"
    place.mkdir()
    numbers = count()

    def commit() -> None:
        name = f"{next(numbers)}"
        _write_synced(place / f"{name}.new", version, os.O_CREAT | os.O_EXCL)
        (place / f"{name}.new").rename(place / name)
        directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(directory)
        os.close(directory)
        _write_synced(place / "ledger", entry, os.O_CREAT | os.O_APPEND)

    return commit


def _write_synced(path: Path, data: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)


def batch(folder: Path, creates: int, rounds: int = 5) -> list[Comparison]:
    """The batch command, git and SQLite on the same objects."""
    source = folder / "requests.jsonl"
    with open(source, "w") as out:
        for request in requests(creates):
            out.write(json.dumps(request, separators=(",", ":")) + "\n")
    blobs = folder / "blobs"
    _write_fast_import(blobs, _stored_versions(folder, source))
    numbers = count()

    def ours() -> None:
        store = folder / f"batch-{next(numbers)}" / ".pam"
        pamctl.init_store(store).close()
        start = time.perf_counter()
        with open(os.devnull, "w") as nowhere:
            subprocess.run(
                [PAMCTL, "batch", str(source), "--store", str(store)], check=True, stdout=nowhere
            )
        took.append(time.perf_counter() - start)

    def git() -> None:
        repository = folder / f"git-{next(numbers)}"
        subprocess.run(["git", "init", "-q", "--bare", str(repository)], check=True)
        with open(blobs, "rb") as stream:
            start = time.perf_counter()
            subprocess.run(
                ["git", "-C", str(repository), "fast-import", "--quiet"], check=True, stdin=stream
            )
        git_took.append(time.perf_counter() - start)

    took: list[float] = []
    git_took: list[float] = []
    in_turn(ours, git, rounds, warm_up=1)
    each, git_each = median(took[1:]) / creates, median(git_took[1:]) / creates
    as_it_comes = _durable_sqlite(folder, source, "DELETE")
    with_log = _durable_sqlite(folder, source, "WAL")
    return [
        Comparison("batch, a create / git fast-import, a blob", each, git_each, ">= 0.45", True),
        Comparison("batch, a create / SQLite, a commit", each, as_it_comes, ">= 10", True),
        Comparison("the same / SQLite in WAL mode, a commit", each, with_log, "", True),
    ]


def _stored_versions(folder: Path, source: Path) -> list[bytes]:
    store = folder / "sizes" / ".pam"
    pamctl.init_store(store).close()
    with open(os.devnull, "w") as nowhere:
        subprocess.run(
            [PAMCTL, "batch", str(source), "--store", str(store)], check=True, stdout=nowhere
        )
    return [
        line
        for pack in sorted(store.glob("scopes/*/packs/*.jsonl"))
        for line in pack.read_bytes().splitlines()
    ]


def _write_fast_import(path: Path, blobs: list[bytes]) -> None:
    with open(path, "wb") as out:
        for blob in blobs:
            out.write(b"blob\ndata %d\n%b\n" % (len(blob), blob))


def _durable_sqlite(folder: Path, source: Path, journal: str) -> float:
    """Seconds for one create in a transaction of its own, as durable as ours."""
    database = sqlite3.connect(folder / f"peer-{journal}.sqlite", isolation_level=None)
    database.execute("PRAGMA synchronous=FULL")
    database.execute(f"PRAGMA journal_mode={journal}")
    database.execute("CREATE TABLE object (id TEXT PRIMARY KEY, body TEXT)")
    database.execute("CREATE TABLE event (n INTEGER PRIMARY KEY, object TEXT, at REAL)")
    database.execute("CREATE TABLE done (key TEXT PRIMARY KEY, object TEXT) WITHOUT ROWID")
    database.execute("CREATE VIRTUAL TABLE text USING fts5 (words)")
    with open(source) as lines:
        requests = [json.loads(line)["arguments"] for line in lines][:DURABLE_SQLITE_CREATES]
    start = time.perf_counter()
    for request in requests:
        identifier = request["object_id"]
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO object VALUES (?, ?)", (identifier, json.dumps(request)))
        database.execute("INSERT INTO event VALUES (NULL, ?, ?)", (identifier, time.time()))
        database.execute("INSERT INTO done VALUES (?, ?)", (request["idempotency_key"], identifier))
        database.execute("INSERT INTO text VALUES (?)", (request["canonical_content"]["text"],))
        database.execute("COMMIT")
    took = time.perf_counter() - start
    database.close()
    return took / len(requests)


def main(creates: int) -> None:
    """Print the table."""
    # On the disk where stores live; a folder in memory would make every fsync free.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        print(HEADER)
        print(single_create(folder, 300).row())
        for comparison in batch(folder, creates):
            print(comparison.row())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
