"""The state machines of PAMSPEC §9.5 as a checker needs them: written down a second time, so
that a mistake in the rules that writers follow is found and not repeated."""

from __future__ import annotations

from typing import Any

from pamctl.model.vocabulary import DIMENSIONS

_FREE: dict[str, dict[str, str]] = {
    "lifecycle": {
        "scratch": "candidate archived",
        "candidate": "active deprecated archived",
        "active": "superseded deprecated archived",
        "superseded": "archived deprecated",
        "deprecated": "archived",
        "archived": "deprecated",
    },
    "validation": {
        "unverified": "corroborated disputed rejected",
        "corroborated": "disputed rejected",
        "disputed": "corroborated rejected",
        "rejected": "disputed",
    },
    "availability": {
        "available": "partially_redacted redacted deleted",
        "partially_redacted": "available redacted deleted",
        "redacted": "deleted",
    },
    "retention": {
        "retained": "expired pending_deletion legal_hold",
        "expired": "retained pending_deletion legal_hold",
        "pending_deletion": "retained legal_hold",
    },
}
_CONDITIONAL: dict[tuple[str, str, str], str] = {
    ("lifecycle", "deprecated", "active"): "review",
    ("lifecycle", "archived", "active"): "override",
    ("validation", "corroborated", "unverified"): "provenance_correction",
    ("validation", "rejected", "corroborated"): "review",
    ("availability", "redacted", "available"): "restoration",
    ("retention", "legal_hold", "retained"): "hold_release",
    ("retention", "legal_hold", "expired"): "hold_release",
    ("retention", "legal_hold", "pending_deletion"): "hold_release",
}
# Beyond the table, a named override rule may permit these.
_BY_OVERRIDE: dict[tuple[str, str], str] = {
    ("lifecycle", "scratch"): "active superseded deprecated",
    ("lifecycle", "candidate"): "superseded",
    ("lifecycle", "active"): "scratch",
    ("lifecycle", "superseded"): "active",
    ("lifecycle", "deprecated"): "scratch",
    ("lifecycle", "archived"): "scratch candidate",
    ("validation", "rejected"): "unverified",
}

DELETED = 1
"""Place of availability among the four states (model.vocabulary.DIMENSIONS)."""

PROMOTION = "promotion"
"""Stands for the condition of a step that a promotion in the same transaction explains: working
memory is superseded by what was made of it (PAMSPEC §10.10)."""

EARLIER_NOT_GIVEN = "earlier_versions_not_given"
"""The condition that the event of an object's first version names where it came from elsewhere
without the versions before it: then it may have any number."""


def states_of(envelope: dict[str, Any]) -> list[Any]:
    """The four states, in the order of model.vocabulary.DIMENSIONS."""
    return [envelope.get(f"{dimension}_state") for dimension in DIMENSIONS]


def illegal_step(before: list[Any], after: list[Any], condition: str | None) -> str | None:
    """What is wrong with going from one version's states to the next one's, in a few words;
    None when PAMSPEC §9.5 allows it on the condition that the event states."""
    for dimension, source, target in zip(DIMENSIONS, before, after, strict=True):
        if source == target:
            continue
        if target in _FREE[dimension].get(source, "").split():
            continue
        needed = _CONDITIONAL.get((dimension, source, target))
        if needed is None and target in _BY_OVERRIDE.get((dimension, source), "").split():
            needed = "override"
        by_promotion = dimension == "lifecycle" and source in ("scratch", "candidate")
        if by_promotion and target == "superseded" and condition == PROMOTION:
            continue
        if needed is None or needed != condition:
            return f"its {dimension} went from {source} to {target}"
    return None
