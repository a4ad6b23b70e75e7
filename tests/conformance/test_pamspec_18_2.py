"""PAMSPEC §18.2: the delegation profile, as a client of the coprocess sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pamctl.bindings.operations import perform
from pamctl.errors import AccessDenied, InvalidObject, PolicyDenied
from pamctl.model.documents import check as check_document
from pamctl.model.documents import schema
from pamctl.model.envelopes import semantic_checks
from pamctl.service.store import Store
from tests.authority import AGENT, BEGIN, END, OTHER_AGENT, OWNER, SCOPE, terms
from tests.shared import shared_path


def grant(store: Store, *operations: str, **more: Any) -> Any:
    return perform(store, "grant_delegation", terms(*(operations or ("read",)), **more))


def check(store: Store, delegation: Any, operation: str = "read", **more: Any) -> Any:
    asked = {
        "delegation_id": delegation["delegation_id"],
        "scope_id": SCOPE,
        "delegated_actor_id": AGENT["actor_id"],
        "operation": operation,
    }
    return perform(store, "check_delegation", {**asked, **more})


def revoke(store: Store, delegation: Any) -> Any:
    return perform(
        store,
        "revoke_delegation",
        {"delegation_id": delegation["delegation_id"], "scope_id": SCOPE, "actor": OWNER},
    )


def test_18_2_a_grant_binds_its_parties_and_its_bounds(store: Store) -> None:
    delegation = grant(store, "read", "query", granted_object_ids=["mem:1"])
    check_document("delegation", delegation)
    assert delegation["granting_actor"] == OWNER
    assert delegation["delegated_actor"] == AGENT
    assert delegation["granted_operations"] == ["read", "query"]
    assert delegation["granted_object_ids"] == ["mem:1"]
    assert (delegation["not_before"], delegation["not_after"]) == (BEGIN, END)
    for required in ("policy_basis", "granted_operations", "delegated_actor", "not_after"):
        assert required in schema("requests/grant_delegation")["required"]


def test_18_2_a_grant_is_of_known_operations(store: Store) -> None:
    with pytest.raises(InvalidObject):
        grant(store, "read", "obliterate_universe")


def test_18_2_a_check_answers_the_grant(store: Store) -> None:
    delegation = grant(store)
    assert check(store, delegation) == delegation
    assert check(store, delegation, object_id="mem:1") == delegation


@pytest.mark.parametrize(
    "asked",
    [
        {"operation": "update"},
        {"delegated_actor_id": OTHER_AGENT["actor_id"]},
        {"delegation_id": "del:never"},
        {"scope_id": "workspace:other"},
    ],
    ids=str,
)
def test_18_2_or_access_denied(store: Store, asked: dict[str, str]) -> None:
    delegation = grant(store)
    with pytest.raises(AccessDenied):
        check(store, delegation, **asked)


def test_18_2_a_window_that_ends_before_it_begins_is_refused(store: Store) -> None:
    with pytest.raises(PolicyDenied) as refused:
        grant(store, not_before=END, not_after=BEGIN)
    assert refused.value.policy_rule_id == "delegation_window_inverted"
    assert grant(store, not_before=BEGIN, not_after=BEGIN)


@pytest.mark.shared
def test_18_2_as_the_vector_has_it(store: Store) -> None:
    """The vector delegation-window-inverted, as a document and as a grant."""
    path = ("vectors", "pamspec", "vectors", "invalid", "delegation-window-inverted.json")
    case = json.loads(shared_path(*path).read_text(encoding="utf-8"))
    window = {name: case["instance"][name] for name in ("not_before", "not_after")}
    for refuse in (lambda: semantic_checks(case["instance"]), lambda: grant(store, **window)):
        with pytest.raises(PolicyDenied) as refused:
            refuse()
        assert refused.value.policy_rule_id == case["semanticRule"]
        assert refused.value.code == case["expected_failure"]


@pytest.mark.parametrize(
    "window",
    [
        {"not_after": "2025-12-31T23:59:59Z"},
        {"not_before": "2026-06-01T00:00:00Z"},
        {"not_before": "2026-01-01T00:00:00-10:00"},
    ],
    ids=["over", "not yet", "not yet in another time zone"],
)
def test_18_2_a_check_outside_the_window_is_denied(store: Store, window: Any) -> None:
    """The clock of the test stands at the beginning of 2026."""
    delegation = grant(store, **window)
    with pytest.raises(AccessDenied):
        check(store, delegation)


def test_18_2_checks_beyond_the_usage_limit_are_denied(store: Store) -> None:
    delegation = grant(store, usage_limit=2)
    for _ in range(2):
        assert check(store, delegation) == delegation
    for _ in range(2):
        with pytest.raises(AccessDenied):
            check(store, delegation)


def test_18_2_without_a_limit_there_is_none(store: Store) -> None:
    delegation = grant(store)
    for _ in range(5):
        assert check(store, delegation)


def test_18_2_a_denied_check_uses_nothing_up(store: Store) -> None:
    delegation = grant(store, usage_limit=1)
    with pytest.raises(AccessDenied):
        check(store, delegation, "update")
    assert check(store, delegation)


def test_18_2_a_revocation_ends_it_at_once(store: Store) -> None:
    delegation = grant(store)
    assert check(store, delegation)
    ended = revoke(store, delegation)
    assert ended["delegation_id"] == delegation["delegation_id"]
    for _ in range(2):
        with pytest.raises(AccessDenied):
            check(store, delegation)


def test_18_2_a_check_about_another_object_is_denied(store: Store) -> None:
    delegation = grant(store, granted_object_ids=["mem:1", "mem:2"])
    assert check(store, delegation, object_id="mem:1")
    assert check(store, delegation, object_id="mem:2")
    with pytest.raises(AccessDenied):
        check(store, delegation, object_id="mem:3")


def test_18_2_the_profile_is_there_over_the_coprocess(run: Any, store: Store) -> None:
    """Grant, check, check beyond the limit, revoke and check, one process, no actor named
    where the protocol names none."""
    requests = [
        ("grant_delegation", terms("read", usage_limit=1, not_after="2999-01-01T00:00:00Z"))
    ]
    lines = "".join(
        json.dumps({"request_id": n, "operation": name, "arguments": arguments}) + "\n"
        for n, (name, arguments) in enumerate(requests)
    )
    granted = run("stdio", stdin=lines.encode()).stdout.splitlines()[1]
    delegation_id = json.loads(granted)["result"]["delegation_id"]
    asked = {"delegation_id": delegation_id, "scope_id": SCOPE}
    checked = {**asked, "delegated_actor_id": AGENT["actor_id"], "operation": "read"}
    requests = [
        ("check_delegation", checked),
        ("check_delegation", checked),
        ("revoke_delegation", asked),
        ("check_delegation", checked),
    ]
    lines = "".join(
        json.dumps({"request_id": n, "operation": name, "arguments": arguments}) + "\n"
        for n, (name, arguments) in enumerate(requests)
    )
    answers = [
        json.loads(line) for line in run("stdio", stdin=lines.encode()).stdout.splitlines()[1:]
    ]
    assert answers[0]["result"]["delegation_id"] == delegation_id
    assert answers[1]["error"]["code"] == "access_denied"
    assert answers[2]["result"]["lifecycle_state"] == "archived"
    assert answers[3]["error"]["code"] == "access_denied"
