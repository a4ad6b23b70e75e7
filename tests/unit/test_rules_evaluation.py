"""Rules of snapshots, evaluations and Embedding Spaces. PAMSPEC §7.8, §18.11."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pamctl.encoding.digests import sha256_digest
from pamctl.encoding.timestamps import from_nanoseconds
from pamctl.errors import EmbeddingSpaceMismatch, InvalidRequest
from pamctl.rules.evaluation import moment, seeded
from pamctl.rules.snapshots import Member, belongs, state_digest
from pamctl.rules.spaces import same_space, vector_bytes

SPACE: dict[str, Any] = {"embedding_space_id": "emb:a", "dimensions": 2}


@pytest.mark.parametrize(
    ("start", "tick", "sequence", "shown"),
    [
        ("2026-07-17T00:00:00Z", 1, 0, "2026-07-17T00:00:00.000000Z"),
        ("2026-07-17T00:00:00Z", 1, 1, "2026-07-17T00:00:00.001000Z"),
        ("2026-07-17T02:00:00.25+02:00", 500, 3, "2026-07-17T00:00:01.750000Z"),
        ("1969-12-31T23:59:59.5Z", 1000, 1, "1970-01-01T00:00:00.500000Z"),
        ("2016-12-31T23:59:60Z", 1, 0, "2017-01-01T00:00:00.000000Z"),
        ("2026-07-17T00:00:00Z", None, 7, "2026-07-17T00:00:00.000000Z"),
    ],
)
def test_a_declared_clock_goes_on_with_the_ledger(
    start: str, tick: int | None, sequence: int, shown: str
) -> None:
    clock = {"clock_ref": "clock:a", "start_at": start}
    if tick is not None:
        clock["tick_ms"] = tick  # type: ignore[assignment]
    assert from_nanoseconds(moment(clock, sequence)) == shown


def test_seeded_bytes_are_a_function_of_seed_and_place() -> None:
    places = [(0, "write", 1, 1), (1, "write", 1, 1), (0, "ask", 1, 1), (0, "write", 2, 1)]
    drawn = {seeded(*place, 16) for place in (*places, (0, "write", 1, 2))}
    assert len(drawn) == 5
    assert seeded(-7, "write", 3, 9, 16) == seeded(-7, "write", 3, 9, 16)
    # What these bytes are is part of what a run can be repeated with.
    assert seeded(1729, "write", 2, 1, 8).hex() == "8c15348ab472e0e2"


def test_the_digest_of_a_snapshot_is_over_its_members_and_spaces() -> None:
    members = [Member("mem:a", "ver:1", "sha256:" + "0" * 64), Member("mem:b", "ver:2", "x")]
    data = (
        '{"members":[["mem:a","ver:1","sha256:' + "0" * 64 + '"],["mem:b","ver:2","x"]],'
        '"spaces":[["emb:a","'
        + sha256_digest(b'{"dimensions":2,"embedding_space_id":"emb:a"}')
        + '"]]}'
    )
    assert state_digest(members, {"emb:a": SPACE}) == sha256_digest(data.encode())
    assert state_digest([], {}) == sha256_digest(b'{"members":[],"spaces":[]}')


@pytest.mark.parametrize(
    ("identifier", "ends", "included", "is_member"),
    [
        ("mem:a", (), None, True),
        ("mem:a", (), {"mem:a"}, True),
        ("mem:a", (), {"mem:b"}, False),
        ("rel:a", ("mem:a", "mem:b"), {"mem:a"}, False),
        ("rel:a", ("mem:a", "mem:b"), {"mem:a", "mem:b"}, True),
        ("rel:a", ("mem:a", "mem:b"), {"rel:a"}, True),
        ("rel:a", ("mem:a",), {"mem:a"}, True),
    ],
)
def test_what_belongs_to_a_snapshot(
    identifier: str, ends: tuple[str, ...], included: set[str] | None, is_member: bool
) -> None:
    assert belongs(identifier, ends, included) is is_member


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2))
def test_a_vector_of_32_bit_floats_is_kept_as_it_is(vector: list[float]) -> None:
    data = vector_bytes(vector, SPACE, "/embeddings/0")
    assert list(struct.unpack("<2f", data)) == vector


@pytest.mark.parametrize("number", [1e39, -1e39, math.inf, math.nan, 10**400])
def test_a_number_beyond_32_bit_floats_is_refused(number: float) -> None:
    with pytest.raises(InvalidRequest) as refused:
        vector_bytes([0, number], SPACE, "/embeddings/4")
    assert refused.value.details["pointer"] == "/embeddings/4/vector"


def test_another_number_of_dimensions_is_another_space() -> None:
    with pytest.raises(EmbeddingSpaceMismatch) as refused:
        vector_bytes([0, 1, 2], SPACE, "/embeddings/0")
    assert "has 3 dimensions; emb:a has 2" in refused.value.message


def test_who_described_a_space_and_when_is_not_what_it_is() -> None:
    assert same_space(SPACE, {**SPACE, "created_at": "2026-01-01T00:00:00Z"})
    assert not same_space(SPACE, {**SPACE, "dimensions": 3})
