"""Processes that share the work of a check."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pamctl.model.documents import is_valid

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

SCHEMAS = ("event", "version-file", "ledger-entry", "ledger-entry#/$defs/idempotency_body")
"""What nearly every line is held to."""

Run = Callable[[Sequence[Callable[[], Any]]], Iterable[Any]]
"""Works tasks off, by as many processes as there are, and gives their results in order."""

_COLLECT_SELDOM = 100_000


class Workers:
    """So many processes; with one, the work is done here. A context manager.

    They are copies of this process, so that what is loaded and compiled here need not be once
    more in each of them. Where there is a second thread, whose locks would stay locked in a copy
    for ever, they begin from nothing.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        if self._jobs > 1:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context
            from threading import active_count

            alone = active_count() == 1
            for name in SCHEMAS:
                is_valid(name, None)
            context = get_context("fork" if alone else "spawn")
            calm = partial(gc.set_threshold, _COLLECT_SELDOM)
            self._pool = ProcessPoolExecutor(self._jobs, context, calm)
        return self

    def __exit__(self, *failure: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def run(self, tasks: Sequence[Callable[[], Any]]) -> Iterable[Any]:
        """The results of tasks, in their order. What a task raises is raised here, and those
        that were not begun are not begun then."""
        if self._pool is None or len(tasks) < 2:
            return self._run_here(tasks)
        return self._pool.map(_call, tasks)

    def _run_here(self, tasks: Sequence[Callable[[], Any]]) -> Iterator[Any]:
        for task in tasks:
            yield task()


def _call(task: Callable[[], Any]) -> Any:
    return task()
