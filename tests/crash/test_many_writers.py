"""Many processes on one store: nothing is lost or doubled, nobody sees half of anything, scopes
do not wait for each other, and a holder that dies lets go."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pamctl
from pamctl.errors import ServiceUnavailable
from pamctl.limits import LOCK_WAIT_SEC
from pamctl.store.lock import exclusive
from tests.conftest import PATIENT
from tests.crash.judging import complete

SCOPE = "workspace:default"
OTHER = "workspace:other"

WRITER = """
import sys
import pamctl
path, name, count, scope = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
store = pamctl.open_store(path)
for number in range(count):
    made = store.create(
        scope_id=scope, object_type="claim", object_id=f"mem:{name}:{number}",
        canonical_content={"writer": name, "number": number},
        actor={"actor_id": f"actor:local:{name}", "actor_kind": "human"},
        provenance={"activity": "counted"}, idempotency_key=f"key:{name}:{number}",
    )
    print(made["object_id"], made["version_id"], made["ledger_sequence"], flush=True)
"""

# Says when it has looked, goes on until it is told something and nothing is new, and says how
# many events it saw.
READER = """
import select, sys
import pamctl
store = pamctl.open_store(sys.argv[1])
seen, looks, ended = 0, 0, False
while True:
    ended = ended or bool(select.select([sys.stdin], [], [], 0)[0])
    page = store.log(scope_id="workspace:default", after=seen, limit=1000)["items"]
    for event in page:
        seen += 1
        assert event["sequence"] == seen, (event["sequence"], seen)
    made = [event for event in page if event["event_type"] == "object_created"]
    if made:
        found = store.read(scope_id="workspace:default", object_id=made[-1]["object_id"])
        assert found["version_id"] == made[-1]["version_id"]
    total = store.query(
        scope_id="workspace:default", any_state=True, count=True, limit=1)["ledger_sequence"]
    assert total >= seen
    looks += 1
    if looks == 1:
        print("ready", flush=True)
    if ended and not page:
        break
print(seen)
"""

SUBSCRIBER = """
import select, sys
import pamctl
store = pamctl.open_store(sys.argv[1])
actor = {"actor_id": "actor:local:listener", "actor_kind": "human"}
made = store.subscribe(scope_id="workspace:default", actor=actor)
named = {"subscription_id": made["subscription_id"], "actor": actor}
got, ended = [], False
print("ready", flush=True)
while True:
    ended = ended or bool(select.select([sys.stdin], [], [], 0.005)[0])
    events = store.perform("poll_subscription", named)["events"]
    got += [event["sequence"] for event in events if event["event_type"] == "object_created"]
    if ended and not events:
        break
assert got == sorted(set(got))
print(len(got))
"""

HOLDER = """
import sys
from pathlib import Path
from pamctl.store.lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def started(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PATIENT + program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextlib.contextmanager
def holding(store: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process has the lock of the default scope."""
    lock = pamctl.open_store(store).layout.scope(SCOPE).lock
    with started(HOLDER, lock) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store = pamctl.init_store(tmp_path / ".pam")
    store.scope_create(scope_id=OTHER)
    store.close()
    return tmp_path / ".pam"


def create(store: pamctl.Store, scope_id: str) -> dict[str, object]:
    return store.create(
        scope_id=scope_id,
        object_type="claim",
        canonical_content="tea",
        actor={"actor_id": "actor:local:owner", "actor_kind": "human"},
        provenance={"activity": "noted"},
    )


def test_nothing_is_lost_or_doubled_while_readers_look(path: Path, thorough: bool) -> None:
    processes, writes = (8, 500) if thorough else (4, 25)
    lookers = [started(READER, path), started(READER, path), started(SUBSCRIBER, path)]
    for looker in lookers:
        assert looker.stdout is not None
        assert looker.stdout.readline() == "ready\n"
    writers = [started(WRITER, path, f"w{n}", writes, SCOPE) for n in range(processes)]
    told = []
    for writer in writers:
        output, _ = writer.communicate(timeout=600)
        assert writer.returncode == 0
        told += [line.split() for line in output.splitlines()]
    events = pamctl.open_store(path).head(SCOPE)["sequence"]
    seen = [int(looker.communicate("end", timeout=60)[0]) for looker in lookers]
    assert [looker.returncode for looker in lookers] == [0, 0, 0]
    assert seen == [events, events, processes * writes]
    assert len(told) == processes * writes
    assert len({sequence for *_, sequence in told}) == len(told)
    store = pamctl.open_store(path)
    _, entries = complete(store.layout.scope(SCOPE).ledger.read_bytes())
    events = [entry["body"] for entry in entries if entry["kind"] == "event"]
    made = {e["object_id"]: e["version_id"] for e in events if e["event_type"] == "object_created"}
    assert made == {object_id: version_id for object_id, version_id, _ in told}
    for object_id, version_id in list(made.items())[:: max(1, len(made) // 100)]:
        assert store.read(scope_id=SCOPE, object_id=object_id)["version_id"] == version_id
    store.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever would wait for a lock is refused at once."""
    monkeypatch.setattr("pamctl.store.commit.LOCK_WAIT_SEC", 0.0)
    monkeypatch.setattr(exclusive, "__kwdefaults__", {"wait_sec": 0.0})


def test_scopes_do_not_wait_for_each_other(path: Path, impatient: None) -> None:
    store = pamctl.open_store(path)
    create(store, OTHER)
    with holding(path):
        create(store, OTHER)
        with pytest.raises(ServiceUnavailable):
            create(store, SCOPE)
    store.close()


def test_reading_waits_for_no_writer(path: Path, impatient: None) -> None:
    store = pamctl.open_store(path)
    made = create(store, SCOPE)
    with holding(path):
        assert store.read(scope_id=SCOPE, object_id=made["object_id"])["canonical_content"] == "tea"
    store.close()


def test_a_holder_that_is_killed_lets_go(path: Path) -> None:
    with holding(path) as holder:
        waiting = started(WRITER, path, "waiting", 1, SCOPE)
        time.sleep(0.5)
        assert waiting.poll() is None
        holder.send_signal(signal.SIGKILL)
        output, _ = waiting.communicate(timeout=60)
    assert output.startswith("mem:waiting:0 ")
    assert waiting.returncode == 0


def test_a_holder_that_stays_is_named_after_a_bounded_wait(path: Path) -> None:
    lock = pamctl.open_store(path).layout.scope(SCOPE).lock
    with holding(path) as holder:
        begun = time.monotonic()
        with (
            pytest.raises(ServiceUnavailable, match=str(holder.pid)),
            exclusive(lock, wait_sec=0.3),
        ):
            pass
        assert 0.3 <= time.monotonic() - begun < LOCK_WAIT_SEC


def test_the_command_line_names_it_too(path: Path, thorough: bool) -> None:
    if not thorough:
        pytest.skip("`make crash` waits for all of limits.LOCK_WAIT_SEC")
    program = Path(sys.executable).with_name("pamctl")
    with holding(path) as holder:
        done = subprocess.run(
            [program, "create", "--store", path, "--type", "claim", "--content", "1"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 75
        assert f"process {holder.pid}" in done.stderr


def test_a_stopped_holder_blocks_its_scope_alone(path: Path, impatient: None) -> None:
    """A process that is stopped while it commits holds its own scope, and no other."""
    with started(WRITER, path, "stopped", 10_000, SCOPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        writer.send_signal(signal.SIGSTOP)
        store = pamctl.open_store(path)
        create(store, OTHER)
        assert store.head(SCOPE)["sequence"] >= 1
        writer.kill()
    create(store, SCOPE)
    store.close()
