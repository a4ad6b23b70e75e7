"""What a check found: each finding with its place, collected in bounded memory."""

from __future__ import annotations

from typing import Any

from pamctl.audit.finding_kinds import ANY
from pamctl.named_tuples import NamedTuple


class Finding(NamedTuple):
    """Something that was found, and where.

    id: of its Kind.
    message: one sentence for a person. Identifiers and names in it are shown as data.
    scope_id: None for what belongs to the store as a whole.
    path: below the store, with `/`.
    offset: byte in that file where it begins.
    subject: the address, or the identifier, that it is about.
    """

    id: str
    message: str
    scope_id: str | None = None
    path: str | None = None
    offset: int | None = None
    subject: str | None = None

    def document(self) -> dict[str, Any]:
        """The finding as JSON, with its severity and remedy."""
        kind = ANY[self.id]
        members = {name: value for name, value in self._asdict().items() if value is not None}
        return {**members, "severity": kind.severity, "remedy": kind.remedy}


class Findings:
    """Collects findings in bounded memory: of each kind and scope the first are kept, and all
    are counted."""

    KEPT_EACH = 100

    def __init__(self) -> None:
        self.kept: list[Finding] = []
        self.counts: dict[tuple[str | None, str], int] = {}

    def add(self, id: str, message: str, **where: Any) -> None:  # noqa: A002
        """Take in a finding; `where` as the members of Finding."""
        self.include(Finding(id, message, **where))

    def include(self, finding: Finding) -> None:
        """Take in a finding."""
        place = (finding.scope_id, finding.id)
        self.counts[place] = self.counts.get(place, 0) + 1
        if self.counts[place] <= self.KEPT_EACH:
            self.kept.append(finding)

    def merge(self, other: Findings) -> None:
        """Take in what another collected, here or in another process."""
        for finding in other.kept:
            if self.counts.get((finding.scope_id, finding.id), 0) < self.KEPT_EACH:
                self.include(finding)
                self.counts[finding.scope_id, finding.id] -= 1
        for place, count in other.counts.items():
            self.counts[place] = self.counts.get(place, 0) + count

    def drop(self, scope_id: str, ids: frozenset[str]) -> None:
        """Forget findings of these kinds in a scope: they follow from what was found before."""
        self.kept = [f for f in self.kept if f.scope_id != scope_id or f.id not in ids]
        for id_ in ids:
            self.counts.pop((scope_id, id_), None)
