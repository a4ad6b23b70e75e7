"""Every operation by its name: the one table that the bindings and the command line use.

Names are those of PAMSPEC §10 and of the coprocess. Adding an operation is a module with a
function, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pamctl.service.create import create
from pamctl.service.delete import delete
from pamctl.service.desk import Change, Desk
from pamctl.service.history import history, log
from pamctl.service.query import query
from pamctl.service.read import read
from pamctl.service.scopes import (
    create_scope,
    list_scopes,
    put_policy,
    show_scope,
    show_store,
)
from pamctl.service.transition import transition
from pamctl.service.update import update

if TYPE_CHECKING:
    from pamctl.service.store import Store

Request = Mapping[str, Any]

CHANGES: Mapping[str, Callable[[Desk, Request], Change]] = {
    "create": create,
    "update": update,
    "transition": transition,
    "delete": delete,
    "scope_policy": put_policy,
}
"""What changes one scope. Worked out at a desk while the scope's lock is held; any number
of them commit together, and an idempotency key makes each happen once."""

OTHERS: Mapping[str, Callable[[Store, Request], Any]] = {
    "read": read,
    "history": history,
    "log": log,
    "query": query,
    "scope_create": create_scope,
    "scope_list": list_scopes,
    "scope_show": show_scope,
    "status": show_store,
}
"""What reads, and what is about a store or a scope as a whole."""
