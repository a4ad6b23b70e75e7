"""Many versions read at a time: as each by itself, and looked at closely where one is not plain."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import StoreDamaged
from pamctl.index.stored import StoredRow
from pamctl.index.structured_query import StructuredQuery
from pamctl.service.open_scope import OpenScope
from pamctl.service.selection import readable_versions, selected_versions
from pamctl.service.store import Store
from pamctl.store.reading import read_plainly

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
GIVEN: dict[str, Any] = {
    "scope_id": SCOPE,
    "object_type": "claim",
    "actor": HUMAN,
    "provenance": {"activity": "observed"},
    "validation_state": "corroborated",
}
NAMES = "abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two versions that are files, two packs of two, and a file between them."""
    store = pamctl.init_store(tmp_path / ".pam")
    for single, pair in (("a", "bc"), ("d", "ef")):
        make(store, single)
        with store.group() as group:
            for name in pair:
                group.perform("create", {**GIVEN, **named(name)})
    yield store
    store.close()


def named(name: str) -> dict[str, Any]:
    return {"object_id": f"mem:{name}", "canonical_content": f"tea {name}"}


def make(store: Store, name: str) -> None:
    store.create(**GIVEN, **named(name))


def rows(store: Store) -> list[StoredRow]:
    return scope(store).index.stored(StructuredQuery())


def scope(store: Store) -> OpenScope:
    return store.open_scope(SCOPE)


def texts(found: list[bytes | None]) -> list[str | None]:
    return [None if one is None else one.split(b"tea ", 1)[1][:1].decode() for one in found]


def plainly(store: Store) -> list[str | None]:
    return texts(read_plainly(scope(store).layout, [row.place for row in rows(store)]))


def file_of(store: Store, name: str) -> Path:
    row = next(row for row in rows(store) if row.object_id == f"mem:{name}")
    return scope(store).layout.version_file(f"sha256:{row.place[0].hex()}")


def test_files_and_packs_are_read_in_the_order_that_was_asked_for(store: Store) -> None:
    assert plainly(store) == [*NAMES]
    places = [row.place for row in reversed(rows(store))]
    found = read_plainly(scope(store).layout, places)
    assert texts(found) == [*reversed(NAMES)]
    assert [sha256_digest(one or b"") for one in found] == [f"sha256:{p[0].hex()}" for p in places]
    assert read_plainly(scope(store).layout, []) == []


def put_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def put_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "altered": lambda file: file.write_bytes(file.read_bytes().replace(b"tea", b"tee")),
    "cut off": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "empty": lambda file: file.write_bytes(b""),
    "a link": lambda file: file.symlink_to(file.rename(file.with_name("elsewhere"))),
    "a pipe": put_a_pipe,
    "a folder": put_a_folder,
    "nothing": lambda file: file.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_version_that_is_not_plainly_there_stops_everything(store: Store, damage: str) -> None:
    file = file_of(store, "d")
    file.chmod(0o644)
    DAMAGES[damage](file)
    assert plainly(store) == ["a", "b", "c", None, "e", "f"]
    with pytest.raises(StoreDamaged):
        scope(store).all_version_bytes(rows(store))


def test_a_pack_that_is_damaged_takes_no_other_along(store: Store) -> None:
    first, _ = sorted(
        scope(store).layout.packs.iterdir(), key=lambda path: b"tea c" not in path.read_bytes()
    )
    first.chmod(0o644)
    first.write_bytes(first.read_bytes().replace(b"tea c", b"tee c"))
    assert plainly(store) == ["a", "b", None, "d", "e", "f"]
    first.unlink()
    assert plainly(store) == ["a", None, None, "d", "e", "f"]


def test_without_any_folder_nothing_is_there(store: Store) -> None:
    shutil.rmtree(scope(store).layout.versions)
    shutil.rmtree(scope(store).layout.packs)
    assert plainly(store) == [None] * len(NAMES)


def test_what_was_moved_since_it_was_looked_up_is_found(store: Store) -> None:
    before = rows(store)
    store.pack(scope_id=SCOPE)
    assert texts(scope(store).all_version_bytes(before)) == [*NAMES]


def test_what_was_erased_since_it_was_looked_up_is_passed_over(store: Store) -> None:
    before, sequence = rows(store), store.head(SCOPE)["sequence"]
    version_id = before[3].version_id
    store.delete(
        scope_id=SCOPE,
        object_id="mem:d",
        expected_version_id=version_id,
        actor=HUMAN,
        policy_basis="asked",
        erase=True,
    )
    assert texts(scope(store).all_version_bytes(before)) == ["a", "b", "c", None, "e", "f"]
    as_then = scope(store).index.stored(StructuredQuery(as_of=sequence))
    assert [row.object_id for row in as_then] == [f"mem:{name}" for name in "abcef"]


def test_versions_as_of_an_earlier_moment_without_what_was_withheld_since(store: Store) -> None:
    sequence = store.head(SCOPE)["sequence"]
    expected = {row.object_id: row.version_id for row in rows(store)}
    asked: dict[str, Any] = {"scope_id": SCOPE, "actor": HUMAN}
    changing = {**asked, "policy_basis": "asked"}
    gone, later = "mem:b", "mem:c"
    store.delete(**changing, object_id=gone, expected_version_id=expected[gone])
    store.update(
        **asked,
        object_id=later,
        expected_version_id=expected[later],
        provenance=GIVEN["provenance"],
        canonical_content="tea x",
    )
    reading = readable_versions(store, **asked, as_of=sequence)
    found = [one for group in reading.groups() for one in group]
    assert {one.object_id: one.version_id for one in found} == {
        name: version for name, version in expected.items() if name != gone
    }
    assert [sha256_digest(one.data) for one in found] == [one.address for one in found]


def test_both_ways_of_naming_what_a_query_finds_agree(store: Store) -> None:
    """Without an order there are no pages, and with one there are."""
    asked = {"scope_id": SCOPE, "actor": HUMAN}
    by_page = selected_versions(store, {**asked, "order_by": ["committed_at"]})
    assert selected_versions(store, asked) == by_page == [row.version_id for row in rows(store)]
    narrow = {**asked, "where": '$.canonical_content != "tea c"'}
    assert selected_versions(store, narrow) == [one for one in by_page if one != by_page[2]]
    for order in ({}, {"order_by": ["committed_at"]}):
        assert selected_versions(store, {**asked, "object_type": "summary", **order}) == []
