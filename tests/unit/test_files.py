"""The durable primitives: what each promises, and what it leaves when the device refuses."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from pamctl.errors import ServiceUnavailable, StoreDamaged
from pamctl.store import files

Write = Callable[[Path, bytes], None]
WRITERS: dict[str, Write] = {
    "create_new": files.create_new,
    "create_idempotent": files.create_idempotent,
    "replace_whole": files.replace_whole,
}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Device:
    """Stands for the device: notes which files are synced, and fails when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        self.fail_at: int | None = None
        self.error = errno.EIO
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, descriptor: int) -> None:
        self.synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        if self.fail_at == len(self.synced):
            raise OSError(self.error, os.strerror(self.error))
        self._fsync(descriptor)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    return Device(monkeypatch)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_a_new_file_is_synced_and_then_its_name(
    tmp_path: Path, device: Device, write: Write
) -> None:
    path = tmp_path / "a.json"
    write(path, b"data")
    assert path.read_bytes() == b"data"
    assert names(tmp_path) == ["a.json"]
    written, folder = device.synced
    assert Path(written).parent == tmp_path
    assert Path(written) != path  # it had its bytes before it had its name
    assert folder == str(tmp_path)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_a_file_that_cannot_be_synced_never_gets_its_name(
    tmp_path: Path, device: Device, write: Write, error: int
) -> None:
    device.fail_at, device.error = 1, error
    with pytest.raises(ServiceUnavailable) as refusal:
        write(tmp_path / "a.json", b"data")
    assert names(tmp_path) == []
    assert refusal.value.details["errno"] == errno.errorcode[error]
    assert refusal.value.details["hint"]
    assert len(device.synced) == 1  # a failed fsync is not tried again


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_a_name_that_cannot_be_synced_is_not_acknowledged(
    tmp_path: Path, device: Device, write: Write
) -> None:
    device.fail_at = 2
    with pytest.raises(ServiceUnavailable):
        write(tmp_path / "a.json", b"data")
    assert [name for name in names(tmp_path) if name != "a.json"] == []


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_a_failed_write_leaves_the_old_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ServiceUnavailable):
        write(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_short_writes_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))
    write(tmp_path / "a.json", b"0123456789")
    assert (tmp_path / "a.json").read_bytes() == b"0123456789"


def test_create_new_refuses_a_taken_name_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.create_new(path, b"first")
    with pytest.raises(FileExistsError):
        files.create_new(path, b"second")
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["a.json"]


def test_create_new_refuses_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        files.create_new(path, b"data")
    assert not (tmp_path / "elsewhere").exists()


def test_replacing_a_link_replaces_the_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"theirs")
    (tmp_path / "a.json").symlink_to(tmp_path / "elsewhere")
    files.replace_whole(tmp_path / "a.json", b"ours")
    assert (tmp_path / "elsewhere").read_bytes() == b"theirs"
    assert not (tmp_path / "a.json").is_symlink()


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_what_a_dead_process_of_the_same_id_left_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    # The first process of every container has the same id, and starts counting from nothing.
    left = set()
    for serial in range(2000):
        name = f".a.json.{os.getpid()}-{serial}.new"
        (tmp_path / name).write_bytes(b"left")
        left.add(name)
    monkeypatch.setattr(files, "_serial", count())
    write(tmp_path / "a.json", b"data")
    assert (tmp_path / "a.json").read_bytes() == b"data"
    assert set(names(tmp_path)) == {"a.json", *left}


def test_modes(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        files.create_new(tmp_path / "secret", b"", mode=0o600)
        files.create_new(tmp_path / "open", b"")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o644


def test_a_file_can_be_staged_in_another_folder(tmp_path: Path, device: Device) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "to").mkdir()
    files.create_idempotent(tmp_path / "to/a.json", b"data", staging=tmp_path / "tmp")
    assert names(tmp_path / "tmp") == []
    assert Path(device.synced[0]).parent == tmp_path / "tmp"
    assert device.synced[1] == str(tmp_path / "to")


