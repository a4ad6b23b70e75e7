"""The lines that say of which version each vector is. `store-format/embeddings.md`.

A space may have hundreds of thousands of them, so they are kept as they stand and read one by
one; whoever asks gets no more than what he asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import RunningDigest
from pamctl.errors import StoreDamaged
from pamctl.named_tuples import NamedTuple


class Embedded(NamedTuple):
    """One vector of a space: of which version of which object, the number of the pair of files
    that it is in, and its place there."""

    object_id: str
    version_id: str
    pair: int
    place: int


class Lines(NamedTuple):
    """The lines of a pair of files that have their vectors.

    folder: of the space. number: of the pair, 0 for none. data: the lines, one for each of so
    many `vectors`. Of several lines of one object the last one counts. Whatever looks into a
    line raises StoreDamaged for one that cannot be read.
    """

    folder: Path
    number: int
    data: bytes
    vectors: int

    @property
    def identity(self) -> str:
        """Tells apart any two states of a space's files."""
        running = RunningDigest()
        running.update(b"%d\n" % self.number)
        running.update(self.data)
        return f"sha256:{running.hexdigest()}"

    def first(self, count: int) -> Lines:
        """The same with no more than its first vectors."""
        data, vectors = first_lines(self.data, count), min(count, self.vectors)
        return self._replace(data=data, vectors=vectors)

    def all(self) -> Iterator[Embedded]:
        """Every vector, in their order."""
        for place, line in enumerate(islice(BytesIO(self.data), self.vectors)):
            try:
                found = orjson.loads(line)
                yield Embedded(found["object_id"], found["version_id"], self.number, place)
            except (orjson.JSONDecodeError, KeyError, TypeError) as cause:
                raise StoreDamaged(
                    f"line {place + 1} of the vectors in {self.folder} cannot be read",
                    hint="delete the folder, and put the vectors again",
                ) from cause

    def versions(self) -> dict[str, str]:
        """The version that the vector of each object is of, by object, in the order in which
        these came."""
        found: dict[str, str] = {}
        for row in self.all():
            found.pop(row.object_id, None)
            found[row.object_id] = row.version_id
        return found

    def rows(self, objects: Collection[str]) -> dict[str, Embedded]:
        """The vectors that some objects have, by object."""
        return {row.object_id: row for row in self.all() if row.object_id in objects}

    def places(self) -> dict[str, int]:
        """The places of the vectors that count, by version."""
        found: dict[str, int] = {}
        seen: set[int] = set()
        again: set[int] = set()
        for row in self.all():
            found[row.version_id] = row.place
            hashed = hash(row.object_id)
            (again if hashed in seen else seen).add(hashed)
        if again:  # few have lines that no longer count, and among these is all that has
            last: dict[str, str] = {}
            versions: set[str] = set()
            for row in self.all():
                if hash(row.object_id) in again:
                    last[row.object_id] = row.version_id
                    versions.add(row.version_id)
            for version_id in versions.difference(last.values()):
                del found[version_id]
        return found


def first_lines(data: bytes, count: int) -> bytes:
    """As many lines, where there are more."""
    end = 0
    for _ in range(count):
        end = data.find(b"\n", end) + 1
        if end == 0:
            return data
    return data[:end]


def line(object_id: str, version_id: str) -> bytes:
    """The line of a vector of a version."""
    return canonical({"object_id": object_id, "version_id": version_id}) + b"\n"
