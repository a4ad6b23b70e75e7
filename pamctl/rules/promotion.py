"""What may be promoted, and into what. PAMSPEC §10.10."""

from __future__ import annotations

from pamctl.errors import InvalidRequest, InvalidStateTransition

WORKING_MEMORY = "working_memory"
NOT_WORKING_MEMORY_RULE = "promote_source_must_be_working_memory"

PROMOTABLE = ("scratch", "candidate", "active")
"""Lifecycle states that a promotion ends. The table of §9.5 forbids the step to superseded
from the first two; what it asks for there, a replacement that is referred to, is what a
promotion makes."""


def require_target_type(object_type: str) -> None:
    """Raises InvalidRequest when a promotion would lead to working memory again."""
    if object_type == WORKING_MEMORY:
        raise InvalidRequest(
            "a promotion turns working memory into something else",
            hint="promote it to a claim, decision, task or summary, for instance",
            pointer="/target_object_type",
        )


def require_source_type(object_id: str, object_type: str) -> None:
    """Raises InvalidRequest for an object that is no working memory."""
    if object_type != WORKING_MEMORY:
        raise InvalidRequest(
            f"{object_id} is a {object_type}; only {WORKING_MEMORY} is promoted",
            policy_rule_id=NOT_WORKING_MEMORY_RULE,
            pointer="/source_object_id",
        )


def require_promotable(object_id: str, lifecycle_state: str) -> None:
    """Raises InvalidStateTransition for working memory that was replaced or put away."""
    if lifecycle_state not in PROMOTABLE:
        raise InvalidStateTransition(
            f"{object_id} is {lifecycle_state}; it is promoted from {', '.join(PROMOTABLE)}",
            object_id=object_id,
            dimension="lifecycle",
            from_state=lifecycle_state,
            target_state="superseded",
        )
