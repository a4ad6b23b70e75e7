"""Fuzzes a target until its time is up: `python -m tests.fuzz.run TARGET [SECONDS]`.

With atheris installed the interpreter is instrumented, and inputs that reach new code are kept
and changed further. Without it the seeds are changed at random, which finds less. An input that
a target fails on is written to `crash-<digest>` and the status is not 0.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from hashlib import sha256
from pathlib import Path

from tests.fuzz.mutations import mutated


def main(name: str, seconds: int) -> int:
    if importlib.util.find_spec("atheris") is not None:
        return _guided(name, seconds)
    from tests.fuzz.targets import TARGETS

    target, chance, count = TARGETS[name], random.Random(), 0
    seeds, until = list(target.seeds()), time.monotonic() + seconds
    while time.monotonic() < until:
        data = mutated(chance.choice(seeds), chance)
        count += 1
        try:
            target.read(data)
        except BaseException:
            place = Path(f"crash-{sha256(data).hexdigest()[:16]}")
            place.write_bytes(data)
            print(f"{name}: the input is in {place}", file=sys.stderr)
            raise
    print(f"{name}: {count} inputs, nothing found")
    return 0


def _guided(name: str, seconds: int) -> int:
    import tempfile

    import atheris

    with atheris.instrument_imports(include=["pamctl"]):
        from tests.fuzz.targets import TARGETS

    target = TARGETS[name]

    def change(data: bytes, size_max: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(data, size_max))
        return mutated(data, chance)[:size_max]

    with tempfile.TemporaryDirectory(prefix="pamctl-corpus-") as corpus:
        for number, seed in enumerate(target.seeds()):
            (Path(corpus) / f"seed-{number}").write_bytes(seed)
        options = [sys.argv[0], f"-max_total_time={seconds}", "-max_len=65536", corpus]
        atheris.Setup(options, target.read, custom_mutator=change)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60))
