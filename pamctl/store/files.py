"""Durable writes. The only module that calls fsync, rename, link or truncate.

What is durable when a function returns is in its docstring. An fsync that failed is never
tried again: the kernel may have dropped the pages and would report success (Linux does).
Nothing here can promise more than the device keeps: disks that acknowledge a flush they
did not do, and network file systems without fsync, lose what they said they had.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from shutil import rmtree
from stat import S_IMODE
from typing import IO, TypeVar

from pamctl.errors import ServiceUnavailable
from pamctl.store.explaining import explained, unavailable
from pamctl.store.plain_files import require_own_folder, require_sole_name

# A pipe that stands for a file is refused, not waited for.
_IN_PLACE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_serial = count()
_Made = TypeVar("_Made")


def create_new(path: Path, data: bytes, *, mode: int = 0o644, staging: Path | None = None) -> None:
    """Make a file that did not exist. When this returns, its bytes and its name are durable.

    The name is never visible with other bytes or with a part of them. Raises
    FileExistsError, having changed nothing, when the name is taken.
    """
    with _staged(staging or path.parent, path.name, data, mode) as temporary:
        os.link(temporary, path)
        sync_directory(path.parent)
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def create_idempotent(
    path: Path,
    data: bytes,
    *,
    staging: Path | None = None,
    before_sync: Callable[[], None] | None = None,
) -> None:
    """Make a file whose name is derived from its bytes. When this returns, both are durable.

    It does no harm to do this twice, or in two processes at once: the bytes are the same.

    before_sync: called when the bytes are written, and the device is about to be waited for.
    """
    folder = path.parent
    with _staged(staging or folder, path.name, data, 0o644, before_sync) as temporary:
        os.rename(temporary, path)
        sync_directory(folder)


def create_idempotent_with_folder(
    path: Path, data: bytes, *, staging: Path, before_sync: Callable[[], None] | None = None
) -> None:
    """As `create_idempotent`, in a folder that is made first where it is not there. When this
    returns, its name is durable too."""
    # The file is synced between the two steps: most file systems have then written the new
    # folder as well, and need not be waited for once more.
    unsettled = _make_directory(path.parent, 0o777)
    with _staged(staging, path.name, data, 0o644, before_sync) as temporary:
        if unsettled:
            sync_directory(path.parent.parent)
        os.rename(temporary, path)
        sync_directory(path.parent)


def replace_whole(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` in the place of a file, or make it. When this returns, it is durable.

    Readers see the old bytes or the new ones.
    """
    with _staged(path.parent, path.name, data, mode) as temporary:
        os.rename(temporary, path)
        sync_directory(path.parent)


def append_durably(
    path: Path, data: bytes, at: int, *, before_sync: Callable[[], None] | None = None
) -> None:
    """Append `data` to a file that is `at` bytes long. When this returns, it is durable.

    When it cannot be made durable the file is cut back to `at`, so that no later append
    can stand behind bytes that the device may not have. Raises ServiceUnavailable then, and
    for a file of another length, which it leaves alone. The caller must hold the lock that
    makes it the file's only writer.
    """
    with explained(path):
        descriptor = os.open(path, _IN_PLACE | os.O_APPEND)
        try:
            status = require_sole_name(descriptor, path)
            _require_size(status.st_size, path, at)
            try:
                _write_synced(descriptor, data, before_sync)
            except BaseException:
                os.ftruncate(descriptor, at)
                raise
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write piece by piece, which takes the place of the one at `path`, if there is
    one, and its mode, when the block is left without an exception. When that is done, it is
    durable."""
    with explained(path):
        mode = S_IMODE(path.stat().st_mode) if path.exists() else 0o644
        descriptor, temporary = _temporary(path.parent, path.name, lambda new: _open_new(new, mode))
    try:
        with explained(path):
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, path)
            sync_directory(path.parent)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def cut_durably(path: Path, at: int) -> None:
    """Shorten a file to its first `at` bytes. When this returns, that is durable."""
    with explained(path):
        descriptor = os.open(path, _IN_PLACE)
        try:
            require_sole_name(descriptor, path)
            os.ftruncate(descriptor, at)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def ensure_directory(path: Path, *, mode: int = 0o777) -> None:
    """Make a directory unless it is there. When this returns, its name is durable.

    mode: of a new one, before the umask has its say.

    A directory that is there and empty may be the work of a process that died before its
    name was durable, so its parent is synced again; one that holds anything was synced by
    whoever put the first thing in.
    """
    if _make_directory(path, mode):
        sync_directory(path.parent)


def ensure_directories(path: Path, *, mode: int = 0o777) -> None:
    """As `ensure_directory`, with every folder above that is not there. They may be links:
    what lies above a user's own folders is that user's business."""
    unsettled = list(takewhile(lambda folder: not _holds_anything(folder), (path, *path.parents)))
    for folder in reversed(unsettled):
        with explained(folder):
            folder.mkdir(mode=mode, exist_ok=True)
        sync_directory(folder.parent)


def _holds_anything(folder: Path) -> bool:
    with explained(folder):
        try:
            with os.scandir(folder) as entries:
                return next(entries, None) is not None
        except FileNotFoundError:
            return False


def _make_directory(path: Path, mode: int) -> bool:
    """Make a directory unless it is there; whether its name may not be durable yet."""
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        require_own_folder(path)
        with explained(path), os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError as cause:
        raise unavailable(path, cause) from cause
    return True


def publish_directory(
    path: Path, files: Mapping[str, bytes], *, folders: Sequence[str] = ()
) -> None:
    """Make a directory with these files and empty folders, whole or not at all. When this
    returns, all of it is durable. Names may hold `/`. Raises FileExistsError when `path`
    exists, unless it is an empty directory."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    with explained(path):
        _, building = _temporary(path.parent, path.name, os.mkdir)
    try:
        with explained(path):
            for name in folders:
                (building / name).mkdir()
            for name, data in files.items():
                target = building / name
                target.parent.mkdir(parents=True, exist_ok=True)
                _write_new(_open_new(target, 0o644), data)
            inside = [target for target in building.rglob("*") if target.is_dir()]
            # From the inside out, so that no name is durable before what it stands for.
            for folder in (*sorted(inside, reverse=True), building):
                sync_directory(folder)
            try:
                os.rename(building, path)
            except OSError as cause:
                # Somebody else's directory, or file, got the name meanwhile.
                if cause.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise FileExistsError(
                        errno.EEXIST, os.strerror(errno.EEXIST), str(path)
                    ) from cause
                raise
    finally:
        if building.exists():
            rmtree(building, ignore_errors=True)
    sync_directory(path.parent)


