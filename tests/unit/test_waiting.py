"""Work that is done while the device is waited for, and the index that is prepared then."""

from __future__ import annotations

import _thread
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.errors import ServiceUnavailable
from pamctl.index.scope_index import ScopeIndex
from pamctl.store import waiting
from pamctl.store.records import START
from pamctl.store.waiting import doing_meanwhile
from tests.hand_made_ledger import HandMadeLedger, table_rows

ACTOR = {"actor_id": "actor:local:test", "actor_kind": "human"}


def creation(number: int) -> dict[str, Any]:
    return {
        "scope_id": "workspace:default",
        "object_id": f"mem:{number}",
        "object_type": "observation",
        "canonical_content": f"The lighthouse keeper wrote entry {number}.",
        "actor": ACTOR,
        "provenance": {"activity": "observed"},
    }


def found(store: pamctl.Store, text: str) -> set[str]:
    page = store.query(scope_id="workspace:default", text=text, any_state=True, actor=ACTOR)
    return {item["object_id"] for item in page["items"]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[pamctl.Store]:
    with closing(pamctl.init_store(tmp_path / ".pam")) as opened:
        yield opened


# The thread


def test_both_are_done_when_the_block_ends() -> None:
    threads: list[int] = []

    def work() -> None:
        time.sleep(0.02)
        threads.append(threading.get_ident())

    for _ in range(3):
        with doing_meanwhile(work):
            pass
    assert len(threads) == 3
    assert threading.get_ident() not in threads


def test_an_error_of_the_block_waits_for_the_work() -> None:
    done: list[int] = []
    with pytest.raises(ValueError, match="block"), doing_meanwhile(lambda: done.append(1)):
        raise ValueError("block")
    assert done == [1]


def test_the_work_begins_once_when_the_block_says_so() -> None:
    done: list[str] = []
    with doing_meanwhile(lambda: done.append("work")) as begin:
        time.sleep(0.02)
        done.append("before")
        begin()
        begin()
        deadline = time.monotonic() + 10
        while len(done) < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        done.append("after")
    assert done == ["before", "work", "after"]


def test_work_within_the_block_of_other_work() -> None:
    done: list[str] = []
    with (
        doing_meanwhile(lambda: done.append("outer")),
        doing_meanwhile(lambda: done.append("inner")),
    ):
        pass
    assert sorted(done) == ["inner", "outer"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.unraisablehook", lambda report: None)

    def fail() -> None:
        raise ValueError("a defect of ours")

    with doing_meanwhile(fail):
        pass
    done: list[int] = []
    with doing_meanwhile(lambda: done.append(1)):
        pass
    assert done == [1]


def test_without_a_thread_the_block_is_carried_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(waiting, "_idle", [])
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    done: list[str] = []
    with doing_meanwhile(lambda: done.append("work")):
        done.append("block")
    assert done == ["block"]


def test_a_forked_process_starts_a_thread_of_its_own() -> None:
    with doing_meanwhile(lambda: None):
        pass
    child = os.fork()
    if child == 0:
        done: list[int] = []
        with doing_meanwhile(lambda: done.append(1)):
            pass
        os._exit(0 if done == [1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# The index


def test_the_index_is_prepared_from_the_first_wait_for_the_device_on(
    store: pamctl.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create(**creation(0))
    calls: list[str] = []

    def noted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: Any) -> Any:
            calls.append(name)
            return call(*arguments)

        return noting

    # In a folder that is there already: who makes one waits for it too.
    scope = store.open_scope("workspace:default")
    for digits in range(256):
        folder = scope.layout.versions / f"{digits:02x}"
        folder.mkdir(exist_ok=True)
        scope.settled_folders.add(folder)
    monkeypatch.setattr(waiting._Helper, "begin", noted("begin", waiting._Helper.begin))
    monkeypatch.setattr(os, "write", noted("write", os.write))
    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    store.create(**creation(1))
    assert calls == ["write", "begin", "fsync", "fsync", "write", "fsync"]
    calls.clear()
    # What commits no version waits for the ledger alone.
    store.subscribe(scope_id="workspace:default", actor=ACTOR)
    assert calls[-3:] == ["write", "begin", "fsync"]


@pytest.mark.parametrize("file", [True, False])
def test_what_is_prepared_is_seen_when_it_is_applied(tmp_path: Path, file: bool) -> None:
    ledger = HandMadeLedger()
    path = tmp_path / "index" / "scope.sqlite" if file else None
    index = ScopeIndex(path)
    ledger.create("mem:a", "a needle in a haystack")
    ledger.revise("mem:a")
    other = ScopeIndex(path) if file else None
    index.prepare(START, ledger.transactions)
    if other is not None:
        assert other.position() == START
    assert index.apply(START, ledger.transactions)
    assert index.position() == ledger.position
    assert table_rows(index) == table_rows(ledger.index())
    if other is not None:
        assert other.position() == ledger.position
        other.close()
    index.close()


def test_what_is_abandoned_leaves_nothing() -> None:
    ledger = HandMadeLedger()
    ledger.create("mem:a")
    index = ledger.index()
    before = table_rows(index)
    ledger.create("mem:b")
    index.prepare(index.position(), ledger.transactions[1:])
    index.abandon()
    index.abandon()
    assert table_rows(index) == before
    assert index.apply(index.position(), ledger.transactions[1:])


def test_other_transactions_than_were_prepared() -> None:
    ledger = HandMadeLedger()
    ledger.create("mem:a")
    ledger.create("mem:b")
    index = ScopeIndex(None)
    index.prepare(START, ledger.transactions[:1])
    assert index.apply(START, ledger.transactions)
    assert table_rows(index) == table_rows(ledger.index())


def test_what_cannot_be_prepared_is_refused_when_it_is_applied() -> None:
    ledger = HandMadeLedger()
    ledger.create("mem:a")
    index = ScopeIndex(None)
    ledger.create("mem:b", version_id="ver:mem:a:1")
    index.prepare(START, ledger.transactions)
    with pytest.raises(pamctl.errors.StoreDamaged, match="an identifier again"):
        index.apply(START, ledger.transactions)
    assert index.position() == START


# The writer


@pytest.mark.parametrize("operations", [1, 40])
def test_nothing_is_in_the_index_that_the_device_refused(
    store: pamctl.Store, monkeypatch: pytest.MonkeyPatch, operations: int
) -> None:
    store.create(**creation(0))
    fsync, ledger = os.fsync, next(store.path.glob("scopes/*/ledger.jsonl"))

    def refusing(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink() == ledger:
            time.sleep(0.05)  # long enough that all is prepared
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refusing)
    with pytest.raises(ServiceUnavailable), store.group() as group:
        for number in range(1, operations + 1):
            group.perform("create", creation(number))
    monkeypatch.undo()
    assert found(store, "lighthouse") == {"mem:0"}
    assert store.create(**creation(1))["ledger_sequence"] == 2
    assert found(store, "lighthouse") == {"mem:0", "mem:1"}


@pytest.mark.parametrize("operations", [1, 40])
def test_the_index_is_whole_whether_or_not_a_thread_can_be_had(
    store: pamctl.Store, monkeypatch: pytest.MonkeyPatch, operations: int
) -> None:
    numbers = iter(range(1000))

    def write(count: int) -> None:
        with store.group() as group:
            for _ in range(count):
                group.perform("create", creation(next(numbers)))

    write(operations)
    monkeypatch.setattr(waiting, "_free_helper", lambda: None)
    write(operations)
    monkeypatch.undo()
    write(operations)
    assert found(store, "lighthouse") >= {f"mem:{number}" for number in range(min(3, operations))}
    (status,) = store.status()["scopes"]
    assert status["objects"] == 3 * operations
    assert status["index"]["fresh"]


def run_in(threads: int, work: Callable[[int], None]) -> None:
    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def test_several_threads_with_a_store_each(tmp_path: Path, patient: None) -> None:
    pamctl.init_store(tmp_path / ".pam").close()

    def write(number: int) -> None:
        with closing(pamctl.open_store(tmp_path / ".pam")) as store:
            for one in range(5):
                store.create(**creation(number * 100 + one))

    run_in(4, write)
    with closing(pamctl.open_store(tmp_path / ".pam")) as store:
        (status,) = store.status()["scopes"]
        assert (status["objects"], status["events"]) == (20, 20)
