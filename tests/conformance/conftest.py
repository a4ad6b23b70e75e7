"""What the tests of the drafts' sections share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.memories import Memories


@pytest.fixture
def memories(store: Any) -> Memories:
    """The default scope of a new store, as its owner uses it."""
    return Memories(store)
