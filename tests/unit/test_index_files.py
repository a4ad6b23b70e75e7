"""The index file: made, reopened, damaged, locked, unwritable, and shared by processes."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pamctl.errors import ServiceUnavailable
from pamctl.index import database
from pamctl.index.database import IndexDamaged
from pamctl.index.schema import SCHEMA_VERSION
from pamctl.index.scope_index import ScopeIndex
from pamctl.index.structured_query import StructuredQuery
from pamctl.store.records import START
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date, table_rows

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ledger() -> HandMadeLedger:
    made = HandMadeLedger()
    for number in range(300):
        made.create(f"mem:{number}", {"text": f"memory number {number} of a few hundred"})
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "scope-0123456789ab.sqlite"


@pytest.fixture
def closed(ledger: HandMadeLedger, path: Path) -> Path:
    """The file of an index that has read the ledger, with nothing beside it."""
    ledger.index(path).close()
    whole = sqlite3.connect(path)
    whole.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return path


def works(index: ScopeIndex, ledger: HandMadeLedger) -> bool:
    """Whether an index, once brought up to date, answers all there is to be asked."""
    bring_up_to_date(index, ledger)
    return table_rows(index) == table_rows(ledger.index())


def test_the_folder_and_the_file_are_made(path: Path, ledger: HandMadeLedger) -> None:
    index = ScopeIndex(path)
    assert path.is_file()
    assert works(index, ledger)
    index.close()


def test_an_index_goes_on_where_it_was_left(path: Path, ledger: HandMadeLedger) -> None:
    ledger.index(path).close()
    index = ScopeIndex(path)
    assert index.position() == ledger.position
    assert works(index, ledger)
    index.close()


def test_a_short_log_is_left_to_the_next_and_a_long_one_is_not(
    path: Path, ledger: HandMadeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = path.with_name(path.name + "-wal")
    ledger.index(path).close()
    assert log.stat().st_size > 0
    monkeypatch.setattr(database, "_LOG_LEFT_BYTES", 0)
    ScopeIndex(path).close()
    assert not log.exists()
    index = ScopeIndex(path)
    assert works(index, ledger)
    index.close()


def test_an_index_of_another_schema_is_made_anew(closed: Path, ledger: HandMadeLedger) -> None:
    old = sqlite3.connect(closed)
    old.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    old.execute("DROP TABLE version")
    old.close()
    index = ScopeIndex(closed)
    assert index.position() == START
    assert works(index, ledger)
    index.close()


def test_an_index_that_another_release_takes_over_is_not_written(
    path: Path, ledger: HandMadeLedger
) -> None:
    index = ledger.index(path)
    other = sqlite3.connect(path)
    other.execute("DROP TABLE version")
    other.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    other.commit()
    ledger.create("mem:new")
    assert not index.apply(index.position(), ledger.transactions[-1:])
    with pytest.raises(IndexDamaged):
        index.current("mem:1")
    assert works(index, ledger)
    other.close()
    index.close()


DAMAGE = {
    "empty": lambda data: b"",
    "no database": lambda data: b"not a database at all, " * 1000,
    "cut in its header": lambda data: data[:60],
    "cut in half": lambda data: data[: len(data) // 2 + 100],
    "header overwritten": lambda data: bytes(100) + data[100:],
    "schema overwritten": lambda data: data[:100] + b"\xff" * 3996 + data[4096:],
    "all but the first page overwritten": lambda data: data[:4096] + b"\xa5" * (len(data) - 4096),
    "every other page zeroed": lambda data: b"".join(
        bytes(4096) if page % 2 else data[page * 4096 : (page + 1) * 4096]
        for page in range(len(data) // 4096)
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_anew(closed: Path, ledger: HandMadeLedger, damage: str) -> None:
    bystanders = {closed.parent / name: name.encode() for name in ("other.sqlite", "note.txt")}
    for bystander, data in bystanders.items():
        bystander.write_bytes(data)
    closed.write_bytes(DAMAGE[damage](closed.read_bytes()))
    index = ScopeIndex(closed)
    for ask in (
        lambda: index.current("mem:150"),
        lambda: index.version("ver:mem:9:1"),
        lambda: index.search(StructuredQuery(text="hundred")),
        lambda: index.events(limit=1000),
    ):
        try:
            ask()
        except IndexDamaged:
            assert index.position() == START
    assert works_or_starts_over(index, ledger)
    assert {bystander: bystander.read_bytes() for bystander in bystanders} == bystanders
    index.close()
    again = ScopeIndex(closed)
    assert works(again, ledger)
    again.close()


def works_or_starts_over(index: ScopeIndex, ledger: HandMadeLedger) -> bool:
    """As `works`; damage that nothing has touched yet may show, once, when all is read."""
    try:
        return works(index, ledger)
    except sqlite3.DatabaseError:
        assert index.position() == START or index.reset() is None
        return works(index, ledger)


def test_damage_that_shows_while_writing_is_a_fresh_start(
    closed: Path, ledger: HandMadeLedger
) -> None:
    data = closed.read_bytes()
    index = ScopeIndex(closed)
    at = index.position()
    with open(closed, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (len(data) - 4096))
    ledger.create("mem:new", "more")
    assert not index.apply(at, ledger.transactions[-1:])
    assert index.position() == START
    assert works(index, ledger)
    index.close()


def test_a_file_that_is_deleted_meanwhile(path: Path, ledger: HandMadeLedger) -> None:
    index = ledger.index(path)
    for file in path.parent.iterdir():
        file.unlink()
    other = ScopeIndex(path)
    assert other.position() == START
    ledger.create("mem:new")
    assert works(index, ledger)
    assert works(other, ledger)
    index.close()
    other.close()
    again = ScopeIndex(path)
    assert works(again, ledger)
    again.close()


def test_a_lock_held_too_long_is_service_unavailable(
    path: Path, ledger: HandMadeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_SEC", 0.05)
    index = ledger.index(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    ledger.create("mem:new")
    with pytest.raises(ServiceUnavailable, match="locked"):
        index.apply(index.position(), ledger.transactions[-1:])
    with pytest.raises(ServiceUnavailable, match="locked"):
        index.reset()
    assert index.current("mem:1") is not None  # readers do not wait for writers
    holder.execute("ROLLBACK")
    holder.close()
    assert works(index, ledger)
    index.close()


def test_whoever_waits_while_others_write_one_after_the_other_is_not_left_waiting(
    path: Path, ledger: HandMadeLedger
) -> None:
    index, writer = ledger.index(path), ScopeIndex(path)
    base = index.position()
    ledger.create("mem:new")
    ledger.create("mem:newer")
    first, second = ledger.transactions[-2:-1], ledger.transactions[-1:]
    writer.prepare(base, first)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(index.apply, base, first)
        assert writer.apply(base, first)
        writer.prepare(first[0].after, second)  # and so the lock is never free
        assert waiting.result(timeout=60) is False
    assert writer.apply(first[0].after, second)
    assert index.position() == ledger.position
    writer.close()
    index.close()


def test_a_full_device_is_no_reason_to_stop(path: Path, ledger: HandMadeLedger) -> None:
    index = ledger.index(path)
    pages = index._database.execute("PRAGMA page_count").fetchone()[0]
    index._database.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(300):
        ledger.create(f"mem:more:{number}", "a" * 1000)
    assert index.apply(index.position(), ledger.transactions[300:])
    assert works(index, ledger)
    index.close()
    on_disk = ScopeIndex(path)
    assert on_disk.position() == ledger.transactions[299].after
    on_disk.close()


def test_a_path_that_cannot_be_made_is_an_index_in_memory(
    tmp_path: Path, ledger: HandMadeLedger
) -> None:
    (tmp_path / "file").write_text("in the way")
    index = ScopeIndex(tmp_path / "file" / "scope.sqlite")
    assert works(index, ledger)
    index.close()


_READER = """
import os, sys
from pathlib import Path
from pamctl.index.scope_index import ScopeIndex
from tests.hand_made_ledger import HandMadeLedger, bring_up_to_date, table_rows

