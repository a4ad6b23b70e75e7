"""Vectors on disk: torn by a dead writer, replaced, damaged."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pamctl.errors import ServiceUnavailable, StoreDamaged
from pamctl.service.store import Store
from pamctl.store import embedding_upkeep, files
from pamctl.store.embedding_lines import Embedded
from pamctl.store.embeddings import EmbeddingFiles, NewEmbedding, lock, stored_spaces
from pamctl.store.layout import ScopeLayout, scope_folder

SPACE = "emb:a"
ACTOR = {"actor_id": "actor:local:me", "actor_kind": "human"}


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[ScopeLayout]:
    layout = ScopeLayout(tmp_path)
    with lock(layout):
        yield layout


@pytest.fixture
def space(layout: ScopeLayout) -> EmbeddingFiles:
    return EmbeddingFiles(layout, SPACE, 2)


def new(object_id: str, *numbers: float) -> NewEmbedding:
    return NewEmbedding(object_id, f"ver:{object_id[4:]}", struct.pack("<2f", *numbers))


def every(space: EmbeddingFiles) -> list[Embedded]:
    return list(space.rows(space.versions()).values())


def held(space: EmbeddingFiles) -> dict[str, tuple[float, ...]]:
    return {row.object_id: vector for row, vector in space.vectors(every(space))}


def file(layout: ScopeLayout, suffix: str) -> Path:
    (found,) = (layout.embeddings / scope_folder(SPACE)).glob(f"*{suffix}")
    return found


def test_vectors_come_back_and_later_ones_count(space: EmbeddingFiles) -> None:
    assert held(space) == {}
    space.put([new("mem:1", 1, 2), new("mem:2", 3, 4)])
    space.put([new("mem:1", 5, 6)])
    assert held(space) == {"mem:2": (3.0, 4.0), "mem:1": (5.0, 6.0)}
    assert list(space.versions().values()) == ["ver:2", "ver:1"]


def test_of_what_comes_again_the_last_counts(space: EmbeddingFiles) -> None:
    first, second = new("mem:1", 1, 2), new("mem:1", 3, 4)._replace(version_id="ver:later")
    for some in ([first, new("mem:2", 0, 0)], [second], [first], [first]):
        space.put(some)
    with contextlib.closing(space.hold()) as held:
        assert held.places == {"ver:1": 4, "ver:2": 1}
    space.put([second])
    with contextlib.closing(space.hold()) as held:
        assert held.places == {"ver:later": 5, "ver:2": 1}


def test_what_a_writer_left_at_any_byte_is_no_vector(
    layout: ScopeLayout, space: EmbeddingFiles
) -> None:
    space.put([new("mem:1", 1, 2)])
    lines, vectors = file(layout, ".jsonl"), file(layout, ".f32")
    whole = (lines.read_bytes(), vectors.read_bytes())
    space.put([new("mem:2", 3, 4)])
    longer = (lines.read_bytes(), vectors.read_bytes())
    torn = [(whole[0], longer[1][:cut]) for cut in range(len(whole[1]), len(longer[1]) + 1)]
    torn += [(longer[0][:cut], longer[1]) for cut in range(len(whole[0]), len(longer[0]))]
    torn += [(longer[0], whole[1])]
    for left in torn:
        lines.write_bytes(left[0])
        vectors.write_bytes(left[1])
        assert held(space) == {"mem:1": (1.0, 2.0)}, left
        space.put([new("mem:3", 7, 8)])
        assert held(space) == {"mem:1": (1.0, 2.0), "mem:3": (7.0, 8.0)}, left


def test_what_is_taken_away_leaves_no_byte(layout: ScopeLayout, space: EmbeddingFiles) -> None:
    space.put([new("mem:1", 1, 2), new("mem:2", 3, 4), new("mem:1", 9, 9)])
    rows = every(space)
    assert space.keep({"mem:2"}) == 1
    assert held(space) == {"mem:2": (3.0, 4.0)}
    assert file(layout, ".f32").read_bytes() == struct.pack("<2f", 3, 4)
    assert b"mem:1" not in file(layout, ".jsonl").read_bytes()
    # A reader that looked before finds nothing, and nothing wrong.
    assert list(space.vectors(rows)) == []
    space.put([new("mem:4", 0, 1)])
    assert held(space) == {"mem:2": (3.0, 4.0), "mem:4": (0.0, 1.0)}


@pytest.mark.parametrize("step", ["vectors", "lines", "removal"])
def test_a_writer_that_dies_while_it_takes_away(
    layout: ScopeLayout, space: EmbeddingFiles, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    space.put([new("mem:1", 1, 2), new("mem:2", 3, 4)])
    dying_in = {"vectors": "writing_whole", "lines": "replace_whole", "removal": "remove_durably"}

    def dying(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(files, dying_in[step], dying)
        with pytest.raises(KeyboardInterrupt):
            space.keep({"mem:2"})
    expected = {"mem:2": (3.0, 4.0)}
    assert held(space) == (expected if step == "removal" else {"mem:1": (1.0, 2.0), **expected})
    space.keep({"mem:2"})
    assert held(space) == expected
    assert len(list((layout.embeddings / scope_folder(SPACE)).glob("*.f32"))) == 1


def test_damage_is_said_and_not_guessed_at(layout: ScopeLayout, space: EmbeddingFiles) -> None:
    space.put([new("mem:1", 1, 2)])
    file(layout, ".jsonl").write_bytes(b"{}\n")
    with pytest.raises(StoreDamaged):
        space.versions()
    file(layout, ".f32").unlink()
    with pytest.raises(StoreDamaged):
        space.versions()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_file_is_not_opened(
    layout: ScopeLayout, space: EmbeddingFiles, tmp_path: Path, kind: str
) -> None:
    space.put([new("mem:1", 1, 2)])
    path = file(layout, ".jsonl")
    path.unlink()
    if kind == "link":
        elsewhere = tmp_path / "elsewhere"
        elsewhere.write_bytes(b'{"object_id":"mem:1","version_id":"ver:1"}\n')
        path.symlink_to(elsewhere)
    else:
        os.mkfifo(path)
    with pytest.raises(StoreDamaged):
        space.versions()


def test_spaces_are_found_by_what_they_say_they_are(layout: ScopeLayout) -> None:
    for space_id in ("emb:a", "emb:A"):
        EmbeddingFiles(layout, space_id, 2).put([new("mem:1", 1, 2)])
    (layout.embeddings / "stray").mkdir()
    assert sorted(name for name, _ in stored_spaces(layout)) == ["emb:A", "emb:a"]


def pinned(space: EmbeddingFiles, snapshot_id: str) -> tuple[dict[str, int], str] | None:
    """What a snapshot pins, by version, and the identity that it has."""
    pin = space.pinned(snapshot_id)
    held = None if pin is None else space.hold_pinned(pin)
    if held is None:
        return None
    held.close()
    return dict(held.places), held.identity


def test_a_pin_keeps_what_was_there(space: EmbeddingFiles) -> None:
    """Whatever is put afterwards, and however the files are written anew."""
    assert space.pin("snap:none") is None
    assert space.pinned("snap:none") is None  # there was nothing to pin
    space.put([new("mem:1", 1, 2), new("mem:2", 3, 4)])
    space.pin("snap:1")
    before = pinned(space, "snap:1")
    assert before is not None
    assert before[0] == {"ver:1": 0, "ver:2": 1}
    assert before[1] == space.hold().identity
    space.put([new("mem:1", 5, 6), new("mem:3", 7, 8)])
    assert pinned(space, "snap:1") == before
    space.keep({"mem:1", "mem:2", "mem:3"})
    assert pinned(space, "snap:1") == before
    space.take_away({"mem:3"})
    assert pinned(space, "snap:1") == before
    assert held(space) == {"mem:2": (3.0, 4.0), "mem:1": (5.0, 6.0)}


def test_what_is_taken_away_is_taken_from_pins_too(
    layout: ScopeLayout, space: EmbeddingFiles
) -> None:
    """A pin that held it is gone; one that did not stays; no byte of it does."""
    space.put([new("mem:1", 1, 2)])
    space.pin("snap:1")
    space.put([new("mem:2", 3, 4)])
    space.pin("snap:2")
    before = pinned(space, "snap:1")
    space.take_away({"mem:2"})
    assert (pinned(space, "snap:1"), pinned(space, "snap:2")) == (before, None)
    folder = layout.embeddings / scope_folder(SPACE)
    data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"mem:2" not in data
    assert struct.pack("<2f", 3, 4) not in data
    space.take_away({"mem:1"})
    assert pinned(space, "snap:1") is None
    assert [path.stat().st_size for path in folder.glob("*.f32")] == [0]


def test_what_a_dead_writer_left_is_noticed(layout: ScopeLayout, space: EmbeddingFiles) -> None:
    space.put([new("mem:1", 1, 2)])
    space.pin("snap:1")
    assert not space.has_leftovers()
    old = file(layout, ".f32").read_bytes()
    space.keep({"mem:1"})
    folder = layout.embeddings / scope_folder(SPACE)
    assert not space.has_leftovers()
    (folder / "00000009.f32").write_bytes(old)
    assert space.has_leftovers()
    space.keep({"mem:1"})
    assert not space.has_leftovers()


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'"x"', b"1", b'{"pair":"1"}'])
def test_a_pin_that_cannot_be_read_pins_nothing(
    layout: ScopeLayout, space: EmbeddingFiles, data: bytes
) -> None:
    space.put([new("mem:1", 1, 2)])
    space.pin("snap:1")
    (path,) = (layout.embeddings / scope_folder(SPACE) / "pins").iterdir()
    path.write_bytes(data)
    assert space.pinned("snap:1") is None
    space.keep({"mem:1"})
    space.pin("snap:1")
    found = space.pinned("snap:1")
    assert found is not None
    assert space.hold_pinned(found._replace(pair=77)) is None


class _Died(BaseException):
    """What happens to a process that is killed, and to nothing else."""


@pytest.fixture
def embedded(store: Store) -> Store:
    """A store in which `mem:tea` has a vector."""
    writing: Any = {"scope_id": "workspace:default", "actor": ACTOR}
    content = {"object_id": "mem:tea", "object_type": "claim", "canonical_content": "tea"}
    store.create(**writing, **content, provenance={"activity": "observed"})
    descriptor = dict.fromkeys(("provider", "model", "model_revision"), "x")
    described = {"embedding_space_id": SPACE, "dimensions": 2, "distance_metric": "cosine"}
    more = {"normalization": "l2", "preprocessing_profile": "none", "embedding_kind": "text"}
    rules = {"canonicalization_rules": "none"}
    space = {**descriptor, **described, **more, **rules}
    store.perform("space_add", {**writing, "space": space})
    vector = {"object_id": "mem:tea", "vector": [1, 2], "embedding_space_id": SPACE}
    store.perform("embedding_put", {**writing, "embeddings": [vector]})
    return store


def redact(store: Store) -> Any:
    current = store.history(scope_id="workspace:default", object_id="mem:tea")["items"][0]
    return store.redact(
        scope_id="workspace:default",
        actor=ACTOR,
        object_id="mem:tea",
        expected_version_id=current["version_id"],
        policy_basis="asked",
        idempotency_key="key:redact",
    )


def with_vectors(store: Store) -> set[str]:
    layout = store.directory.scope("workspace:default")
    return {name for _, space in stored_spaces(layout) for name in space.versions()}


def test_who_redacts_and_dies_leaves_no_vector(
    embedded: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> None:
        raise _Died

    assert with_vectors(embedded) == {"mem:tea"}
    with monkeypatch.context() as patched, pytest.raises(_Died):
        patched.setattr(embedding_upkeep, "follow", dies)
        redact(embedded)
    assert with_vectors(embedded) == set()
    assert redact(embedded)["replayed"] is True


def test_vectors_that_cannot_be_taken_away_keep_an_object_from_being_redacted(
    embedded: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched, pytest.raises(ServiceUnavailable):
        patched.setattr(embedding_upkeep, "stored_spaces", fails)
        redact(embedded)
    assert embedded.read(scope_id="workspace:default", object_id="mem:tea")["canonical_content"]
    redact(embedded)
    assert with_vectors(embedded) == set()
