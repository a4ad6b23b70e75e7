"""What expires, when, and that nothing does by itself. PAMSPEC §9.4, §9.6."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.service.store import Store
from pamctl.store.lock import exclusive

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
SEEN = {"activity": "observed"}
DAY_NS = 24 * 3600 * 1_000_000_000
DAY_SEC = 24 * 3600


class Clock:
    def __init__(self) -> None:
        self.now_ns = 1_767_225_600_000_000_000

    def __call__(self) -> int:
        return self.now_ns

    def pass_days(self, days: float) -> None:
        self.now_ns += int(days * DAY_NS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Store:
    store = pamctl.init_store(tmp_path / ".pam", clock=clock)
    policy = store.scope_show(scope_id=SCOPE)["policy"]
    rules = [
        {"rule_id": "rule:chatter", "expires_after_sec": DAY_SEC, "object_types": ["observation"]},
        {"rule_id": "rule:never", "may_erase": True},
        {"rule_id": "rule:rest", "expires_after_sec": 10 * DAY_SEC},
    ]
    store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy={**policy, "retention": rules})
    return store


@pytest.fixture
def create(store: Store) -> Callable[..., dict[str, Any]]:
    def create(object_type: str = "observation", **more: Any) -> dict[str, Any]:
        given = {"scope_id": SCOPE, "object_type": object_type, "canonical_content": "tea"}
        return store.create(**{**given, "actor": HUMAN, "provenance": SEEN, **more})

    return create


def expire(store: Store, **more: Any) -> dict[str, Any]:
    return store.expire(scope_id=SCOPE, actor=HUMAN, **more)


def state(store: Store, made: dict[str, Any]) -> str:
    found = store.history(scope_id=SCOPE, object_id=made["object_id"])["items"][-1]
    return str(found["retention_state"])


def test_what_is_due_gets_a_version_an_event_and_its_rule(
    store: Store, create: Any, clock: Clock
) -> None:
    made, claim = create(), create("claim")
    clock.pass_days(0.99)
    assert expire(store)["items"] == []
    clock.pass_days(0.01)
    assert state(store, made) == "retained"
    answer = expire(store)
    (item,) = answer["items"]
    assert (item["object_id"], item["policy_rule_id"]) == (made["object_id"], "rule:chatter")
    event = store.log(scope_id=SCOPE)["items"][-1]
    assert event["event_type"] == "retention_transitioned"
    assert event["actor"] == HUMAN
    assert event["operation_id"] == answer["operation_id"]
    assert event["payload"]["policy_basis"] == "rule:chatter"
    assert (event["event_id"], event["version_id"]) == (item["event_id"], item["version_id"])
    expired = store.read(scope_id=SCOPE, object_id=made["object_id"])
    assert expired == {
        **made["envelope"],
        "retention_state": "expired",
        "sequence": 2,
        **{name: expired[name] for name in ("version_id", "committed_at", "recorded_at")},
    }
    assert state(store, claim) == "retained"
    assert expire(store)["items"] == []
    clock.pass_days(9)
    assert [one["object_id"] for one in expire(store)["items"]] == [claim["object_id"]]


def test_time_counts_from_the_last_change(store: Store, create: Any, clock: Clock) -> None:
    made = create()
    clock.pass_days(0.9)
    store.update(
        scope_id=SCOPE,
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        actor=HUMAN,
        provenance=SEEN,
        canonical_content="coffee",
    )
    clock.pass_days(0.9)
    assert expire(store)["items"] == []
    clock.pass_days(0.1)
    assert len(expire(store)["items"]) == 1


def test_a_dry_run_changes_nothing(store: Store, create: Any, clock: Clock) -> None:
    made = create()
    clock.pass_days(2)
    head = store.head(SCOPE)
    (item,) = expire(store, dry_run=True)["items"]
    assert item["object_id"] == made["object_id"]
    assert item["version_id"] == made["version_id"]
    assert store.head(SCOPE) == head


def test_a_legal_hold_is_never_due(store: Store, create: Any, clock: Clock) -> None:
    held = create(retention_state="legal_hold")
    clock.pass_days(100)
    answer = expire(store)
    assert (answer["items"], answer["held"]) == ([], 1)
    assert state(store, held) == "legal_hold"


def test_what_is_deleted_expired_or_pending_is_left_alone(
    store: Store, create: Any, clock: Clock
) -> None:
    gone = create()
    store.delete(
        scope_id=SCOPE,
        object_id=gone["object_id"],
        expected_version_id=gone["version_id"],
        actor=HUMAN,
    )
    create(retention_state="expired")
    create(retention_state="pending_deletion")
    clock.pass_days(100)
    assert expire(store)["items"] == []


def test_a_client_s_own_times_expire_nothing(store: Store, create: Any) -> None:
    create(valid_until="2001-01-01T00:00:00Z", observed_at="2000-01-01T00:00:00Z")
    assert expire(store)["items"] == []


def test_in_parts(store: Store, create: Any, clock: Clock) -> None:
    made = [create() for _ in range(5)]
    clock.pass_days(2)
    seen: list[str] = []
    for more in (True, True, False):
        answer = expire(store, limit=2)
        assert answer["more"] is more
        seen += [item["object_id"] for item in answer["items"]]
    assert seen == [one["object_id"] for one in made]
    # Exactly as many as asked for.
    more = [create() for _ in range(2)]
    clock.pass_days(2)
    answer = expire(store, limit=2)
    assert (len(answer["items"]), answer["more"]) == (len(more), False)


def test_without_rules_nothing_is_due(tmp_path: Path, clock: Clock) -> None:
    store = pamctl.init_store(tmp_path / "other" / ".pam", clock=clock)
    store.create(
        scope_id=SCOPE, object_type="claim", canonical_content=1, actor=HUMAN, provenance=SEEN
    )
    clock.pass_days(10_000)
    assert expire(store)["items"] == []
    assert store.expire(scope_id="workspace:never", actor=HUMAN)["items"] == []


def test_a_store_that_cannot_be_written_refuses_all_of_it(
    store: Store, create: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(), create("claim")
    clock.pass_days(100)
    monkeypatch.setattr("pamctl.store.commit.LOCK_WAIT_SEC", 0.01)
    events = store.head(SCOPE)["sequence"]
    with (
        exclusive(store.directory.scope(SCOPE).lock),
        pytest.raises(errors.ServiceUnavailable),
    ):
        expire(store)
    assert store.head(SCOPE)["sequence"] == events
    assert len(expire(store)["items"]) == 2


def test_needs_the_authority_to_transition(store: Store, create: Any, clock: Clock) -> None:
    create(), create("claim")
    clock.pass_days(100)
    policy = store.scope_show(scope_id=SCOPE)["policy"]
    deny = {"rule_id": "rule:deny", "effect": "deny", "operations": ["transition"]}
    store.scope_policy(
        scope_id=SCOPE,
        actor=HUMAN,
        policy={**policy, "rules": [{**deny, "object_types": ["claim"]}]},
    )
    (item,) = expire(store, dry_run=True)["items"]
    assert item["object_type"] == "observation"
    store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy={**policy, "rules": [deny]})
    with pytest.raises(errors.AccessDenied):
        expire(store)
