"""What every operation stands on: a store that is open, with its scopes, its clock, and the
two ways in, one for what changes a scope and one for what does not.

Callers of the package know it as `Store`, which gives each operation a typed method.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest, ObjectNotFound, ScopeNotFound
from pamctl.service.looking import look
from pamctl.service.open_scope import OpenScope
from pamctl.service.operations import CHANGES, OTHERS
from pamctl.service.scopes import make_scope
from pamctl.service.signing import Signers
from pamctl.service.sources import Sources
from pamctl.store.directory import StoreDirectory
from pamctl.store.layout import StoreLayout

if TYPE_CHECKING:
    from pamctl.service.desk import Desk
    from pamctl.service.evaluation import Evaluation
    from pamctl.service.group import Group
    from pamctl.service.index_follower import IndexFollower

DEFAULT_SCOPE = "workspace:default"
Json = dict[str, Any]


class OpenStore:
    """An open store. Cheap to open; one may be kept for the life of a process, and any
    number of processes may have one.

    notices: sentences for the user about what was found and set right on the way.
    evaluation: the evaluation that all of this is part of; `service.evaluation.enter` sets it.
    signers: the actors that are bound to keys.
    follower: what brings the indexes up to what large groups commit; None where each group
        does.
    """

    def __init__(self, directory: StoreDirectory, sources: Sources) -> None:
        self.directory = directory
        self.sources = sources
        self.notices: list[str] = []
        self.evaluation: Evaluation | None = None
        self.follower: IndexFollower | None = None
        self.signers = Signers(directory.layout.keys, sources)
        self._scopes: dict[str, OpenScope] = {}

    @property
    def layout(self) -> StoreLayout:
        return self.directory.layout

    @property
    def path(self) -> Path:
        return self.directory.layout.root

    @property
    def config(self) -> Mapping[str, Any]:
        """`store.json`."""
        return self.directory.config

    @property
    def store_id(self) -> str:
        return str(self.config["store_id"])

    @property
    def default_scope(self) -> str:
        return str(self.config.get("default_scope", DEFAULT_SCOPE))

    def close(self) -> None:
        """Let go of the indexes. Nothing that was acknowledged depends on it."""
        for scope in self._scopes.values():
            scope.index.close()
        self._scopes.clear()

    def group(self, *, atomic: bool = False) -> Group:
        """Several operations that commit together; see `Group`."""
        from pamctl.service.group import Group

        return Group(self, atomic=atomic)

    def perform(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Any of these operations by its name; arguments as in `schemas/requests/`.

        Those that change a scope are held to their schema. Those that read are not, because
        a command that reads cannot afford the validator: whoever takes their arguments from
        a stranger checks them first, as the bindings do.
        """
        if operation in CHANGES:
            return self._write(operation, arguments)
        if operation in OTHERS:
            return look(self, operation, _given(arguments))
        raise InvalidRequest(
            f"there is no operation {operation!r}",
            hint=f"the operations are {', '.join((*CHANGES, *OTHERS))}",
        )

    # What the operations rest on

    def open_scope(self, scope_id: str, *, fresh: bool = False) -> OpenScope:
        """A scope's means of reading; `fresh` brings its index to the ledger's head first.
        Raises ScopeNotFound."""
        scope = self._scopes.get(scope_id)
        if scope is None:
            layout = self.directory.scope(scope_id)
            scope = OpenScope(scope_id, layout, self.layout.index_file(layout))
            self._scopes[scope_id] = scope
        if fresh:
            scope.refresh()
        return scope

    def has_open_scopes(self) -> bool:
        """Whether `open_scope` has opened any."""
        return bool(self._scopes)

    def require_whole(self, scope_id: str) -> None:
        """Raises IndexDamaged where what was just looked up in a scope may have missed some;
        see `OpenScope.require_whole`."""
        scope = self._scopes.get(scope_id)
        if scope is not None:
            scope.require_whole()

    def scope_to_read(self, scope_id: str) -> OpenScope | None:
        """A scope to read in; None for one that its first write will make, and that reads as
        empty until then. Raises ScopeNotFound in a store that makes none by itself."""
        try:
            return self.open_scope(scope_id, fresh=True)
        except ScopeNotFound:
            if not self.config.get("auto_create_scopes", True):
                raise
            return None

    def scope_of_object(self, request: Mapping[str, Any]) -> OpenScope:
        """The scope to look for an object in. Raises ObjectNotFound where there is none."""
        scope = self.scope_to_read(request["scope_id"])
        if scope is None:
            raise ObjectNotFound(
                f"there is no object {request['object_id']} in {request['scope_id']}"
            )
        return scope

    def ensure_scope(
        self, scope_id: str, actor: Mapping[str, Any], *, declared: bool = False
    ) -> None:
        """Make the scope of a first write, when the store allows it. Raises ScopeNotFound, and
        PolicyDenied for one that an evaluation may not write to."""
        if self.evaluation is not None:
            self.evaluation.require_inside(scope_id)
        if scope_id in self._scopes:
            return
        try:
            self.directory.scope(scope_id)
        except ScopeNotFound:
            if not declared and not self.config.get("auto_create_scopes", True):
                raise ScopeNotFound(
                    f"there is no scope {scope_id}, and this store makes none on first write",
                    hint=f"make it with `pamctl scope create {scope_id}`",
                ) from None
            make_scope(self, {"scope_id": scope_id, "actor": actor})

    @property
    def asking(self) -> Sources:
        """Time and randomness of what is worked out at no desk."""
        return self.sources if self.evaluation is None else self.evaluation.asking()

    def seated(self, desk: Desk) -> Desk:
        """A desk, with the time and the randomness of the evaluation that is going on."""
        if self.evaluation is not None:
            self.evaluation.seat(desk)
        return desk

    def _write(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        with self.group() as group:
            result: Json = group.perform(operation, _given(arguments))
        return result

    def _look(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        result: Json = look(self, operation, _given(arguments))
        return result


_MAY_BE_NULL = ("canonical_content", "target_canonical_content", "merge_patch")


def _given(arguments: Mapping[str, Any]) -> Json:
    """Arguments that were given: None means not given, except where null is content."""
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name in _MAY_BE_NULL
    }
