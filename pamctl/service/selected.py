"""What a query selects: every filter that does not rank, settled before anything ranks.
PAMSPEC §11, §15.8.

Scope, states, filters, relationships, snapshot and authority are one statement over the index;
what of an expression the index cannot tell is judged on the envelopes, as they may be shown.
Whoever ranks, by words or by similarity, is given these versions and no others, so that
neither an answer nor a count nor a score depends on what the actor may not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from pamctl.index.structured_query import Candidate, Key, Match, Page, StructuredQuery
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.service.envelopes import is_withheld, withhold

if TYPE_CHECKING:
    from pamctl.index.pushdown import Pushed
    from pamctl.index.rows import VersionRow
    from pamctl.index.scope_index import ScopeIndex
    from pamctl.rules.authorization import Sight
    from pamctl.service.boundary import Boundary
    from pamctl.service.envelope_order import EnvelopeOrder
    from pamctl.service.open_scope import OpenScope

Json = dict[str, Any]

# So many are read together before they are judged. Most pages are full after fewer than
# twice as many.
_READ_AHEAD = 32


@dataclass(slots=True, eq=False, repr=False)
class Selection:
    """The versions that a request is about, as of one ledger sequence.

    structured: its filters, and where its page begins and ends.
    as_of: the ledger sequence that all of the answer is of.
    fresh_to: how far the index had read the ledger; through a snapshot, where that stands.
    boundary: the snapshot that it is asked through; None for none.
    pushed: what became of its expressions; None for none.
    first: what an answer is ordered by before all that `structured` says; None for nothing.
    judged: how many envelopes were judged so far.
    """

    scope: OpenScope
    structured: StructuredQuery
    as_of: int
    fresh_to: int
    boundary: Boundary | None = None
    pushed: Pushed | None = None
    first: EnvelopeOrder | None = None
    judged: int = 0

    def page(self) -> Page:
        """The page that the request asks for, in its order. Raises InvalidRequest."""
        query = self.structured
        if self.first is not None:
            return self._page_by(self.first)
        if self.is_decided():
            page = self._index(query).search(query)
            return page._replace(rows=[self._now(row) for row in page.rows])
        kept: list[Match] = []
        next_key: Key | None = None
        total = None
        if query.count and query.after_key is not None:
            # To count what is selected in all, all of it has to be judged, from the first.
            whole = replace(query, after_key=None, look=None)
            total = sum(1 for _ in self._accepted(self._index(whole), whole))
        counting, found = query.count and total is None, 0
        for match in self._accepted(self._index(query), query):
            found += 1
            if found <= query.limit:
                kept.append(match)
                continue
            next_key = kept[-1].key
            if not counting:
                break
        total = found if counting else total
        return Page(
            [self._now(match.row) for match in kept],
            [match.relevance for match in kept if match.relevance is not None],
            next_key,
            total,
        )

    def candidates(self) -> Iterator[Candidate]:
        """All that every filter accepts, in ledger order, whatever the text, as they are asked
        for."""
        if self.is_decided():
            return self.scope.index.candidates(self.structured)
        unordered = replace(self.structured, text=None, order_by=(), after_key=None)
        return (
            Candidate(match.row.since, match.row.object_id, match.row.version_id)
            for match in self._accepted(self.scope.index, unordered)
        )

    def among(self, version_ids: Sequence[str]) -> list[Candidate]:
        """Those of some versions that every filter accepts."""
        asked = self.structured.version_id
        wanted = version_ids if asked is None else [one for one in version_ids if one in asked]
        found: list[Candidate] = []
        for start in range(0, len(wanted), PAGE_ITEMS_MAX):
            chunk = wanted[start : start + PAGE_ITEMS_MAX]
            part = replace(self, structured=replace(self.structured, version_id=chunk))
            found += part.candidates()
            self.judged = part.judged
        return found

    def rows(self, version_ids: Sequence[str]) -> list[VersionRow]:
        """What the index knows of some candidates, in the order of `version_ids`."""
        found = (self.scope.index.version(version_id) for version_id in version_ids)
        return [row for row in found if row is not None]

    def lexical(self, text: str, limit: int) -> list[tuple[str, int]]:
        """The candidates that match a text best, best first, at most `limit`, each with its
        relevance in billionths; ties by object, then version."""
        worded = replace(
            self.structured, text=text, order_by=("relevance",), after_key=None, count=False
        )
        if self.is_decided():
            page = self._index(worded).search(replace(worded, limit=limit))
            return [
                (row.version_id, relevance)
                for row, relevance in zip(page.rows, page.relevance, strict=True)
            ]
        accepted = islice(self._accepted(self._index(worded), worded), limit)
        return [(match.row.version_id, match.relevance or 0) for match in accepted]

    def envelopes(self, rows: Sequence[VersionRow]) -> Iterator[Json]:
        """Versions as they may be shown, in the order of `rows`."""
        return map(self._shown, rows, self.scope.envelopes(rows))

    def _shown(self, row: VersionRow, envelope: Json) -> Json:
        if self.boundary is not None:
            judge = self.boundary.judge(row).availability_state
            return withhold(envelope) if is_withheld(row.availability_state, judge) else envelope
        if row.until is not None:
            current = self.scope.index.current(row.object_id)
            if current is not None and is_withheld(
                row.availability_state, current.availability_state
            ):
                return withhold(envelope)
        return envelope

    def is_decided(self) -> bool:
        """Whether the index alone decides what is selected."""
        return self.pushed is None or self.pushed.residue is None

    def _index(self, query: StructuredQuery) -> ScopeIndex:
        return self.scope.index if self.boundary is None else self.boundary.index_for(query)

    def _now(self, row: VersionRow) -> VersionRow:
        """A row as the scope's own index has it: where its bytes stand may have changed since
        a snapshot was sealed."""
        if self.boundary is None:
            return row
        return self.scope.index.version(row.version_id) or row

    def _accepted(self, index: ScopeIndex, query: StructuredQuery) -> Iterator[Match]:
        if self.is_decided():
            return index.matches(query)
        return (match for match, _ in self._read(index, query))

    def _read(self, index: ScopeIndex, query: StructuredQuery) -> Iterator[tuple[Match, Json]]:
        """What every filter accepts, with its envelope."""
        from pamctl.rules.where import holds

        residue = None if self.pushed is None else self.pushed.residue
        found = index.matches(query)
        while ahead := list(islice(found, _READ_AHEAD)):
            envelopes = self.envelopes([self._now(match.row) for match in ahead])
            for match, envelope in zip(ahead, envelopes, strict=True):
                self.judged += 1
                if residue is None or holds(residue, envelope):
                    yield match, envelope

    def _page_by(self, first: EnvelopeOrder) -> Page:
        """The page in an order that envelopes decide."""
        from pamctl.service.envelope_order import Valued, foremost

        query = self.structured
        whole = replace(query, after_key=None)
        index, total = self._index(query), 0

        def behind() -> Iterator[Valued]:
            nonlocal total
            for match, envelope in self._read(index, whole):
                total += 1
                value = first.value(envelope)
                if query.after_key is None or first.is_later(value, query.after_key[0]):
                    yield Valued(match, value)
            if query.after_key is not None:
                last, *rest = query.after_key
                tied = replace(query, after_key=tuple(rest))
                for match, envelope in self._read(index, tied):
                    if first.value(envelope) == last:
                        yield Valued(match, last)

        found = foremost(first, behind(), query.limit + 1)
        kept = found[: query.limit]
        more = len(found) > query.limit
        return Page(
            [self._now(match.row) for match, _ in kept],
            [match.relevance for match, _ in kept if match.relevance is not None],
            (kept[-1].value, *kept[-1].match.key) if more else None,
            total if query.count else None,
        )


class Found(NamedTuple):
    """What a query found before anything of it was shown.

    scope: where; None for a scope that its first write will make.
    page: the rows, in the query's order.
    restricted_to: the objects that a delegation is restricted to; None for no restriction.
    scores: of a ranking by similarity, one a row. similarity: what such a ranking discloses.
    """

    scope: OpenScope | None
    page: Page
    next_cursor: str | None = None
    selection: Selection | None = None
    sight: Sight | None = None
    restricted_to: frozenset[str] | None = None
    distances: Mapping[str, int] = {}
    scores: Sequence[Mapping[str, Any]] = ()
    similarity: Mapping[str, Any] | None = None
