"""Candidates that may be delivered, until it is known which are: in bounded memory.

How many are found has no bound, and who of them is delivered is known once the last has
passed. So the best placed are kept, and whoever is delivered and was let go is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pamctl.errors import InternalError, ServiceUnavailable
from pamctl.projection.source import OpenedSource

if TYPE_CHECKING:
    from pamctl.projection.choice import Candidate

HELD_BYTES_MAX = 16 * 1024 * 1024
"""Of what may be delivered, kept in memory before all candidates have passed."""

_OBJECTS_BYTES = 1024
"""What Python takes for a candidate, besides source and fragment: roughly."""


class Held:
    """again: reads candidates once more, by their names, and need not find all of them; None
    where they are in memory anyway, so that there is nothing to be gained by letting any go."""

    def __init__(self, again: Callable[[Sequence[str]], Iterable[Candidate]] | None) -> None:
        self._again = again
        self._kept: dict[int, tuple[Candidate, OpenedSource]] = {}
        self._bytes = 0
        self._let_go_from: int | None = None

    def keep(self, rank: int, candidate: Candidate, opened: OpenedSource) -> None:
        """Keep a candidate, or let go of the worst placed. rank: its place in the order in
        which they are delivered."""
        if self._let_go_from is not None and rank > self._let_go_from:
            return
        self._kept[rank] = (candidate, opened)
        if self._again is not None:
            self._bytes += len(candidate.source) + len(opened.fragment) + _OBJECTS_BYTES
            if self._bytes > HELD_BYTES_MAX:
                self._let_go()

    def opened(
        self, wanted: Sequence[int], names: Sequence[str]
    ) -> list[tuple[Candidate, OpenedSource]]:
        """The candidates of some ranks, in the order of `wanted`; all others are let go.

        names: by rank. Raises ServiceUnavailable where one that was let go can no longer be
        read.
        """
        kept = self._kept = {rank: self._kept[rank] for rank in wanted if rank in self._kept}
        if len(kept) < len(wanted):
            kept.update(
                self._read_again({names[rank]: rank for rank in wanted if rank not in kept})
            )
        return [kept[rank] for rank in wanted]

    def _read_again(
        self, missing: Mapping[str, int]
    ) -> Iterator[tuple[int, tuple[Candidate, OpenedSource]]]:
        """Ranks, each with its candidate. missing: the ranks of names."""
        left = set(missing)
        for candidate in () if self._again is None else self._again(list(missing)):
            if not isinstance(candidate.result, OpenedSource):
                raise InternalError(f"{candidate.name} was opened once, and refused again")
            left.remove(candidate.name)
            yield missing[candidate.name], (candidate, candidate.result)
        if left:
            raise ServiceUnavailable(
                f"{min(left)} was withheld or erased while the projection was made; nothing was"
                " delivered",
                hint="run it again",
            )

    def _let_go(self) -> None:
        """Half of what is kept, so that this is done seldom."""
        for rank in sorted(self._kept, reverse=True):
            candidate, opened = self._kept.pop(rank)
            self._bytes -= len(candidate.source) + len(opened.fragment) + _OBJECTS_BYTES
            self._let_go_from = rank
            if self._bytes <= HELD_BYTES_MAX // 2:
                break
