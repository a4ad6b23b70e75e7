"""Whether one version of an object may follow another that somebody else recorded. PAMSPEC §9.5.

`transitions` decides what may happen here and now. This judges what is said to have happened,
by the event's own word for the condition that was met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.model.vocabulary import DIMENSIONS
from pamctl.named_tuples import NamedTuple
from pamctl.rules.transitions import ALLOWED, FORBIDDEN_WITHOUT_OVERRIDE, OVERRIDE

PROMOTION = "promotion"
"""In the place of a condition: working memory is superseded by what a promotion in the same
transaction made of it (PAMSPEC §10.10)."""

EARLIER_NOT_GIVEN = "earlier_versions_not_given"
"""In the place of a condition, of the event of the first version that there is of an object: it
came from elsewhere, and the versions before it were not given. Its number is what it was."""

_STATES = tuple(f"{name}_state" for name in DIMENSIONS)
_AVAILABILITY = DIMENSIONS.index("availability")


class Known(NamedTuple):
    """What a step is judged by: the number of a version, and its states in the order of
    model.vocabulary.DIMENSIONS; None for one that is not known."""

    number: int
    states: tuple[str | None, ...]

    @classmethod
    def of(cls, envelope: Mapping[str, Any]) -> Known:
        """Of a valid envelope, with or without its content."""
        return cls(envelope["sequence"], tuple(envelope[member] for member in _STATES))


class Step(NamedTuple):
    """From one version of an object to the next, and the condition that its event names."""

    ident: str
    before: Known
    after: Known
    condition: str | None


def unlawful_step(before: Known, after: Known, condition: str | None) -> str | None:
    """What is wrong with the step from one version to the next, in a few words; None where
    it may have happened on the condition that its event states."""
    if before.states[_AVAILABILITY] == "deleted":
        return "a version follows its tombstone"
    for dimension, source, target in zip(DIMENSIONS, before.states, after.states, strict=True):
        if source == target or source is None or target is None:
            continue
        targets = ALLOWED[dimension][source]
        if target in targets:
            needed = targets[target]
        elif condition == PROMOTION and target == "superseded" and source in _PROMOTED:
            needed = PROMOTION
        elif target in FORBIDDEN_WITHOUT_OVERRIDE[dimension].get(source, ()):
            needed = OVERRIDE
        else:
            return f"its {dimension} went from {source} to {target}"
        if needed not in (None, condition):
            return f"its {dimension} went from {source} to {target} on no {needed}"
    return None


_PROMOTED = ("scratch", "candidate")