# Appending


def test_an_append_is_synced(tmp_path: Path, device: Device) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"one\n")
    files.append_durably(path, b"two\n", 4)
    assert path.read_bytes() == b"one\ntwo\n"
    assert device.synced == [str(path)]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_an_append_that_cannot_be_synced_is_cut_back(
    tmp_path: Path, device: Device, error: int
) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"one\n")
    device.fail_at, device.error = 1, error
    with pytest.raises(ServiceUnavailable):
        files.append_durably(path, b"two\n", 4)
    assert path.read_bytes() == b"one\n"
    assert len(device.synced) == 1


def test_an_append_that_is_written_in_part_is_cut_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"one\n")
    real = os.write

    def filling_up(descriptor: int, data: bytes) -> int:
        if len(data) == 4:
            return real(descriptor, data[:2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", filling_up)
    with pytest.raises(ServiceUnavailable, match="No space left"):
        files.append_durably(path, b"two\n", 4)
    assert path.read_bytes() == b"one\n"


def test_an_append_that_is_interrupted_is_cut_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"one\n")

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.append_durably(path, b"two\n", 4)
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("found", [b"", b"one", b"one\ntheirs\n"])
def test_an_append_behind_what_the_caller_has_not_seen_is_refused(
    tmp_path: Path, found: bytes
) -> None:
    # A lock that does not hold between two machines shows in this way, before it costs anything.
    path = tmp_path / "ledger"
    path.write_bytes(found)
    with pytest.raises(ServiceUnavailable, match="was changed"):
        files.append_durably(path, b"two\n", 4)
    assert path.read_bytes() == found


def test_an_append_makes_no_file_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "target").write_bytes(b"")
    for name in ("absent", "link"):
        with pytest.raises(ServiceUnavailable):
            files.append_durably(tmp_path / name, b"data", 0)
    assert not (tmp_path / "absent").exists()
    assert (tmp_path / "target").read_bytes() == b""


def test_a_cut_is_synced(tmp_path: Path, device: Device) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"one\ntwo\n")
    files.cut_durably(path, 4)
    assert path.read_bytes() == b"one\n"
    assert device.synced == [str(path)]
    device.fail_at = 2
    with pytest.raises(ServiceUnavailable):
        files.cut_durably(path, 0)


# Directories


def test_a_new_directory_is_synced_by_its_name(tmp_path: Path, device: Device) -> None:
    files.ensure_directory(tmp_path / "aa")
    assert device.synced == [str(tmp_path)]


def test_an_empty_directory_that_is_there_is_synced_again(tmp_path: Path, device: Device) -> None:
    # Whoever made it may have died before its name was durable.
    (tmp_path / "aa").mkdir()
    files.ensure_directory(tmp_path / "aa")
    assert device.synced == [str(tmp_path)]


def test_a_directory_that_holds_something_was_synced_before(tmp_path: Path, device: Device) -> None:
    (tmp_path / "aa").mkdir()
    (tmp_path / "aa/file").write_bytes(b"")
    files.ensure_directory(tmp_path / "aa")
    assert device.synced == []


def test_a_directory_whose_name_cannot_be_synced(tmp_path: Path, device: Device) -> None:
    device.fail_at = 1
    with pytest.raises(ServiceUnavailable):
        files.ensure_directory(tmp_path / "aa")
    # The next one does not believe that it is durable because it is there.
    files.ensure_directory(tmp_path / "aa")
    assert device.synced == [str(tmp_path)] * 2


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file/aa", tmp_path / "absent/aa"):
        with pytest.raises((ServiceUnavailable, StoreDamaged)):
            files.ensure_directory(path)


