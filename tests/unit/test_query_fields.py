"""Every authoritative field that PAMSPEC §11 lists: what asks for it, and what orders by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pamctl.errors import InvalidRequest
from pamctl.model.vocabulary import ORDER_FIELDS
from pamctl.service.envelope_order import split
from pamctl.service.store import Store

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:helper", "actor_kind": "agent", "on_behalf_of_actor_id": "a:boss"}
ASKED = {"scope_id": SCOPE, "actor": HUMAN}
MARCH = ("2026-03-01T00:00:00Z", "2026-03-31T00:00:00Z")
TOLD: dict[str, dict[str, Any]] = {
    "a": {
        "actor": AGENT,
        "object_type": "task",
        "schema_id": "urn:schema:a",
        "observed_at": MARCH[0],
        "asserted_at": MARCH[0],
        "valid_from": MARCH[0],
        "valid_until": MARCH[1],
        "validation_state": "corroborated",
        "lifecycle_state": "candidate",
        "retention_state": "legal_hold",
        "relationship_refs": ["rel:a"],
        "integrity": {"algorithm": "sha256", "digest": "ab", "canonicalization_profile": "urn:x:1"},
        "provenance": {
            "provenance_id": "prov:a",
            "activity": "read",
            "source_ref": "urn:letter",
            "evidence_refs": ["urn:e1", "urn:e2"],
            "transformation_parent": "urn:parent:1",
            "source_confidence": 0.75,
            "integrity_ref": "urn:seal:a",
        },
    },
    "b": {
        "provenance": {
            "activity": "heard",
            "source_ref": "urn:call",
            "evidence_refs": ["urn:e2"],
            "transformation_parent": "urn:parent:2",
            "source_confidence": 0,
        }
    },
    "c": {"provenance": {"activity": "heard"}},
}
BETWEEN = {"from": MARCH[0], "until": MARCH[1]}
FIELDS: list[tuple[str, dict[str, Any], str, str]] = [
    # the field of §11, what asks for it, what that finds, what orders by it
    ("object", {"object_id": ["mem:a"]}, "a", "object_id"),
    ("object type", {"object_type": ["task"]}, "a", "object_type"),
    ("Lifecycle State", {"lifecycle_state": ["candidate"]}, "a", "lifecycle_state"),
    ("Availability State", {"availability_state": ["available"]}, "abc", "availability_state"),
    ("Retention State", {"retention_state": ["legal_hold"]}, "a", "retention_state"),
    ("Validation State", {"validation_state": ["corroborated"]}, "a", "validation_state"),
    ("schema identifier", {"schema_id": ["urn:schema:a"]}, "a", "schema_id"),
    ("provenance", {"provenance_id": ["prov:a"]}, "a", "provenance_id"),
    ("its source", {"source_ref": ["urn:call"]}, "b", "source_ref"),
    ("its activity", {"activity": ["heard"]}, "bc", "activity"),
    ("its evidence", {"evidence_ref": ["urn:e2"]}, "ab", ""),
    ("its evidence, one of", {"evidence_ref": ["urn:e1", "urn:e3"]}, "a", ""),
    ("its parent", {"transformation_parent": "urn:parent:2"}, "b", "transformation_parent"),
    ("its confidence", {"source_confidence": {"from": 0.5}}, "a", "source_confidence"),
    ("its confidence, at most", {"source_confidence": {"until": 0.5}}, "b", "source_confidence"),
    ("its integrity", {"integrity_ref": ["urn:seal:a"]}, "a", ""),
    ("actor", {"actor_id": ["actor:agent:helper"]}, "a", "actor_id"),
    ("its kind", {"actor_kind": "agent"}, "a", ""),
    ("its principal", {"on_behalf_of_actor_id": ["a:boss"]}, "a", ""),
    ("observation time", {"temporal": {"basis": "observed_at", **BETWEEN}}, "a", "observed_at"),
    ("assertion time", {"temporal": {"basis": "asserted_at", **BETWEEN}}, "a", "asserted_at"),
    ("validity interval", {"temporal": {"basis": "valid_time", **BETWEEN}}, "abc", "valid_from"),
    ("its end", {"where": ["valid_until exists"]}, "a", "valid_until"),
    ("commit time", {"temporal": {"basis": "committed_at", **BETWEEN}}, "", "committed_at"),
    ("record time", {"temporal": {"basis": "recorded_at", **BETWEEN}}, "", "recorded_at"),
    (
        "sequence",
        {"temporal": {"basis": "sequence", "from": 2, "until": 2}},
        "b",
        "ledger_sequence",
    ),
    ("its own number", {"where": ["sequence = 1"]}, "abc", "sequence"),
    ("version", {"version_id": ["ver:none"]}, "", "version_id"),
    ("Relationship Object", {"relationship_ref": ["rel:a"]}, "a", ""),
    ("integrity metadata", {"integrity_digest": ["ab"]}, "a", "integrity_digest"),
    ("its algorithm", {"integrity_algorithm": ["sha256"]}, "a", ""),
]


@pytest.fixture
def ask(store: Store) -> Callable[..., list[str]]:
    for name, members in TOLD.items():
        store.create(
            **{
                **ASKED,
                "object_id": f"mem:{name}",
                "object_type": "claim",
                "canonical_content": {"name": name},
                **members,
            }
        )

    def ask(**arguments: Any) -> list[str]:
        answer = store.query(**{**ASKED, "any_state": True, **arguments})
        return [item["object_id"].removeprefix("mem:") for item in answer["items"]]

    return ask


@pytest.mark.parametrize(
    ("field", "asked", "found", "order"), FIELDS, ids=lambda one: str(one)[:30]
)
def test_what_asks_for_a_field_finds_it(
    ask: Callable[..., list[str]], field: str, asked: dict[str, Any], found: str, order: str
) -> None:
    assert "".join(sorted(ask(**asked))) == found, field
    if order:
        forth, back = ask(order_by=[order]), ask(order_by=[f"{order}:desc"])
        assert sorted(forth) == sorted(back) == ["a", "b", "c"], field


def test_everything_that_orders_is_a_field_or_a_relevance() -> None:
    assert {order for _, _, _, order in FIELDS if order} == {*ORDER_FIELDS} - {"relevance"}


def test_ranges_of_several_times_hold_together(ask: Callable[..., list[str]], store: Store) -> None:
    now = store.query(**ASKED, any_state=True)["items"][0]["recorded_at"]
    valid = {"basis": "valid_time", "from": "2026-04-02T00:00:00Z"}
    assert ask(temporal=[valid, {"basis": "recorded_at", "from": now}]) == ["b", "c"]
    assert ask(temporal=[valid, {"basis": "recorded_at", "until": "2000-01-01T00:00:00Z"}]) == []
    assert ask(temporal=[valid, {"basis": "sequence", "from": 3}]) == ["c"]


@pytest.mark.parametrize(
    ("order_by", "expected"),
    [
        (["source_confidence"], "bac"),
        (["source_confidence:desc"], "abc"),
        (["transformation_parent:desc", "object_id:desc"], "bac"),
    ],
)
def test_what_envelopes_order_comes_in_pages(
    ask: Callable[..., list[str]], store: Store, order_by: list[str], expected: str
) -> None:
    for number in range(6):  # what has neither comes last, and what ties is in its own order
        store.create(
            **ASKED,
            object_id=f"mem:z{number}",
            object_type="claim",
            canonical_content={},
            provenance={"activity": "read", "source_confidence": 0.75 if number % 2 else 0.5},
        )
    whole = ask(order_by=order_by)
    assert [name for name in whole if name in "abc"] == list(expected)
    pages: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        answer = store.query(
            **ASKED, any_state=True, order_by=order_by, limit=2, count=True, explain=True, **cursor
        )
        pages += [item["object_id"].removeprefix("mem:") for item in answer["items"]]
        assert answer["total"] == 9
        assert answer["plan"]["order"][0] == order_by[0]
        if answer["next_cursor"] is None:
            break
        cursor = {"cursor": answer["next_cursor"]}
    assert pages == whole


def test_what_envelopes_order_is_held_to_be_the_first() -> None:
    assert split(["object_id"]) == (None, ["object_id"])
    with pytest.raises(InvalidRequest, match="first"):
        split(["object_id", "source_confidence"])
    with pytest.raises(InvalidRequest, match="no order"):
        split(["source_confidence:up"])


def test_a_confidence_that_ends_before_it_begins(ask: Callable[..., list[str]]) -> None:
    with pytest.raises(InvalidRequest, match="ends before"):
        ask(source_confidence={"from": 0.5, "until": 0.25})
