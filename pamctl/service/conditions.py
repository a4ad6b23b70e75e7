"""What a request says about members that the index has no column of, as conditions over
envelopes: `where`, and the filters that are short for one. PAMSPEC §8.6, §8.7, §11.

They are judged on envelopes as they may be shown, so that nobody finds out by asking what was
withheld since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest

if TYPE_CHECKING:
    from pamctl.index.pushdown import Pushed
    from pamctl.rules.where import Expression

_TEXTS: Mapping[str, tuple[str, ...]] = {
    "integrity_digest": ("integrity", "digest"),
    "integrity_algorithm": ("integrity", "algorithm"),
    "integrity_ref": ("provenance", "integrity_ref"),
    "transformation_parent": ("provenance", "transformation_parent"),
    "actor_kind": ("actor", "actor_kind"),
    "on_behalf_of_actor_id": ("actor", "on_behalf_of_actor_id"),
}
"""Filters that ask for one of some texts at a place of an envelope."""

_LISTS: Mapping[str, tuple[str, ...]] = {
    "evidence_ref": ("provenance", "evidence_refs"),
    "relationship_ref": ("relationship_refs",),
}
"""Filters that ask for one of some texts in a list there."""

_CONFIDENCE = ("provenance", "source_confidence")
_NAMES = ("where", *_TEXTS, *_LISTS, "source_confidence")


def pushed_down(request: Mapping[str, Any]) -> Pushed | None:
    """What becomes of the conditions of a request; None for one without. Raises
    InvalidRequest for an expression that cannot be read."""
    if not any(name in request for name in _NAMES):
        return None
    from pamctl.index.pushdown import push_down
    from pamctl.rules.where import Every

    family = "relationship" if request.get("relationships") else "object"
    parts = tuple(_conditions(request, family))
    return push_down(parts[0] if len(parts) == 1 else Every(parts), family) if parts else None


def _conditions(request: Mapping[str, Any], family: str) -> Iterator[Expression]:
    from pamctl.rules.where import Some, any_of, at

    texts = listed(request.get("where", ()))
    if texts:
        from pamctl.rules.where_grammar import parsed

        yield parsed(texts, family)
    for name, steps in _TEXTS.items():
        if name in request:
            yield any_of(steps, listed(request[name]))
    for name, steps in _LISTS.items():
        if name in request:
            yield Some(tuple(at(steps, "contains", text) for text in listed(request[name])))
    between = request.get("source_confidence", {})
    least, most = between.get("from"), between.get("until")
    if least is not None and most is not None and least > most:
        raise InvalidRequest(
            "source_confidence ends before it begins", pointer="/source_confidence"
        )
    if least is not None:
        yield at(_CONFIDENCE, ">=", least)
    if most is not None:
        yield at(_CONFIDENCE, "<=", most)


def listed(value: str | list[str] | tuple[str, ...]) -> list[str]:
    """The alternatives of a filter."""
    return [value] if isinstance(value, str) else list(value)
