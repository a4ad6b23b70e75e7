"""Packing a scope: version files and small packs become large packs. `store-format/packs.md`.

It changes where versions stand and nothing else, so it is no operation of PAMSPEC and makes
no event; the ledger's `pack` entries say what was done.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.errors import StoreDamaged
from pamctl.limits import PACK_BYTES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.service.open_scope import OpenScope
from pamctl.service.sweep import sweep
from pamctl.store.commit import ScopeWriter
from pamctl.store.files import remove_durably
from pamctl.store.packing import (
    Piece,
    is_small,
    lines_of,
    loose_piece,
    remove_replaced,
    write_pack,
)
from pamctl.store.packs import pack_lines, parsed_version
from pamctl.store.versions import bytes_at, version_files

if TYPE_CHECKING:
    from pamctl.service.open_store import OpenStore
    from pamctl.store.records import Position

_LOOSE_AT_A_TIME = 4096


class Packed(NamedTuple):
    """What packing did: how many files went into packs, how many small packs, how many packs
    came of it with how many versions, and how many copies that an earlier packing had left
    were removed."""

    files: int = 0
    packs_merged: int = 0
    packs_made: int = 0
    versions: int = 0
    copies_removed: int = 0

    def plus(self, other: Packed) -> Packed:
        return Packed(*map(sum, zip(self, other, strict=True)))


def pack(store: OpenStore, scope_id: str) -> dict[str, Any]:
    """Pack all of a scope, its lock held for one pack at a time. Raises ScopeNotFound, and
    ServiceUnavailable where nothing can be written; what was packed by then stays so."""
    layout = store.directory.scope(scope_id)
    # A scope of its own, so that whoever packs one after the other holds one index at a time.
    scope = OpenScope(scope_id, layout, store.layout.index_file(layout))
    with closing(scope.index):
        done = _locked(store, scope, first=True)
        while (more := _locked(store, scope)).packs_made:
            done = done.plus(more)
    return {"scope_id": scope_id, **done._asdict()}


def _locked(store: OpenStore, scope: OpenScope, *, first: bool = False) -> Packed:
    with ScopeWriter(scope.layout, store.layout.quarantine) as writer:
        base = scope.refresh()
        store.notices.extend(writer.recover(base))
        store.notices.extend(sweep(scope, store.layout.quarantine))
        if first:
            return Packed(copies_removed=_remove_copies(scope))
        return pack_once(scope, writer, base)


def pack_once(scope: OpenScope, writer: ScopeWriter, base: Position) -> Packed:
    """Make one pack of what is loose or small, the oldest first; nothing where there is
    nothing to gain. The lock is held, and the index is at `base`, the ledger's head."""
    pieces, size = [], 0
    for piece in _pieces(scope):
        pieces.append(piece)
        size += piece.size
        if size >= PACK_BYTES_MAX:
            break
    if len(pieces) < 2 and all(piece.file is None for piece in pieces):
        return Packed()
    entries = write_pack(scope.layout, pieces)
    scope.follow(base, writer.commit(base, [entries]))
    remove_replaced(scope.layout, pieces)
    files = sum(piece.file is not None for piece in pieces)
    lines = sum(len(piece.lines) for piece in pieces)
    return Packed(files, len(pieces) - files, 1, lines)


def _pieces(scope: OpenScope) -> Iterator[Piece]:
    """What may go into a pack, in ledger order, each read when it is its turn."""
    small, after = _small_packs(scope), 0
    while found := scope.index.places.loose(after, _LOOSE_AT_A_TIME):
        for loose in found:
            after = loose.since
            piece = loose_piece(scope.layout, after, loose.address, erased=loose.erased)
            if piece is not None:
                while small and small[0][0] < after:
                    yield from _small_pack(scope, small.popleft()[1])
                yield piece
    for _, name in small:
        yield from _small_pack(scope, name)


def _small_packs(scope: OpenScope) -> deque[tuple[int, str]]:
    """Small packs that the ledger announced, the oldest first: since when, and their names."""
    found = []
    for name in scope.index.packs():
        if is_small(scope.layout, name):
            with contextlib.suppress(FileNotFoundError, StopIteration):
                first, _ = next(pack_lines(scope.layout, name))
                found.append((_since(scope, first) or 0, name))
    return deque(sorted(found))


def _small_pack(scope: OpenScope, name: str) -> Iterator[Piece]:
    """A small pack as a piece; nothing for one that is damaged, which stays.

    A line that no entry names, because its commit was torn, goes behind the one before it.
    """
    since, placed = 0, []
    for data in lines_of(scope.layout, name):
        since = _since(scope, data) or since
        placed.append((since, data))
    if placed:
        yield Piece(placed[0][0], placed, pack=name)


def _since(scope: OpenScope, data: bytes) -> int | None:
    """The ledger sequence that committed the version in these bytes, or in this stub."""
    version_id = (parsed_version(data)[0] or {}).get("version_id")
    row = scope.index.version(version_id) if isinstance(version_id, str) else None
    return None if row is None else row.since


def _remove_copies(scope: OpenScope) -> int:
    """Remove what a packing left that died after its commit: files and packs whose versions
    stand in a pack that the ledger announces. How many."""
    layout = scope.layout
    gone = [
        path
        for address, path, is_stub in version_files(layout)
        if _is_packed(scope, address, path, is_stub=is_stub)
    ]
    for name, successor in scope.index.erasures.replaced_packs().items():
        path = layout.pack_file(name)
        if path.is_file() and layout.pack_file(successor).is_file():
            gone.append(path)
    remove_durably(gone)
    return len(gone)


def _is_packed(scope: OpenScope, address: str, path: Path, *, is_stub: bool) -> bool:
    """Whether the very bytes of a version file, or of a stub, are found in a pack."""
    with contextlib.suppress(FileNotFoundError, StoreDamaged):
        data = bytes_at(path)
        version_id = (parsed_version(data)[0] or {}).get("version_id")
        row = scope.index.version(version_id) if isinstance(version_id, str) else None
        if row is not None and row.pack is not None and row.erased == is_stub:
            pack = scope.layout.pack_file(row.pack)
            return row.address == address and bytes_at(pack, row.offset, row.length) == data
    return False
