"""Whether the actor of a request may do what it asks. PAMSPEC §7.5, §15.3.

Every operation asks here, before it looks for what it was asked about, and again once it
knows what that is: a refusal must not tell whether something exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.rules.authorization import Action, require_access


def require(
    policy: Mapping[str, Any],
    request: Mapping[str, Any],
    operation: str,
    *,
    object_type: str | None = None,
    dimension: str | None = None,
    target_state: str | None = None,
) -> None:
    """Raises AccessDenied unless the scope's policy lets the request's actor do this.

    A request without an actor is the program's own look at its store, not somebody's.
    """
    actor = request.get("actor")
    if actor is not None:
        action = Action(actor["actor_id"], operation, object_type, dimension, target_state)
        require_access(policy, action)
