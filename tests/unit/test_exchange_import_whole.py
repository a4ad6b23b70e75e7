"""An import comes whole or not at all: for whoever reads, writes or dies meanwhile."""

from __future__ import annotations

import io
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pamctl
import pamctl.errors
from pamctl.cli.checking import checked
from pamctl.errors import ServiceUnavailable
from pamctl.exchange.arrival import ScopeReader
from pamctl.service.store import Store
from pamctl.store.custody import custody_line, records, unfinished
from tests.authority import OWNER, SCOPE, SEEN, on, remember
from tests.schemas.instances import SPACE

BASIS = {"policy_basis": "policy:test"}


class Killed(BaseException):
    """Ends an import where a killed process would end."""


@pytest.fixture
def copy(tmp_path: Path) -> Store:
    return pamctl.init_store(tmp_path / "copy" / ".pam")


def exported(store: Store, **what: Any) -> bytes:
    target = io.BytesIO()
    pamctl.export_bundle(store, target, actor=OWNER, **what)
    return target.getvalue()


def imported(store: Store, bundle: bytes, **how: Any) -> list[str]:
    answer = pamctl.import_bundle(store, io.BytesIO(bundle), actor=OWNER, **how)
    return [scope["action"] for scope in answer["scopes"]]


def events(store: Store) -> int:
    return len(store.log(scope_id=SCOPE)["items"])


