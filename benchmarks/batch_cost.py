"""What many operations cost in one batch, against as many processes as cost the same.

    python -m benchmarks.batch_cost [OPERATIONS] [PROCESSES]

A batch of keyed creates from a file, and single `pamctl create` processes, each on a store of its
own: a few processes, then the batch, then a few more. What is demanded is that 50,000 operations
cost less than 40 processes. The memory that the batch took at most is printed too: it must not
grow with the input.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pamctl
from benchmarks.measure import HEADER, Comparison
from benchmarks.throughput import requests

PAMCTL = str(Path(sys.executable).with_name("pamctl"))


def _single(store: Path, number: int) -> float:
    start = time.perf_counter()
    subprocess.run(
        [PAMCTL, "create", "--type", "observation", "--content", f'"Memory {number}."',
         "--idempotency-key", f"single:{number}", "--store", str(store)],
        check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - start


def main(operations: int, processes: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        source = folder / "requests.jsonl"
        with open(source, "w") as out:
            for request in requests(operations):
                out.write(json.dumps(request, separators=(",", ":")) + "\n")
        pamctl.init_store(folder / "single" / ".pam").close()
        pamctl.init_store(folder / "batch" / ".pam").close()
        singles = [_single(folder / "single" / ".pam", n) for n in range(processes // 2)]
        start = time.perf_counter()
        with open(os.devnull, "w") as nowhere:
            subprocess.run(
                [PAMCTL, "batch", str(source), "--store", str(folder / "batch" / ".pam")],
                check=True,
                stdout=nowhere,
            )
        took = time.perf_counter() - start
        peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        singles += [
            _single(folder / "single" / ".pam", n) for n in range(processes // 2, processes)
        ]
    print(HEADER)
    name = f"a batch of {operations:,} / {processes} single creates"
    print(Comparison(name, took, median(singles) * processes, "< 1").row())
    print(f"\nThe largest of these processes took {peak_mb:.0f} MB.")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers or [50_000]), *([40] if len(numbers) < 2 else []))
