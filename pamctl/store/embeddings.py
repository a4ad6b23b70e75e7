"""Vectors on disk, by Embedding Space: derived, and deletable at any time.
`store-format/embeddings.md`.

A space has a pair of files under one number: `<n>.f32` holds vectors one behind the other,
`<n>.jsonl` says of which version each is. A line counts when it is whole and its vector is
there; of several lines of one object the last one does. Vectors are made durable before their
lines, and whoever takes vectors away writes a new pair, under the next number, before he
removes the old one. A snapshot may pin the vectors that were there when it was sealed: see
`embedding_pins`.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, groupby, islice
from pathlib import Path

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.errors import StoreDamaged
from pamctl.named_tuples import NamedTuple
from pamctl.store import files
from pamctl.store.embedding_lines import Embedded, Lines, first_lines, line
from pamctl.store.embedding_pins import Pin, Pins
from pamctl.store.layout import ScopeLayout, scope_folder
from pamctl.store.lock import exclusive
from pamctl.store.plain_files import open_plain

FLOAT_BYTES = 4

_GITIGNORE = b"/lock\n"
_VECTORS, _LINES, _PINNED, _SPACE = ".f32", ".jsonl", ".pinned", "space.json"


class NewEmbedding(NamedTuple):
    """A vector to be kept; `vector` is its little-endian 32-bit floats."""

    object_id: str
    version_id: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class HeldVectors:
    """The vectors of a space at one moment, whatever is put or taken away afterwards.

    Arguments:
        descriptor: of the open file with the vectors one behind the other; -1 where there is
            none. Whoever gets this closes it.
        count: vectors in the file, those that count no more included.
        places: of the vectors that count, by the version that each is of.
        identity: tells apart any two states of the space's files.
    """

    space_id: str
    dimensions: int
    descriptor: int
    count: int
    places: Mapping[str, int]
    identity: str

    def close(self) -> None:
        """Let go of the file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)


