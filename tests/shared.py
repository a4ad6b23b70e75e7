"""The reference material that may stand beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


def shared_path(*parts: str) -> Path:
    """A file or folder of the reference material; skips the test, visibly, without it."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path
