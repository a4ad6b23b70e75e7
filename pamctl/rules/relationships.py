"""What repeats a Relationship Object, and what would make another of it. PAMSPEC §8.5, §10.5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import RelationshipConflict

FIXED = ("source_object_id", "target_object_id", "target_scope_id", "relationship_type")
"""What makes a relationship the one it is."""

STATES = ("lifecycle_state", "availability_state", "retention_state", "validation_state")

_VALIDITY = ("valid_from", "valid_until")


def repeats(made: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether a new relationship says what one that is in force says already: the same type
    between the same objects for the same time. Without a direction, the two ends may have
    changed places.

    Another time is another fact: who worked somewhere twice has two relationships to it.
    """
    if there["lifecycle_state"] != "active" or there["availability_state"] == "deleted":
        return False
    if any(made.get(member) != there.get(member) for member in ("relationship_type", *_VALIDITY)):
        return False
    if made.get("target_scope_id") != there.get("target_scope_id"):
        return False
    ends = made["source_object_id"], made["target_object_id"]
    if ends == (there["source_object_id"], there["target_object_id"]):
        return True
    # Across scopes nothing can change places: the source is in the relationship's own scope.
    either_way = "directed" not in (made["directionality"], there["directionality"])
    return (
        either_way
        and "target_scope_id" not in made
        and ends == (there["target_object_id"], there["source_object_id"])
    )


def require_unchanged(current: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Raises RelationshipConflict when an update would make a relationship another one, or
    move a state, which is a transition. Members that say what is so already may stand."""
    own = {"target_scope_id": current["scope_id"]}
    for member in (*FIXED, *STATES):
        if member in request and request[member] != current.get(member, own.get(member)):
            hint = "relate the objects anew, and delete this relationship if it no longer holds"
            if member in STATES:
                hint = "change it with transition"
            raise RelationshipConflict(
                f"{member} of {current['relationship_id']} is "
                f"{current.get(member)}, and an update does not change it",
                hint=hint,
                relationship_id=current["relationship_id"],
                pointer=f"/{member}",
            )
