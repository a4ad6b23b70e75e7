"""A short form of the fuzzing that `make fuzz` does for as long as it is given."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.store import packs
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, place

_EXAMPLES = 60


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    at = place()
    yield
    at.layout.ledger.write_bytes(at.ledger)
    at.pack.write_bytes(at.packed)


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_are_read(name: str) -> None:
    for seed in TARGETS[name].seeds():
        TARGETS[name].read(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_with_changes(name: str) -> None:
    @settings(max_examples=_EXAMPLES, deadline=None, derandomize=True, database=None)
    @given(st.integers(0, 2**32))
    def changed(number: int) -> None:
        chance = random.Random(number)
        TARGETS[name].read(mutated(chance.choice(TARGETS[name].seeds()), chance))

    changed()


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes(name: str) -> None:
    @settings(max_examples=_EXAMPLES, deadline=None, derandomize=True, database=None)
    @given(st.binary(max_size=300))
    def read(data: bytes) -> None:
        TARGETS[name].read(data)

    read()


def test_a_defect_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(data: bytes) -> object:
        return data.decode()

    monkeypatch.setattr(packs, "parsed_version", careless)
    with pytest.raises(UnicodeDecodeError):
        TARGETS["pack"].read(b'"erased":' + b"\xff" * 100 + b"\n")
