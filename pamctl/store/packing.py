"""Moving versions that are files of their own, and small packs, into packs that are large.

Every step leaves each version where a reader finds it: the new pack is durable before the
ledger announces it, and only then does what it replaces go. `store-format/packs.md`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import StoreDamaged
from pamctl.limits import LOOSE_VERSIONS_MAX, SMALL_PACK_BYTES, SMALL_PACKS_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.store import files
from pamctl.store.commit import NewEntry
from pamctl.store.layout import ScopeLayout, address_digits
from pamctl.store.packs import moved_to, pack_lines, pack_names, parsed_version
from pamctl.store.plain_files import plain_size
from pamctl.store.records import Entry, StoredVersion, Transaction
from pamctl.store.versions import bytes_at

LOOK_EVERY = 16
_FOLDERS = 256
_SAMPLES = 16


class Piece(NamedTuple):
    """What goes into a pack as one: a version file, a stub, or all of a small pack.

    since: the ledger sequence of the first version in it.
    lines: (ledger sequence, bytes) of each.
    file: the file that it replaces. pack: the name of the pack that it replaces.
    """

    since: int
    lines: Sequence[tuple[int, bytes]]
    file: Path | None = None
    pack: str | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes in a pack."""
        return sum(len(data) + 1 for _, data in self.lines)


def is_crowded(layout: ScopeLayout, committed: Sequence[Transaction]) -> bool:
    """Whether what was just committed makes it look as if there were too many files or too
    many small packs. Digests are even, so one folder, or one digit, tells of all of them; and
    of so many writes that make a file, one looks."""
    for entry, stored in _stored(committed[:2]):
        if stored is not None and stored.pack is None:
            if int(address_digits(stored.address)[2:4], 16) % LOOK_EVERY:
                return False
            folder = layout.version_file(stored.address).parent
            return len(os.listdir(folder)) * _FOLDERS > LOOSE_VERSIONS_MAX
        if entry.kind == "pack":
            name = str(entry.body["name"])
            alike = (one for one in pack_names(layout) if one[0] == name[0])
            small = sum(is_small(layout, one) for one in alike)
            return small * _SAMPLES > SMALL_PACKS_MAX
    return False


def _stored(committed: Sequence[Transaction]) -> Iterator[tuple[Entry, StoredVersion | None]]:
    for done in committed:
        for entry in done.entries:
            if entry.version is not None or entry.kind == "pack":
                yield entry, None if entry.version is None else done.versions[entry.version]


def is_small(layout: ScopeLayout, name: str) -> bool:
    """Whether a pack is there and should be merged with others."""
    with contextlib.suppress(FileNotFoundError, StoreDamaged):
        return plain_size(layout.pack_file(name)) < SMALL_PACK_BYTES
    return False


def loose_piece(layout: ScopeLayout, since: int, address: str, *, erased: bool) -> Piece | None:
    """The file of a version, or its stub. None where it is not what it should be: that is for
    a checker to say, and the file stays where it is."""
    path = layout.stub_file(address) if erased else layout.version_file(address)
    with contextlib.suppress(FileNotFoundError, StoreDamaged):
        data = bytes_at(path)
        named = parsed_version(data)[1] if erased else sha256_digest(data)
        if named == address and b"\n" not in data:
            return Piece(since, [(since, data)], file=path)
    return None


def write_pack(layout: ScopeLayout, pieces: Sequence[Piece]) -> list[NewEntry]:
    """Make a pack of these pieces, its lines in ledger order; durable when this returns. The
    entries that announce it and say what it replaces."""
    lines = sorted((line for piece in pieces for line in piece.lines), key=lambda line: line[0])
    data = b"".join(line + b"\n" for _, line in lines)
    name = sha256_hex(data)
    files.create_idempotent(layout.pack_file(name), data, staging=layout.staging)
    moved = tuple(moved_to(layout, name))
    body: dict[str, Any] = {"name": name, "versions": len(lines)}
    loose = sum(piece.file is not None for piece in pieces)
    replaced = [piece.pack for piece in pieces if piece.pack is not None]
    bodies = [{**body, "replaces": old} for old in replaced] or [body]
    if loose:
        bodies[0] = {**bodies[0], "loose": loose}
    first, *others = bodies
    return [NewEntry("pack", first, moved=moved), *(NewEntry("pack", one) for one in others)]


def remove_replaced(layout: ScopeLayout, pieces: Iterable[Piece]) -> None:
    """Let go of what a pack replaces, once the ledger announces it. Durable: what is erased
    later must not come back with a file that was only thought to be gone."""
    gone = []
    for piece in pieces:
        if piece.file is not None:
            gone.append(piece.file)
        if piece.pack is not None:
            gone.append(layout.pack_file(piece.pack))
    files.remove_durably(gone)


def lines_of(layout: ScopeLayout, name: str) -> list[bytes]:
    """The lines of a pack that is to be merged; none of one that is damaged, or gone."""
    with contextlib.suppress(FileNotFoundError):
        lines = [data for data, _ in pack_lines(layout, name)]
        if sha256_hex(b"".join(line + b"\n" for line in lines)) == name:
            return lines
    return []