@contextlib.contextmanager
def building(folder: Path, name: str) -> Iterator[Path]:
    """A new directory with a temporary name to build in. What is not moved from it is gone
    when the block is left."""
    with explained(folder):
        _, path = _temporary(folder, name, os.mkdir)
    try:
        yield path
    finally:
        rmtree(path, ignore_errors=True)


def name_unsettled(built: Path, path: Path) -> None:
    """Give what is being built another name in the folder that it is built in. Nothing of it
    is durable yet."""
    with explained(path):
        os.rename(built, path)


def move_durably(built: Path, path: Path) -> None:
    """Give what was built its name: a file, in the place of the one that has it, or a
    directory with all that is in it. When this returns, it is durable. Raises FileExistsError,
    and has changed nothing, where a directory has the name already; a directory whose name
    cannot be made durable loses it again."""
    folder = built.is_dir()
    with explained(path):
        if folder:
            if path.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
            for inside in sorted(built.rglob("*"), reverse=True):
                _sync(inside)
        _sync(built)
        os.rename(built, path)
        try:
            sync_directory(path.parent)
        except BaseException:
            if folder:
                os.rename(path, built)
            raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def set_aside(path: Path, to: Path) -> None:
    """Move a file or directory to the name `to`, or to one made from it when that is taken.
    Durable when this returns."""
    with explained(path):
        while os.path.lexists(to):
            to = to.with_name(to.name + "~")
        os.rename(path, to)
        sync_directory(to.parent)
        if path.parent != to.parent:
            sync_directory(path.parent)


def remove_durably(paths: Iterable[Path]) -> None:
    """Remove files, those that are gone already passed over. When this returns, their names
    are gone for good. Their bytes are left to the device, which writes over them when it
    likes; copies that the file system, a backup or a clone made are not reached from here."""
    folders: dict[Path, None] = {}
    for path in paths:
        with explained(path), contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        folders[path.parent] = None
    for folder in folders:
        sync_directory(folder)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: fsync of a file does not do that."""
    with explained(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _staged(
    staging: Path,
    name: str,
    data: bytes,
    mode: int,
    before_sync: Callable[[], None] | None = None,
) -> Iterator[Path]:
    """A durable file under a temporary name. It is to lose that in the block; where the block
    ends with an exception, it is removed."""
    meant = staging / name
    with explained(meant):
        descriptor, temporary = _temporary(staging, name, lambda path: _open_new(path, mode))
    try:
        with explained(meant):
            _write_new(descriptor, data, before_sync)
            yield temporary
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _temporary(folder: Path, name: str, make: Callable[[Path], _Made]) -> tuple[_Made, Path]:
    """Make something under a temporary name that nobody has used.

    A process id alone does not do: the one that left a file behind may have had the same,
    as the first process of every container has.
    """
    while True:
        temporary = folder / f".{name}.{os.getpid()}-{next(_serial)}.new"
        with contextlib.suppress(FileExistsError):
            return make(temporary), temporary


def _open_new(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def _require_size(size: int, path: Path, at: int) -> None:
    if size != at:
        raise ServiceUnavailable(
            f"{path} was changed while its lock was held here; nothing was written",
            hint="keep the store on a file system whose locks hold between all its users",
            path=str(path),
        )


def _write_new(descriptor: int, data: bytes, before_sync: Callable[[], None] | None = None) -> None:
    try:
        _write_synced(descriptor, data, before_sync)
    finally:
        os.close(descriptor)


def _write_synced(descriptor: int, data: bytes, before_sync: Callable[[], None] | None) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    if before_sync is not None:
        before_sync()
    os.fsync(descriptor)
