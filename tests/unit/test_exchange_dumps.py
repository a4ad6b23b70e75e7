"""Plain envelopes and events of another implementation, recorded anew."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import pamctl
import pamctl.errors
from pamctl.cli.checking import checked
from pamctl.errors import InvalidObject, VersionConflict
from pamctl.service.store import Store
from tests.authority import OWNER
from tests.schemas.instances import ENVELOPE, RELATIONSHIP

SCOPE = "workspace:theirs"
GONE = {"availability_state": "deleted", "canonical_content": {"tombstone": True}}


def version(number: int, **members: Any) -> dict[str, Any]:
    kept = {name: member for name, member in ENVELOPE.items() if name != "integrity"}
    return {
        **kept,
        "scope_id": SCOPE,
        "object_id": "mem:rose",
        "version_id": f"ver:rose:{number}",
        "sequence": number,
        "recorded_at": f"2026-03-0{number}T12:00:00Z",
        **members,
    }


def event(of: dict[str, Any], event_type: str, **members: Any) -> dict[str, Any]:
    return {
        "event_id": f"evt:{of['version_id']}",
        "operation_id": "op:theirs:1",
        "scope_id": SCOPE,
        "object_id": of["object_id"],
        "version_id": of["version_id"],
        "event_type": event_type,
        "recorded_at": of["recorded_at"],
        "sequence": of["sequence"],
        "actor": of["actor"],
        **members,
    }


def take(store: Store, *values: Any, lines: bool = True) -> Any:
    data = b"\n".join(json.dumps(value).encode() for value in values)
    if not lines:
        data = json.dumps(list(values), indent=2).encode()
    return pamctl.import_bundle(store, io.BytesIO(data), actor=OWNER)["scopes"]


def versions(store: Store) -> list[Any]:
    items: list[Any] = store.history(scope_id=SCOPE, object_id="mem:rose")["items"]
    return items


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
def test_a_history_comes_as_it_was(store: Store, tmp_path: Path, lines: bool) -> None:
    one = version(1)
    two = version(2, canonical_content="pruned", validation_state=one["validation_state"])
    three = version(3, canonical_content="pruned", lifecycle_state="archived")
    (scope,) = take(store, three, one, two, lines=lines)
    assert (scope["scope_id"], scope["action"], scope["versions"]) == (SCOPE, "recorded", 3)
    assert versions(store) == [one, two, three]
    events = store.log(scope_id=SCOPE)["items"]
    assert [one["event_type"] for one in events] == [
        "object_created",
        "object_updated",
        "lifecycle_transitioned",
    ]
    assert take(store, one, two, three)[0]["action"] == "unchanged"
    assert take(store, one, two, three, version(4, lifecycle_state="archived"))[0]["versions"] == 1
    store.close()
    assert checked(tmp_path / ".pam")["clean"]


def test_events_are_kept_with_their_ids(store: Store, tmp_path: Path) -> None:
    one, two = version(1), version(2, canonical_content="pruned")
    later = event(two, "object_updated", recorded_at="2026-03-09T12:00:00Z", payload={"x": 1})
    take(store, later, one, event(one, "object_created"), two)
    events = store.log(scope_id=SCOPE)["items"]
    assert [one["event_id"] for one in events] == ["evt:ver:rose:1", "evt:ver:rose:2"]
    assert [one["operation_id"] for one in events] == ["op:theirs:1", "op:theirs:1"]
    assert events[1]["recorded_at"] == two["recorded_at"]
    assert events[1]["payload"] == {"x": 1, "origin_recorded_at": "2026-03-09T12:00:00Z"}
    store.close()
    assert checked(tmp_path / ".pam")["clean"]


def test_a_tombstone_and_a_relationship_come_along(store: Store, tmp_path: Path) -> None:
    one = version(1)
    gone = version(2, canonical_content={"tombstone": True}, availability_state="deleted")
    ends = [version(1, object_id=f"mem:{name}", version_id=f"ver:{name}:1") for name in ("a", "b")]
    link = {
        **{name: member for name, member in RELATIONSHIP.items() if name != "integrity"},
        "scope_id": SCOPE,
        "source_object_id": "mem:a",
        "target_object_id": "mem:b",
        "sequence": 1,
        "recorded_at": "2026-03-05T12:00:00Z",
    }
    for member in ("target_scope_id", "policy_basis"):
        link.pop(member, None)
    take(store, one, gone, *ends, link)
    assert store.read(scope_id=SCOPE, object_id=link["relationship_id"]) == link
    with pytest.raises(pamctl.errors.ObjectDeleted):
        store.read(scope_id=SCOPE, object_id="mem:rose")
    store.close()
    assert checked(tmp_path / ".pam")["clean"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([{"hello": "world"}], "no envelope"),
        ([[1, 2]], "no envelope"),
        ([version(1), version(3)], "without gaps"),
        ([version(1), version(1)], "a second time"),
        ([version(1), version(1, version_id="ver:other")], "without gaps"),
        ([version(1, colour="red")], "colour"),
        ([version(1, recorded_at="yesterday")], "recorded_at"),
        ([event(version(1), "object_created")], "events_without_version passed over: 1"),
        ([version(1), event(version(1), "object_created", actor=OWNER)], "disagree"),
        ([version(1, lifecycle_state="archived"), version(2)], "archived to active"),
        (
            [version(1, **GONE), version(2, **GONE)],
            "a version follows its tombstone",
        ),
        ([version(1, availability_state="deleted")], "ver:rose:1 is deleted and bears content"),
        ([version(1, availability_state="redacted")], "ver:rose:1 is redacted and bears content"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_hold_together_is_refused(store: Store, values: list[Any], said: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        take(store, *values)
    assert said in refused.value.message
    assert [scope["scope_id"] for scope in store.scope_list()["items"]] == ["workspace:default"]


def test_a_version_that_is_here_and_says_something_else_is_refused(store: Store) -> None:
    take(store, version(1))
    with pytest.raises(VersionConflict) as refused:
        take(store, version(1, canonical_content="another"))
    (clash,) = refused.value.details["objects"]
    assert clash["object_id"] == "mem:rose"
    assert "something else" in clash["reason"]
    assert versions(store) == [version(1)]


@pytest.mark.parametrize("data", [b"{", b"nonsense", b'{"a":1}{"b":2}', b'{"a":1,"a":2}\n'])
def test_what_is_neither_bundle_nor_dump_is_refused(store: Store, data: bytes) -> None:
    with pytest.raises(InvalidObject):
        pamctl.import_bundle(store, io.BytesIO(data), actor=OWNER)
