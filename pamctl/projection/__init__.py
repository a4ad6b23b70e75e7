"""Memory Projection Records (MPR): made from a store's memory, and verified.

    from pamctl.projection import project, verify

`project` selects, frames and signs; `verify` answers with a verdict. `produce` is the
producer for candidates of any source profile, `Verifier` the verifier for many records.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pamctl.projection.materials import Materials
from pamctl.projection.reasons import REASONS, Verdict
from pamctl.projection.trust import TrustPolicy, parse_trust_policy, store_policy
from pamctl.projection.verify import Verifier, verify

if TYPE_CHECKING:
    from pamctl.projection.produce import produce
    from pamctl.projection.project import project

__all__ = [
    "REASONS",
    "Materials",
    "TrustPolicy",
    "Verdict",
    "Verifier",
    "parse_trust_policy",
    "produce",
    "project",
    "store_policy",
    "verify",
]

_PRODUCING = ("produce", "project")
"""Imported when they are first asked for: who verifies needs nothing of what selects."""


class _Package(ModuleType):
    """Here these names are the functions, although modules are called the same: importing one
    would bind its name to the module."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PRODUCING and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name in _PRODUCING:
        return getattr(import_module(f"{__name__}.{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _Package
