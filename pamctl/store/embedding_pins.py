"""What snapshots pin of the vectors of an Embedding Space: the first so many of a pair of
files. `store-format/embeddings.md`.

A pin is derived, as vectors are: with it a query by similarity under its snapshot repeats byte
for byte; without it such a query says that it is best effort.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import is_sha256_digest
from pamctl.named_tuples import NamedTuple
from pamctl.store import files
from pamctl.store.layout import scope_folder
from pamctl.store.plain_files import open_plain, require_own_folder

_PIN = ".json"


class Pin(NamedTuple):
    """The vectors that were there when a snapshot was sealed.

    pair: the number of the pair of files. vectors: how many of its vectors are meant.
    identity: of the space's files at that moment; it stays when they move to another pair.
    """

    snapshot_id: str
    pair: int
    vectors: int
    identity: str


class Pins:
    """The pins of one space, whose folder this is given."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "pins"

    def find(self, snapshot_id: str) -> Pin | None:
        """The pin of a snapshot; None where there is none, or none that can be read."""
        pin = self._read(self._path(snapshot_id))
        return pin if pin is not None and pin.snapshot_id == snapshot_id else None

    def all(self) -> list[Pin]:
        """Every pin that can be read."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        found = (self._read(self._folder / name) for name in names if name.endswith(_PIN))
        return [pin for pin in found if pin is not None]

    def by_pair(self) -> list[tuple[int, list[Pin]]]:
        """Every pin, by the pair that it is of."""
        pins = sorted(self.all(), key=lambda pin: pin.pair)
        return [(pair, list(some)) for pair, some in groupby(pins, key=lambda pin: pin.pair)]

    def put(self, pin: Pin) -> None:
        """Write a pin, in the place of an earlier one of its snapshot. Durable."""
        if not require_own_folder(self._folder):
            files.ensure_directory(self._folder)
        body = canonical(pin._asdict()) + b"\n"
        files.replace_whole(self._path(pin.snapshot_id), body)

    def remove(self, pins: Iterable[Pin]) -> None:
        """Take pins away. Durable."""
        files.remove_durably([self._path(pin.snapshot_id) for pin in pins])

    def _path(self, snapshot_id: str) -> Path:
        return self._folder / f"{scope_folder(snapshot_id)}{_PIN}"

    def _read(self, path: Path) -> Pin | None:
        """A pin that cannot be read pins nothing: nobody loses more than repeatability."""
        try:
            with os.fdopen(open_plain(path), "rb") as file:
                found = orjson.loads(file.read())
            snapshot_id, pair = found["snapshot_id"], found["pair"]
            vectors, identity = found["vectors"], found["identity"]
        except (FileNotFoundError, orjson.JSONDecodeError, KeyError, TypeError):
            return None
        plausible = (
            isinstance(snapshot_id, str)
            and type(pair) is int
            and 0 < pair < 10**8
            and type(vectors) is int
            and vectors >= 0
            and is_sha256_digest(identity)
        )
        return Pin(snapshot_id, pair, vectors, identity) if plausible else None
