"""Carries out a repair: adds files and sets files aside, and loses no byte.

Each step takes the lock that the writers of what it touches take. What a step replaces is
durable in quarantine before it is replaced, and bytes that are taken from elsewhere are digested
again before they are believed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pamctl.encoding.digests import sha256_hex
from pamctl.errors import ServiceUnavailable, StoreDamaged
from pamctl.store import files
from pamctl.store.layout import ScopeLayout, StoreLayout
from pamctl.store.lock import exclusive
from pamctl.store.records import Position
from pamctl.store.recovery import set_aside_torn_tail


@contextlib.contextmanager
def mending(store: StoreLayout, folder: str | None) -> Iterator[Mender]:
    """The means to mend one scope, or with None what belongs to the whole store, with its
    lock held. Raises ServiceUnavailable where a writer keeps it."""
    lock = store.lock if folder is None else ScopeLayout(store.scopes / folder).lock
    if folder is not None and not os.path.lexists(lock.parent):
        _make_again(lock.parent)
    if not lock.parent.is_dir():
        raise StoreDamaged(f"there is no folder {lock.parent}")
    with exclusive(lock):
        yield Mender(store, folder)


def _make_again(scope: Path) -> None:
    """Make the folder of a scope that is gone, within the store. Durable."""
    if not scope.parent.is_symlink():
        files.ensure_directory(scope.parent)
        files.ensure_directory(scope)


class Mender:
    """Takes the steps of a repair."""

    def __init__(self, store: StoreLayout, folder: str | None) -> None:
        self._store = store
        self._folder = folder

    def add(self, path: Path, data: bytes) -> None:
        """Make a file that is not there. Durable when this returns."""
        self._require_inside(path)
        for folder in reversed([one for one in path.parents if self._store.root in one.parents]):
            files.ensure_directory(folder)
        try:
            files.create_new(path, data)
        except FileExistsError:
            raise ServiceUnavailable(
                f"{path} was made meanwhile; nothing was written", hint="run repair again"
            ) from None

    def replace(self, path: Path, data: bytes) -> None:
        """Put `data` in the place of a file, whose bytes are kept in quarantine. Durable."""
        self._require_inside(path)
        before = _read(path)
        kept = self._aside(path)
        kept = kept.with_name(f"{kept.name}-{sha256_hex(before)[:12]}")
        files.create_idempotent(kept, before)
        files.replace_whole(path, data)

    def set_aside(self, path: Path) -> None:
        """Move a file, a link or a folder to quarantine. Durable."""
        self._require_inside(path)
        files.set_aside(path, self._aside(path))

    def cut(self, ledger: Path, end: Position) -> None:
        """Cut a ledger behind a position, keeping what followed in quarantine. Durable.

        Raises StoreDamaged when a whole transaction follows.
        """
        self._require_inside(ledger)
        layout = ScopeLayout(ledger.parent)
        set_aside_torn_tail(layout, self._store.quarantine, end)

    def _aside(self, path: Path) -> Path:
        """A name in quarantine that says where something was found."""
        place = self._store.quarantine
        files.ensure_directory(place)
        base = self._store.root
        if self._folder is not None:
            place = place / self._folder
            files.ensure_directory(place)
            base = self._store.scopes / self._folder
        return place / ("repair-" + "-".join(path.relative_to(base).parts))

    def _require_inside(self, path: Path) -> None:
        """Raises StoreDamaged for what a link would lead out of the store."""
        inside = path.parent
        while inside != self._store.root:
            if inside.is_symlink() or inside == inside.parent:
                raise StoreDamaged(f"{path} is not within the store", path=str(path))
            inside = inside.parent


def read_bytes(path: Path, offset: int, length: int, digest: str) -> bytes:
    """Bytes of a regular file. Raises StoreDamaged when their SHA-256 is not `digest`."""
    data = _read(path, offset, length)
    if sha256_hex(data) != digest:
        raise StoreDamaged(f"{path} was changed meanwhile", hint="run repair again", path=str(path))
    return data


def _read(path: Path, offset: int = 0, length: int = -1) -> bytes:
    """Bytes of a regular file, all of them by default; no link is followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as cause:
        reason = os.strerror(cause.errno or 0)
        raise StoreDamaged(f"cannot read {path}: {reason}", path=str(path)) from cause
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreDamaged(f"{path} is no file", path=str(path))
        file.seek(offset)
        return file.read(length)
