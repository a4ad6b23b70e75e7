"""Projection ids that were issued or accepted, each kept once. MPR §8 step 3, §10.

An entry is a file named by the SHA-256 of the projection id. It is made by one exclusive,
durable step, so of two processes that register one id at the same time one is told that it
came second, and a crash leaves an entry or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pamctl.encoding import strict_json
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest, ServiceUnavailable
from pamctl.named_tuples import NamedTuple
from pamctl.store import files

_SUFFIX = ".json"
_ENTRY_BYTES_MAX = 16 * 1024
_REMOVED_TOGETHER = 1000


class Pruned(NamedTuple):
    """How many entries were removed, and how many are left."""

    removed: int
    kept: int


class Register:
    """The entries in one folder, which any number of processes may share.

    An entry holds `projection_id`, `created_at` and the digest of the projection.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def register(self, record: dict[str, Any]) -> bool:
        """Keep the record's projection id; see `keep`."""
        return self.keep(
            record["projection_id"], record["created_at"], record["projection"]["digest"]
        )

    def keep(self, projection_id: str, created_at: str, projection_digest: str) -> bool:
        """Keep a projection id. When this returns True the entry is durable; False says
        that the id was kept before, and by whatever record.

        Raises ServiceUnavailable where the folder cannot be written.
        """
        entry = {
            "projection_id": projection_id,
            "created_at": created_at,
            "projection_digest": projection_digest,
        }
        files.ensure_directory(self._folder)
        name = sha256_hex(projection_id.encode()) + _SUFFIX
        try:
            files.create_new(self._folder / name, canonical(entry) + b"\n")
        except FileExistsError:
            return False
        return True

    def prune(self, before: str) -> Pruned:
        """Remove the entries whose `created_at` lies before an instant. Durable on return.

        before: RFC 3339. Safe where no verifier that shares the folder accepts records as
        old as that: it refuses them before it looks here. What is no entry is kept. Raises
        ServiceUnavailable where the folder cannot be read or written.
        """
        limit, kept, removed = instant(before), 0, 0
        old: list[Path] = []
        for path in self._entries():
            created = _created(path)
            if created is None or created >= limit:
                kept += 1
                continue
            old.append(path)
            if len(old) == _REMOVED_TOGETHER:
                files.remove_durably(old)
                removed += len(old)
                old = []
        files.remove_durably(old)
        return Pruned(removed + len(old), kept)

    def _entries(self) -> Iterator[Path]:
        try:
            names = [path for path in self._folder.iterdir() if path.name.endswith(_SUFFIX)]
        except FileNotFoundError:
            return iter(())
        except OSError as cause:
            raise ServiceUnavailable(
                f"cannot read {self._folder}: {cause.strerror}", path=str(self._folder)
            ) from cause
        return iter(sorted(names))


def _created(path: Path) -> str | None:
    """The instant of an entry; None for what is no entry, or was removed meanwhile."""
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with open(path, "rb") as file:
            entry: Any = strict_json.parse(file.read(_ENTRY_BYTES_MAX))
        return instant(entry["created_at"])
    except (OSError, InvalidRequest, KeyError, TypeError, ValueError):
        return None


def issued(projections: Path) -> Register:
    """The ids that this store's adapter signed; `projections` as in StoreLayout."""
    return Register(projections / "issued")


def accepted(projections: Path) -> Register:
    """The ids that this store's verifier accepted under single use."""
    return Register(projections / "accepted")
