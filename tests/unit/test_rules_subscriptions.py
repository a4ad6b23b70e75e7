"""Filters, delivery preferences and cursors of subscriptions. PAMSPEC §10.8."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import InvalidRequest
from pamctl.limits import PREDICATE_MEMBERS_MAX
from pamctl.rules.subscriptions import (
    Cursor,
    concerned,
    matches,
    require_delivery,
    require_filter,
)

EVENT: dict[str, Any] = {
    "event_id": "evt:1",
    "event_type": "validation_transitioned",
    "object_id": "mem:tea",
    "sequence": 7,
    "actor": {"actor_id": "actor:agent:a", "actor_kind": "agent"},
    "payload": {"to": "disputed", "n": 1, "flag": True, "none": None, "list": ["x", {"a/b": "y"}]},
}
LINK = {"event_type": "relationship_created", "relationship_id": "rel:1", "sequence": 8}
PROMOTION = {
    "event_type": "working_memory_promoted",
    "object_id": "mem:draft",
    "payload": {"target_object_id": "mem:tea"},
}


def test_without_conditions_everything_passes() -> None:
    assert matches({}, EVENT, None)


def test_by_event_class() -> None:
    assert matches({"event_classes": ["object_created", EVENT["event_type"]]}, EVENT, None)
    assert not matches({"event_classes": ["object_created"]}, EVENT, None)


def test_by_object_type() -> None:
    assert matches({"object_type": "claim"}, EVENT, "claim")
    assert not matches({"object_type": "claim"}, EVENT, "decision")
    assert not matches({"object_type": "claim"}, LINK, None)


def test_by_object_or_relationship() -> None:
    assert matches({"object_id": "mem:tea"}, EVENT, None)
    assert not matches({"object_id": "mem:te"}, EVENT, None)
    assert matches({"object_id": "rel:1"}, LINK, None)
    assert matches({"object_id": "mem:tea"}, PROMOTION, None)
    assert concerned({"event_type": "index_rebuilt"}) == []


def test_conditions_are_joined_by_and() -> None:
    chosen = {"object_id": "mem:tea", "object_type": "claim", "predicate": {"/sequence": 7}}
    assert matches(chosen, EVENT, "claim")
    assert not matches(chosen, EVENT, "decision")
    assert not matches({**chosen, "predicate": {"/sequence": 8}}, EVENT, "claim")


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        ({}, True),
        ({"/payload/to": "disputed"}, True),
        ({"/payload/to": ["rejected", "disputed"]}, True),
        ({"/payload/to": "Disputed"}, False),
        ({"/payload/to": "disputed", "/actor/actor_kind": "human"}, False),
        ({"/payload/n": 1}, True),
        ({"/payload/n": True}, False),
        ({"/payload/flag": 1}, False),
        ({"/payload/flag": True}, True),
        ({"/payload/none": None}, True),
        ({"/payload/absent": None}, False),
        ({"/payload/list/0": "x"}, True),
        ({"/payload/list/1/a~1b": "y"}, True),
        ({"/payload/list/2": "x"}, False),
        ({"/payload/list/-": "x"}, False),
        ({"/payload/to/deeper": "x"}, False),
        ({"/payload": "x"}, False),
    ],
)
def test_a_predicate_compares_what_stands_at_pointers(predicate: Any, holds: bool) -> None:
    require_filter({"predicate": predicate})
    assert matches({"predicate": predicate}, EVENT, None) is holds


@pytest.mark.parametrize(
    "predicate",
    [
        {"actor_id": "actor:agent:a"},
        {"": "x"},
        {"/payload": {"to": "x"}},
        {"/payload/to": [["x"]]},
        {"/payload/to": []},
        {f"/{number}": 1 for number in range(PREDICATE_MEMBERS_MAX + 1)},
    ],
)
def test_a_predicate_that_means_nothing_is_refused(predicate: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        require_filter({"predicate": predicate})
    assert refused.value.details["pointer"] == "/filter/predicate"


def test_preferences_are_kept_or_refused() -> None:
    for policy in ("block", "close_on_lag"):
        require_delivery({"backpressure_policy": policy, "keepalive_interval_ms": 100})
    require_delivery({"keepalive_interval_ms": 0})
    for preference in ({"backpressure_policy": "drop_oldest"}, {"keepalive_interval_ms": 99}):
        with pytest.raises(InvalidRequest) as refused:
            require_delivery(preference)
        assert refused.value.details["pointer"] == f"/delivery/{next(iter(preference))}"


def test_a_cursor_never_goes_back() -> None:
    cursor = Cursor(delivered=5, acknowledged=3)
    assert cursor.handed_over(9, acknowledged=False) == Cursor(9, 3)
    assert cursor.handed_over(9, acknowledged=True) == Cursor(9, 9)
    assert cursor.handed_over(2, acknowledged=True) == cursor
    assert cursor.passed_over(8) == Cursor(5, 8)
    assert cursor.passed_over(2) == cursor
    assert cursor.received(5, last=5) == Cursor(5, 5)
    assert cursor.received(1, last=5) == cursor


def test_what_was_not_delivered_cannot_be_acknowledged() -> None:
    with pytest.raises(InvalidRequest, match="behind sequence 5"):
        Cursor(5, 3).received(6, last=5)
