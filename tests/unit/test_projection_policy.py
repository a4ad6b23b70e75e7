"""The selection policy document."""

import json
from typing import Any

import pytest

from pamctl.errors import InvalidRequest
from pamctl.projection.choice import Limits
from pamctl.projection.policy import merge_policy, parse_policy


def test_an_empty_policy_is_the_default_query() -> None:
    policy = parse_policy(b"{}")
    assert policy.query(b"anything") == {}
    assert policy.limits == Limits()


def test_a_policy_becomes_a_query() -> None:
    policy = parse_policy(
        b'{"filters": {"object_type": ["claim"], "any_state": true}, "text": "tea",'
        b' "order_by": ["committed_at:desc"], "limits": {"objects": 3, "bytes": 900}}'
    )
    assert policy.query(b"request") == {
        "object_type": ["claim"],
        "any_state": True,
        "text": "tea",
        "order_by": ["committed_at:desc"],
    }
    assert policy.limits == Limits(objects=3, bytes=900)


def test_the_request_can_be_what_is_searched_for() -> None:
    policy = parse_policy(b'{"text": "request"}')
    assert policy.query("when is caf\u00e9?".encode()) == {"text": "when is caf\u00e9?"}
    with pytest.raises(InvalidRequest, match="not UTF-8"):
        policy.query(b"\xff")


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        (b"[]", ""),
        (b'{"filter": {}}', "/filter"),
        (b'{"filters": []}', "/filters"),
        (b'{"filters": {"object_id": "mem:x"}}', "/filters/object_id"),
        (b'{"filters": {"as_of": 1}}', "/filters/as_of"),
        (b'{"filters": {"limit": 1}}', "/filters/limit"),
        (b'{"text": null}', "/text"),
        (b'{"text": 1}', "/text"),
        (b'{"order_by": "sequence"}', "/order_by"),
        (b'{"limits": {"tokens": 1}}', "/tokenizer"),
        (b'{"limits": {"objects": -1}}', "/limits/objects"),
        (b'{"limits": {"objects": 1.0}}', "/limits/objects"),
        (b'{"limits": {"bytes": true}}', "/limits/bytes"),
    ],
)
def test_what_a_policy_may_not_hold_is_refused(data: bytes, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_policy(data)
    assert refused.value.details["pointer"] == pointer


def test_duplicate_members_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="twice"):
        parse_policy(b'{"text": "a", "text": "b"}')


def test_nothing_added_leaves_the_bytes_alone() -> None:
    data = b'{ "limits" : {} }\n'
    assert merge_policy(data, {}) == data


@pytest.mark.parametrize(
    ("additions", "merged"),
    [
        ({"text": "milk"}, {"text": "milk", "filters": {"object_type": ["claim"]}}),
        (
            {"filters": {"any_state": True}},
            {"text": "tea", "filters": {"object_type": ["claim"], "any_state": True}},
        ),
        (
            {"filters": {"object_type": ["task"]}},
            {"text": "tea", "filters": {"object_type": ["task"]}},
        ),
        (
            {"limits": {"objects": 2}},
            {"text": "tea", "filters": {"object_type": ["claim"]}, "limits": {"objects": 2}},
        ),
    ],
)
def test_additions_are_laid_over_member_by_member(
    additions: dict[str, Any], merged: dict[str, Any]
) -> None:
    data = b'{"text": "tea", "filters": {"object_type": ["claim"]}}'
    result = merge_policy(data, additions)
    assert json.loads(result) == merged
    assert result == json.dumps(merged, sort_keys=True, separators=(",", ":")).encode()
