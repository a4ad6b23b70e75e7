"""Packing moves versions, and nothing else about a store changes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.audit import check
from pamctl.audit.disorder import Disorder
from pamctl.audit.orderly_versions import OrderlyVersions
from pamctl.audit.versions import VersionReader
from pamctl.cli.checking import checked
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import ServiceUnavailable
from pamctl.service import packing, staged_scope
from pamctl.service.store import Store
from pamctl.store import packing as files_into_packs
from pamctl.store.layout import ScopeLayout
from tests.remnants import remnants

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
SEEN = {"activity": "observed"}
SECRET = "the-door-code-is-4711"
GIVEN: dict[str, Any] = {
    "scope_id": SCOPE,
    "object_type": "claim",
    "actor": HUMAN,
    "provenance": SEEN,
}
ERASE = {"policy_basis": "asked", "erase": True}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Six versions that are files, and two packs of two."""
    store = pamctl.init_store(tmp_path / ".pam")
    for name in "abc":
        make(store, name, SECRET if name == "a" else f"tea {name}")
    for pair in ("de", "fg"):
        with store.group() as group:
            for name in pair:
                group.perform(
                    "create", {**GIVEN, "object_id": f"mem:{name}", "canonical_content": name}
                )
    for name in "bdf":
        store.update(**naming(store, name), provenance=SEEN, canonical_content=f"later {name}")
    yield store
    store.close()


def make(store: Store, name: str, content: Any) -> None:
    store.create(**GIVEN, object_id=f"mem:{name}", canonical_content=content)


def naming(store: Store, name: str) -> dict[str, Any]:
    """What a request says to change an object."""
    found = store.read(scope_id=SCOPE, object_id=f"mem:{name}")
    return {
        "scope_id": SCOPE,
        "object_id": f"mem:{name}",
        "expected_version_id": found["version_id"],
        "actor": HUMAN,
    }


def layout(store: Store) -> ScopeLayout:
    return store.layout.scope(SCOPE)


def loose(store: Store) -> list[Path]:
    return sorted(layout(store).versions.glob("*/*.json"))


def packs(store: Store) -> list[Path]:
    return sorted(layout(store).packs.iterdir())


def told(store: Store) -> Any:
    """All that can be read."""
    return [
        store.history(scope_id=SCOPE, object_id=f"mem:{name}")["items"]
        for name in "abcdefg"
        if store.open_scope(SCOPE, fresh=True).index.current(f"mem:{name}")
    ]


def in_order(store: Store) -> bool:
    """Whether the lines of the one pack stand in the order of the ledger."""
    (pack,) = packs(store)
    addresses = [v["version"] for v in entries(store) if "version" in v]
    lines = pack.read_bytes().splitlines()
    return [sha256_digest(line) for line in lines] == addresses


def entries(store: Store) -> list[dict[str, Any]]:
    return [json.loads(line) for line in layout(store).ledger.read_bytes().splitlines()]


def require_clean(store: Store) -> None:
    answer = checked(store.path)
    assert answer["clean"], answer["findings"]


def test_files_and_small_packs_become_one_pack_in_the_order_of_the_ledger(store: Store) -> None:
    before = told(store)
    assert (len(loose(store)), len(packs(store))) == (6, 2)
    done = store.pack(scope_id=SCOPE)
    assert done == {
        "scope_id": SCOPE,
        "files": 6,
        "packs_merged": 2,
        "packs_made": 1,
        "versions": 10,
        "copies_removed": 0,
    }
    assert (loose(store), len(packs(store))) == ([], 1)
    assert in_order(store)
    assert told(store) == before
    require_clean(store)
    again = store.pack(scope_id=SCOPE)
    assert (again["packs_made"], again["files"]) == (0, 0)


def test_the_ledger_says_what_a_pack_replaces(store: Store) -> None:
    old = {pack.stem for pack in packs(store)}
    store.pack(scope_id=SCOPE)
    bodies = [entry["body"] for entry in entries(store) if entry["kind"] == "pack"][2:]
    assert {body["replaces"] for body in bodies} == old
    assert [body.get("loose") for body in bodies] == [6, None]
    assert {body["name"] for body in bodies} == {packs(store)[0].stem}


def test_an_index_made_anew_finds_everything(store: Store) -> None:
    before = told(store)
    store.pack(scope_id=SCOPE)
    store.rebuild_index(scope_id=SCOPE)
    assert told(store) == before
    rows = store.open_scope(SCOPE).index.history("mem:a")
    assert [row.pack for row in rows] == [packs(store)[0].stem]


def test_an_index_that_was_behind_learns_where_versions_went(store: Store) -> None:
    before = told(store)
    index = store.path / "index"
    shutil.copytree(index, store.path.parent / "behind")
    store.pack(scope_id=SCOPE)
    store.close()
    shutil.rmtree(index)
    shutil.copytree(store.path.parent / "behind", index)
    again = pamctl.open_store(store.path)
    assert told(again) == before
    assert again.open_scope(SCOPE).index.history("mem:a")[0].pack == packs(again)[0].stem
    again.close()


def test_a_reader_that_looked_before_finds_what_was_moved_since(store: Store) -> None:
    reader = pamctl.open_store(store.path)
    scope = reader.open_scope(SCOPE, fresh=True)
    rows = [row for name in "abcdefg" for row in scope.index.history(f"mem:{name}")]
    store.pack(scope_id=SCOPE)
    assert len([scope.envelope(row) for row in rows]) == 10
    assert all(scope.version_bytes(row) for row in rows)
    reader.close()


def test_what_was_packed_can_be_erased(store: Store) -> None:
    store.pack(scope_id=SCOPE)
    store.redact(**naming(store, "a"), **ERASE)
    assert remnants(store.path, SECRET) == []
    require_clean(store)


