"""A second store, and ways to carry memory to it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pamctl
from pamctl.service.store import Store
from tests.conformance.memories import HUMAN


def exported(store: Store, **what: Any) -> bytes:
    """The bundle of a store, of all its scopes unless something else is asked for."""
    target = io.BytesIO()
    pamctl.export_bundle(store, target, actor=HUMAN, **what)
    return target.getvalue()


def imported(store: Store, bundle: bytes, **how: Any) -> Any:
    """The answer to an import."""
    return pamctl.import_bundle(store, io.BytesIO(bundle), actor=HUMAN, **how)


def another_store(folder: Path) -> Store:
    """A store elsewhere, in which nothing has happened."""
    return pamctl.init_store(folder / "elsewhere" / ".pam")
