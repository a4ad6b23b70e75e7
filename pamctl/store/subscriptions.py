"""The files of a scope's subscriptions: what each is, and how far it has got.

    <64 hex>.json          the descriptor, made once
    <64 hex>.cursor.json   the cursor, replaced whole
    lock                   held by whoever moves a cursor

Named by the SHA-256 of the subscription id, so that no id is ever a path. A descriptor says
what was asked for and nothing of whether it is in force: for that the scope's ledger has to
say that the subscription was opened, and not that it was closed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.encoding.strict_json import parse
from pamctl.errors import PamError, StoreDamaged
from pamctl.rules.subscriptions import Cursor
from pamctl.store import files
from pamctl.store.layout import ScopeLayout
from pamctl.store.lock import exclusive

_DESCRIPTOR, _CURSOR = ".json", ".cursor.json"
_BYTES_MAX = 1 << 20
_SEQUENCES = ("delivered_sequence", "acknowledged_sequence")
# A store that was made by an older release has a .gitignore that does not know this lock.
_GITIGNORE = b"/lock\n"


class SubscriptionFiles:
    """The subscriptions of one scope, for any number of processes."""

    def __init__(self, layout: ScopeLayout) -> None:
        self._folder = layout.subscriptions

    def lock(self) -> AbstractContextManager[None]:
        """Hold the right to move cursors. Raises ServiceUnavailable."""
        self._ensure_folder()
        return exclusive(self._folder / "lock")

    def create(self, descriptor: Mapping[str, Any]) -> None:
        """Keep the descriptor of a new subscription. Durable when this returns."""
        self._ensure_folder()
        path = self._path(descriptor["subscription_id"], _DESCRIPTOR)
        files.create_new(path, canonical(dict(descriptor)) + b"\n")

    def descriptor(self, subscription_id: str) -> dict[str, Any] | None:
        """What the subscription of an id is; None where there is none. Raises StoreDamaged."""
        path = self._path(subscription_id, _DESCRIPTOR)
        found = _document(path)
        if found is not None and found.get("subscription_id") != subscription_id:
            raise StoreDamaged(f"{path} is not the subscription that its name says")
        return found

    def descriptors(self) -> Iterator[dict[str, Any]]:
        """All descriptors, in the order of their file names."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return
        for name in names:
            digits = name.removesuffix(_DESCRIPTOR)
            if len(digits) == 64 and digits != name:
                found = _document(self._folder / name)
                if found is not None:
                    yield found

    def cursor(self, subscription_id: str) -> Cursor | None:
        """How far a subscription has got; None where it never moved. Raises StoreDamaged."""
        path = self._path(subscription_id, _CURSOR)
        found = _document(path)
        if found is None:
            return None
        delivered, acknowledged = (found.get(name) for name in _SEQUENCES)
        if type(delivered) is not int or type(acknowledged) is not int:
            raise StoreDamaged(
                f"{path} is no cursor",
                hint="delete it to have the subscription's events delivered again from its start",
                path=str(path),
            )
        return Cursor(delivered, acknowledged)

    def put_cursor(self, subscription_id: str, cursor: Cursor) -> None:
        """Move the cursor, under the lock. Durable when this returns."""
        body = {
            "subscription_id": subscription_id,
            **dict(zip(_SEQUENCES, cursor, strict=True)),
        }
        files.replace_whole(self._path(subscription_id, _CURSOR), canonical(body) + b"\n")

    def _path(self, subscription_id: str, suffix: str) -> Path:
        return self._folder / f"{sha256_hex(subscription_id.encode())}{suffix}"

    def _ensure_folder(self) -> None:
        if not self._folder.is_dir():
            files.ensure_directory(self._folder)
            files.replace_whole(self._folder / ".gitignore", _GITIGNORE)


def _document(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file, None where there is no file. Raises StoreDamaged."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as cause:
        if cause.errno == errno.ELOOP:
            raise _damaged(path, "is a link") from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _damaged(path, "is no file")
        data = os.read(descriptor, _BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    try:
        value = parse(data, what=str(path))
    except PamError as cause:
        raise _damaged(path, f"cannot be read: {cause.message}") from cause
    if not isinstance(value, dict):
        raise _damaged(path, "is no JSON object")
    return value


def _damaged(path: Path, what: str) -> StoreDamaged:
    return StoreDamaged(f"{path} {what}", path=str(path))
