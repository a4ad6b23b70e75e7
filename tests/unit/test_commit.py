"""The commit: its order, its one commit point, and what each failure on the way leaves."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from pamctl.encoding.digests import sha256_hex
from pamctl.errors import InvalidObject, InvalidRequest, ServiceUnavailable
from pamctl.limits import DEPTH_MAX
from pamctl.store.commit import NewEntry, ScopeWriter
from pamctl.store.layout import ScopeLayout
from pamctl.store.records import Transaction
from pamctl.store.versions import Versions
from tests.scope_ledgers import (
    DIED,
    commit,
    creation,
    end,
    event,
    files_below,
    new_scope,
    quarantine,
    run_until,
    transactions,
    version,
)


@pytest.fixture
def layout(tmp_path: Path) -> ScopeLayout:
    return new_scope(tmp_path / ".pam")


@pytest.fixture
def calls(layout: ScopeLayout, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The durable calls in their order, each with what it was about."""
    noted: list[str] = []
    write, fsync, rename, mkdir = os.write, os.fsync, os.rename, os.mkdir

    def about(path: Path) -> str:
        name = str(path.relative_to(layout.root)) if path != layout.root else "."
        return "tmp/…" if name.startswith("tmp/") else name

    def of(descriptor: int) -> str:
        return about(Path(f"/proc/self/fd/{descriptor}").readlink())

    def noting_write(descriptor: int, data: bytes) -> int:
        noted.append(f"write {of(descriptor)}")
        return write(descriptor, data)

    def noting_fsync(descriptor: int) -> None:
        noted.append(f"fsync {of(descriptor)}")
        fsync(descriptor)

    def noting_rename(source: Path, target: Path) -> None:
        noted.append(f"rename {about(source)} {about(target)}")
        rename(source, target)

    def noting_mkdir(path: Path, mode: int = 0o777) -> None:
        noted.append(f"mkdir {about(path)}")
        mkdir(path)

    monkeypatch.setattr(os, "write", noting_write)
    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "rename", noting_rename)
    monkeypatch.setattr(os, "mkdir", noting_mkdir)
    return noted


def test_the_order_of_a_single_commit(layout: ScopeLayout, calls: list[str]) -> None:
    commit(layout, creation(1))
    digits = version(1).address.removeprefix("sha256:")
    folder, file = f"versions/{digits[:2]}", f"versions/{digits[:2]}/{digits[2:]}.json"
    assert calls == [
        f"mkdir {folder}",
        "write tmp/…",
        "fsync tmp/…",
        "fsync versions",
        f"rename tmp/… {file}",
        f"fsync {folder}",
        "write ledger.jsonl",
        "fsync ledger.jsonl",
    ]


def test_a_folder_that_is_known_is_not_looked_into(layout: ScopeLayout, calls: list[str]) -> None:
    settled: set[Path] = set()
    folder = layout.version_file(version(1).address).parent
    with ScopeWriter(layout, quarantine(layout), settled=settled) as writer:
        writer.commit(end(layout), [creation(1)])
        assert settled == {folder}
        calls.clear()
        writer.commit(end(layout), [creation(1)])
    assert not any(call.startswith("mkdir") for call in calls)


def test_a_folder_that_is_known_and_gone_is_made(layout: ScopeLayout) -> None:
    folder = layout.version_file(version(1).address).parent
    with ScopeWriter(layout, quarantine(layout), settled={folder}) as writer:
        writer.commit(end(layout), [creation(1)])
    assert len(list(folder.iterdir())) == 1


def test_what_is_done_meanwhile_is_told_what_is_being_committed(layout: ScopeLayout) -> None:
    told: list[list[Transaction]] = []
    with ScopeWriter(layout, quarantine(layout)) as writer:
        done = writer.commit(end(layout), [creation(1)], meanwhile=told.append)
    assert told == [done]


def test_the_order_of_a_group(layout: ScopeLayout, calls: list[str]) -> None:
    commit(layout, *(creation(number) for number in range(1, 200)))
    (pack,) = layout.packs.iterdir()
    assert calls == [
        "write tmp/…",
        "fsync tmp/…",
        f"rename tmp/… packs/{pack.name}",
        "fsync packs",
        "write ledger.jsonl",
        "fsync ledger.jsonl",
    ]


def test_entries_without_versions_need_the_ledger_only(
    layout: ScopeLayout, calls: list[str]
) -> None:
    commit(layout, [NewEntry("policy", {"policy": {}})])
    assert calls == ["write ledger.jsonl", "fsync ledger.jsonl"]


def test_a_pack_is_named_by_its_bytes_and_announced_first(layout: ScopeLayout) -> None:
    commit(layout, creation(1), creation(2))
    (pack,) = layout.packs.iterdir()
    data = pack.read_bytes()
    assert data == version(1).data + b"\n" + version(2).data + b"\n"
    assert pack.name == f"{sha256_hex(data)}.jsonl"
    announcement = transactions(layout)[1]
    assert [entry.kind for entry in announcement.entries] == ["pack"]
    assert announcement.entries[0].body == {"name": sha256_hex(data), "versions": 2}


