"""PAMSPEC §8.6 and §8.7: provenance and integrity metadata."""

from typing import Any

import pytest

from pamctl.errors import InvalidObject, PamError
from tests.conformance.memories import HUMAN, Memories

FULL: dict[str, Any] = {
    "provenance_id": "prov:mine",
    "activity": "heard",
    "source_ref": "https://example.org/diary",
    "evidence_refs": ["urn:photo:1", "urn:photo:2"],
    "observed_at": "2026-01-01T10:00:00Z",
    "source_confidence": 0.75,
    "transformation_parent": "ver:before",
}


def test_8_6_provenance_is_kept_whole(memories: Memories) -> None:
    made = memories.create(provenance=FULL)
    kept = memories.read(made)["provenance"]
    assert {name: kept[name] for name in FULL} == FULL
    assert kept["actor"] == HUMAN
    assert kept["recorded_at"] == made["recorded_at"]


def test_8_6_what_stands_in_evidence_is_kept_as_given(memories: Memories) -> None:
    """References to descriptions of models and data are references like others."""
    evidence = ["https://example.org/model-card#v2", "doi:10.1000/dataset", "urn:prov:agent:7"]
    made = memories.create(provenance={"activity": "inferred", "evidence_refs": evidence})
    assert memories.read(made)["provenance"]["evidence_refs"] == evidence


def test_8_6_a_change_of_provenance_is_a_version_and_an_event(memories: Memories) -> None:
    made = memories.create(provenance=FULL)
    asked = {
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "provenance": {"activity": "corrected", "source_ref": "urn:other"},
    }
    changed = memories.perform("update", **asked)["envelope"]
    assert changed["version_id"] != made["version_id"]
    assert changed["canonical_content"] == made["canonical_content"]
    assert memories.events()[-1]["event_type"] == "provenance_updated"
    assert [version["provenance"] for version in memories.versions(made)] == [
        made["provenance"],
        changed["provenance"],
    ]


def test_8_6_a_transition_keeps_provenance(memories: Memories) -> None:
    made = memories.create(provenance=FULL)
    moved = memories.move(made, "lifecycle", "archived")
    assert moved["provenance"] == made["provenance"]


@pytest.mark.parametrize("provenance", [None, {}, {"source_ref": "urn:x"}, [], "heard"])
def test_8_6_provenance_cannot_be_dropped(memories: Memories, provenance: Any) -> None:
    made = memories.create(provenance=FULL)
    head = memories.head()
    with pytest.raises(PamError) as caught:
        memories.perform(
            "update",
            object_id=made["object_id"],
            expected_version_id=made["version_id"],
            canonical_content="other",
            provenance=provenance,
        )
    assert caught.value.code in ("invalid_object", "invalid_request")
    assert memories.head() == head


def test_8_6_confidence_of_the_source_is_not_that_of_the_reviewer(memories: Memories) -> None:
    made = memories.create(provenance=FULL, quality_signals={"assessed_confidence": 0.125})
    changed = memories.update(made, quality_signals={"assessed_confidence": 1.0})
    assert made["provenance"]["source_confidence"] == 0.75
    assert made["quality_signals"]["assessed_confidence"] == 0.125
    assert changed["quality_signals"]["assessed_confidence"] == 1.0


@pytest.mark.parametrize("confidence", [-0.1, 1.1, "high", None, True])
def test_8_6_confidence_is_a_number_from_0_to_1(memories: Memories, confidence: Any) -> None:
    with pytest.raises(InvalidObject):
        memories.create(provenance={"activity": "heard", "source_confidence": confidence})
