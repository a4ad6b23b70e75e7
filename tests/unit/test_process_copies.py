"""Copies of a process: what they keep, what they leave alone, and where none is made."""

from __future__ import annotations

import errno
import os
import threading
from functools import partial
from pathlib import Path

import pytest

import pamctl
from pamctl import process_copies
from pamctl.bindings.questions import Groups, Question
from pamctl.bindings.reading_ahead import ReadingAhead
from pamctl.process_copies import await_end, begin_copy, is_worth_copying, wide_pipe
from pamctl.service.index_follower import IndexFollower

pytestmark = pytest.mark.skipif(
    threading.active_count() > 1, reason="a process with threads is not copied"
)


@pytest.fixture
def no_more_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr(process_copies.os, "cpu_count", lambda: 2)


def open_descriptors() -> list[str]:
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


def test_a_copy_keeps_what_it_is_told_to_keep_and_nothing_else(tmp_path: Path) -> None:
    heard, saying = wide_pipe()
    other = os.open(tmp_path, os.O_RDONLY)

    def say() -> None:
        os.write(saying, b"kept")
        try:
            os.fstat(other)
        except OSError:
            os.write(saying, b", and not the other")
        os.write(1, b"nobody reads this")
        raise KeyboardInterrupt  # is the copy's own affair

    copy = begin_copy(say, keeping=(saying,))
    os.close(saying)
    assert copy is not None
    with open(heard, "rb") as told:
        assert told.read() == b"kept, and not the other"
    await_end(copy)
    await_end(copy)  # somebody else had waited for it
    os.close(other)


def test_a_copy_keeps_a_standard_stream_and_what_came_later() -> None:
    heard, saying = wide_pipe()
    reading, writing = os.pipe()
    os.write(writing, b"input")
    os.close(writing)
    before = os.dup(0)
    os.dup2(reading, 0)
    try:
        copy = begin_copy(lambda: os.write(saying, os.read(0, 5)) and None, keeping=(saying, 0))
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reading)
        os.close(saying)
    assert copy is not None
    with open(heard, "rb") as told:
        assert told.read() == b"input"
    await_end(copy)


def test_a_process_with_a_second_thread_is_not_copied() -> None:
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    assert not is_worth_copying()
    waiting.set()
    thread.join()


def test_nor_is_one_that_has_the_only_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_copies.os, "cpu_count", lambda: None)
    assert not is_worth_copying()


def test_without_a_copy_nothing_is_left_open(no_more_processes: None, tmp_path: Path) -> None:
    store = pamctl.init_store(tmp_path / ".pam")
    store.close()
    file = tmp_path / "requests.jsonl"
    file.write_bytes(b"{}\n")
    with open(file, "rb") as stream:
        groups = Groups(stream, whole=False)
        before = open_descriptors()
        assert IndexFollower.begin(store) is None
        assert ReadingAhead.begin(stream, groups, partial(Question, request=None)) is None  # type: ignore[arg-type]
        assert open_descriptors() == before


def test_a_store_whose_indexes_are_open_gets_no_follower(tmp_path: Path) -> None:
    store = pamctl.init_store(tmp_path / ".pam")
    store.open_scope(store.default_scope)
    assert IndexFollower.begin(store) is None
    store.close()
