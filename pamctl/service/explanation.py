"""Why a query answered what it did: of each hit, and of the answer as a whole. PAMSPEC §11, §12."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pamctl.index.ordering import order
from pamctl.model.envelopes import DEFAULT_RETRIEVAL

if TYPE_CHECKING:
    from pamctl.index.structured_query import StructuredQuery
    from pamctl.service.selected import Found

Json = dict[str, Any]

_USED_INDEX = re.compile(r"USING (?:COVERING )?INDEX (\w+)")


def explanation(found: Found) -> list[Json]:
    """Of each hit, why it stands where it does: its place in the ledger, how well it matched,
    and how many steps it is away from what it is related to."""
    # How well a text matches depends on the texts that are not shown.
    relevance = found.page.relevance if found.sight is None else []
    explained = []
    for number, row in enumerate(found.page.rows):
        hit: Json = {
            "object_id": row.object_id,
            "version_id": row.version_id,
            "ledger_sequence": row.since,
        }
        if relevance:
            hit["relevance"] = relevance[number]
        if row.object_id in found.distances:
            hit["distance"] = found.distances[row.object_id]
        if found.scores:
            hit.update(found.scores[number])
        explained.append(hit)
    return explained


def plan(found: Found) -> Json:
    """How the answer was come by: from which index, in which order, by which conditions, and
    what it took. What it took is not told to an actor who may not see everything: it would
    count what is hidden."""
    selection = found.selection
    assert selection is not None
    query = selection.structured
    told: Json = {
        "as_of": selection.as_of,
        "states": _states(query),
        "index_decides": [] if selection.pushed is None else selection.pushed.decided,
        "envelopes_decide": [] if selection.pushed is None else selection.pushed.judged,
    }
    if found.similarity is None:
        first = [] if selection.first is None else [selection.first.spelled()]
        told["order"] = first + [
            f"{term.name}:desc" if term.descending else term.name for term in order(query)
        ]
    else:
        told["search"] = found.similarity["search"]
    look = query.look
    if look is None:
        return told
    if look.match is not None:
        told["text"] = look.match
    if look.steps:
        told["index"] = _index_used(look.steps, worded=query.text is not None)
    if found.sight is None and found.restricted_to is None:
        told["rows_looked_at"] = look.rows
        told["envelopes_judged"] = selection.judged
    return told


def _states(query: StructuredQuery) -> Json:
    """The states that were asked for, or meant; what is not named may be in any."""
    return {name: list(getattr(query, name)) for name in DEFAULT_RETRIEVAL if getattr(query, name)}


def _index_used(steps: list[str], *, worded: bool) -> str:
    """The index that the versions were found in, in SQLite's words for it."""
    if worded:
        return "text"
    used = [match[1] for step in steps if (match := _USED_INDEX.search(step)) is not None]
    return used[0] if used else "ledger order"
