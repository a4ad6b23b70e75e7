"""PAMSPEC's own vectors, taken as a dump of another implementation: plain envelopes and events."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.cli.checking import checked
from pamctl.errors import InvalidObject, ObjectDeleted, ObjectRedacted
from pamctl.rules.lineage import EARLIER_NOT_GIVEN
from pamctl.service.store import Store
from tests.authority import OWNER, SEEN, on
from tests.shared import shared_path

SCOPE = "workspace:example"

REQUESTS = {"semantic-query-with-embedding-space", "structured-query"}
"""What somebody asks of a memory is no part of one."""

ALONE: dict[str, dict[str, int] | str] = {
    "access-denial-event-only": {"events": 1},
    "derived-index-event-only": {"events": 1},
    "delegation": {"delegations": 1},
    "evaluation-snapshot": {"snapshots": 1},
    "idempotent-repeated-create": {"events_without_version": 1},
    "lifecycle-transition": {"events_without_version": 1},
    "object-history": {"events_without_version": 1},
    "retention-transition": {"events_without_version": 1},
    "validation-transition": {"events_without_version": 1},
    "relationship-creation": "joins mem:claim:001, which is not in workspace:example",
}
"""What brings nothing when it is all that there is: what was passed over, or what is said."""


def valid() -> list[Path]:
    return sorted(shared_path("vectors/pamspec/vectors/valid").glob("*.json"))


def vectors() -> list[Any]:
    return [json.loads(path.read_bytes()) for path in valid() if path.stem not in REQUESTS]


def imported(store: Store, *values: Any) -> Any:
    data = b"\n".join(json.dumps(value).encode() for value in values)
    return pamctl.import_bundle(store, io.BytesIO(data), actor=OWNER)


def envelope(version_id: str) -> Any:
    (found,) = [
        one for one in vectors() if one.get("version_id") == version_id and "provenance" in one
    ]
    return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return pamctl.init_store(tmp_path / ".pam")


def test_each_comes_alone_or_says_why_not(tmp_path: Path) -> None:
    came = 0
    for path in valid():
        store = pamctl.init_store(tmp_path / path.stem / ".pam")
        value = json.loads(path.read_bytes())
        said = "no envelope" if path.stem in REQUESTS else ALONE.get(path.stem)
        if said is None:
            (scope,) = imported(store, value)["scopes"]
            assert (scope["scope_id"], scope["action"], scope["versions"]) == (SCOPE, "recorded", 1)
            (found,) = store.history(scope_id=SCOPE, object_id=value["object_id"])["items"]
            assert found == value
            came += 1
            continue
        with pytest.raises(InvalidObject) as refused:
            imported(store, value)
        if isinstance(said, dict):
            assert refused.value.details["passed_over"] == said
        else:
            assert said in refused.value.message
    assert came == 13


def test_all_of_them_come_together(store: Store, tmp_path: Path) -> None:
    values = vectors()
    answer = imported(store, *values)
    (scope,) = answer["scopes"]
    envelopes = [one for one in values if "provenance" in one and "delegation_id" not in one]
    assert scope["versions"] == len(envelopes) == 14
    assert answer["passed_over"] == {
        "delegations": 1,
        "snapshots": 1,
        "events": 2,
        "events_without_version": 4,
    }
    for one in envelopes:
        ident = one.get("object_id") or one["relationship_id"]
        assert store.history(scope_id=SCOPE, object_id=ident)["items"] == [one]
    assert imported(store, *values)["scopes"][0]["action"] == "unchanged"
    # Carried on from here, it is a scope like any other.
    bundle = io.BytesIO()
    pamctl.export_bundle(store, bundle, scope_ids=[SCOPE])
    copy = pamctl.init_store(tmp_path / "copy" / ".pam")
    bundle.seek(0)
    assert pamctl.import_bundle(copy, bundle, actor=OWNER)["scopes"][0]["action"] == "adopted"
    again = io.BytesIO()
    pamctl.export_bundle(copy, again, scope_ids=[SCOPE])
    assert again.getvalue() == bundle.getvalue()
    for here in (store, copy):
        here.close()
        assert checked(here.path)["clean"]


def test_a_history_that_begins_late_says_so_and_goes_on(store: Store) -> None:
    late = [one for one in vectors() if "provenance" in one and one["sequence"] > 1]
    assert len(late) == 6
    imported(store, *late)
    events = store.log(scope_id=SCOPE)["items"]
    assert all(event["payload"]["condition"] == EARLIER_NOT_GIVEN for event in events)
    types = {event["version_id"]: event["event_type"] for event in events}
    assert types["ver:claim:deleted:3"] == "object_deleted"
    assert types["ver:claim:redacted:2"] == types["ver:claim:partial:2"] == "object_redacted"
    assert types["ver:decision:001:2"] == types["ver:claim:expired:2"] == "object_updated"
    with pytest.raises(ObjectDeleted):
        store.read(scope_id=SCOPE, object_id="mem:claim:deleted")
    with pytest.raises(ObjectRedacted):
        store.read(scope_id=SCOPE, object_id="mem:claim:redacted")
    decision = store.read(scope_id=SCOPE, object_id="mem:decision:001")
    made = store.update(**on(decision, OWNER, canonical_content="later", provenance=SEEN))
    assert made["sequence"] == 3
    found = store.read(scope_id=SCOPE, object_id="mem:decision:001", at_sequence=2)
    assert found["version_id"] == "ver:decision:001:2"
    store.close()
    assert checked(store.path)["clean"]


def test_a_gap_within_a_history_is_refused(store: Store) -> None:
    late = envelope("ver:decision:001:2")
    beyond = {**late, "version_id": "ver:decision:001:4", "sequence": 4}
    with pytest.raises(InvalidObject) as refused:
        imported(store, late, beyond)
    assert "without gaps" in refused.value.message
    assert SCOPE not in [scope["scope_id"] for scope in store.scope_list()["items"]]


def test_types_that_nobody_here_knows_are_kept(store: Store) -> None:
    claim, artifact = envelope("ver:claim:001:1"), envelope("ver:artifact:001:1")
    relation = envelope("relver:001:1")
    claim |= {"object_type": "org.example.dream", "schema_id": "https://example.org/dream/1"}
    claim["canonical_content"] = {"vivid": True, "org.example.hue": ["indigo", None, 1e300]}
    relation |= {"relationship_type": "https://example.org/foretells"}
    imported(store, claim, artifact, relation)
    for value, ident in ((claim, claim["object_id"]), (relation, relation["relationship_id"])):
        assert store.history(scope_id=SCOPE, object_id=ident)["items"] == [value]