def test_a_published_directory_is_there_whole(tmp_path: Path, device: Device) -> None:
    path = tmp_path / "out"
    contents = {"a": b"1", "deep/er/b": b"2"}
    files.publish_directory(path, contents, folders=("empty",))
    assert {name: (path / name).read_bytes() for name in contents} == contents
    assert names(path) == ["a", "deep", "empty"]
    assert names(tmp_path) == ["out"]
    # All of it was synced under another name, and last the folder that holds the name.
    assert device.synced[-1] == str(tmp_path)
    assert all(Path(synced).relative_to(tmp_path) for synced in device.synced[:-1])
    synced = {Path(path).name for path in device.synced[:-1]}
    assert synced >= {"a", "b", "deep", "er", "empty"}
    assert len(device.synced) == 7


def test_each_refusal_of_the_device_leaves_no_directory(tmp_path: Path, device: Device) -> None:
    for step in range(1, 7):
        device.synced.clear()
        device.fail_at = step
        with pytest.raises(ServiceUnavailable):
            files.publish_directory(
                tmp_path / "out", {"a": b"1", "deep/er/b": b"2"}, folders=("empty",)
            )
        assert names(tmp_path) == []


def test_a_directory_is_published_over_an_empty_one_only(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files.publish_directory(tmp_path / "empty", {"a": b"1"})
    (tmp_path / "file").write_bytes(b"theirs")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/theirs").write_bytes(b"theirs")
    for name in ("empty", "file", "full"):
        with pytest.raises(FileExistsError):
            files.publish_directory(tmp_path / name, {"b": b"2"})
    assert names(tmp_path / "empty") == ["a"]
    assert names(tmp_path / "full") == ["theirs"]
    assert names(tmp_path) == ["empty", "file", "full"]


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_name_that_is_taken_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "out"
    real = os.rename

    def race(source: Path, target: Path) -> None:
        if kind == "directory":
            path.mkdir()
            (path / "theirs").write_bytes(b"theirs")
        else:
            path.write_bytes(b"theirs")
        real(source, target)

    monkeypatch.setattr(os, "rename", race)
    with pytest.raises(FileExistsError):
        files.publish_directory(path, {"ours": b"ours"})
    assert names(tmp_path) == ["out"]
    assert (path.read_bytes() if kind == "file" else names(path)) in (b"theirs", ["theirs"])


def test_what_is_set_aside_takes_a_free_name(tmp_path: Path, device: Device) -> None:
    (tmp_path / "aside").mkdir()
    for number in range(3):
        (tmp_path / "left").write_bytes(b"%d" % number)
        files.set_aside(tmp_path / "left", tmp_path / "aside/left")
    assert {path.name: path.read_bytes() for path in (tmp_path / "aside").iterdir()} == {
        "left": b"0",
        "left~": b"1",
        "left~~": b"2",
    }
    assert device.synced == [str(tmp_path / "aside"), str(tmp_path)] * 3


def test_a_name_made_of_a_link_is_not_free(tmp_path: Path) -> None:
    (tmp_path / "left").write_bytes(b"ours")
    (tmp_path / "taken").symlink_to(tmp_path / "nowhere")
    files.set_aside(tmp_path / "left", tmp_path / "taken")
    assert (tmp_path / "taken").is_symlink()
    assert (tmp_path / "taken~").read_bytes() == b"ours"


def test_what_is_removed_is_gone_and_its_folders_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        (folder / "one").write_bytes(b"1")
        (folder / "two").write_bytes(b"2")
    synced: list[Path] = []
    real = files.sync_directory

    def sync(path: Path) -> None:
        # Once a folder, when all that goes from it has gone.
        assert [entry.name for entry in path.iterdir()] == []
        synced.append(path)
        real(path)

    monkeypatch.setattr(files, "sync_directory", sync)
    paths = [folder / name for name in ("one", "two", "gone before") for folder in folders]
    files.remove_durably(paths)
    assert synced == folders
    files.remove_durably([])
    assert synced == folders


def test_what_cannot_be_removed_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    (tmp_path / "file").write_bytes(b"1")
    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(ServiceUnavailable, match="Read-only"):
        files.remove_durably([tmp_path / "file"])
    assert (tmp_path / "file").exists()
