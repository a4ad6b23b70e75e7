"""Who looks at a copy of a store that does not hold the key he is bound to.

A clone has the records of the store's keys and none of the private ones. Its user is then not the
actor that his name is bound to, and nothing is done in that name. So that a clone can be read at
all without further ado, he looks at it as a guest, under a name that no user has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pamctl.errors import AccessDenied

if TYPE_CHECKING:
    from pamctl.cli.invocation import Invocation

READING = frozenset(
    (
        *("read", "query", "history", "log", "diff", "scope_policy_test"),
        *("list_delegations", "list_subscriptions", "snapshot_list", "snapshot_show"),
        *("snapshot_diff", "schema_list", "schema_show", "space_list", "space_show"),
        *("embedding_status", "embedding_export"),
    )
)
"""Operations that look and change nothing."""

# The names of users never hold a plus sign that two hexadecimal digits do not follow.
_MARK = "+guest"


def as_guest(call: Invocation, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operation that looks, of a user who was not named, as a guest where
    he needs a key that is not here. Tells him so."""
    actor = arguments.get("actor")
    if actor is None or operation not in READING or call.names_its_actor:
        return arguments
    name = actor["actor_id"]
    if name not in call.looking_as:
        call.looking_as[name] = _name_to_look_by(call, name, operation)
    return {**arguments, "actor": {**actor, "actor_id": call.looking_as[name]}}


def _name_to_look_by(call: Invocation, name: str, operation: str) -> str:
    """Found once a call, and told once: who follows a log looks many times."""
    try:
        call.store.signers.require(name, operation)
    except AccessDenied as denied:
        call.note(f"{denied.message}; looking as {name}{_MARK}")
        return name + _MARK
    return name
