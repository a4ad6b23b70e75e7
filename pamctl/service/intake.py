"""Whether an actor may bring something into a scope from elsewhere. PAMSPEC §7.5, §15.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.errors import ScopeNotFound
from pamctl.service.authority import require

if TYPE_CHECKING:
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore


def admit_import(store: OpenStore, request: Mapping[str, Any]) -> OpenScope | None:
    """The scope that something is to be brought into, brought up to date; None where an import
    will make it. `pamctl.import_bundle` brings it in.

    Raises AccessDenied, and PolicyDenied for a scope that an evaluation may not write to.
    """
    from pamctl.model.documents import check

    check("requests/import", request)
    if store.evaluation is not None:
        store.evaluation.require_inside(request["scope_id"])
    try:
        scope = store.open_scope(request["scope_id"], fresh=True)
    except ScopeNotFound:
        return None
    require(scope.policy(), request, "import", object_type=None)
    return scope
