"""A scope that is much larger than what is delivered of it is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pamctl.errors import InternalError, ServiceUnavailable
from pamctl.projection import held, project
from pamctl.projection.choice import Candidate, Choice, Limits, choose
from pamctl.projection.produce import Projection
from pamctl.projection.source import OpenedSource
from pamctl.service import selection
from pamctl.store.keyring import Keyring
from tests.projections import native

SCOPE = "workspace:default"
ME = {"actor_id": "actor:local:me", "actor_kind": "human"}
NATIVE = native(b"")


class Source(bytes):
    """Bytes that are counted while they are alive."""

    alive = most = 0

    def __init__(self, *_: object) -> None:
        Source.alive += 1
        Source.most = max(Source.most, Source.alive)

    def __del__(self) -> None:
        Source.alive -= 1


class Counted:
    """So many candidates that pass. asked: the names that were asked for again."""

    def __init__(self, count: int) -> None:
        self.names = [f"c{number}" for number in range(count)]
        self.asked: list[str] = []

    def __iter__(self) -> Iterator[Candidate]:
        return map(self._candidate, self.names)

    def again(self, names: Sequence[str]) -> Iterator[Candidate]:
        self.asked += names
        return map(self._candidate, reversed(names))

    @staticmethod
    def _candidate(name: str) -> Candidate:
        fragment = name.encode().ljust(100)
        return Candidate(name, Source(fragment), OpenedSource(NATIVE, fragment))


def chosen(candidates: Any, found: Sequence[str], **limits: Any) -> Choice:
    Source.alive = Source.most = 0
    return choose(
        candidates, found, Limits(**limits), facts=lambda _: {}, unmet=lambda one, opened: None
    )


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_alive_does_not_grow_with_the_scope(
    monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    monkeypatch.setattr(held, "HELD_BYTES_MAX", 100 * 1224)
    most = []
    for count in (500, 5000):
        everything = Counted(count)
        found = everything.names[::order]
        choice = chosen(everything, found, objects=20)
        assert [one.name for one, _ in choice.chosen] == found[:20]
        assert choice.excluded["context_limit"] == count - 20
        # The best placed were kept, so nothing was read twice.
        assert everything.asked == []
        most.append(Source.most)
        assert chosen(everything, ["c3"]).excluded["policy_filtered"] == count - 1
        assert Source.most <= 3
    assert most[0] == most[1] <= 102


def test_what_is_delivered_and_was_let_go_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = Counted(50)
    expected = chosen(list(everything), everything.names)
    monkeypatch.setattr(held, "HELD_BYTES_MAX", 10 * 1224)
    assert chosen(everything, everything.names) == expected
    assert 40 <= len(everything.asked) < 50


def test_what_cannot_be_read_is_no_candidate_and_a_name_passes_once() -> None:
    everything = Counted(3)
    assert len(chosen(everything, ["c1", "unreadable"]).chosen) == 1
    everything.names.append("c1")
    with pytest.raises(InternalError, match="one name"):
        chosen(everything, ["c1"])


@pytest.fixture
def full(store: Any) -> Any:
    Keyring(store.layout.keys).generate("me", seed=bytes(range(32)), now="2026-01-01T00:00:00Z")
    with store.group() as group:
        for number in range(60):
            request = {
                "scope_id": SCOPE,
                "object_id": f"mem:{number}",
                "actor": ME,
                "object_type": "claim",
                "canonical_content": f"tea {number}",
                "provenance": {"activity": "typed"},
                "validation_state": "corroborated" if number % 3 else "unverified",
            }
            group.perform("create", request)
    return store


def projected(store: Any) -> Projection:
    return project(
        store,
        scope_id=SCOPE,
        actor=ME,
        request=b"tea",
        policy=b'{"order_by": ["committed_at:desc"]}',
        key="me",
        explain=True,
    )


def in_small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is looked up and read a few at a time, and let go."""
    monkeypatch.setattr(selection, "_ROWS_LOOKED_UP", 10)
    monkeypatch.setattr(selection, "_TOGETHER", 4)
    monkeypatch.setattr(held, "HELD_BYTES_MAX", 0)


def test_how_a_scope_is_read_changes_nothing(full: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = projected(full)
    in_small_groups(monkeypatch)
    other = projected(full)
    assert len(other.fragments) == 40
    assert len(other.fates) == 60
    same = replace(other, record_text=at_once.record_text, members=at_once.members)
    assert same == at_once
    assert other.record["delivered"] == at_once.record["delivered"]
    monkeypatch.setattr(selection, "_BYTES_TOGETHER", 1)
    assert projected(full).text == at_once.text


def test_what_is_erased_before_it_is_delivered_stops_the_projection(
    full: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_groups(monkeypatch)
    among = selection.ReadableVersions.among
    version_id = full.read(scope_id=SCOPE, object_id="mem:7", actor=ME)["version_id"]

    def erased_first(self: Any, names: Sequence[str]) -> Any:
        full.delete(
            scope_id=SCOPE,
            object_id="mem:7",
            expected_version_id=version_id,
            actor=ME,
            policy_basis="asked",
            erase=True,
        )
        return among(self, names)

    monkeypatch.setattr(selection.ReadableVersions, "among", erased_first)
    with pytest.raises(ServiceUnavailable, match="erased while the projection was made"):
        projected(full)
    assert not (full.layout.projections / "issued").exists()
