"""`pamctl stdio` as another program's test suite would probe it: PAMSPEC-Delegation (§18.2)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.coprocess import Coprocess
from tests.conftest import Run

SCOPE = "workspace:test"
GRANTOR = {"actor_id": "actor:human:grantor", "actor_kind": "human"}
DELEGATE = {"actor_id": "actor:agent:delegate", "actor_kind": "agent"}
PAST, NOW, FUTURE = "2000-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


@pytest.fixture
def coprocess(tmp_path: Path) -> Iterator[Coprocess]:
    with Coprocess(tmp_path, "--ephemeral") as running:
        yield running


def grant(coprocess: Coprocess, **more: Any) -> Any:
    return coprocess.ask(
        "grant_delegation",
        **{
            "scope_id": SCOPE,
            "granting_actor": GRANTOR,
            "delegated_actor": DELEGATE,
            "granted_operations": ["read", "update"],
            "policy_basis": "policy:test",
            "not_before": PAST,
            "not_after": FUTURE,
            **more,
        },
    )


def check(coprocess: Coprocess, granted: dict[str, Any], **more: Any) -> Any:
    return coprocess.ask(
        "check_delegation",
        **{
            "delegation_id": granted["delegation_id"],
            "scope_id": SCOPE,
            "delegated_actor_id": DELEGATE["actor_id"],
            "operation": "read",
            **more,
        },
    )


def test_a_grant_answers_the_delegation(coprocess: Coprocess) -> None:
    granted = grant(coprocess)
    assert granted["granting_actor"] == GRANTOR
    assert granted["delegated_actor"] == DELEGATE
    assert granted["granted_operations"] == ["read", "update"]
    assert granted["policy_basis"] == "policy:test"
    assert (granted["not_before"], granted["not_after"]) == (PAST, FUTURE)
    assert granted["scope_id"] == SCOPE


def test_a_check_answers_the_delegation(coprocess: Coprocess) -> None:
    granted = grant(coprocess)
    assert check(coprocess, granted)["delegation_id"] == granted["delegation_id"]
    assert check(coprocess, granted, operation="update")["delegation_id"]


@pytest.mark.parametrize(
    "other",
    [
        {"operation": "delete"},
        {"delegated_actor_id": "actor:agent:other"},
        {"delegated_actor_id": GRANTOR["actor_id"]},
        {"scope_id": "workspace:other"},
        {"delegation_id": "del:nothing"},
    ],
)
def test_a_check_of_anything_else_is_denied(coprocess: Coprocess, other: dict[str, Any]) -> None:
    assert check(coprocess, grant(coprocess), **other)["code"] == "access_denied"


def test_a_window_that_ends_before_it_begins_is_refused(coprocess: Coprocess) -> None:
    """Vector delegation-window-inverted."""
    assert grant(coprocess, not_before=FUTURE, not_after=PAST)["code"] == "policy_denied"


@pytest.mark.parametrize(
    "window",
    [{"not_before": PAST, "not_after": NOW}, {"not_before": FUTURE, "not_after": FUTURE}],
    ids=["over", "not yet"],
)
def test_outside_of_its_window_it_is_denied(coprocess: Coprocess, window: dict[str, str]) -> None:
    assert check(coprocess, grant(coprocess, **window))["code"] == "access_denied"


@pytest.mark.parametrize("limit", [1, 3])
def test_beyond_its_usage_limit_it_is_denied(coprocess: Coprocess, limit: int) -> None:
    granted = grant(coprocess, usage_limit=limit)
    for _ in range(limit):
        assert "code" not in check(coprocess, granted)
    for _ in range(2):
        assert check(coprocess, granted)["code"] == "access_denied"


def test_uses_are_counted_by_the_store_and_not_by_the_process(tmp_path: Path, run: Run) -> None:
    assert run("init").returncode == 0
    with Coprocess(tmp_path) as first:
        granted = grant(first, usage_limit=1)
        assert "code" not in check(first, granted)
    with Coprocess(tmp_path) as second:
        assert check(second, granted)["code"] == "access_denied"


def test_a_revocation_works_at_once(coprocess: Coprocess) -> None:
    granted = grant(coprocess)
    assert "code" not in check(coprocess, granted)
    revoked = coprocess.ask(
        "revoke_delegation",
        delegation_id=granted["delegation_id"],
        scope_id=SCOPE,
        revoking_actor=GRANTOR,
    )
    assert "code" not in revoked
    assert check(coprocess, granted)["code"] == "access_denied"


def test_objects_that_it_does_not_name_are_denied(coprocess: Coprocess) -> None:
    granted = grant(coprocess, granted_object_ids=["mem:one", "mem:two"])
    assert "code" not in check(coprocess, granted, object_id="mem:one")
    assert "code" not in check(coprocess, granted, object_id="mem:two")
    assert check(coprocess, granted, object_id="mem:three")["code"] == "access_denied"


def test_types_that_it_does_not_name_are_denied(coprocess: Coprocess) -> None:
    granted = grant(coprocess, granted_object_types=["claim"])
    assert "code" not in check(coprocess, granted, object_type="claim")
    assert check(coprocess, granted, object_type="task")["code"] == "access_denied"


def test_a_grant_and_a_revocation_are_events(coprocess: Coprocess) -> None:
    granted = grant(coprocess)
    check(coprocess, granted)
    coprocess.ask(
        "revoke_delegation",
        delegation_id=granted["delegation_id"],
        scope_id=SCOPE,
        revoking_actor=GRANTOR,
    )
    events = coprocess.ask("inspect_history", scope_id=SCOPE, actor=GRANTOR)["items"]
    assert [event["event_type"] for event in events] == [
        "delegation_granted",
        "delegation_exercised",
        "delegation_revoked",
    ]
