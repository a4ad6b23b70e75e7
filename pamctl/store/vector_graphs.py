"""Graphs over the vectors of an Embedding Space: derived, beside the vectors that they hold.
`store-format/embeddings.md`.

A graph belongs to one pair of files of vectors, by its number, and holds the first so many of
them. It goes with the pair: whoever takes vectors away writes a new pair, and removes what has
another number.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import StoreDamaged
from pamctl.store import files
from pamctl.store.embeddings import EmbeddingFiles, lock
from pamctl.store.layout import ScopeLayout, scope_folder
from pamctl.store.plain_files import open_plain

_GRAPH, _FACTS = ".graph", ".graph.json"
_MEMBERS = {"digest", "kind", "parameters", "vectors"}
_IGNORED = b"/lock\n/*/*.graph\n/*/*.graph.json\n"


@dataclass(frozen=True, slots=True)
class KeptGraph:
    """A graph that was kept, and what it says of itself."""

    path: Path
    facts: Mapping[str, Any]


class GraphFiles:
    """The graph of one Embedding Space of one scope."""

    def __init__(self, layout: ScopeLayout, space_id: str, dimensions: int) -> None:
        self._layout = layout
        self._folder = layout.embeddings / scope_folder(space_id)
        self._vectors = EmbeddingFiles(layout, space_id, dimensions)

    def pair(self) -> int:
        """The number of the pair of files that the vectors are in now; 0 for none."""
        return next(iter(self._vectors.mark()), 0)

    def find(self, pair: int) -> KeptGraph | None:
        """The graph of a pair; None where there is none, or what is there is none."""
        try:
            descriptor = open_plain(self._path(pair, _FACTS))
            with os.fdopen(descriptor, "rb") as file:
                facts = orjson.loads(file.read())
            os.close(open_plain(self._path(pair, _GRAPH)))
        except (OSError, StoreDamaged, orjson.JSONDecodeError):
            return None
        known = isinstance(facts, dict) and facts.keys() == _MEMBERS
        return KeptGraph(self._path(pair, _GRAPH), facts) if known else None

    def keep(self, pair: int, facts: Mapping[str, Any], data: bytes) -> KeptGraph | None:
        """Keep a graph over vectors of a pair. None, and nothing is kept, where that pair has been
        replaced meanwhile: it may hold what had to go. Durable when this returns.

        facts: what is to be told of it, its number of `vectors` among them; its digest is added.
        Raises ServiceUnavailable where nothing can be written.
        """
        told = {**facts, "digest": sha256_digest(data)}
        with lock(self._layout):
            if self.pair() != pair:
                return None
            files.replace_whole(self._layout.embeddings / ".gitignore", _IGNORED)
            files.replace_whole(self._path(pair, _GRAPH), data)
            files.replace_whole(self._path(pair, _FACTS), canonical(told) + b"\n")
        return KeptGraph(self._path(pair, _GRAPH), told)

    def _path(self, pair: int, suffix: str) -> Path:
        return self._folder / f"{pair:08d}{suffix}"


def forget_graphs(layout: ScopeLayout) -> None:
    """Remove the graphs over all vectors of a scope. Raises ServiceUnavailable."""
    with lock(layout):
        for found in (layout.embeddings.glob(f"*/*{suffix}") for suffix in (_GRAPH, _FACTS)):
            files.remove_durably(found)
