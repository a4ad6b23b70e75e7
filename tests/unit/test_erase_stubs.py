"""What an erasure leaves: tombstones, salts that tell nothing, and what dead writers left."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.encoding.base64url import decode
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.model.documents import check
from pamctl.service.store import Store
from pamctl.store.versions import version_bytes
from tests.erasing import (
    HUMAN,
    OTHER,
    SCOPE,
    SECRET,
    SEEN,
    WORDS,
    change,
    entries,
    layout,
    whole,
)
from tests.remnants import remnants


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
