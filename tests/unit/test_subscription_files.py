"""The files of subscriptions, and the look at a ledger that tells of commits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pamctl.errors import ServiceUnavailable, StoreDamaged
from pamctl.rules.subscriptions import Cursor
from pamctl.store import files
from pamctl.store.layout import ScopeLayout
from pamctl.store.lock import exclusive
from pamctl.store.subscriptions import KeptCursor, SubscriptionFiles
from pamctl.store.watch import PAUSE_MAX_SEC, Watch

DESCRIPTOR = {
    "subscription_id": "sub:1",
    "actor": {"actor_id": "actor:agent:a"},
    "filter": {},
    "start_sequence": 0,
}


@pytest.fixture
def kept(tmp_path: Path) -> SubscriptionFiles:
    return SubscriptionFiles(ScopeLayout(tmp_path))


def only(tmp_path: Path, pattern: str) -> Path:
    (found,) = (tmp_path / "subscriptions").glob(pattern)
    return found


class TestFiles:
    def test_nothing_is_there_before_something_is_made(self, kept: SubscriptionFiles) -> None:
        assert kept.descriptor("sub:1") is None
        assert kept.cursor("sub:1") is None
        assert list(kept.descriptors()) == []

    def test_what_is_put_is_found(self, kept: SubscriptionFiles) -> None:
        kept.create(DESCRIPTOR)
        kept.create({**DESCRIPTOR, "subscription_id": "sub:2"})
        kept.put_cursor("sub:1", KeptCursor(Cursor(4, 2), "evt:2"))
        kept.put_cursor("sub:1", KeptCursor(Cursor(5, 3), "evt:3"))
        assert kept.descriptor("sub:1") == DESCRIPTOR
        assert kept.cursor("sub:1") == KeptCursor(Cursor(5, 3), "evt:3")
        assert kept.cursor("sub:2") is None
        assert {one["subscription_id"] for one in kept.descriptors()} == {"sub:1", "sub:2"}

    def test_an_id_is_never_a_path(self, kept: SubscriptionFiles, tmp_path: Path) -> None:
        hostile = "sub:../../../etc/passwd"
        kept.create({**DESCRIPTOR, "subscription_id": hostile})
        assert kept.descriptor(hostile) is not None
        assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path / "subscriptions"}

    def test_a_descriptor_is_made_once(self, kept: SubscriptionFiles) -> None:
        kept.create(DESCRIPTOR)
        with pytest.raises(FileExistsError):
            kept.create(DESCRIPTOR)

    def test_git_leaves_the_lock_out(self, kept: SubscriptionFiles, tmp_path: Path) -> None:
        with kept.lock():
            assert (tmp_path / "subscriptions" / "lock").exists()
        assert (tmp_path / "subscriptions" / ".gitignore").read_bytes() == b"/lock\n"

    def test_the_lock_excludes(self, kept: SubscriptionFiles, tmp_path: Path) -> None:
        with (
            kept.lock(),
            pytest.raises(ServiceUnavailable),
            exclusive(tmp_path / "subscriptions" / "lock", wait_sec=0),
        ):
            pass

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"{",
            b"[]",
            b'{"a":1,"a":1}',
            b'{"acknowledged_sequence":1}',
            b'{"acknowledged_sequence":"1","delivered_sequence":1}',
            b'{"acknowledged_event_id":1,"acknowledged_sequence":1,"delivered_sequence":1}',
        ],
    )
    def test_a_damaged_cursor_is_named(
        self, kept: SubscriptionFiles, tmp_path: Path, data: bytes
    ) -> None:
        kept.create(DESCRIPTOR)
        kept.put_cursor("sub:1", KeptCursor(Cursor(4, 2), "evt:2"))
        path = only(tmp_path, "*.cursor.json")
        path.write_bytes(data)
        with pytest.raises(StoreDamaged, match=path.name):
            kept.cursor("sub:1")

    @pytest.mark.parametrize("member", ["actor", "filter", "start_sequence"])
    def test_a_descriptor_that_is_none_is_named(
        self, kept: SubscriptionFiles, tmp_path: Path, member: str
    ) -> None:
        kept.create({**DESCRIPTOR, member: "nonsense"})
        with pytest.raises(StoreDamaged, match="describes no subscription"):
            kept.descriptor("sub:1")
        with pytest.raises(StoreDamaged):
            list(kept.descriptors())

    def test_a_descriptor_under_the_name_of_another_is_refused(
        self, kept: SubscriptionFiles, tmp_path: Path
    ) -> None:
        kept.create(DESCRIPTOR)
        path = only(tmp_path, "*.json")
        path.write_bytes(path.read_bytes().replace(b"sub:1", b"sub:2"))
        with pytest.raises(StoreDamaged):
            kept.descriptor("sub:1")

    @pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
    def test_what_is_no_file_is_not_opened_as_one(
        self, kept: SubscriptionFiles, tmp_path: Path, kind: str
    ) -> None:
        kept.create(DESCRIPTOR)
        path = only(tmp_path, "*.json")
        path.rename(tmp_path / "elsewhere")
        if kind == "link":
            path.symlink_to(tmp_path / "elsewhere")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
        with pytest.raises(StoreDamaged):
            kept.descriptor("sub:1")

    def test_a_cursor_that_cannot_be_made_durable_stays_what_it_was(
        self, kept: SubscriptionFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept.create(DESCRIPTOR)
        kept.put_cursor("sub:1", KeptCursor(Cursor(1, 1), "evt:1"))

        def fail(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(files.os, "fsync", fail)
        with pytest.raises(ServiceUnavailable):
            kept.put_cursor("sub:1", KeptCursor(Cursor(2, 2), "evt:2"))
        monkeypatch.undo()
        assert kept.cursor("sub:1") == KeptCursor(Cursor(1, 1), "evt:1")


class TestWatch:
    def test_the_first_look_finds_something_whatever_is_there(self, tmp_path: Path) -> None:
        ledger = tmp_path / "ledger.jsonl"
        absent = Watch(ledger)
        assert absent.changed()
        assert not absent.changed()
        ledger.write_bytes(b"")
        assert absent.changed()
        assert Watch(ledger).changed()

    def test_growth_and_replacement_show(self, tmp_path: Path) -> None:
        ledger = tmp_path / "ledger.jsonl"
        ledger.write_bytes(b"a\n")
        watch = Watch(ledger)
        watch.changed()
        with ledger.open("ab") as file:
            file.write(b"b\n")
        assert watch.changed()
        assert not watch.changed()
        (tmp_path / "other").write_bytes(b"a\nc\n")
        (tmp_path / "other").rename(ledger)
        assert watch.changed()

    def test_pauses_grow_to_a_bound_and_end_with_the_wait(self, tmp_path: Path) -> None:
        watch = Watch(tmp_path / "ledger.jsonl")
        watch.changed()
        pauses: list[float] = []
        assert not watch.wait(pauses.append, at_most_sec=1.0)
        assert sum(pauses) == pytest.approx(1.0)
        assert max(pauses) == PAUSE_MAX_SEC
        assert pauses[:5] == [0.005, 0.01, 0.02, 0.04, 0.05]

    def test_it_ends_as_soon_as_there_is_something(self, tmp_path: Path) -> None:
        ledger = tmp_path / "ledger.jsonl"
        watch = Watch(ledger)
        watch.changed()
        pauses: list[Any] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                ledger.write_bytes(b"a\n")

        assert watch.wait(pause)
        assert len(pauses) == 3
