"""Reads what a scope keeps of vectors: which space they are of, and of which versions.

Vectors are derived, so nothing is lost with them. But one of a version that is not there, or
of a space that nobody described, is found by searches and belongs to nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Protocol

from pamctl.audit.facts import NAME, OBJECT
from pamctl.audit.findings import Findings
from pamctl.audit.reading import entries, kind_of, lines, open_plain, parsed, shown, whole

_LINES = r"[0-9]{8}\.jsonl\Z"
_FLOAT_BYTES = 4


class Sink(Protocol):
    """Takes facts."""

    def put(self, about: str, scope: str, key: str, kind: str, *values: Any) -> None:
        """One fact, as Facts takes it."""


class VectorReader:
    """Reads the vectors of one scope."""

    def __init__(
        self, root: Path, folder: str, scope_id: str, facts: Sink, findings: Findings
    ) -> None:
        self._root = root
        self._folder = folder
        self._scope_id = scope_id
        self._facts = facts
        self._findings = findings

    def read(self, space: Path) -> None:
        """One folder in `embeddings/`: its space, and the lines of the pair in force."""
        value = parsed(whole(space / "space.json") or b"") or {}
        space_id, dimensions = value.get("embedding_space_id"), value.get("dimensions")
        if not isinstance(space_id, str) or type(dimensions) is not int or dimensions < 1:
            self._findings.add(
                "embedding-orphaned",
                "nothing says of which space they are",
                scope_id=self._scope_id,
                path=shown(self._root, space),
            )
            return
        place = shown(self._root, space / "space.json")
        self._facts.put(NAME, self._folder, f"space {space_id}", "stored", place, dimensions)
        pairs = [entry.name for entry in entries(space) if re.match(_LINES, entry.name)]
        if pairs:
            self._read_lines(space / max(pairs), dimensions)

    def _read_lines(self, path: Path, dimensions: int) -> None:
        """Lines whose vectors are there; what stands behind them a writer left that died."""
        vectors = path.with_suffix(".f32")
        size = vectors.lstat().st_size if kind_of(vectors) == "file" else 0
        descriptor = open_plain(path)
        if descriptor is None:
            return
        place = shown(self._root, path)
        try:
            found = lines(descriptor, os.fstat(descriptor).st_size)
            for _, line in zip(range(size // (_FLOAT_BYTES * dimensions)), found, strict=False):
                value = parsed(line.data or b"") or {}
                version_id = value.get("version_id")
                if line.ended and isinstance(version_id, str):
                    self._facts.put(OBJECT, self._folder, version_id, "vector", place, line.offset)
        finally:
            os.close(descriptor)
