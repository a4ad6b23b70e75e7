"""What a dead writer left is set aside before anything is written, and every byte is kept."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pamctl.errors import ServiceUnavailable, StoreDamaged
from pamctl.store.commit import ScopeWriter
from pamctl.store.layout import ScopeLayout
from pamctl.store.records import START
from pamctl.store.recovery import set_aside_staged_files, set_aside_torn_tail
from tests.scope_ledgers import (
    commit,
    creation,
    end,
    event,
    files_below,
    new_scope,
    quarantine,
    transactions,
)


@pytest.fixture
def layout(tmp_path: Path) -> ScopeLayout:
    layout = new_scope(tmp_path / ".pam")
    commit(layout, creation(1))
    return layout


def tail_of_two(layout: ScopeLayout) -> bytes:
    """The bytes of a transaction of two entries that would fit behind the ledger."""
    before = layout.ledger.read_bytes()
    commit(layout, [event(2), event(3)])
    tail = layout.ledger.read_bytes()[len(before) :]
    layout.ledger.write_bytes(before)
    return tail


def recover(layout: ScopeLayout) -> list[str]:
    with ScopeWriter(layout, quarantine(layout)) as writer:
        return writer.recover(end(layout))


def kept(layout: ScopeLayout) -> list[bytes]:
    return sorted(files_below(quarantine(layout)).values()) if quarantine(layout).exists() else []


def test_nothing_to_do_does_nothing(layout: ScopeLayout) -> None:
    before = files_below(layout.root)
    assert recover(layout) == []
    after = files_below(layout.root)
    assert {**after, "lock": b""} == {**before, "lock": b""}
    assert not quarantine(layout).exists()


def test_every_torn_tail_is_kept_and_the_ledger_goes_on(layout: ScopeLayout) -> None:
    whole, good = layout.ledger.read_bytes(), transactions(layout)
    tail = tail_of_two(layout)
    for length in range(1, len(tail), 5):
        layout.ledger.write_bytes(whole + tail[:length])
        (notice,) = recover(layout)
        assert layout.ledger.read_bytes() == whole
        assert f"{length} bytes" in notice
        assert str(quarantine(layout)) in notice
        assert tail[:length] in kept(layout)
        assert recover(layout) == []
    assert transactions(layout) == good
    commit(layout, [event(2)])
    assert transactions(layout)[-1].after.sequence == 2
    assert kept(layout) == sorted(tail[:length] for length in range(1, len(tail), 5))


@pytest.mark.parametrize(
    "tail", [b"\x00" * 4096, b"\x00\n", b"\x00" * 10 + b"\nmore\n", b"{", b'{"n":1'], ids=repr
)
def test_torn_tails_of_other_kinds(layout: ScopeLayout, tail: bytes) -> None:
    whole = layout.ledger.read_bytes()
    layout.ledger.write_bytes(whole + tail)
    assert len(recover(layout)) == 1
    assert layout.ledger.read_bytes() == whole
    assert kept(layout) == [tail]


def test_the_name_says_where_it_was_found(layout: ScopeLayout) -> None:
    size = layout.ledger.stat().st_size
    with open(layout.ledger, "ab") as ledger:
        ledger.write(b"torn")
    recover(layout)
    (path,) = files_below(quarantine(layout))
    folder, name = path.split("/")
    assert folder == layout.root.name
    assert name.startswith(f"ledger-tail-at-{size}-")


def test_the_same_tail_twice_is_kept_once_and_never_lost(layout: ScopeLayout) -> None:
    whole = layout.ledger.read_bytes()
    for _ in range(2):
        layout.ledger.write_bytes(whole + b"torn")
        recover(layout)
    assert kept(layout) == [b"torn"]


def test_a_damaged_line_is_not_a_torn_tail(layout: ScopeLayout) -> None:
    for tail in (b"torn\n", b"\n", b"{}\n", layout.ledger.read_bytes()):
        before = layout.ledger.read_bytes()
        layout.ledger.write_bytes(before + tail)
        with pytest.raises(StoreDamaged):
            recover(layout)
        assert layout.ledger.read_bytes() == before + tail
        layout.ledger.write_bytes(before)
    assert not quarantine(layout).exists()


def test_what_was_committed_is_never_cut_whoever_asks_for_it(layout: ScopeLayout) -> None:
    # An index that is behind, or lies, must not cost a transaction.
    commit(layout, [event(2)])
    before = layout.ledger.read_bytes()
    stale = transactions(layout)[1].after
    for tail in (b"", b"torn"):
        layout.ledger.write_bytes(before + tail)
        for position in (START, stale):
            with pytest.raises(StoreDamaged, match="nothing was changed"):
                set_aside_torn_tail(layout, quarantine(layout), position)
        assert layout.ledger.read_bytes() == before + tail


def test_a_ledger_that_is_shorter_than_it_was_is_not_appended_to(layout: ScopeLayout) -> None:
    position = end(layout)
    os.truncate(layout.ledger, position.offset - 1)
    with (
        ScopeWriter(layout, quarantine(layout)) as writer,
        pytest.raises(StoreDamaged, match="nothing was changed"),
    ):
        writer.recover(position)


def test_staged_files_are_kept_whatever_they_are_called(layout: ScopeLayout) -> None:
    left = {".a.json.1-0.new": b"one", ".b.jsonl.1-1.new": b"", "stray": b"two"}
    for _ in range(3):  # a process of the same id may leave the same names
        for name, data in left.items():
            (layout.staging / name).write_bytes(data)
        (notice,) = recover(layout)
        assert "3 unfinished files" in notice
        assert list(layout.staging.iterdir()) == []
    assert kept(layout) == sorted([*left.values()] * 3)


def test_a_tail_is_durable_elsewhere_before_it_is_cut(
    layout: ScopeLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = layout.ledger.read_bytes()
    layout.ledger.write_bytes(whole + b"torn")
    real = os.fsync
    for step in range(20):
        calls = 0

        def failing(descriptor: int, at: int = step) -> None:
            nonlocal calls
            calls += 1
            if calls - 1 == at:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", failing)
        try:
            recover(layout)
        except ServiceUnavailable:
            assert layout.ledger.read_bytes() == whole + b"torn" or kept(layout) == [b"torn"]
        else:
            break
    assert step >= 3
    assert layout.ledger.read_bytes() == whole
    assert kept(layout) == [b"torn"]


def test_folders_that_git_left_out_come_back(layout: ScopeLayout) -> None:
    layout.staging.rmdir()
    layout.packs.rmdir()
    assert recover(layout) == []
    commit(layout, creation(2), creation(3))
    assert transactions(layout)[-1].after.sequence == 3


def test_staged_files_alone(layout: ScopeLayout) -> None:
    assert set_aside_staged_files(layout, quarantine(layout)) is None


def test_entries_behind_lost_bytes_are_for_a_person_to_judge(layout: ScopeLayout) -> None:
    tail = tail_of_two(layout)
    damaged = layout.ledger.read_bytes() + b"\x00" * 40 + b"\n" + tail
    layout.ledger.write_bytes(damaged)
    with pytest.raises(StoreDamaged, match="lost bytes"):
        recover(layout)
    assert layout.ledger.read_bytes() == damaged
    assert kept(layout) == []
