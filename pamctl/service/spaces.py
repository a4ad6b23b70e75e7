"""Embedding Spaces: descriptors of what vectors mean, kept in the ledger. PAMSPEC §7.8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.errors import EmbeddingSpaceMismatch, InvalidRequest
from pamctl.limits import EMBEDDING_DIMENSIONS_MAX
from pamctl.rules.spaces import BUILT_IN, redescribed, same_space
from pamctl.service.authority import require

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.family_arguments import (
        SpaceAddArguments,
        SpaceArguments,
        SpaceListArguments,
    )
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]


class Spaces:
    """The Embedding Spaces of a store's scopes: `store.spaces`."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def add(self, **arguments: Unpack[SpaceAddArguments]) -> Json:
        """Describe a space; nothing changes where it is described so already."""
        result: Json = self._store.perform("space_add", arguments)
        return result

    def show(self, **arguments: Unpack[SpaceArguments]) -> Json:
        """The descriptor of a space. Raises EmbeddingSpaceMismatch where there is none."""
        result: Json = self._store.perform("space_show", arguments)
        return result

    def list(self, **arguments: Unpack[SpaceListArguments]) -> Json:
        """The descriptors of a scope, by id."""
        result: Json = self._store.perform("space_list", arguments)
        return result


def space_add(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the descriptor of an Embedding Space.

    A space never changes: EmbeddingSpaceMismatch for another descriptor under its id. The
    same descriptor again adds nothing.
    """
    # Whoever reads needs none of what writes.
    from pamctl.service.desk import Change
    from pamctl.store.commit import NewEntry

    require(desk.policy, request, "add_space", object_type=None)
    given = request["space"]
    space_id = given["embedding_space_id"]
    if given["dimensions"] > EMBEDDING_DIMENSIONS_MAX:
        raise InvalidRequest(
            f"a space has at most {EMBEDDING_DIMENSIONS_MAX} dimensions "
            "(limits.EMBEDDING_DIMENSIONS_MAX)",
            pointer="/space/dimensions",
        )
    known = spaces_staged(desk).get(space_id)
    if known is not None and not same_space(known, given):
        raise redescribed(space_id)
    now, entries = desk.sources.now(), []
    space = known
    if space is None:
        space = {"created_at": now, "created_by": request["actor"], **given}
        entries = [
            NewEntry("space", {"space": space, "actor": request["actor"], "recorded_at": now})
        ]
        desk.descriptors["space", space_id] = space
    result = {
        "added": known is None,
        "operation_id": request["operation_id"],
        "replayed": False,
        "scope_id": desk.scope_id,
        "space": space,
    }
    return Change(entries, result)


def space_show(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """The descriptor of one space."""
    scope = store.scope_to_read(request["scope_id"])
    if scope is None:
        raise unknown_space(request["embedding_space_id"], request["scope_id"])
    require(scope.policy(), request, "query")
    return dict(space_of(scope, request["embedding_space_id"]))


def space_list(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """The descriptors of a scope, by id."""
    scope = store.scope_to_read(request["scope_id"])
    spaces: Mapping[str, Any] = {}
    if scope is not None:
        require(scope.policy(), request, "query")
        spaces = spaces_of(scope)
    items = [spaces[space_id] for space_id in sorted(spaces, key=str.encode)]
    return {"items": items, "next_cursor": None, "scope_id": request["scope_id"]}


def spaces_of(scope: OpenScope) -> dict[str, Mapping[str, Any]]:
    """The descriptors that a scope's ledger holds, by id."""
    spaces = (
        scope.settled_entry(place)["body"]["space"]
        for place in scope.index.boundaries.entries("space")
    )
    return {space["embedding_space_id"]: space for space in spaces}


def spaces_staged(desk: Desk) -> dict[str, Mapping[str, Any]]:
    """As `spaces_of`, with what is staged counted in."""
    staged = {name: space for (kind, name), space in desk.descriptors.items() if kind == "space"}
    return {**spaces_of(desk.scope), **staged}


def space_of(scope: OpenScope, space_id: str) -> Mapping[str, Any]:
    """The descriptor of a space. Raises EmbeddingSpaceMismatch where the scope has none."""
    space = spaces_of(scope).get(space_id)
    if space is None:
        raise unknown_space(space_id, scope.scope_id)
    return space


def unknown_space(space_id: str, scope_id: str) -> EmbeddingSpaceMismatch:
    """What is answered about a space that a scope does not have."""
    return EmbeddingSpaceMismatch(
        f"there is no Embedding Space {space_id} in {scope_id}",
        hint="`pamctl embed run --builtin` makes it, and vectors of what is in the scope"
        if space_id == BUILT_IN
        else "`pamctl space list` shows those of the scope; `pamctl space add` describes another",
        policy_rule_id="embedding_space_required",
        embedding_space_id=space_id,
    )
