"""pamctl: versioned, provable memory for AI agents, in plain files.

`open_store`, `init_store` and `find_store` give a `Store`, whose methods are the operations.
`export_bundle` and `import_bundle` carry memory from one store to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pamctl.exchange.exporting import export_bundle
    from pamctl.exchange.importing import import_bundle
    from pamctl.service.store import Store, find_store, init_store, open_store

__version__ = "0.1.0"
__all__ = [
    "Store",
    "__version__",
    "export_bundle",
    "find_store",
    "import_bundle",
    "init_store",
    "open_store",
]
_EXCHANGE = {"export_bundle": "exporting", "import_bundle": "importing"}


def __getattr__(name: str) -> Any:
    """Imports the service when it is first asked for: `pamctl --version` does without."""
    if name in _EXCHANGE:
        from importlib import import_module

        return getattr(import_module(f"pamctl.exchange.{_EXCHANGE[name]}"), name)
    if name in __all__:
        from pamctl.service import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
