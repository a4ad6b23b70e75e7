"""Projection ids that were issued or accepted, each kept once. MPR §8 step 3, §10.

An entry is a file named by the SHA-256 of the projection id. It is made by one exclusive,
durable step, so of two processes that register one id at the same time one is told that it
came second, and a crash leaves an entry or none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.store import files


class Register:
    """The entries in one folder, which any number of processes may share.

    An entry holds `projection_id`, `created_at` and the digest of the projection. Those
    whose `created_at` is older than the freshness policy accepts may be deleted: the
    verifier refuses such records before it looks here.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def register(self, record: dict[str, Any]) -> bool:
        """Keep the record's projection id. When this returns True the entry is durable;
        False says that the id was kept before, and by whatever record.

        Raises ServiceUnavailable where the folder cannot be written.
        """
        entry = {
            "projection_id": record["projection_id"],
            "created_at": record["created_at"],
            "projection_digest": record["projection"]["digest"],
        }
        files.ensure_directory(self._folder)
        name = f"{sha256_hex(record['projection_id'].encode())}.json"
        try:
            files.create_new(self._folder / name, canonical(entry) + b"\n")
        except FileExistsError:
            return False
        return True


def issued(projections: Path) -> Register:
    """The ids that this store's adapter signed; `projections` as in StoreLayout."""
    return Register(projections / "issued")


def accepted(projections: Path) -> Register:
    """The ids that this store's verifier accepted under single use."""
    return Register(projections / "accepted")
