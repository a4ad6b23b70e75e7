"""Vectors on disk, by Embedding Space: derived, and deletable at any time.
`store-format/embeddings.md`.

A space has a pair of files under one number: `<n>.f32` holds vectors one behind the other,
`<n>.jsonl` says of which version each is. A line counts when it is whole and its vector is
there; of several lines of one object the last one does. Vectors are made durable before their
lines, and whoever takes vectors away writes a new pair, under the next number, before he
removes the old one.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.errors import StoreDamaged
from pamctl.store import files
from pamctl.store.layout import ScopeLayout, scope_folder
from pamctl.store.lock import exclusive
from pamctl.store.records import Transaction

FLOAT_BYTES = 4

_GITIGNORE = b"/lock\n"
_VECTORS, _LINES, _SPACE = ".f32", ".jsonl", "space.json"
_WITHDRAWING = frozenset(("object_redacted", "object_deleted"))


class Embedded(NamedTuple):
    """One vector of a space: of which version of which object, the number of the pair of files
    that it is in, and its place there."""

    object_id: str
    version_id: str
    pair: int
    place: int


class NewEmbedding(NamedTuple):
    """A vector to be kept; `vector` is its little-endian 32-bit floats."""

    object_id: str
    version_id: str
    vector: bytes


class EmbeddingFiles:
    """The vectors of one Embedding Space of one scope.

    Readers take no lock. Whoever writes holds `lock`, for all spaces of the scope.
    """

    def __init__(self, layout: ScopeLayout, space_id: str, dimensions: int) -> None:
        self._root = layout.embeddings
        self._folder = layout.embeddings / scope_folder(space_id)
        self._space_id = space_id
        self._dimensions = dimensions

    def rows(self) -> dict[str, Embedded]:
        """The vectors that there are, by object, in the order in which they came."""
        return self._pair()[1]

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
        number, _ = self._pair()
        if number == 0:
            number = 1
            files.replace_whole(self._path(number, _VECTORS), b"")
            files.replace_whole(self._path(number, _LINES), b"")
        lines, kept = self._whole_lines(number)
        vectors, stride = self._path(number, _VECTORS), self._dimensions * FLOAT_BYTES
        for path, size in ((self._path(number, _LINES), lines), (vectors, kept * stride)):
            if path.stat().st_size > size:
                files.cut_durably(path, size)  # of a writer that died
        files.append_durably(vectors, b"".join(new.vector for new in embeddings), kept * stride)
        added = b"".join(_line(new.object_id, new.version_id) for new in embeddings)
        files.append_durably(self._path(number, _LINES), added, lines)

    def keep(self, wanted: Collection[str]) -> int:
        """Take away the vectors of all other objects, and what older vectors of these still
        take up. Returns how many objects lost theirs. The caller holds the lock."""
        number, rows = self._pair()
        if number == 0:
            return 0
        kept = [row for object_id, row in rows.items() if object_id in wanted]
        found = list(self._read(kept))
        lines = b"".join(_line(row.object_id, row.version_id) for row, _ in found)
        # A writer that died may have left vectors under this number, and no lines.
        files.replace_whole(self._path(number + 1, _VECTORS), b"".join(data for _, data in found))
        files.replace_whole(self._path(number + 1, _LINES), lines)
        self._remove_before(number + 1)
        return len(rows) - len(found)

    def size(self) -> int:
        """Bytes that the vectors take up, those that count no more included."""
        number = self._number()
        with contextlib.suppress(FileNotFoundError):
            return self._path(number, _VECTORS).stat().st_size
        return 0

    def _pair(self) -> tuple[int, dict[str, Embedded]]:
        """The number of the current pair of files, 0 where there is none, and its rows."""
        while True:
            number = self._number()
            if number == 0:
                return 0, {}
            try:
                lines, kept = self._whole_lines(number)
                data = self._path(number, _LINES).read_bytes()[:lines]
            except FileNotFoundError:
                if self._number() == number:
                    raise StoreDamaged(
                        f"{self._folder} has lost half of what belongs together",
                        hint="delete the folder, and put the vectors again",
                    ) from None
                continue  # replaced meanwhile
            return number, _rows(data, number, kept, self._folder)

    def _number(self) -> int:
        """The number of the current pair: the last whose lines are there."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return 0
        stems = (name.removesuffix(_LINES) for name in names if name.endswith(_LINES))
        return max((int(stem) for stem in stems if stem.isascii() and stem.isdigit()), default=0)

    def _whole_lines(self, number: int) -> tuple[int, int]:
        """How many bytes of lines, and how many lines, have their vectors."""
        data = _bytes_of(self._path(number, _LINES))
        stride = self._dimensions * FLOAT_BYTES
        vectors = self._path(number, _VECTORS).stat().st_size // stride
        count = data.count(b"\n")
        if count <= vectors:
            return data.rfind(b"\n") + 1, count
        end = 0
        for _ in range(vectors):
            end = data.index(b"\n", end) + 1
        return end, vectors

    def _read(self, wanted: Iterable[Embedded]) -> Iterator[tuple[Embedded, bytes]]:
        stride = self._dimensions * FLOAT_BYTES
        for number, rows in groupby(wanted, key=lambda row: row.pair):
            try:
                descriptor = _open_regular(self._path(number, _VECTORS))
            except FileNotFoundError:
                continue
            try:
                for row in rows:
                    data = os.pread(descriptor, stride, row.place * stride)
                    if len(data) == stride:
                        yield row, data
            finally:
                os.close(descriptor)

    def _remove_before(self, number: int) -> None:
        """Remove earlier pairs, and files that dead writers did not get to name."""
        files.remove_durably(
            self._folder / name
            for name in os.listdir(self._folder)
            if name.startswith(".") or (name[:8].isdigit() and int(name[:8]) < number)
        )

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