class EmbeddingFiles:
    """The vectors of one Embedding Space of one scope.

    Readers take no lock. Whoever writes holds `lock`, for all spaces of the scope.
    """

    def __init__(self, layout: ScopeLayout, space_id: str, dimensions: int) -> None:
        self._root = layout.embeddings
        self._folder = layout.embeddings / scope_folder(space_id)
        self._space_id = space_id
        self._dimensions = dimensions
        self._pins = Pins(self._folder)

    def versions(self) -> dict[str, str]:
        """Of which version the vector of each object is, by object, in the order in which they
        came."""
        return self._lines().versions()

    def rows(self, objects: Collection[str]) -> dict[str, Embedded]:
        """The vectors that some objects have, by object."""
        return self._lines().rows(objects)

    def held(self) -> Iterator[tuple[str, str]]:
        """Object and version of every vector that is in the files: those that count, those that
        others came for, and those that snapshots pin."""
        pinned = (lines for _, lines, _ in self._pinned())
        for lines in chain([self._lines()], pinned):
            for row in lines.all():
                yield row.object_id, row.version_id

    def mark(self) -> tuple[int, ...]:
        """Differs when the vectors do; cheap to ask for."""
        number = self._number()
        with contextlib.suppress(FileNotFoundError):
            found = self._path(number, _LINES).stat()
            return (number, found.st_size, found.st_ino, found.st_mtime_ns)
        return ()

    def hold(self) -> HeldVectors:
        """The vectors as they are now, kept open."""
        while True:
            lines = self._lines()
            with contextlib.suppress(FileNotFoundError):  # replaced meanwhile
                return self._held(lines, lines.identity)

    def pinned(self, snapshot_id: str) -> Pin | None:
        """What a snapshot pins of the space; None for nothing."""
        return self._pins.find(snapshot_id)

    def hold_pinned(self, pin: Pin) -> HeldVectors | None:
        """The vectors that a snapshot pins, kept open; None where they have gone meanwhile."""
        with contextlib.suppress(FileNotFoundError):
            return self._held(self._numbered(pin.pair).first(pin.vectors), pin.identity)
        return None

    def _held(self, lines: Lines, identity: str) -> HeldVectors:
        descriptor = open_plain(self._path(lines.number, _VECTORS)) if lines.number else -1
        try:
            places = lines.places()
        except StoreDamaged:
            os.close(descriptor)
            raise
        return HeldVectors(
            self._space_id, self._dimensions, descriptor, lines.vectors, places, identity
        )

    def pin(self, snapshot_id: str) -> None:
        """Keep the vectors that there are now for a snapshot, whatever is put afterwards and
        for as long as none of them has to be taken away. The caller holds the lock."""
        lines = self._lines()
        if lines.number:
            self._pins.put(Pin(snapshot_id, lines.number, lines.vectors, lines.identity))

    def vectors(self, wanted: Iterable[Embedded]) -> Iterator[tuple[Embedded, tuple[float, ...]]]:
        """The numbers of some rows. What was taken away meanwhile is passed over."""
        for row, data in self._read(wanted):
            yield row, struct.unpack(f"<{self._dimensions}f", data)

    def put(self, embeddings: Sequence[NewEmbedding]) -> None:
        """Add vectors; each takes the place of the one that its object had. Durable when
        this returns. The caller holds the lock."""
        files.ensure_directory(self._folder)
        described = self._folder / _SPACE
        if not described.is_file():
            body = {"dimensions": self._dimensions, "embedding_space_id": self._space_id}
            files.replace_whole(described, canonical(body) + b"\n")
        number = self._number()
        if number == 0:
            number = 1
            files.replace_whole(self._path(number, _VECTORS), b"")
            files.replace_whole(self._path(number, _LINES), b"")
        whole, kept = self._whole_lines(number, _LINES)
        lines = len(whole)
        vectors, stride = self._path(number, _VECTORS), self._dimensions * FLOAT_BYTES
        for path, size in ((self._path(number, _LINES), lines), (vectors, kept * stride)):
            if path.stat().st_size > size:
                files.cut_durably(path, size)  # of a writer that died
        files.append_durably(vectors, b"".join(new.vector for new in embeddings), kept * stride)
        added = b"".join(line(new.object_id, new.version_id) for new in embeddings)
        files.append_durably(self._path(number, _LINES), added, lines)

    def keep(self, wanted: Collection[str]) -> int:
        """Take away the vectors of all other objects, and what older vectors of these still
        take up. Returns how many objects lost theirs. The caller holds the lock."""
        lines = self._lines()
        if lines.number == 0:
            return 0
        places = lines.places()
        counting = (row for row in lines.all() if places.get(row.version_id) == row.place)
        kept = (row for row in counting if row.object_id in wanted)
        referred, number = self._keep_pins(wanted, lines.number + 1)
        said, lost = BytesIO(), len(places)
        # A writer that died may have left vectors under this number, and no lines.
        with files.writing_whole(self._path(number, _VECTORS)) as vectors:
            for row, data in self._read(kept):
                vectors.write(data)
                said.write(line(row.object_id, row.version_id))
                lost -= 1
        files.replace_whole(self._path(number, _LINES), said.getvalue())
        files.remove_durably(self._leftovers(referred | {number}))
        return lost

    def has_leftovers(self) -> bool:
        """Whether a writer died before he removed what no longer counts."""
        referred = {pin.pair for pin in self._pins.all()}
        return bool(self._leftovers(referred | {self._number()}))

    def _keep_pins(self, wanted: Collection[str], number: int) -> tuple[set[int], int]:
        """Take the other objects' vectors away from what snapshots pin, in new pairs from
        `number` on: a pin that held one of them is gone. Returns the pairs that are pinned
        now, and the next free number."""
        referred: set[int] = set()
        for pair, lines, pins in self._pinned():
            objects = [row.object_id for row in lines.all()]
            if all(object_id in wanted for object_id in objects):
                referred.add(pair)
                continue
            lost = next(n for n, object_id in enumerate(objects) if object_id not in wanted)
            kept = [pin for pin in pins if pin.vectors <= lost]
            if kept:
                count = max(pin.vectors for pin in kept)
                with files.writing_whole(self._path(number, _VECTORS)) as vectors:
                    for _, data in self._read(islice(lines.all(), count)):
                        vectors.write(data)
                files.replace_whole(self._path(number, _PINNED), lines.first(count).data)
                for pin in kept:
                    self._pins.put(pin._replace(pair=number))
                referred.add(number)
                number += 1
            self._pins.remove(pin for pin in pins if pin.vectors > lost)
        return referred, number

    def _pinned(self) -> Iterator[tuple[int, Lines, list[Pin]]]:
        """Each pair that is pinned, whole, with its pins."""
        for number, pins in self._pins.by_pair():
            with contextlib.suppress(FileNotFoundError):
                yield number, self._numbered(number), pins

    def _numbered(self, number: int) -> Lines:
        """The lines of a pair that snapshots pin, which may be the current one too."""
        try:
            return Lines(self._folder, number, *self._whole_lines(number, _PINNED))
        except FileNotFoundError:
            return Lines(self._folder, number, *self._whole_lines(number, _LINES))

    def take_away(self, objects: Collection[str]) -> None:
        """Take away the vectors of these objects, pinned ones too. The caller holds the lock."""
        if any(object_id in objects for object_id, _ in self.held()):
            self.keep(self.versions().keys() - objects)

    def size(self) -> int:
        """Bytes that the vectors take up, those that count no more included."""
        number = self._number()
        with contextlib.suppress(FileNotFoundError):
            return self._path(number, _VECTORS).stat().st_size
        return 0

    def _lines(self) -> Lines:
        """Those of the current pair of files."""
        while True:
            number = self._number()
            if number == 0:
                return Lines(self._folder, 0, b"", 0)
            try:
                return Lines(self._folder, number, *self._whole_lines(number, _LINES))
            except FileNotFoundError:
                if self._number() == number:
                    raise StoreDamaged(
                        f"{self._folder} has lost half of what belongs together",
                        hint="delete the folder, and put the vectors again",
                    ) from None
                # Otherwise it was replaced meanwhile.

    def _number(self) -> int:
        """The number of the current pair: the last whose lines are there."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return 0
        stems = (name.removesuffix(_LINES) for name in names if name.endswith(_LINES))
        return max((int(stem) for stem in stems if stem.isascii() and stem.isdigit()), default=0)

    def _whole_lines(self, number: int, suffix: str) -> tuple[bytes, int]:
        """The lines that have their vectors, and how many they are."""
        data = _bytes_of(self._path(number, suffix))
        stride = self._dimensions * FLOAT_BYTES
        vectors = self._path(number, _VECTORS).stat().st_size // stride
        count = data.count(b"\n")
        if count <= vectors:
            return data if data.endswith(b"\n") else data[: data.rfind(b"\n") + 1], count
        return first_lines(data, vectors), vectors

    def _read(self, wanted: Iterable[Embedded]) -> Iterator[tuple[Embedded, bytes]]:
        stride = self._dimensions * FLOAT_BYTES
        for number, rows in groupby(wanted, key=lambda row: row.pair):
            try:
                descriptor = open_plain(self._path(number, _VECTORS))
            except FileNotFoundError:
                continue
            try:
                for row in rows:
                    data = os.pread(descriptor, stride, row.place * stride)
                    if len(data) == stride:
                        yield row, data
            finally:
                os.close(descriptor)

    def _leftovers(self, wanted: Collection[int]) -> list[Path]:
        """Files of other pairs, and those that dead writers did not get to name."""
        return [
            self._folder / name
            for name in os.listdir(self._folder)
            if name.startswith(".") or (name[:8].isdigit() and int(name[:8]) not in wanted)
        ]

    def _path(self, number: int, suffix: str) -> Path:
        return self._folder / f"{number:08d}{suffix}"


def lock(layout: ScopeLayout) -> AbstractContextManager[None]:
    """Hold the right to write vectors of a scope. Raises ServiceUnavailable."""
    if not layout.embeddings.is_dir():
        files.ensure_directory(layout.embeddings)
        files.replace_whole(layout.embeddings / ".gitignore", _GITIGNORE)
    return exclusive(layout.embeddings / "lock")


def stored_spaces(layout: ScopeLayout) -> Iterator[tuple[str, EmbeddingFiles]]:
    """The spaces that a scope has files of, whatever the ledger says of them."""
    try:
        names = sorted(os.listdir(layout.embeddings))
    except FileNotFoundError:
        return
    for name in names:
        path = layout.embeddings / name / _SPACE
        try:
            described = orjson.loads(_bytes_of(path))
            space_id, dimensions = described["embedding_space_id"], described["dimensions"]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (orjson.JSONDecodeError, KeyError, TypeError) as cause:
            raise StoreDamaged(
                f"{path} does not describe an Embedding Space",
                hint="delete its folder, and put the vectors again",
            ) from cause
        if type(dimensions) is int and dimensions > 0 and scope_folder(str(space_id)) == name:
            yield space_id, EmbeddingFiles(layout, space_id, dimensions)


def _bytes_of(path: Path) -> bytes:
    """The bytes of a regular file; a link or a pipe in its place is damage."""
    descriptor = open_plain(path)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
