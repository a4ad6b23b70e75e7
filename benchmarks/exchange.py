"""What it costs to carry memory away and to take it over.

    python -m benchmarks.exchange [CREATES]

- An export through the Python API, uncompressed, against one pass that reads the same lines (those
  of the ledger and of the packs) and takes the SHA-256 of each. In one process; the pass writes
  nothing, so the bundle goes to the null device. In the second row it goes to a file.
- `pamctl import` into a new store, against `pamctl batch` of the creates that the bundle holds.
  An import checks all that a batch makes: chain, digests, schemas, numbers and transitions; the
  index is made on the way, as a batch makes it.

Processor time for the first, because nothing in it waits for a device; elapsed time for the second.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from statistics import median

import orjson

import pamctl
from benchmarks.measure import HEADER, Comparison
from benchmarks.throughput import PAMCTL, requests


def in_turn(
    ours: Callable[[], float], peer: Callable[[], float], rounds: int
) -> tuple[float, float]:
    """Median seconds of each, as they measured themselves, run alternately."""
    times = [(ours(), peer()) for _ in range(rounds + 1)][1:]
    return median(one for one, _ in times), median(other for _, other in times)


def timed(*command: str) -> float:
    """Seconds of a whole process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def export(root: Path, to: str, rounds: int) -> Comparison:
    """An export, and a pass over the same lines."""
    store = pamctl.open_store(root)
    read = [*sorted(root.glob("scopes/*/ledger.jsonl")), *sorted(root.glob("scopes/*/packs/*"))]

    def ours() -> float:
        start = time.process_time()
        with open(to, "wb") as target:
            pamctl.export_bundle(store, target)
        return time.process_time() - start

    def peer() -> float:
        start = time.process_time()
        for path in read:
            with path.open("rb") as file:
                for line in file:
                    sha256(line).digest()
        return time.process_time() - start

    took, passed = in_turn(ours, peer, rounds)
    name = f"export to {'nowhere' if to == os.devnull else 'a file'}, against reading and hashing"
    return Comparison(name, took, passed, "≥ 0.4", higher_is_better=True)


def import_(folder: Path, bundle: Path, batch: Path, rounds: int) -> Comparison:
    """An import into a new store, and a batch of what is in the bundle."""
    serial = count()

    def measured(*words: str) -> float:
        place = folder / f"taken-{next(serial)}"
        subprocess.run([PAMCTL, "init", str(place)], check=True, stdout=subprocess.DEVNULL)
        took = timed(PAMCTL, *words, "--store", str(place / ".pam"))
        shutil.rmtree(place)
        return took

    took, batched = in_turn(
        lambda: measured("import", str(bundle)), lambda: measured("batch", str(batch)), rounds
    )
    return Comparison("import, against batch", took, batched, "≥ 0.7", higher_is_better=True)


def main() -> None:
    creates = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory(prefix="pamctl-exchange-") as temporary:
        folder = Path(temporary)
        batch = folder / "batch.jsonl"
        with batch.open("wb") as file:
            for request in requests(creates):
                file.write(orjson.dumps(request) + b"\n")
        origin = folder / "origin"
        subprocess.run([PAMCTL, "init", str(origin)], check=True, stdout=subprocess.DEVNULL)
        timed(PAMCTL, "batch", str(batch), "--store", str(origin / ".pam"))
        bundle = folder / "bundle.jsonl"
        timed(PAMCTL, "export", "--store", str(origin / ".pam"), "--output", str(bundle))
        size = bundle.stat().st_size
        print(f"{creates} creates, a bundle of {size / 1e6:.1f} MB\n")
        print(HEADER)
        print(export(origin / ".pam", os.devnull, 9).row(), flush=True)
        print(export(origin / ".pam", str(folder / "out.jsonl"), 9).row(), flush=True)
        print(import_(folder, bundle, batch, 5).row(), flush=True)


if __name__ == "__main__":
    main()
