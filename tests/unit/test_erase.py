"""After an erasure no file of the store holds what was erased; all else is as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.service.store import Store
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
    pack,
    whole,
)
from tests.remnants import remnants, spellings


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