def withdraw(layout: ScopeLayout, committed: Iterable[Transaction]) -> None:
    """Take away the vectors of objects that these transactions redacted or deleted. Durable
    when this returns."""
    hidden = {name for done in committed for name in _hidden_by(done)}
    if not hidden:
        return
    with lock(layout):
        for _, space in stored_spaces(layout):
            rows = space.rows()
            if not hidden.isdisjoint(rows):
                space.keep(rows.keys() - hidden)


def _hidden_by(transaction: Transaction) -> Iterator[str]:
    for entry in transaction.entries:
        event = entry.body
        if entry.kind != "event" or "object_id" not in event:
            continue
        kind, payload = event["event_type"], event.get("payload", {})
        hides = kind == "availability_transitioned" and payload.get("to") != "available"
        if kind in _WITHDRAWING or hides:
            yield event["object_id"]


def _rows(data: bytes, number: int, count: int, folder: Path) -> dict[str, Embedded]:
    rows: dict[str, Embedded] = {}
    for place, line in enumerate(data.split(b"\n")[:count]):
        try:
            found = orjson.loads(line)
            row = Embedded(found["object_id"], found["version_id"], number, place)
        except (orjson.JSONDecodeError, KeyError, TypeError) as cause:
            raise StoreDamaged(
                f"line {place + 1} of the vectors in {folder} cannot be read",
                hint="delete the folder, and put the vectors again",
            ) from cause
        rows.pop(row.object_id, None)
        rows[row.object_id] = row
    return rows


def _line(object_id: str, version_id: str) -> bytes:
    named: Mapping[str, str] = {"object_id": object_id, "version_id": version_id}
    return canonical(dict(named)) + b"\n"


def _bytes_of(path: Path) -> bytes:
    """The bytes of a regular file; a link or a pipe in its place is damage."""
    descriptor = _open_regular(path)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _open_regular(path: Path) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise
    except NotADirectoryError:
        raise
    except OSError as cause:
        raise StoreDamaged(f"{path} cannot be read: {cause.strerror}", path=str(path)) from cause
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreDamaged(f"{path} is no file", path=str(path))
    return descriptor
