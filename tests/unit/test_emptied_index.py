"""Another process may find an index damaged and empty it between two looks of this one: an
answer is whole all the same, and nothing is written twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.errors import ObjectNotFound, ServiceUnavailable
from pamctl.index.scope_index import ScopeIndex
from pamctl.service.open_scope import OpenScope
from pamctl.service.selection import readable_versions
from pamctl.service.store import Store
from pamctl.store.layout import StoreLayout
from pamctl.store.records import Position
from tests.erasing import HUMAN, SCOPE

Create = Callable[..., dict[str, Any]]
LOOK = {"scope_id": SCOPE, "actor": HUMAN}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return pamctl.init_store(tmp_path / ".pam")


@pytest.fixture(autouse=True)
def two_memories(create: Create) -> None:
    create("tea", object_id="mem:a", idempotency_key="first")
    create("tea", object_id="mem:b")


@pytest.fixture
def emptied_once(
    two_memories: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Position]:
    """Has another process empty the index after it was next brought up to date."""
    layout = StoreLayout(tmp_path / ".pam")
    refresh = OpenScope.refresh
    seen: list[Position] = []

    def refresh_and_lose(scope: OpenScope) -> Position:
        seen.append(refresh(scope))
        if len(seen) == 1:
            other = ScopeIndex(layout.index_file(layout.scope(SCOPE)))
            other.reset()
            other.close()
        return seen[-1]

    monkeypatch.setattr(OpenScope, "refresh", refresh_and_lose)
    return seen


ASKED: dict[str, tuple[Callable[[Store], Any], Any]] = {
    "read": (
        lambda store: store.perform("read", {**LOOK, "object_id": "mem:a"})["object_id"],
        "mem:a",
    ),
    "query": (lambda store: len(store.perform("query", {**LOOK, "any_state": True})["items"]), 2),
    "history": (
        lambda store: len(store.perform("history", {**LOOK, "object_id": "mem:b"})["items"]),
        1,
    ),
    "log": (lambda store: len(store.perform("log", LOOK)), 2),
}


@pytest.mark.parametrize("operation", ASKED)
def test_an_answer_is_whole(store: Store, emptied_once: list[Position], operation: str) -> None:
    ask, expected = ASKED[operation]
    assert ask(store) == expected
    assert len(emptied_once) > 1


def test_what_is_not_there_is_looked_for_again(store: Store, emptied_once: list[Position]) -> None:
    with pytest.raises(ObjectNotFound):
        store.perform("read", {**LOOK, "object_id": "mem:none"})
    assert len(emptied_once) > 1


def test_all_versions_are_gone_through(store: Store, emptied_once: list[Position]) -> None:
    versions = readable_versions(store, scope_id=SCOPE, actor=HUMAN, as_of=2)
    found = [version.object_id for some in versions.groups() for version in some]
    assert found == ["mem:a", "mem:b"]


def test_a_retry_writes_nothing_twice(
    store: Store, create: Create, emptied_once: list[Position]
) -> None:
    with pytest.raises(ServiceUnavailable, match="emptied"):
        create("tea", object_id="mem:a", idempotency_key="first")
    assert create("tea", object_id="mem:a", idempotency_key="first")["replayed"] is True
    assert len(store.perform("log", LOOK)) == 2