@pytest.mark.parametrize("before", ["new", "founded", "behind", "recorded"])
def test_what_is_written_while_the_file_is_read_is_kept(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    default = "project:other" if before == "new" else SCOPE
    copy = pamctl.init_store(tmp_path / "copy" / ".pam", default_scope=default)
    remember(store, "tea")
    if before == "behind":
        imported(copy, exported(store))
    remember(store, "coffee", scope_id="project:x" if before == "recorded" else SCOPE)
    how = {"map_scopes": {"project:x": SCOPE}} if before == "recorded" else {}
    bundle = exported(store, scope_ids=["project:x" if before == "recorded" else SCOPE])
    end = ScopeReader.end

    def at_the_end(reader: ScopeReader) -> Any:
        remember(copy, "meanwhile")
        return end(reader)

    monkeypatch.setattr(ScopeReader, "end", at_the_end)
    with pytest.raises(ServiceUnavailable):
        imported(copy, bundle, **how)
    found = [
        item["canonical_content"] for item in copy.query(scope_id=SCOPE, any_state=True)["items"]
    ]
    assert found == (["tea", "meanwhile"] if before == "behind" else ["meanwhile"])
    copy.close()
    assert checked(copy.path)["clean"]


@pytest.mark.parametrize("before", ["founded", "behind", "recorded"])
def test_a_reader_sees_all_of_it_or_nothing(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """At every call that makes something durable or gives it a name, two readers look: one
    that was there before, and one that comes new."""
    remember(store, "tea")
    if before == "behind":
        imported(copy, exported(store))
    elif before == "recorded":
        remember(copy, "of its own")
    for text in ("coffee", "milk", "water"):
        remember(store, text, scope_id="project:x" if before == "recorded" else SCOPE)
    how = {"map_scopes": {"project:x": SCOPE}} if before == "recorded" else {}
    bundle = exported(store, scope_ids=["project:x" if before == "recorded" else SCOPE])
    reader = pamctl.open_store(copy.path)
    seen: list[tuple[int, int]] = []
    calls = {name: getattr(os, name) for name in ("rename", "fsync", "write")}

    def looked_at(name: str, *arguments: Any) -> Any:
        answer = calls[name](*arguments)
        with pytest.MonkeyPatch.context() as undisturbed:
            for one, call in calls.items():
                undisturbed.setattr(os, one, call)
            fresh = pamctl.open_store(copy.path)
            seen.append((events(reader), events(fresh)))
            fresh.close()
        return answer

    for name in calls:
        monkeypatch.setattr(os, name, partial(looked_at, name))
    first = events(reader)
    imported(copy, bundle, **how)
    monkeypatch.undo()
    last = events(copy)
    assert last >= first + 3
    assert {one for pair in seen for one in pair} == {first, last}
    assert [pair[0] for pair in seen] == [pair[1] for pair in seen]
    assert len(seen) > 5
    reader.close()


def dies_before_the_ledger(
    copy: Store, bundle: bytes, monkeypatch: pytest.MonkeyPatch, **how: Any
) -> None:
    """An import that is killed when all but the ledger is in its place."""
    renamed = os.rename

    def rename(one: Any, other: Any) -> None:
        if Path(other).name == "ledger.jsonl" and Path(other).parent.parent.name == "scopes":
            raise Killed
        renamed(one, other)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(Killed):
        imported(copy, bundle, **how)
    monkeypatch.setattr(os, "rename", renamed)


@pytest.mark.parametrize("before", ["founded", "behind"])
def test_what_a_dead_import_noted_is_set_aside_by_the_next_writer(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Before the ledger grows to where it would be taken for true."""
    remember(store, "tea")
    if before == "behind":
        imported(copy, exported(store))
    remember(store, "coffee")
    first = len(records(copy.directory.scope(SCOPE)))
    dies_before_the_ledger(copy, exported(store), monkeypatch)
    counts = checked(copy.path)["counts"]
    assert counts["custody-unfinished"] == 1
    assert counts.keys() <= {"custody-unfinished", "version-orphaned", "ledger-tail-unpinned"}
    for text in ("of its own", "more", "and more"):
        remember(copy, text)
    assert len(records(copy.directory.scope(SCOPE))) == first
    assert len([*copy.path.glob("quarantine/*/custody-tail-at-*.jsonl")]) == 1
    assert copy.notices[0].startswith("an import into ")
    copy.close()
    counts = checked(copy.path)["counts"]
    assert counts.keys() <= {"version-orphaned", "ledger-tail-unpinned", "quarantine-occupied"}


def test_a_dead_import_can_be_made_again(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(store, "tea")
    imported(copy, exported(store))
    remember(store, "coffee")
    bundle = exported(store)
    dies_before_the_ledger(copy, bundle, monkeypatch)
    assert imported(copy, bundle) == ["extended"]
    assert [one["to_entry"] for one in records(copy.directory.scope(SCOPE))] == [3, 4]
    assert exported(copy) == bundle


def test_a_dead_import_that_would_have_erased_takes_nothing_away(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when something else is erased afterwards; and what it brought is searched for
    that."""
    kept, gone = remember(store, "to be kept here"), remember(store, "the secret")
    imported(copy, exported(store))
    later = store.update(**on(gone, OWNER, canonical_content="the secret", provenance=SEEN))
    store.redact(**on(kept, OWNER, **BASIS), erase=True)
    dies_before_the_ledger(copy, exported(store), monkeypatch)
    assert later["envelope"]["object_id"] == gone["object_id"]
    copy.redact(**on(gone, OWNER, **BASIS), erase=True)
    read = copy.read(scope_id=SCOPE, object_id=kept["object_id"])
    assert read["canonical_content"] == "to be kept here"
    everything = [path.read_bytes() for path in copy.path.rglob("*") if path.is_file()]
    assert not any(b"the secret" in data for data in everything)
    copy.close()
    findings = checked(copy.path)["findings"]
    assert {one["id"] for one in findings if one["severity"] == "must"} == set()


def test_an_import_that_died_while_it_erased_is_completed_by_the_next(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = remember(store, "the secret")
    imported(copy, exported(store))
    store.redact(**on(gone, OWNER, **BASIS), erase=True)
    bundle = exported(store)

    def dies(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as killing, pytest.raises(Killed):
        killing.setattr("pamctl.exchange.plans.sweep", dies)
        imported(copy, bundle)
    assert imported(copy, bundle) == ["unchanged"]
    copy.close()
    everything = [path.read_bytes() for path in copy.path.rglob("*") if path.is_file()]
    assert not any(b"the secret" in data for data in everything)
    assert checked(copy.path)["clean"]


def test_of_several_scopes_an_error_says_which_came(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(store, "there", scope_id="project:x")
    remember(store, "tea")
    bundle = exported(store)
    renamed = os.rename

    def rename(one: Any, other: Any) -> None:
        if Path(other).parent.name.startswith("workspace-default"):
            raise OSError(28, "No space left on device")
        renamed(one, other)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(ServiceUnavailable) as failed:
        imported(copy, bundle)
    monkeypatch.setattr(os, "rename", renamed)
    assert failed.value.details["imported"] == ["project:x"]
    assert failed.value.details["hint"].startswith("project:x came whole before that; ")
    assert imported(copy, bundle) == ["unchanged", "adopted"]
    assert exported(copy) == bundle


def test_a_ledger_keeps_its_mode(store: Store, copy: Store) -> None:
    remember(store, "tea")
    ledger = copy.directory.scope(SCOPE).ledger
    ledger.chmod(0o600)
    imported(copy, exported(store))
    assert ledger.stat().st_mode & 0o777 == 0o600
    remember(store, "coffee")
    imported(copy, exported(store))
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert len(json.loads(ledger.read_bytes().splitlines()[-1])) >= 7


@pytest.mark.parametrize("dead", [0, 1, 3])
@pytest.mark.parametrize("torn", [b"", b'{"to_entry":9'])
@pytest.mark.parametrize("long", [1, 400])
def test_what_is_unfinished_is_found_at_the_end(
    copy: Store, dead: int, torn: bytes, long: int
) -> None:
    """However long the custody is, and however long its records are."""
    layout = copy.directory.scope(SCOPE)
    sound = b"".join(custody_line({"to_entry": n, "packs": ["0" * 64] * long}) for n in range(9))
    left = b"".join(
        custody_line({"to_entry": 9 + n, "packs": ["0" * 64] * long}) for n in range(dead)
    )
    for before in (sound, b""):
        layout.custody.write_bytes(before + left + torn)
        assert unfinished(layout, 8) == (len(before), left + torn)
    layout.custody.write_bytes(sound + b"no record\n" + torn)
    assert unfinished(layout, 8) == (len(sound) + 10, torn)
    layout.custody.unlink()
    assert unfinished(layout, 8) == (0, b"")


def test_vectors_that_a_death_left_out_come_with_the_next_import(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = {**SPACE, "dimensions": 2}
    made = [remember(store, text) for text in ("tea", "coffee")]
    store.spaces.add(scope_id=SCOPE, space=space, actor=OWNER)
    store.embeddings.put(
        scope_id=SCOPE,
        actor=OWNER,
        embeddings=[
            {
                "embedding_space_id": space["embedding_space_id"],
                "object_id": one["object_id"],
                "version_id": one["version_id"],
                "vector": [1.0, 0.5],
            }
            for one in made
        ],
    )
    bundle = exported(store, with_embeddings=True)
    with monkeypatch.context() as failing:
        failing.setattr("pamctl.exchange.plans.arrive", _no_space)
        assert imported(copy, bundle) == ["adopted"]
        assert "its index or its vectors lag" in copy.notices[-1]
    assert exported(copy, with_embeddings=True) != bundle
    for _ in range(2):
        assert imported(copy, bundle) == ["unchanged"]
        assert exported(copy, with_embeddings=True) == bundle
    held = [path.stat().st_size for path in copy.path.glob("scopes/*/embeddings/*/*")]
    imported(copy, bundle)
    assert held == [path.stat().st_size for path in copy.path.glob("scopes/*/embeddings/*/*")]


def _no_space(*_: Any) -> None:
    raise OSError(28, "No space left on device")
