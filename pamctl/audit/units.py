"""How the reading of versions is divided: so much at a time that a unit is some work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pamctl.audit.reading import entries, kind_of
from pamctl.audit.surroundings import ScopeFolder
from pamctl.store.layout import StoreLayout, pack_name

_UNIT_BYTES = 32 * 1024 * 1024


def size_of(path: Path) -> int:
    """Bytes of a regular file; 0 where there is none."""
    return path.lstat().st_size if kind_of(path) == "file" else 0


def units(
    layout: StoreLayout, scopes: Sequence[ScopeFolder]
) -> Iterator[tuple[ScopeFolder, list[Path]]]:
    """Version folders and packs of each scope, so many at a time that a unit is some work."""
    for scope in scopes:
        place, unit, weight = scope.layout(layout), [], 0
        for entry in entries(place.versions):
            path = Path(entry.path)
            if len(entry.name) == 2 and kind_of(path) == "folder":
                unit.append(path)
                weight += entry.stat(follow_symlinks=False).st_size * _UNIT_BYTES // 1_000_000
        spaces = (Path(entry.path) for entry in entries(place.embeddings))
        unit += [space for space in spaces if kind_of(space) == "folder"]
        for entry in entries(place.packs):
            if pack_name(entry.name) is not None and kind_of(Path(entry.path)) == "file":
                unit.append(Path(entry.path))
                weight += entry.stat(follow_symlinks=False).st_size
                if weight > _UNIT_BYTES:
                    yield scope, unit
                    unit, weight = [], 0
        if unit:
            yield scope, unit
