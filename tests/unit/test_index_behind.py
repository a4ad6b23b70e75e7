"""An index that has not followed yet what a large group committed, because another process is
to bring it there: nobody sees that, whatever becomes of the other process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.errors import PamError, ServiceUnavailable, VersionConflict
from pamctl.index.scope_index import ScopeIndex
from pamctl.service.index_follower import IndexFollower
from pamctl.service.store import Store
from pamctl.store.records import Position
from tests.erasing import HUMAN, SCOPE, SEEN
from tests.hand_made_ledger import table_rows

CREATE = {"scope_id": SCOPE, "object_type": "claim", "actor": HUMAN, "provenance": SEEN}


class Follower(IndexFollower):
    """One that does what it is told, in this process, when it is waited for."""

    def __init__(self, told: Callable[[], object]) -> None:
        self._gone = False
        self._rows = b""
        self._told = told
        self.left = 0

    def takes(self, transactions: Any) -> bool:
        return super().takes([*transactions] * 256)

    def follow(self, scope_id: str) -> Callable[[], None]:
        self.left += 1
        return self._follow

    def _follow(self) -> None:
        self._told()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = pamctl.init_store(tmp_path / ".pam")
    yield made
    made.close()


def index_file(store: Store) -> Path:
    return store.layout.index_file(store.directory.scope(SCOPE))


def left_behind(store: Store, told: Callable[[], object] = tuple) -> Follower:
    """A store whose last object but one is in the index, and whose last is not yet."""
    create(store, "a")
    store.follower = Follower(told)
    create(store, "b")
    assert store.open_scope(SCOPE).is_behind
    return store.follower


def create(store: Store, name: str, **more: Any) -> dict[str, Any]:
    """An object, in a group that foresees what it needs, as those of a batch do."""
    request = {**CREATE, "canonical_content": name, "object_id": f"mem:{name}"}
    request |= {"idempotency_key": f"key:{name}", **more}
    with store.group() as group:
        group.foresee([request] * 16)
        made: dict[str, Any] = group.perform("create", request)
    return made


def brought(store: Store) -> None:
    pamctl.open_store(store.path).open_scope(SCOPE, fresh=True).index.close()


def emptied(store: Store) -> None:
    index = ScopeIndex(index_file(store))
    index.reset()
    index.close()


def rows_of_a_new_index(store: Store) -> dict[str, list[Any]]:
    return table_rows(ScopeIndex.made_of(store.open_scope(SCOPE).ledger.commits()))


@pytest.mark.parametrize("is_brought", [True, False])
def test_a_look_waits_for_it(store: Store, is_brought: bool) -> None:
    follower = left_behind(store, partial(brought, store) if is_brought else tuple)
    look = {"scope_id": SCOPE, "actor": HUMAN}
    assert store.query(**look, any_state=True, count=True)["total"] == 2
    assert follower.left == 1
    assert not store.open_scope(SCOPE).is_behind
    assert table_rows(store.open_scope(SCOPE).index) == rows_of_a_new_index(store)


@pytest.mark.parametrize("is_brought", [True, False])
def test_the_next_group_does_not(store: Store, is_brought: bool) -> None:
    follower = left_behind(store, partial(brought, store) if is_brought else tuple)
    for name in "cde":
        create(store, name)
    assert follower.left == 4
    assert table_rows(store.open_scope(SCOPE).index) == rows_of_a_new_index(store)


def test_a_key_that_it_does_not_know_yet_is_replayed(store: Store) -> None:
    left_behind(store)
    assert create(store, "b")["replayed"] is True
    assert create(store, "a")["replayed"] is True


def test_an_object_that_it_does_not_know_yet_is_taken(store: Store) -> None:
    left_behind(store)
    with pytest.raises(VersionConflict, match="mem:b exists already"):
        create(store, "b", idempotency_key="another")


def test_what_another_wrote_since_then_counts(store: Store) -> None:
    left_behind(store, partial(brought, store))
    other = pamctl.open_store(store.path)
    create(other, "c")
    other.close()
    assert create(store, "c")["replayed"] is True
    assert create(store, "d")["ledger_sequence"] == create(store, "a")["ledger_sequence"] + 3


def test_a_change_of_what_it_does_not_know_yet(store: Store) -> None:
    left_behind(store)
    made = create(store, "b")
    changed = store.update(
        scope_id=SCOPE,
        actor=HUMAN,
        object_id="mem:b",
        expected_version_id=made["version_id"],
        canonical_content="changed",
        provenance=SEEN,
    )
    assert changed["sequence"] == 2
    assert table_rows(store.open_scope(SCOPE).index) == rows_of_a_new_index(store)


def test_a_group_that_does_more_than_create_is_not_left(store: Store) -> None:
    follower = left_behind(store, partial(brought, store))
    with store.group() as group:
        group.perform("create", {**CREATE, "canonical_content": "c", "object_id": "mem:c"})
        group.perform("delete", {"scope_id": SCOPE, "actor": HUMAN, **_seen(store, "b")})
    assert follower.left == 1
    assert not store.open_scope(SCOPE).is_behind


def _seen(store: Store, name: str) -> dict[str, str]:
    found = store.read(scope_id=SCOPE, object_id=f"mem:{name}", actor=HUMAN)
    return {"object_id": f"mem:{name}", "expected_version_id": found["version_id"]}


def test_one_that_was_emptied_makes_nobody_write_twice(store: Store) -> None:
    left_behind(store, partial(emptied, store))
    emptied(store)
    with pytest.raises(ServiceUnavailable, match="emptied"):
        create(store, "a")
    store.follower = None
    assert create(store, "a")["replayed"] is True
    assert create(store, "b")["replayed"] is True


def test_one_that_is_emptied_while_it_is_waited_for_is_noticed(store: Store) -> None:
    left_behind(store, partial(emptied, store))
    with pytest.raises(ServiceUnavailable, match="emptied"):
        create(store, "c")
    store.follower = None
    assert create(store, "c")["replayed"] is False
    assert create(store, "a")["replayed"] is True


def test_an_interrupted_wait_is_waited_for_again(store: Store) -> None:
    waits: list[None] = []

    def interrupted() -> None:
        waits.append(None)
        if len(waits) == 1:
            raise KeyboardInterrupt

    left_behind(store, interrupted)
    scope = store.open_scope(SCOPE)
    with pytest.raises(KeyboardInterrupt):
        scope.index.position()
    assert scope.is_behind
    assert scope.index.position() == scope.position
    assert len(waits) == 2


def test_an_index_of_ones_own_is_not_left_to_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ScopeIndex, "is_shared", False)
    store.follower = follower = Follower(tuple)
    create(store, "a")
    assert follower.left == 0
    assert not store.open_scope(SCOPE).is_behind


def test_a_commit_that_fails_leaves_nothing_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = left_behind(store, partial(brought, store))

    def refuse(*_: Any, **__: Any) -> None:
        raise ServiceUnavailable("the device refuses")

    with monkeypatch.context() as broken, pytest.raises(PamError, match="refuses"):
        broken.setattr("pamctl.store.files.append_durably", refuse)
        create(store, "c")
    assert follower.left == 1
    position: Position = store.open_scope(SCOPE).refresh()
    assert position.sequence == create(store, "b")["ledger_sequence"]
    assert create(store, "c")["replayed"] is False
