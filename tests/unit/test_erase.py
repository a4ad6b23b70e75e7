"""After an erasure no file of the store holds what was erased; all else is as it was."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.encoding.base64url import decode
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.model.documents import check
from pamctl.service.store import Store
from pamctl.store.layout import ScopeLayout
from pamctl.store.versions import version_bytes
from tests.remnants import remnants, spellings

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
SEEN = {"activity": "observed", "source_ref": "urn:source:1"}

SECRET = "Qzxwvk jüngst\u2028“ßpqzrt” \U0001f511 wvqzkx"
WORDS = ("qzxwvk", "ßpqzrt", "wvqzkx")
OTHER = "Kjqvzb was never to go"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = pamctl.init_store(tmp_path / ".pam")
    yield store
    store.close()


@pytest.fixture
def create(store: Store) -> Callable[..., dict[str, Any]]:
    def create(content: Any, **more: Any) -> dict[str, Any]:
        given = {"scope_id": SCOPE, "object_type": "claim", "actor": HUMAN, "provenance": SEEN}
        return store.create(**{**given, "canonical_content": content, **more})

    return create


def change(made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "scope_id": SCOPE,
        "object_id": made["object_id"],
        "expected_version_id": made["version_id"],
        "actor": HUMAN,
        **more,
    }


def layout(store: Store) -> ScopeLayout:
    return store.open_scope(SCOPE).layout


def pack(store: Store, *contents: Any) -> list[dict[str, Any]]:
    with store.group() as group:
        return [
            group.perform(
                "create",
                {
                    "scope_id": SCOPE,
                    "object_type": "claim",
                    "actor": HUMAN,
                    "provenance": SEEN,
                    "canonical_content": content,
                    "idempotency_key": f"packed {number}",
                },
            )
            for number, content in enumerate(contents)
        ]


def entries(store: Store, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in layout(store).ledger.read_bytes().splitlines()]
    return [line["body"] for line in lines if line["kind"] == kind]


def whole(store: Store) -> None:
    """Every line of the ledger is what its schema says, and follows the one before; every
    version that it names is there, or a stub that an `erasure` entry accounts for."""
    place, head = layout(store), "0" * 64
    lines = place.ledger.read_bytes().splitlines()
    stubs = {body["address"]: body["stub"] for body in entries(store, "erasure")}
    found = {sha256_digest(p.read_bytes()): p for p in place.versions.rglob("*")
             if p.is_file() and not p.name.endswith(".erased.json")}  # fmt: skip
    kept = {}
    for path in place.versions.rglob("*.erased.json"):
        kept["sha256:" + path.parent.name + path.name[:62]] = path.read_bytes()
    for path in place.packs.iterdir():
        assert path.name == f"{sha256_hex(path.read_bytes())}.jsonl"
        for line in path.read_bytes().splitlines():
            value = json.loads(line)
            if "erased" in value:
                kept[value["erased"]["address"]] = line
            else:
                found[sha256_digest(line)] = path
    for line in lines:
        value = json.loads(line)
        check("ledger-entry", value)
        assert value["prev"] == head
        head = sha256_hex(line)
        address = value.get("version")
        if address is not None and address in stubs:
            assert address not in found
            check("erasure-stub", json.loads(kept[address]))
            assert sha256_digest(kept[address]) == stubs[address]
            assert json.loads(kept[address])["erased"]["address"] == address
        elif address is not None:
            assert address in found
    assert kept.keys() == stubs.keys()


def test_the_search_finds_every_spelling(tmp_path: Path) -> None:
    for name, spelt in spellings(SECRET).items():
        assert len(spelt) > 20
        spelt = spelt if name.startswith("base64") else spelt.upper()
        (tmp_path / "file").write_bytes(b"before" + spelt + b"after")
        assert ("file", name) in remnants(tmp_path, SECRET)
    (tmp_path / "file").write_bytes(b"nothing")
    assert remnants(tmp_path, SECRET) == []


class TestNothingIsLeft:
    def everywhere(self, store: Store, create: Any) -> dict[str, Any]:
        """An object that held the secret in all the ways in which content gets in."""
        made = create({"text": SECRET}, idempotency_key="create", quality_signals={})
        made = store.update(
            **change(
                made,
                provenance={**SEEN, "integrity_ref": f"sha256:{sha256_hex(SECRET.encode())}"},
                json_patch=[
                    {"op": "test", "path": "/text", "value": SECRET},
                    {"op": "add", "path": "/more", "value": [SECRET, {SECRET: 1}]},
                ],
                idempotency_key="patch",
                integrity={"digest": sha256_hex(SECRET.encode()), "algorithm": "sha-256"},
            )
        )
        made = store.update(
            **change(made, provenance=SEEN, merge_patch={SECRET: SECRET}, idempotency_key="merge")
        )
        return store.transition(**change(made, dimension="validation", target_state="corroborated"))

    def test_of_an_object_that_is_redacted(self, store: Store, create: Any) -> None:
        made = self.everywhere(store, create)
        kept = create({"text": OTHER})
        found = store.query(scope_id=SCOPE, any_state=True, text=WORDS[0])["items"]
        assert [one["object_id"] for one in found] == [made["object_id"]]
        assert remnants(store.path, *WORDS) != []
        gone = store.redact(**change(made, erase=True, policy_basis="policy:subject"))
        digest = sha256_hex(SECRET.encode())
        assert remnants(store.path, SECRET, *WORDS, digest) == []
        assert gone["erased_versions"] == 4
        assert gone["envelope"]["availability_state"] == "redacted"
        assert gone["envelope"]["canonical_content"] == {"tombstone": True}
        assert store.read(scope_id=SCOPE, object_id=kept["object_id"]) == kept["envelope"]
        whole(store)

    def test_of_an_object_that_is_deleted(self, store: Store, create: Any) -> None:
        made = self.everywhere(store, create)
        gone = store.delete(**change(made, erase=True))
        assert remnants(store.path, SECRET, *WORDS) == []
        assert gone["erased_versions"] == 4
        whole(store)

    def test_of_an_object_that_was_deleted_before(self, store: Store, create: Any) -> None:
        made = self.everywhere(store, create)
        gone = store.delete(**change(made, idempotency_key="delete"))
        assert remnants(store.path, *WORDS) != []
        sequence = store.head(SCOPE)["sequence"]
        later = store.delete(**change(gone, erase=True, policy_basis="policy:subject"))
        assert remnants(store.path, SECRET, *WORDS) == []
        assert later["erased_versions"] == 4
        assert later["version_id"] == gone["version_id"]
        assert later["event_id"] == gone["event_id"]
        assert store.head(SCOPE)["sequence"] == sequence
        for body in entries(store, "erasure"):
            assert body["event_id"] == gone["event_id"]
            assert body["actor"] == HUMAN
            assert body["policy_basis"] == "policy:subject"
            assert body["operation_id"] == later["operation_id"]
        whole(store)
        with pytest.raises(errors.ObjectDeleted):
            store.delete(**change(gone, erase=True))

    def test_of_an_object_that_was_redacted_before(self, store: Store, create: Any) -> None:
        made = self.everywhere(store, create)
        hidden = store.redact(**change(made))
        assert remnants(store.path, *WORDS) != []
        gone = store.redact(**change(hidden, erase=True))
        assert remnants(store.path, SECRET, *WORDS) == []
        assert (gone["sequence"], gone["erased_versions"]) == (6, 4)
        whole(store)
        with pytest.raises(errors.InvalidStateTransition):
            store.redact(**change(gone, erase=True))

    def test_of_members_in_every_version(self, store: Store, create: Any) -> None:
        made = create({"note": "kept one", "phone": "none yet"})
        first = made
        made = store.update(**change(made, provenance=SEEN, merge_patch={"phone": SECRET}))
        second = made
        made = store.update(**change(made, provenance=SEEN, merge_patch={"note": "kept three"}))
        gone = store.redact(**change(made, erase=True, paths=["/phone"]))
        assert remnants(store.path, SECRET, *WORDS) == []
        assert gone["envelope"]["canonical_content"] == {
            "note": "kept three",
            "phone": "[REDACTED]",
        }
        assert gone["envelope"]["availability_state"] == "partially_redacted"
        assert gone["erased_versions"] == 3
        for old in (first, second):
            with pytest.raises(errors.ObjectRedacted):
                store.read(
                    scope_id=SCOPE, object_id=made["object_id"], version_id=old["version_id"]
                )
        whole(store)

    def test_of_a_member_that_only_earlier_versions_have(self, store: Store, create: Any) -> None:
        made = create({"note": "kept", "phone": SECRET})
        made = store.update(**change(made, provenance=SEEN, merge_patch={"phone": None}))
        current = made
        gone = store.redact(**change(made, erase=True, paths=["/phone"]))
        assert remnants(store.path, SECRET, *WORDS) == []
        assert gone["erased_versions"] == 1
        assert gone["envelope"]["canonical_content"] == {"note": "kept"}
        shown = store.transition(**change(gone, dimension="availability", target_state="available"))
        assert shown["envelope"]["canonical_content"] == {"note": "kept"}
        read = store.read(
            scope_id=SCOPE, object_id=made["object_id"], version_id=current["version_id"]
        )
        assert read == current["envelope"]
        whole(store)

    def test_in_packs_where_the_others_stay(self, store: Store) -> None:
        made = pack(store, {"a": SECRET}, {"a": OTHER}, {"a": SECRET, "b": 2}, {"a": "tea"})
        (before,) = layout(store).packs.iterdir()
        lines = before.read_bytes().splitlines()
        store.redact(**change(made[0], erase=True))
        store.redact(**change(made[2], erase=True, paths=["/a"]))
        assert remnants(store.path, SECRET, *WORDS) == []
        (after,) = layout(store).packs.iterdir()
        assert [line for line in after.read_bytes().splitlines() if b'"erased"' not in line] == [
            lines[1],
            lines[3],
        ]
        for number in (1, 3):
            read = store.read(scope_id=SCOPE, object_id=made[number]["object_id"])
            assert read == made[number]["envelope"]
            assert sha256_digest(store.version_bytes(SCOPE, read["version_id"])) is not None
        whole(store)

    def test_of_many_in_one_group_and_one_pack(self, store: Store) -> None:
        made = pack(store, *({"a": f"{SECRET} {number}"} for number in range(20)), {"a": OTHER})
        with store.group() as group:
            for number, one in enumerate(made[:20]):
                operation = "redact" if number % 2 else "delete"
                group.perform(operation, change(one, erase=True))
        assert remnants(store.path, SECRET, *WORDS) == []
        assert store.read(scope_id=SCOPE, object_id=made[20]["object_id"]) == made[20]["envelope"]
        # One rewrite of the pack, and one of the tombstones' own.
        assert len(list(layout(store).packs.iterdir())) == 2
        whole(store)

    @pytest.mark.parametrize("atomic", [False, True])
    def test_what_comes_and_goes_in_one_group_is_never_written(
        self, store: Store, atomic: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import os

        written: list[bytes] = []
        real = os.write

        def write(descriptor: int, data: Any) -> int:
            written.append(bytes(data))
            return real(descriptor, data)

        monkeypatch.setattr(os, "write", write)
        request = {"scope_id": SCOPE, "object_type": "claim", "actor": HUMAN, "provenance": SEEN}
        with store.group(atomic=atomic) as group:
            made = group.perform(
                "create", {**request, "canonical_content": SECRET, "idempotency_key": "c"}
            )
            updated = group.perform(
                "update", change(made, provenance=SEEN, canonical_content=[SECRET])
            )
            group.perform("create", {**request, "canonical_content": OTHER, "object_id": "mem:o"})
            gone = group.perform("delete", change(updated, erase=True))
            again = group.perform(
                "create", {**request, "canonical_content": SECRET, "idempotency_key": "c"}
            )
        assert gone["erased_versions"] == 2
        assert again["replayed"] is True
        assert "Qzxwvk" not in repr(again)
        assert SECRET.encode() not in b"".join(written)
        assert OTHER.encode() in b"".join(written)
        assert remnants(store.path, SECRET, *WORDS) == []
        assert len(entries(store, "erasure")) == 2
        whole(store)
        reopened = pamctl.open_store(store.path)
        versions = reopened.history(scope_id=SCOPE, object_id=made["object_id"])["items"]
        assert [v["canonical_content"] for v in versions] == [{"tombstone": True}] * 3

    def test_one_version_that_comes_and_goes_in_one_commit(self, store: Store) -> None:
        # With nothing else, the tombstone is a pack's second line.
        request = {"scope_id": SCOPE, "object_type": "claim", "actor": HUMAN, "provenance": SEEN}
        with store.group() as group:
            made = group.perform("create", {**request, "canonical_content": SECRET})
            group.perform("delete", change(made, erase=True))
        assert remnants(store.path, SECRET, *WORDS) == []
        whole(store)

    def test_in_refusals_that_are_on_record(self, store: Store, create: Any) -> None:
        made = create({"text": SECRET, "n": 1}, object_type="observation")
        tool = create(
            {"tool_name": "search", "arguments": {SECRET: SECRET}}, object_type="tool_invocation"
        )
        refused = [
            change(made, json_patch=[{"op": "remove", "path": f"/none/{SECRET}"}]),
            change(made, json_patch=[{"op": "add", "path": f"/{SECRET}/x", "value": 1}]),
            change(made, json_patch=[{"op": "test", "path": "/text", "value": f"not {SECRET}"}]),
            change(made, json_patch=[{"op": "move", "from": f"/{SECRET}", "path": "/n"}]),
            change(tool, merge_patch={SECRET: 1}),
            change(tool, merge_patch={"tool_name": [SECRET]}),
        ]
        for number, request in enumerate(refused):
            with pytest.raises((errors.InvalidRequest, errors.InvalidObject)) as caught:
                store.update(**request, provenance=SEEN, idempotency_key=f"refused {number}")
            with pytest.raises(type(caught.value)) as again:
                store.update(**request, provenance=SEEN, idempotency_key=f"refused {number}")
            assert again.value.details["replayed"] is True
        with pytest.raises(errors.InvalidRequest):
            store.redact(**change(made, paths=[f"/{SECRET}"], idempotency_key="no path"))
        assert len(entries(store, "idempotency")) == 7
        store.delete(**change(made, erase=True))
        store.delete(**change(tool, erase=True))
        assert remnants(store.path, SECRET, *WORDS) == []

    def test_a_refused_patch_does_not_tell_what_it_was_for(self, store: Store, create: Any) -> None:
        made = create({"text": SECRET})
        for path in ("/none/none", "/none", "/text/0"):
            with pytest.raises(errors.InvalidRequest) as caught:
                store.update(
                    **change(
                        made,
                        provenance=SEEN,
                        json_patch=[
                            {"op": "add", "path": "/new", "value": 1},
                            {"op": "replace", "path": path, "value": 1},
                        ],
                    )
                )
            assert "Qzxwvk" not in repr(caught.value.envelope())
            assert caught.value.details["pointer"] == "/json_patch/1"


class TestTombstones:
    @pytest.fixture
    def gone(self, store: Store, create: Any) -> dict[str, Any]:
        made = create({"text": SECRET}, idempotency_key="create", quality_signals={})
        updated = store.update(
            **change(made, provenance=SEEN, canonical_content=SECRET, idempotency_key="update")
        )
        return {
            "first": made,
            "second": updated,
            "last": store.redact(**change(updated, erase=True, idempotency_key="redact")),
        }

    def test_a_replay_answers_what_is_left(self, store: Store, create: Any, gone: Any) -> None:
        for opened in (store, pamctl.open_store(store.path)):
            again = opened.create(
                scope_id=SCOPE,
                object_type="claim",
                actor=HUMAN,
                provenance=SEEN,
                canonical_content={"text": SECRET},
                quality_signals={},
                idempotency_key="create",
            )
            first = gone["first"]
            assert again["replayed"] is True
            assert again["version_id"] == first["version_id"]
            kept = {**first["envelope"], "canonical_content": {"tombstone": True}}
            del kept["quality_signals"]
            assert again["envelope"] == kept
        again = store.redact(**change(gone["second"], erase=True, idempotency_key="redact"))
        assert again == {**gone["last"], "replayed": True}

    def test_a_key_of_another_operation_is_still_refused(self, store: Store, gone: Any) -> None:
        with pytest.raises(errors.DuplicateOperation):
            store.delete(**change(gone["last"], idempotency_key="create"))

    def test_history_and_queries_show_tombstones(self, store: Store, gone: Any) -> None:
        object_id = gone["first"]["object_id"]
        for opened in (store, pamctl.open_store(store.path)):
            versions = opened.history(scope_id=SCOPE, object_id=object_id)["items"]
            assert [v["canonical_content"] for v in versions] == [{"tombstone": True}] * 3
            assert [v["version_id"] for v in versions] == [
                gone[name]["version_id"] for name in ("first", "second", "last")
            ]
            for envelope in versions:
                check("envelope", envelope)
                assert "quality_signals" not in envelope
            for as_of in (1, 2, 3):
                (found,) = opened.query(scope_id=SCOPE, any_state=True, as_of=as_of)["items"]
                assert found == versions[as_of - 1]
            assert opened.query(scope_id=SCOPE, any_state=True, text=WORDS[0])["items"] == []
            assert (
                opened.query(scope_id=SCOPE, any_state=True, text=WORDS[0], as_of=1)["items"] == []
            )

    def test_reading_an_erased_version_is_refused(self, store: Store, gone: Any) -> None:
        object_id = gone["first"]["object_id"]
        for asked in ({"version_id": gone["first"]["version_id"]}, {"at_sequence": 2}, {}):
            with pytest.raises(errors.ObjectRedacted) as refused:
                store.read(scope_id=SCOPE, object_id=object_id, **asked)
            assert refused.value.details["version_id"] == gone["last"]["version_id"]
        with pytest.raises(errors.ObjectRedacted):
            store.version_bytes(SCOPE, gone["first"]["version_id"])

    def test_the_ledger_accounts_for_each(self, store: Store, gone: Any) -> None:
        bodies = entries(store, "erasure")
        event = entries(store, "event")[-1]
        assert event["event_type"] == "object_redacted"
        assert event["payload"]["erased_versions"] == 2
        assert {body["version_id"] for body in bodies} == {
            gone["first"]["version_id"],
            gone["second"]["version_id"],
        }
        for body in bodies:
            assert body["event_id"] == event["event_id"]
            assert body["erased_at"] == event["recorded_at"]
            assert "actor" not in body
        whole(store)

    def test_nothing_can_be_restored(self, store: Store, gone: Any) -> None:
        with pytest.raises(errors.RetentionRestriction):
            store.transition(
                **change(gone["last"], dimension="availability", target_state="available")
            )

    def test_an_object_may_go_on_after_it(self, store: Store, create: Any) -> None:
        made = create({"a": SECRET, "b": 1})
        gone = store.redact(**change(made, erase=True, paths=["/a"]))
        updated = store.update(**change(gone, provenance=SEEN, merge_patch={"b": 2}))
        assert updated["envelope"]["canonical_content"] == {"a": "[REDACTED]", "b": 2}
        with pytest.raises(errors.RetentionRestriction):
            store.transition(**change(updated, dimension="availability", target_state="available"))
        store.delete(**change(updated, erase=True))
        whole(store)


class TestSaltsAndLeftovers:
    def test_salts_go_with_the_content(self, store: Store, create: Any) -> None:
        made = create("short", idempotency_key="k")
        salt = json.loads(store.version_bytes(SCOPE, made["version_id"]))["salt"]
        store.redact(**change(made, erase=True))
        assert remnants(store.path, salt) == []
        assert remnants(store.path, decode(salt).hex()) == []

    def test_text_that_stands_elsewhere_is_told_of(self, store: Store, create: Any) -> None:
        made = create({"note": f"call {SECRET}", "phone": SECRET})
        gone = store.redact(**change(made, erase=True, paths=["/phone"]))
        assert gone["also_found_in"] == [gone["version_id"]]
        gone = store.redact(**change(gone, erase=True, paths=["/note"]))
        assert gone["also_found_in"] == []
        assert remnants(store.path, SECRET, *WORDS) == []

    def test_what_dead_writers_left_goes_too(self, store: Store, create: Any) -> None:
        made = create({"text": SECRET}, object_id="mem:1")
        place, folder = layout(store), store.layout.quarantine / layout(store).root.name

        def orphan(content: Any, object_id: str = "mem:lost") -> bytes:
            envelope = {**made["envelope"], "object_id": object_id, "canonical_content": content}
            return version_bytes({**envelope, "version_id": "ver:lost"}, b"\x07" * 16)

        def put(data: bytes) -> None:
            path = place.version_file(sha256_digest(data))
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)

        # The same request, tried again under another id, by a writer that died before its commit.
        put(orphan({"text": SECRET}))
        # Another version of the same object.
        put(orphan({"text": f"{SECRET} too"}, "mem:1"))
        put(orphan(OTHER))
        lines = [orphan({"text": SECRET}), orphan([OTHER])]
        data = b"\n".join(lines) + b"\n"
        name = sha256_hex(data)
        place.pack_file(name).write_bytes(data)
        # In the middle of a file, with lost bytes behind it.
        torn = orphan({"text": SECRET})
        cut = torn.index(b"pqzrt")
        (place.staging / ".torn.new").write_bytes(torn[:cut] + b"\x00" * 40)
        (place.staging / ".other.new").write_bytes(orphan({"text": OTHER})[:-9])
        (place.staging / ".pack.new").write_bytes(data + torn[:cut])
        gone = store.redact(**change(made, erase=True))
        assert gone["erased_versions"] == 1
        assert remnants(store.path, SECRET, *WORDS) == []
        kept = [path.read_bytes() for path in store.path.rglob("*") if path.is_file()]
        for data in (orphan(OTHER), orphan([OTHER]) + b"\n", orphan({"text": OTHER})[:-9]):
            assert any(data in held for held in kept)
        assert any("3 versions that were never committed" in n for n in store.notices)
        assert any("set aside in" in n and str(folder) in n for n in store.notices)
        (rest,) = place.packs.iterdir()
        assert rest.read_bytes() == orphan([OTHER]) + b"\n"
        assert rest.name == f"{sha256_hex(rest.read_bytes())}.jsonl" != f"{name}.jsonl"

    def test_a_copy_of_another_objects_version_is_not_touched(
        self, store: Store, create: Any
    ) -> None:
        made, twin = create({"text": SECRET}), create({"text": SECRET})
        data = store.version_bytes(SCOPE, twin["version_id"])
        folder = store.layout.quarantine / layout(store).root.name
        folder.mkdir(parents=True)
        (folder / "copy").write_bytes(data)
        (folder / "own copy").write_bytes(store.version_bytes(SCOPE, made["version_id"]))
        store.redact(**change(made, erase=True))
        assert (folder / "copy").read_bytes() == data
        assert not (folder / "own copy").exists()
        assert store.read(scope_id=SCOPE, object_id=twin["object_id"]) == twin["envelope"]

    def test_quarantine_of_other_things_is_not_touched(self, store: Store, create: Any) -> None:
        made = create({"text": SECRET})
        ledger = layout(store).ledger
        with open(ledger, "ab") as torn:
            torn.write(b'{"body":{"half')
        folder = store.layout.quarantine / layout(store).root.name
        folder.mkdir(parents=True)
        (folder / "notes").write_bytes(b"by a person\n")
        (folder / "link").symlink_to(ledger)
        before = ledger.read_bytes()
        store.redact(**change(made, erase=True))
        assert ledger.read_bytes().startswith(before[: -len(b'{"body":{"half')])
        assert (folder / "notes").read_bytes() == b"by a person\n"
        assert any(p.name.startswith("ledger-tail") for p in folder.iterdir())


def test_relationships_are_erased_like_objects(store: Store, create: Any) -> None:
    one, two = create("one"), create("two")
    related = store.relate(
        scope_id=SCOPE,
        actor=HUMAN,
        provenance=SEEN,
        source_object_id=one["object_id"],
        target_object_id=two["object_id"],
        relationship_type="supports",
        directionality="directed",
        canonical_content={"why": SECRET},
    )
    request = {
        "scope_id": SCOPE,
        "relationship_id": related["relationship_id"],
        "expected_version_id": related["version_id"],
        "actor": HUMAN,
    }
    gone = store.redact(**request, erase=True)
    assert gone["relationship_id"] == related["relationship_id"]
    assert remnants(store.path, SECRET, *WORDS) == []
    whole(store)


def test_erasing_does_not_follow_from_hiding(store: Store, create: Any) -> None:
    for hide in (
        lambda made: store.redact(**change(made)),
        lambda made: store.redact(**change(made, paths=["/text"])),
        lambda made: store.delete(**change(made)),
    ):
        made = create({"text": SECRET})
        address = sha256_digest(store.version_bytes(SCOPE, made["version_id"]))
        hidden = hide(made)
        assert "erased_versions" not in hidden
        assert layout(store).version_file(address).is_file()
    assert entries(store, "erasure") == []


def test_an_index_made_anew_agrees(store: Store, create: Any) -> None:
    made = pack(store, {"a": SECRET}, {"a": OTHER})
    single = create({"b": SECRET})
    store.redact(**change(made[0], erase=True))
    store.delete(**change(single, erase=True))

    def answers(opened: Store) -> Any:
        ids = [one["object_id"] for one in (*made, single)]
        return [opened.history(scope_id=SCOPE, object_id=one) for one in ids], [
            opened.query(scope_id=SCOPE, any_state=True, as_of=n)["items"] for n in range(1, 6)
        ]

    before = answers(store)
    store.close()
    for path in store.layout.index.iterdir():
        path.unlink()
    opened = pamctl.open_store(store.path)
    assert answers(opened) == before
    # The next writer sees that nothing is left to do.
    opened.create(
        scope_id=SCOPE, object_type="claim", actor=HUMAN, provenance=SEEN, canonical_content=1
    )
    assert not opened.open_scope(SCOPE).index.erasures.are_due()
    assert canonical(answers(opened)[0]) == canonical(before[0])


SPACE = {
    "embedding_space_id": "emb:a",
    "provider": "local",
    "model": "small",
    "model_revision": "1",
    "dimensions": 2,
    "distance_metric": "cosine",
    "normalization": "l2",
    "preprocessing_profile": "none",
    "embedding_kind": "text",
    "canonicalization_rules": "UTF-8, as it is",
}


def test_vectors_of_erased_versions_go_too(store: Store, create: Any, tmp_path: Path) -> None:
    store.perform("space_add", {"scope_id": SCOPE, "actor": HUMAN, "space": SPACE})
    made, kept = create({"a": SECRET, "b": 1}), create(OTHER)
    vectors = {made["object_id"]: [1.25, -3.5], kept["object_id"]: [0.5, 0.75]}
    store.perform(
        "embedding_put",
        {
            "scope_id": SCOPE,
            "actor": HUMAN,
            "embeddings": [
                {"object_id": object_id, "vector": vector, "embedding_space_id": "emb:a"}
                for object_id, vector in vectors.items()
            ],
        },
    )
    folder = layout(store).embeddings
    doomed = struct.pack("<2f", 1.25, -3.5)

    def holding() -> list[Path]:
        found = [path for path in folder.rglob("*") if path.is_file()]
        return [path for path in found if doomed in path.read_bytes()]

    assert len(holding()) == 1
    shutil.copytree(folder, tmp_path / "before")
    store.redact(**change(made, erase=True, paths=["/a"]))
    assert holding() == []
    # As a writer leaves it that dies when the erasure is committed and the vectors are not
    # gone yet.
    store.close()
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "before", folder)
    for path in store.layout.index.iterdir():
        path.unlink()
    opened = pamctl.open_store(store.path)
    opened.create(
        scope_id=SCOPE, object_type="claim", actor=HUMAN, provenance=SEEN, canonical_content=1
    )
    assert holding() == []
    exported = opened.perform(
        "embedding_export", {"scope_id": SCOPE, "embedding_space_id": "emb:a"}
    )
    assert [item["object_id"] for item in exported["items"]] == [kept["object_id"]]


def test_who_reads_the_index_as_it_was_delays_its_clearing(
    store: Store, create: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pamctl.index.database.LOCK_WAIT_SEC", 0.05)
    made = create({"text": SECRET})
    store.close()
    opened = pamctl.open_store(store.path)
    (path,) = [path for path in store.layout.index.iterdir() if path.suffix == ".sqlite"]
    other = sqlite3.connect(path)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM version").fetchone()
    gone = opened.redact(**change(made, erase=True))
    assert gone["erased_versions"] == 1
    assert any("the index file cannot be cleared" in notice for notice in opened.notices)
    assert {name.split("/")[0] for name, _ in remnants(store.path, *WORDS)} == {"index"}
    other.close()
    pamctl.open_store(store.path).create(
        scope_id=SCOPE, object_type="claim", actor=HUMAN, provenance=SEEN, canonical_content=1
    )
    assert remnants(store.path, SECRET, *WORDS) == []


def test_a_store_whose_files_cannot_be_removed_says_so(
    store: Store, create: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    made = create({"text": SECRET})
    real = os.unlink

    def refuse(path: Any, *more: Any, **options: Any) -> None:
        if str(path).endswith(".json"):
            raise PermissionError(13, "Permission denied", str(path))
        real(path, *more, **options)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(errors.ServiceUnavailable):
        store.redact(**change(made, erase=True, idempotency_key="k"))
    with pytest.raises(errors.ObjectRedacted):
        pamctl.open_store(store.path).read(scope_id=SCOPE, object_id=made["object_id"])
    monkeypatch.setattr(os, "unlink", real)
    # It was committed; whoever comes next makes it true.
    again = pamctl.open_store(store.path).redact(**change(made, erase=True, idempotency_key="k"))
    assert again["replayed"] is True
    assert remnants(store.path, SECRET, *WORDS) == []
    whole(store)


def test_an_index_file_that_cannot_be_written_is_told_of(
    store: Store, create: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    made = create({"text": SECRET})
    store.close()
    real = os.access
    folder = str(store.layout.index)

    def access(path: Any, mode: int) -> bool:
        return not str(path).startswith(folder) and real(path, mode)

    monkeypatch.setattr(os, "access", access)
    opened = pamctl.open_store(store.path)
    opened.redact(**change(made, erase=True))
    assert any("the index file cannot be cleared" in notice for notice in opened.notices)
    monkeypatch.setattr(os, "access", real)
    pamctl.open_store(store.path).create(
        scope_id=SCOPE, object_type="claim", actor=HUMAN, provenance=SEEN, canonical_content=1
    )
    assert remnants(store.path, SECRET, *WORDS) == []


def test_a_pack_line_that_no_version_can_be_stops_the_erasure(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pack(store, {"a": SECRET}, {"a": OTHER * 50})
    monkeypatch.setattr("pamctl.store.erasure.DOCUMENT_BYTES_MAX", 1000)
    head = store.head(SCOPE)
    with pytest.raises(errors.StoreDamaged):
        store.redact(**change(made[0], erase=True))
    assert store.head(SCOPE) == head
    monkeypatch.undo()
    store.redact(**change(made[0], erase=True))
    assert remnants(store.path, SECRET, *WORDS) == []
    whole(store)
