"""One writer a scope: the kernel's lock ends with its holder, and nobody waits for ever."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pamctl.errors import ServiceUnavailable
from pamctl.limits import LOCK_WAIT_SEC
from pamctl.store.lock import exclusive

HOLDER = """
import sys
from pathlib import Path
from pamctl.store.lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder
        finally:
            holder.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_it_dies_with_its_process(path: Path) -> None:
    with held_elsewhere(path) as holder:
        with pytest.raises(ServiceUnavailable), exclusive(path, wait_sec=0):
            pass
        holder.kill()
        holder.wait()
        # What the file says is of a process that is gone, and hinders nobody.
        assert path.read_bytes().split() == [str(holder.pid).encode()]
        with exclusive(path, wait_sec=0):
            assert path.read_bytes().split() == [str(os.getpid()).encode()]


def test_the_wait_is_bounded_and_names_the_holder(path: Path) -> None:
    with held_elsewhere(path) as holder:
        started = time.monotonic()
        with pytest.raises(ServiceUnavailable) as refusal, exclusive(path, wait_sec=0.3):
            pass
        assert 0.3 <= time.monotonic() - started < LOCK_WAIT_SEC
        assert refusal.value.details["holder_pid"] == str(holder.pid)
        assert str(holder.pid) in refusal.value.message
        assert refusal.value.retryable


def test_a_waiter_gets_it_when_the_holder_goes(path: Path) -> None:
    with held_elsewhere(path) as holder:
        threading.Timer(0.2, holder.kill).start()
        with exclusive(path, wait_sec=60):
            assert holder.wait() != 0


def test_threads_exclude_each_other(path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with exclusive(path):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0002)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside) == (1, 0)


def test_an_exception_gives_it_back(path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), exclusive(path, wait_sec=0):
            raise KeyError


def test_a_file_that_is_left_behind_means_nothing(path: Path) -> None:
    path.write_bytes(b"1                   ")  # a process that is always there
    with exclusive(path, wait_sec=0):
        pass


def test_an_unreadable_holder_is_unknown(path: Path) -> None:
    with open(path, "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with (
            pytest.raises(ServiceUnavailable, match="unknown") as refusal,
            exclusive(path, wait_sec=0),
        ):
            pass
    assert "holder_pid" not in refusal.value.details


def test_where_no_lock_can_be_had(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServiceUnavailable) as refusal, exclusive(path / "absent" / "lock"):
        pass
    assert refusal.value.details["errno"] == "ENOENT"

    (path.parent / "link").symlink_to(path)
    with pytest.raises(ServiceUnavailable) as refusal, exclusive(path.parent / "link"):
        pass
    assert refusal.value.details["errno"] == "ELOOP"
    assert not path.exists()

    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(ServiceUnavailable, match="cannot lock") as refusal, exclusive(path):
        pass
    assert "local file system" in refusal.value.details["hint"]


def test_a_read_only_file_system(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ServiceUnavailable) as refusal, exclusive(path):
        pass
    assert refusal.value.details["errno"] == "EROFS"
    assert "can be read here" in refusal.value.details["hint"]


def test_a_full_disk_does_not_keep_anyone_from_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with (
        exclusive(path, wait_sec=0),
        pytest.raises(ServiceUnavailable),
        exclusive(path, wait_sec=0),
    ):
        pass