def test_what_was_erased_is_packed_as_its_stub(store: Store) -> None:
    store.redact(**naming(store, "a"), **ERASE)
    assert any(path.name.endswith(".erased.json") for path in loose(store))
    before = told(store)
    store.pack(scope_id=SCOPE)
    assert loose(store) == []
    assert told(store) == before
    require_clean(store)
    store.rebuild_index(scope_id=SCOPE)
    assert told(store) == before


def test_both_copies_of_an_interrupted_packing_are_erased(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as dying:
        dying.setattr(packing, "remove_replaced", lambda *_: None)
        store.pack(scope_id=SCOPE)
    assert loose(store)
    store.redact(**naming(store, "a"), **ERASE)
    assert remnants(store.path, SECRET) == []
    require_clean(store)


def test_a_pack_that_nobody_announced_is_erased_from_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(Exception):
        pass

    def die(*_: object, **__: object) -> None:
        raise Died

    with monkeypatch.context() as dying:
        dying.setattr("pamctl.store.commit.files.append_durably", die)
        with pytest.raises(Died):
            store.pack(scope_id=SCOPE)
    assert len(packs(store)) == 3
    require_clean(store)
    store.redact(**naming(store, "a"), **ERASE)
    assert remnants(store.path, SECRET) == []


def test_the_next_packing_removes_what_an_interrupted_one_left(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told(store)
    with monkeypatch.context() as dying:
        dying.setattr(packing, "remove_replaced", lambda *_: None)
        store.pack(scope_id=SCOPE)
    require_clean(store)
    assert store.pack(scope_id=SCOPE)["copies_removed"] == 8
    assert (loose(store), len(packs(store))) == ([], 1)
    assert told(store) == before


def test_what_is_damaged_stays_where_it_is(store: Store) -> None:
    altered = loose(store)[0]
    altered.write_bytes(altered.read_bytes().replace(b"mem:", b"mxm:"))
    damaged = packs(store)[0]
    damaged.write_bytes(damaged.read_bytes().replace(b"mem:", b"mxm:", 1))
    store.pack(scope_id=SCOPE)
    assert loose(store) == [altered]
    assert damaged in packs(store)
    counts = checked(store.path)["counts"]
    assert {"version-altered", "pack-misnamed"} <= counts.keys()


def test_an_orphan_stays_a_file(store: Store) -> None:
    copied = loose(store)[0]
    orphan = (
        b'{"envelope":{"object_id":"mem:x","version_id":"ver:x"},"salt":"AAAAAAAAAAAAAAAAAAAAAA"}'
    )
    address = sha256_digest(orphan)
    place = layout(store).version_file(address)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(orphan)
    store.pack(scope_id=SCOPE)
    assert loose(store) == [place]
    assert not copied.exists()


def test_a_link_is_not_followed(store: Store, tmp_path: Path) -> None:
    version = loose(store)[0]
    outside = tmp_path / "outside"
    version.rename(outside)
    version.symlink_to(outside)
    assert store.pack(scope_id=SCOPE)["files"] == 5
    assert outside.exists()
    assert version.is_symlink()


def test_many_packs_are_made_of_much(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = told(store)
    monkeypatch.setattr(packing, "PACK_BYTES_MAX", 1500)
    monkeypatch.setattr(files_into_packs, "SMALL_PACK_BYTES", 100)
    done = store.pack(scope_id=SCOPE)
    assert (done["packs_made"], done["files"], loose(store)) == (2, 6, [])
    assert told(store) == before
    require_clean(store)
    store.rebuild_index(scope_id=SCOPE)
    assert told(store) == before


def test_writing_packs_by_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_into_packs, "LOOSE_VERSIONS_MAX", 255)
    monkeypatch.setattr(files_into_packs, "LOOK_EVERY", 1)
    before = told(store)
    make(store, "h", "one more")
    assert (loose(store), len(packs(store))) == ([], 1)
    assert told(store) == before
    require_clean(store)


def test_writing_merges_small_packs_by_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_into_packs, "SMALL_PACKS_MAX", 15)
    with store.group() as group:
        for name in "hi":
            request = {**GIVEN, "object_id": f"mem:{name}", "canonical_content": name}
            group.perform("create", request)
    assert (loose(store), len(packs(store))) == ([], 1)
    require_clean(store)


def test_few_files_are_left_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("there was nothing to pack")

    monkeypatch.setattr(packing, "pack_once", refuse)
    make(store, "h", "one more")
    assert len(loose(store)) == 7


def test_a_write_stands_when_its_packing_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ServiceUnavailable("no space left")

    monkeypatch.setattr(staged_scope, "is_crowded", lambda *_: True)
    monkeypatch.setattr(packing, "write_pack", full)
    make(store, "h", "one more")
    assert store.read(scope_id=SCOPE, object_id="mem:h")["canonical_content"] == "one more"
    assert "versions could not be packed: no space left" in store.notices


@pytest.mark.parametrize("reads", [OrderlyVersions, VersionReader])
def test_a_check_that_a_packing_overtakes_finds_nothing_wrong(
    store: Store, monkeypatch: pytest.MonkeyPatch, reads: type
) -> None:
    real, packed = reads.read_folder, []

    def overtaken(reader: object, folder: Path) -> None:
        names = os.scandir(folder)
        if not packed:
            packed.append(store.pack(scope_id=SCOPE))
        with monkeypatch.context() as stale:
            stale.setattr("os.scandir", lambda _: names)
            real(reader, folder)

    def no_proof(*_: object, **__: object) -> None:
        raise Disorder("not asked for")

    monkeypatch.setattr(reads, "read_folder", overtaken)
    if reads is VersionReader:
        monkeypatch.setattr(check, "prove", no_proof)
    require_clean(store)
    assert packed[0]["files"] == 6