def test_what_a_commit_returns_is_what_a_reader_finds(layout: ScopeLayout) -> None:
    for group in ([creation(1)], [creation(2), creation(3)], [[event(4), event(5)]]):
        before = len(transactions(layout))
        assert commit(layout, *group) == transactions(layout)[before:]


def test_no_value_can_forge_a_line(layout: ScopeLayout) -> None:
    forged = 'x"}\n{"n":99}\r\n\u2028\x85'
    entry = NewEntry("policy", {forged: [forged, {"deep": forged}]})
    commit(layout, [entry])
    assert layout.ledger.read_bytes().count(b"\n") == 2
    assert transactions(layout)[-1].entries[0].body == entry.body


def test_an_entry_that_no_reader_would_take_is_not_written(
    layout: ScopeLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = layout.ledger.read_bytes()
    monkeypatch.setattr("pamctl.store.commit.DOCUMENT_BYTES_MAX", 1000)
    with pytest.raises(InvalidRequest, match="DOCUMENT_BYTES_MAX"):
        commit(layout, [event(1)], [NewEntry("policy", {"text": "x" * 1000})])
    deepest: Any = "x"
    for _ in range(DEPTH_MAX):
        deepest = [deepest]
    for body in ({"number": 2**60}, {"deep": deepest}, {"deep": deepest[0], "\U0001f331": 1}):
        with pytest.raises(InvalidObject):
            commit(layout, [event(1)], [NewEntry("policy", body)])
    assert layout.ledger.read_bytes() == before


def test_two_writers_take_turns(layout: ScopeLayout) -> None:
    with (
        ScopeWriter(layout, quarantine(layout)),
        pytest.raises(ServiceUnavailable) as refusal,
        ScopeWriter(layout, quarantine(layout), wait=False),
    ):
        pass
    assert refusal.value.details["holder_pid"] == str(os.getpid())


# Failures of the device


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("group", [[creation(1)], [creation(1), creation(2)]], ids=["one", "many"])
def test_each_failed_fsync_leaves_nothing_visible(
    layout: ScopeLayout,
    monkeypatch: pytest.MonkeyPatch,
    error: int,
    group: list[list[NewEntry]],
) -> None:
    before, whole = layout.ledger.read_bytes(), transactions(layout)
    real = os.fsync
    steps = 0
    while True:
        calls = 0

        def failing(descriptor: int, at: int = steps) -> None:
            nonlocal calls
            calls += 1
            if calls - 1 == at:
                raise OSError(error, os.strerror(error))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", failing)
        with ScopeWriter(layout, quarantine(layout)) as writer:
            writer.recover(end(layout))
            try:
                writer.commit(end(layout), group)
            except ServiceUnavailable:
                assert calls == steps + 1  # nothing more was tried
                # A writer that no longer knows what the device holds does not go on.
                with pytest.raises(ServiceUnavailable, match="earlier write failed"):
                    writer.commit(end(layout), group)
            else:
                break
        assert layout.ledger.read_bytes() == before
        assert transactions(layout) == whole
        assert list(layout.staging.iterdir()) == []
        steps += 1
    assert steps >= 3
    assert len(transactions(layout)) == len(whole) + len(group) + (len(group) > 1)


# The crash table of store-format/commit-and-recovery.md: a writer dies at each step

WRITER = """
from pathlib import Path
from pamctl.store.layout import ScopeLayout
from pamctl.store.records import Transaction
from tests.scope_ledgers import commit, creation

layout, group = ScopeLayout(Path(sys.argv[2])), [creation(int(n)) for n in sys.argv[3:]]
arm()
commit(layout, *group)
"""


@pytest.mark.parametrize("numbers", [["1"], ["1", "2", "3"]], ids=["one", "many"])
def test_a_writer_that_dies_at_any_step(tmp_path: Path, numbers: list[str]) -> None:
    group = [creation(int(number)) for number in numbers]
    seen_before, seen_after = 0, 0
    for step in range(100):
        layout = new_scope(tmp_path / f"{step}" / ".pam")
        before = transactions(layout)
        status = run_until(step, WRITER, str(layout.root), *numbers)
        after = transactions(layout)
        # All of the group, or none of it.
        committed = len(after) == len(before) + len(group) + (len(group) > 1)
        assert committed or after == before
        seen_before, seen_after = seen_before + (not committed), seen_after + committed
        for transaction in after:
            for stored in transaction.versions.values():
                assert Versions(layout).read(stored)
        if status != DIED:
            break
        # The next writer sets aside what never got its name, and the retry commits.
        left = {path.name: path.read_bytes() for path in layout.staging.iterdir()}
        if not committed:
            commit(layout, *group)
        else:
            commit(layout)
        assert list(layout.staging.iterdir()) == []
        kept = files_below(quarantine(layout)) if quarantine(layout).exists() else {}
        assert sorted(kept.values()) == sorted(left.values())
        final = transactions(layout)
        assert final[-1].after.sequence == len(group)
        assert len({entry.version for one in final for entry in one.entries} - {None}) == len(group)
    else:
        pytest.fail("the writer never got to its end")
    # Dying just before the last fsync is the one case in which it is all there already.
    assert seen_before >= 5
    assert seen_after == 2
