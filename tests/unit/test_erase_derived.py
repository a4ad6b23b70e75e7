"""Erasures of relationships, in indexes and vectors; and erasures that cannot be done."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl import errors
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
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
from tests.remnants import remnants


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
