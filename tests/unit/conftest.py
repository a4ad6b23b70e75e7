"""What several modules of unit tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.erasing import HUMAN, SCOPE, SEEN


@pytest.fixture
def create(store: Any) -> Callable[..., dict[str, Any]]:
    """Creates a claim of a content in `store`, with whatever more is said."""

    def create(content: Any, **more: Any) -> dict[str, Any]:
        given = {"scope_id": SCOPE, "object_type": "claim", "actor": HUMAN, "provenance": SEEN}
        made: dict[str, Any] = store.create(**{**given, "canonical_content": content, **more})
        return made

    return create