ledger = HandMadeLedger()
for number in range(300):
    ledger.create(f"mem:{number}", {"text": f"memory number {number} of a few hundred"})
ledger.index()  # imports all there is to import: the next user may not be able to
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
index = ScopeIndex(Path(sys.argv[1]))
print(index.position().entries)
assert index.position().entries in (0, 300)
ledger.create("mem:new", "one more")
bring_up_to_date(index, ledger)
assert table_rows(index) == table_rows(ledger.index())
index.reset()
bring_up_to_date(index, ledger)
assert table_rows(index) == table_rows(ledger.index())
index.close()
"""


@pytest.fixture
def visible(closed: Path) -> Iterator[Path]:
    """A copy of the index file where any user may look."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    shutil.copy(closed, folder / closed.name)
    (folder / closed.name).chmod(0o644)
    yield folder / closed.name
    folder.chmod(0o755)
    shutil.rmtree(folder)


def read_elsewhere(path: Path) -> str:
    """What `_READER` prints, in a process that may not write to the index's folder."""
    path.parent.chmod(0o555)
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    finished = subprocess.run(
        [sys.executable, "-c", _READER, str(path)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    return finished.stdout


def test_an_index_that_cannot_be_written_is_used_and_continued_in_memory(visible: Path) -> None:
    assert read_elsewhere(visible) == "300\n"


def test_where_there_is_no_index_and_no_right_to_make_one(visible: Path) -> None:
    visible.unlink()
    assert read_elsewhere(visible) == "0\n"


@pytest.mark.parametrize("data", [b"", b"no database", b"SQLite format 3\x00" + bytes(5000)])
def test_a_damaged_index_that_cannot_be_written(visible: Path, data: bytes) -> None:
    visible.write_bytes(data)
    assert read_elsewhere(visible) == "0\n"


_ROUNDS = """
import os, sys
from pathlib import Path
from pamctl.index import database
from pamctl.index.scope_index import ScopeIndex
from tests.hand_made_ledger import HandMadeLedger

database.LOCK_WAIT_SEC = 300  # a device may stall for longer than anybody wants to wait
ledger = HandMadeLedger()
for number in range(60):
    ledger.create(f"mem:{number}", f"memory {number}")


def fill(path, start):
    os.read(start, 1)  # nothing comes: it returns when the last writer of the pipe is gone
    index = ScopeIndex(path)
    while (base := index.position()) != ledger.position:
        done = sum(made.after.offset <= base.offset for made in ledger.transactions)
        index.apply(base, ledger.transactions[done : done + 10])
    assert len(index.events()) == 60
    index.close()


def in_a_child(path, start, stop):
    child = os.fork()
    if child == 0:
        os.close(stop)
        fill(path, start)
        sys.stderr.flush()
        os._exit(0)
    return child


for path in map(Path, sys.argv[1:]):
    start, stop = os.pipe()
    children = [in_a_child(path, start, stop) for _ in range(6)]
    os.close(start)
    os.close(stop)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    whole = ScopeIndex(path)
    assert whole.position() == ledger.position
    whole.close()
"""


@pytest.mark.parametrize("before", [None, b"rubbish" * 1000])
def test_processes_that_make_and_fill_one_file_at_once(
    tmp_path: Path, before: bytes | None
) -> None:
    paths = [tmp_path / str(number) / "scope.sqlite" for number in range(30)]
    for path in paths:
        path.parent.mkdir()
        if before is not None:
            path.write_bytes(before)
    command = [sys.executable, "-c", _ROUNDS, *map(str, paths)]
    finished = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
