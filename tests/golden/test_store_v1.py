"""The golden store of format version 1: read whole, and made again byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.encoding.base64url import decode
from pamctl.errors import DuplicateOperation, InvalidStateTransition, ObjectDeleted, ObjectRedacted
from pamctl.model.documents import check
from pamctl.service.store import Store
from pamctl.store.commit import NewEntry, NewVersion, ScopeWriter
from pamctl.store.directory import StoreDirectory
from pamctl.store.ledger import Ledger
from pamctl.store.records import START
from pamctl.store.versions import Versions
from tests.golden import make_store_v1, second_reader
from tests.golden.make_store_v1 import OTHER_SCOPE, SCOPE

GOLDEN = Path(__file__).with_name("store-v1") / ".pam"

STATES = {
    # object: lifecycle, availability, retention, validation, versions
    "mem:tea": ("active", "available", "retained", "unverified", 9),
    "mem:page-7": ("active", "redacted", "retained", "unverified", 3),
    "mem:gone": ("candidate", "deleted", "retained", "unverified", 2),
    "mem:bed-1": ("active", "available", "retained", "unverified", 1),
    "mem:bed-2": ("active", "available", "retained", "unverified", 1),
    "mem:bed-3": ("active", "available", "retained", "unverified", 2),
}
EVENTS = [
    ("object_created", "mem:tea"),
    ("object_created", "mem:page-7"),
    ("object_updated", "mem:tea"),
    ("provenance_updated", "mem:tea"),
    ("validation_transitioned", "mem:tea"),
    ("validation_transitioned", "mem:tea"),
    ("lifecycle_transitioned", "mem:tea"),
    ("lifecycle_transitioned", "mem:tea"),
    ("retention_transitioned", "mem:tea"),
    ("retention_transitioned", "mem:tea"),
    ("availability_transitioned", "mem:page-7"),
    ("availability_transitioned", "mem:page-7"),
    ("object_created", "mem:gone"),
    ("object_deleted", "mem:gone"),
    ("object_created", "mem:bed-1"),
    ("object_created", "mem:bed-2"),
    ("object_created", "mem:bed-3"),
    ("object_updated", "mem:bed-3"),
]


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A copy of the golden store: reading leaves an index beside what it reads."""
    return Path(shutil.copytree(GOLDEN, tmp_path / ".pam"))


@pytest.fixture
def store(golden: Path) -> Iterator[Store]:
    opened = pamctl.open_store(golden, clock=lambda: 2_000_000_000_000_000_000)
    yield opened
    opened.close()


