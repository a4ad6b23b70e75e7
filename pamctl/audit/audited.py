"""What an audit found, before anything is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from pamctl.audit.inventory import Inventory


class Audit(NamedTuple):
    """What was audited, and what was found.

    name: of the file or the store. kind: export or store.
    findings: as `Finding.document` has them; counts: all of them, by id.
    heads: of each scope, `scope_id`, `entries`, `head` and whether its `tail` is pinned.
    checkpoints, projections: verdicts, where any were asked for.
    facts: more about the file, by name.
    """

    name: str
    kind: str
    clean: bool
    findings: Sequence[Mapping[str, Any]]
    counts: Mapping[str, int]
    heads: Sequence[Mapping[str, Any]]
    holdings: Sequence[Inventory]
    checkpoints: Sequence[Mapping[str, Any]] = ()
    projections: Sequence[Mapping[str, Any]] = ()
    facts: Mapping[str, str] = {}

    @property
    def verdicts(self) -> Sequence[Mapping[str, Any]]:
        """All that were asked for."""
        return (*self.checkpoints, *self.projections)

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found, and every verdict is good."""
        return self.clean and all(verdict["valid"] for verdict in self.verdicts)
