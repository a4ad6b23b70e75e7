"""Side by side: two things timed in turn, in one run, and the ratio between them.

Machines are noisy and differ; a ratio of medians taken A B A B … in one run is what can be
compared. Nothing here is an absolute limit.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Comparison:
    """A ratio and what it was made of, in seconds."""

    name: str
    ours: float
    peer: float
    target: str
    higher_is_better: bool = False

    @property
    def ratio(self) -> float:
        """How many times the peer's cost ours is; of rates, how many times its rate."""
        return self.peer / self.ours if self.higher_is_better else self.ours / self.peer

    def row(self) -> str:
        """A row of the table in README.md."""
        return (
            f"| {self.name} | {_spoken(self.ours)} | {_spoken(self.peer)} | "
            f"{self.ratio:.2f} | {self.target} |"
        )


HEADER = "| what | pamctl | peer | ratio | target |\n|---|---|---|---|---|"


def in_turn(
    ours: Callable[[], object],
    peer: Callable[[], object],
    rounds: int,
    *,
    warm_up: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Median seconds of each, run alternately. clock: `time.process_time` for what runs in this
    process and waits for nothing, so that other programs do not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + warm_up):
        for which, call in enumerate((ours, peer)):
            start = clock()
            call()
            if number >= warm_up:
                times[which].append(clock() - start)
    return median(times[0]), median(times[1])


def command(arguments: Sequence[str], **more: object) -> Callable[[], object]:
    """A whole process, its output thrown away."""

    def run() -> None:
        subprocess.run(  # type: ignore[call-overload]
            arguments, check=True, stdout=subprocess.DEVNULL, **more
        )

    return run


def _spoken(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.1f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.2f} s"