def all_versions(store: Store, object_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = store.history(scope_id=SCOPE, object_id=object_id)["items"]
    return items


def without_words(name: str, data: bytes) -> Any:
    """A file without what the sentences of a recorded error decide: people's words may get
    better, and with a line the digests of all that follow it change."""
    if not name.endswith("ledger.jsonl"):
        return data
    lines = [json.loads(line) for line in data.splitlines()]
    for line in lines:
        del line["prev"]
        for word in ("message", "details"):
            line["body"].get("error", {}).pop(word, None)
    return lines


def test_it_is_made_again_byte_for_byte(tmp_path: Path) -> None:
    made = make_store_v1.kept_files(make_store_v1.make(tmp_path))
    golden = {
        path.relative_to(GOLDEN).as_posix(): path.read_bytes()
        for path in GOLDEN.rglob("*")
        if path.is_file()
    }
    assert sorted(made) == sorted(golden)
    for name, data in golden.items():
        assert without_words(name, made[name]) == without_words(name, data), name


def test_what_it_is(store: Store) -> None:
    assert store.config["created_at"] == "2026-01-01T00:00:00.000000Z"
    scopes = store.scope_list()["items"]
    assert [scope["scope_id"] for scope in scopes] == [OTHER_SCOPE, SCOPE]
    rules = store.scope_show(scope_id=SCOPE)["policy"]["rules"]
    assert [rule["rule_id"] for rule in rules] == ["rule:no-tools"]
    assert store.head(SCOPE)["sequence"] == len(EVENTS)


def test_every_event(store: Store) -> None:
    events = store.log(scope_id=SCOPE)["items"]
    assert [(event["event_type"], event["object_id"]) for event in events] == EVENTS
    assert [event["sequence"] for event in events] == list(range(1, len(EVENTS) + 1))
    assert len({event["event_id"] for event in events}) == len(EVENTS)


def test_every_state(store: Store) -> None:
    found = store.query(scope_id=SCOPE, any_state=True)["items"]
    assert {
        envelope["object_id"]: (
            envelope["lifecycle_state"],
            envelope["availability_state"],
            envelope["retention_state"],
            envelope["validation_state"],
            envelope["sequence"],
        )
        for envelope in found
    } == STATES


def test_every_version(store: Store) -> None:
    second = second_reader.read_store(GOLDEN)[SCOPE]
    stored = {version["envelope"]["version_id"]: version for version in second.versions}
    seen = set()
    for object_id, (*_, count) in STATES.items():
        versions = all_versions(store, object_id)
        assert [version["sequence"] for version in versions] == list(range(1, count + 1))
        for version in versions:
            version_id = version["version_id"]
            seen.add(version_id)
            data = store.version_bytes(SCOPE, version_id)
            assert json.loads(data) == stored[version_id]
            if version["canonical_content"] != {"tombstone": True}:
                assert version == stored[version_id]["envelope"]
    assert seen == set(stored)


def test_content_of_every_kind_comes_back(store: Store) -> None:
    tea = all_versions(store, "mem:tea")
    assert tea[0]["canonical_content"] == {
        "text": "The lemon verbena survives mild winters outside."
    }
    assert tea[0]["observed_at"] == "2025-11-30T17:30:00Z"
    assert tea[1]["canonical_content"]["text"] == "The lemon verbena needs a fleece below -5 °C."
    other = store.read(scope_id=OTHER_SCOPE, object_id="mem:tea")
    assert other["canonical_content"] == [1, "two", None]
    beds = [all_versions(store, f"mem:bed-{n}")[-1]["canonical_content"] for n in (1, 2, 3)]
    assert beds == [{"bed": 1, "crop": "peas"}, {"bed": 2, "crop": "beans"},
                    {"bed": 3, "crop": "kale"}]  # fmt: skip
    # Withheld by the service since it was redacted; the bytes keep it until it is erased.
    first = all_versions(store, "mem:page-7")[0]["version_id"]
    content = json.loads(store.version_bytes(SCOPE, first))["envelope"]["canonical_content"]
    assert content["numbers"] == [0, -1, 0.5, 1e-7, 1e21, 9007199254740991]
    assert content["text"] == "naïve – e\u0301 is not é; \u2028 and \u0000 are text too"
    assert list(content) == ["nested", "nothing", "numbers", "text", "\U0001f331", "\ue000"]


def test_what_was_hidden_stays_hidden(store: Store) -> None:
    with pytest.raises(ObjectDeleted):
        store.read(scope_id=SCOPE, object_id="mem:gone")
    with pytest.raises(ObjectRedacted):
        store.read(scope_id=SCOPE, object_id="mem:page-7")
    for object_id in ("mem:gone", "mem:page-7"):
        shown = json.dumps(all_versions(store, object_id))
        assert "naïve" not in shown
        assert "peas" not in shown


def test_its_keys_still_replay(store: Store) -> None:
    head = store.head(SCOPE)
    bed = {
        "scope_id": SCOPE,
        "object_id": "mem:bed-1",
        "object_type": "org.example.garden.bed",
        "schema_id": "urn:example:schema:bed",
        "canonical_content": {"crop": "peas", "bed": 1},
        "actor": make_store_v1.GARDENER,
        "provenance": make_store_v1.noted("beds"),
        "idempotency_key": "bed 1",
    }
    first = all_versions(store, "mem:bed-1")[0]
    replayed = store.perform("create", bed)
    assert (replayed["replayed"], replayed["version_id"]) == (True, first["version_id"])
    with pytest.raises(DuplicateOperation):
        store.perform("create", {**bed, "canonical_content": {"crop": "leeks", "bed": 1}})
    policy = store.scope_show(scope_id=SCOPE)["policy"]
    forbid = {
        "scope_id": SCOPE,
        "policy": policy,
        "actor": make_store_v1.GARDENER,
        "idempotency_key": "no tools",
    }
    assert store.perform("scope_policy", forbid)["replayed"]
    with pytest.raises(DuplicateOperation):
        store.perform("scope_policy", {**forbid, "policy": {**policy, "rules": []}})
    tea = all_versions(store, "mem:tea")[-1]
    impossible = {
        "scope_id": SCOPE,
        "object_id": "mem:tea",
        "expected_version_id": tea["version_id"],
        "dimension": "lifecycle",
        "target_state": "scratch",
        "actor": make_store_v1.GARDENER,
        "idempotency_key": "impossible",
    }
    with pytest.raises(InvalidStateTransition) as refusal:
        store.perform("transition", impossible)
    assert refusal.value.details["replayed"]
    assert store.head(SCOPE) == head


def test_it_can_be_written_to(store: Store, golden: Path) -> None:
    before = second_reader.read_store(golden)[SCOPE]
    store.create(
        scope_id=SCOPE,
        object_type="claim",
        canonical_content={"text": "more"},
        actor=make_store_v1.GARDENER,
        provenance={"activity": "noted"},
    )
    after = second_reader.read_store(golden)[SCOPE]
    assert after.transactions[:-1] == before.transactions
    assert after.end.sequence == before.end.sequence + 1


def test_every_document_is_as_its_schema_says() -> None:
    check("store", json.loads((GOLDEN / "store.json").read_bytes()))
    for scope in second_reader.read_store(GOLDEN).values():
        for transaction in scope.transactions:
            for entry in transaction:
                check("ledger-entry", entry)
        for version in scope.versions:
            check("version-file", version)


def test_the_store_alone_writes_the_same_bytes(tmp_path: Path) -> None:
    """Entries and versions that were read, committed anew in the same groups."""
    source = StoreDirectory.open(GOLDEN)
    target = StoreDirectory.create(tmp_path / ".pam", source.config)
    for document in source.scopes():
        layout = source.scope(document["scope_id"])
        versions = Versions(layout)
        groups: list[list[list[NewEntry]]] = []
        packed = 0
        for transaction in Ledger(layout).transactions(START):
            entries = []
            for entry in transaction.entries:
                sealed = None
                if entry.version is not None:
                    data = versions.read(transaction.versions[entry.version])
                    salt = decode(json.loads(data)["salt"])
                    sealed = NewVersion.seal(json.loads(data)["envelope"], salt)
                entries.append(NewEntry(entry.kind, entry.body, sealed))
            if entries[0].kind == "pack":
                packed = entries[0].body["versions"]
                groups.append([])
            elif packed:
                packed -= sum(entry.version is not None for entry in entries)
                groups[-1].append(entries)
            else:
                groups.append([entries])
        made = target.create_scope(document, groups[0])
        for group in groups[1:]:
            with ScopeWriter(made, tmp_path / "quarantine") as writer:
                end = list(Ledger(made).transactions(START))[-1].after
                writer.commit(end, group)
    golden = {
        path.relative_to(GOLDEN).as_posix(): path.read_bytes()
        for path in GOLDEN.rglob("*")
        if path.is_file()
    }
    assert make_store_v1.kept_files(tmp_path / ".pam") == golden
