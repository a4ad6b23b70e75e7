"""PAMSPEC §8.1: the canonical envelope."""

from typing import Any

import pytest

from pamctl.errors import DuplicateOperation, PamError, VersionConflict
from tests.conformance.memories import AGENT, HUMAN, Memories, states

REQUIRED = (
    "spec_version",
    "object_id",
    "version_id",
    "scope_id",
    "object_type",
    "canonical_content",
    "lifecycle_state",
    "availability_state",
    "retention_state",
    "validation_state",
    "committed_at",
    "recorded_at",
    "sequence",
    "actor",
    "provenance",
)


def test_8_1_every_version_has_the_required_members(memories: Memories) -> None:
    made = memories.create()
    changed = memories.update(made, canonical_content="more")
    moved = memories.move(changed, "lifecycle", "archived")
    for envelope in (made, changed, moved, memories.delete(moved)):
        assert set(REQUIRED) <= set(envelope)


@pytest.mark.parametrize(
    "member", ["object_type", "canonical_content", "actor", "provenance", "scope_id"]
)
def test_8_1_what_is_required_of_the_caller_cannot_be_left_out(
    memories: Memories, member: str
) -> None:
    asked: dict[str, Any] = {
        "scope_id": memories.scope_id,
        "actor": HUMAN,
        "object_type": "claim",
        "canonical_content": "tea",
        "provenance": {"activity": "observed"},
    }
    del asked[member]
    with pytest.raises(PamError) as caught:
        memories.store.perform("create", asked)
    assert caught.value.code in ("invalid_request", "invalid_object")
    assert memories.head()["sequence"] == 0


@pytest.mark.parametrize(
    "times",
    [
        {"valid_until": "2001-01-01T00:00:00Z"},
        {"valid_from": "2999-01-01T00:00:00Z"},
        {"observed_at": "2999-01-01T00:00:00Z", "asserted_at": "1999-01-01T00:00:00Z"},
        {"valid_from": "1999-01-01T00:00:00Z", "valid_until": "2000-01-01T00:00:00Z"},
    ],
)
def test_8_1_temporal_assertions_move_no_state(memories: Memories, times: dict[str, str]) -> None:
    """A memory whose time is over, or has not come, is in the states that it was given, at its
    creation, after an update, and whenever it is looked at."""
    trusted = {"validation_state": "corroborated"}
    plain = memories.create(**trusted)
    dated = memories.create(**trusted, **times)
    assert states(dated) == states(plain)
    later = memories.update(plain, **times)
    assert states(later) == states(plain)
    assert states(memories.read(dated)) == states(plain)
    found = {item["object_id"] for item in memories.perform("query")["items"]}
    assert found == {dated["object_id"], plain["object_id"]}


def test_8_1_times_of_clients_order_nothing(memories: Memories) -> None:
    """The order of the ledger and the numbers of versions are the service's."""
    late = memories.create("late", observed_at="2999-01-01T00:00:00Z")
    early = memories.create("early", observed_at="1999-01-01T00:00:00Z")
    assert [event["object_id"] for event in memories.events()] == [
        late["object_id"],
        early["object_id"],
    ]
    assert late["committed_at"] < early["committed_at"]


@pytest.mark.parametrize("member", ["committed_at", "recorded_at", "sequence", "version_id"])
def test_8_1_what_the_service_assigns_nobody_can_give(memories: Memories, member: str) -> None:
    value: Any = {"sequence": 7, "version_id": "ver:mine"}.get(member, "2020-01-01T00:00:00Z")
    with pytest.raises(PamError) as caught:
        memories.create(**{member: value})
    assert caught.value.code == "invalid_request"


def test_8_1_sequence_rises_and_is_never_used_again(memories: Memories) -> None:
    """Also across refusals, replays, and other objects."""
    tea = memories.create("tea", idempotency_key="key:tea")
    version = tea
    for number in range(5):
        milk = memories.create(number)
        memories.update(milk, canonical_content="other")
        with pytest.raises(VersionConflict):
            memories.update({**tea, "version_id": "ver:stale"}, canonical_content=number)
        memories.create("tea", idempotency_key="key:tea")
        with pytest.raises(DuplicateOperation):
            memories.create("coffee", idempotency_key="key:tea")
        version = memories.update(version, canonical_content=number)
    memories.delete(version)
    numbers = [item["sequence"] for item in memories.versions(tea)]
    assert numbers == list(range(1, 8))


def test_8_1_quality_signals_move_no_validation_state(memories: Memories) -> None:
    """The surest signal makes nothing corroborated, the worst takes nothing away, and what is
    found by default does not depend on either."""
    sure = {"assessed_confidence": 1.0, "evidence_strength": 1.0, "contradiction_score": 0.0}
    doubtful = {"assessed_confidence": 0.0, "contradiction_score": 1.0, "staleness_score": 1.0}
    claimed = memories.create("claimed", quality_signals=sure)
    assert claimed["validation_state"] == "unverified"
    trusted = memories.create("trusted", validation_state="corroborated", quality_signals=doubtful)
    assert trusted["validation_state"] == "corroborated"
    assert memories.update(claimed, quality_signals=sure)["validation_state"] == "unverified"
    assert memories.update(trusted, quality_signals=doubtful)["validation_state"] == "corroborated"
    found = [item["object_id"] for item in memories.perform("query")["items"]]
    assert found == [trusted["object_id"]]


def test_8_1_quality_signals_are_kept(memories: Memories) -> None:
    signals = {"assessed_confidence": 0.25, "assessed_by_actor_id": "actor:agent:judge"}
    made = memories.create(quality_signals=signals)
    assert memories.read(made)["quality_signals"] == signals
    assert memories.update(made, canonical_content=1)["quality_signals"] == signals


def test_8_1_the_actor_is_the_one_of_each_version(memories: Memories) -> None:
    acting = {**AGENT, "on_behalf_of_actor_id": HUMAN["actor_id"]}
    made = memories.create()
    changed = memories.update(made, canonical_content="more", actor=acting)
    assert [version["actor"] for version in memories.versions(made)] == [HUMAN, acting]
    assert changed["actor"] == acting


def test_8_1_integrity_metadata_stays_with_its_version(memories: Memories) -> None:
    """It covers one version; the next has its own or none."""
    digest = {"digest": "0" * 64, "algorithm": "sha-256"}
    made = memories.create(integrity=digest)
    assert memories.read(made)["integrity"] == digest
    assert "integrity" not in memories.update(made, canonical_content="more")


@pytest.mark.parametrize("integrity", [{"digest": "0" * 64}, {"signature": "0" * 64}, {}])
def test_8_7_integrity_metadata_says_how_it_is_verified(
    memories: Memories, integrity: dict[str, str]
) -> None:
    with pytest.raises(PamError) as caught:
        memories.create(integrity=integrity)
    assert caught.value.code == "invalid_object"
