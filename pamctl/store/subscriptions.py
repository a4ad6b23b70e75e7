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
from pamctl.named_tuples import NamedTuple
from pamctl.rules.subscriptions import Cursor
from pamctl.store import files
from pamctl.store.layout import ScopeLayout
from pamctl.store.lock import exclusive

_DESCRIPTOR, _CURSOR = ".json", ".cursor.json"
_BYTES_MAX = 1 << 20
_SEQUENCES = ("delivered_sequence", "acknowledged_sequence")
_EVENT_ID = "acknowledged_event_id"
# A store that was made by an older release has a .gitignore that does not know this lock.
_GITIGNORE = b"/lock\n"


class KeptCursor(NamedTuple):
    """A cursor as it is kept.

    event_id: of the event at its acknowledged sequence, by which a ledger that took the place
        of another is told from it; None before the first event.
    """

    cursor: Cursor
    event_id: str | None


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
        """The descriptor of an id; None where there is none. Raises StoreDamaged."""
        return _descriptor(self._path(subscription_id, _DESCRIPTOR))

    def descriptors(self) -> Iterator[dict[str, Any]]:
        """Every descriptor, in the order of the files' names. Raises StoreDamaged."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return
        for name in names:
            digits = name.removesuffix(_DESCRIPTOR)
            if len(digits) == 64 and digits != name:
                found = _descriptor(self._folder / name)
                if found is not None:
                    yield found

    def cursor(self, subscription_id: str) -> KeptCursor | None:
        """How far a subscription has got; None where it never moved. Raises StoreDamaged."""
        path = self._path(subscription_id, _CURSOR)
        found = _document(path)
        if found is None:
            return None
        delivered, acknowledged = (found.get(name) for name in _SEQUENCES)
        event_id = found.get(_EVENT_ID)
        if (
            not isinstance(delivered, int)
            or not isinstance(acknowledged, int)
            or not isinstance(event_id, str | None)
        ):
            raise StoreDamaged(
                f"{path} is no cursor",
                hint="delete it to have the subscription's events delivered again from its start",
                path=str(path),
            )
        return KeptCursor(Cursor(delivered, acknowledged), event_id)

    def put_cursor(self, subscription_id: str, kept: KeptCursor) -> None:
        """Move the cursor, under the lock. Durable when this returns."""
        body: dict[str, Any] = {
            "subscription_id": subscription_id,
            **dict(zip(_SEQUENCES, kept.cursor, strict=True)),
        }
        if kept.event_id is not None:
            body[_EVENT_ID] = kept.event_id
        files.replace_whole(self._path(subscription_id, _CURSOR), canonical(body) + b"\n")

    def _path(self, subscription_id: str, suffix: str) -> Path:
        return self._folder / _name(subscription_id, suffix)

    def _ensure_folder(self) -> None:
        if not self._folder.is_dir():
            files.ensure_directory(self._folder)
            files.replace_whole(self._folder / ".gitignore", _GITIGNORE)


def _descriptor(path: Path) -> dict[str, Any] | None:
    """The descriptor in a file, None where there is no file. Raises StoreDamaged."""
    found = _document(path)
    if found is None:
        return None
    if not _has_what_counts(found):
        raise _damaged(path, "describes no subscription")
    if path.name != _name(str(found.get("subscription_id")), _DESCRIPTOR):
        raise _damaged(path, "is not the subscription that its name says")
    return found


def _has_what_counts(value: Mapping[str, Any]) -> bool:
    """Whether a descriptor has what a subscription is judged by."""
    return (
        isinstance(value.get("filter"), dict)
        and isinstance(value.get("delivery", {}), dict)
        and type(value.get("start_sequence")) is int
        and isinstance(value.get("actor"), dict)
        and isinstance(value["actor"].get("actor_id"), str)
    )


def _name(subscription_id: str, suffix: str) -> str:
    return f"{sha256_hex(subscription_id.encode())}{suffix}"


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
