"""Vectors in a bundle: derived, so they come only when they are asked for. PAMSPEC §7.8."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

import orjson

from pamctl.encoding.base64url import decode, encode
from pamctl.encoding.canonical import canonical, canonical_plain
from pamctl.errors import InvalidObject
from pamctl.model.documents import is_valid
from pamctl.named_tuples import NamedTuple
from pamctl.service.departure import Departure
from pamctl.service.open_scope import OpenScope
from pamctl.store.embeddings import (
    FLOAT_BYTES,
    EmbeddingFiles,
    NewEmbedding,
    lock,
    stored_spaces,
)

_TOGETHER = 1000
# To find them takes a look at all that a space has.
_LOOKED_UP_TOGETHER = 16 * _TOGETHER


class Embedding(NamedTuple):
    """A vector as a bundle has it, in 32-bit floats, little-endian."""

    space_id: str
    object_id: str
    version_id: str
    vector: bytes


def departing(departure: Departure) -> Iterator[bytes]:
    """The vectors of what goes with its content, by Embedding Space and object: canonical
    JSON, as `schemas/bundle-embedding.schema.json` has it."""
    for space_id, space in sorted(stored_spaces(departure.scope.layout), key=lambda one: one[0]):
        names = _leaving(departure, space)
        while some := list(islice(names, _LOOKED_UP_TOGETHER)):
            rows = space.rows(frozenset(some))
            for row, vector in space.vectors(rows[name] for name in some if name in rows):
                yield canonical_plain(
                    {
                        "embedding_space_id": space_id,
                        "object_id": row.object_id,
                        "version_id": row.version_id,
                        "vector": encode(struct.pack(f"<{len(vector)}f", *vector)),
                    }
                )


def _leaving(departure: Departure, space: EmbeddingFiles) -> Iterator[str]:
    """The objects whose vectors go, in order."""
    scope, held_back = departure.scope, set(departure.held_back)
    versions = space.versions()
    for object_id in sorted(versions):
        version = scope.index.version(versions[object_id])
        if version is None or version.erased or object_id in departure.withdrawn:
            continue
        if held_back & {version.object_id, version.version_id}:
            continue
        if departure.selects is None or departure.selects(object_id):
            yield object_id


def as_embedding(data: bytes) -> Embedding | None:
    """What a line of a bundle holds; None where it is no embedding."""
    try:
        value = orjson.loads(data)
        if canonical(value) != data or not is_valid("bundle-embedding", value):
            return None
        vector = decode(value["vector"])
    except (orjson.JSONDecodeError, InvalidObject, ValueError):
        return None
    if not vector or len(vector) % FLOAT_BYTES:
        return None
    return Embedding(value["embedding_space_id"], value["object_id"], value["version_id"], vector)


def arrive(scope: OpenScope, staged: Path) -> None:
    """Put vectors that came in with a scope beside it, but for those that are there. They are
    derived: a death in between leaves some of them out, and importing again brings the rest."""
    if not staged.exists():
        return
    with staged.open("rb") as file, lock(scope.layout):
        found = (as_embedding(line.rstrip(b"\n")) for line in file)
        embeddings = (one for one in found if one is not None and _shows(scope, one))
        there = {space_id: space.versions() for space_id, space in stored_spaces(scope.layout)}
        for space_id, of_space in groupby(embeddings, key=lambda one: one.space_id):
            versions = there.get(space_id, {})
            new = (one for one in of_space if versions.get(one.object_id) != one.version_id)
            while some := list(islice(new, _TOGETHER)):
                dimensions = len(some[0].vector) // FLOAT_BYTES
                files = EmbeddingFiles(scope.layout, space_id, dimensions)
                files.put([NewEmbedding(one.object_id, one.version_id, one.vector) for one in some])


def _shows(scope: OpenScope, embedding: Embedding) -> bool:
    current = scope.index.current(embedding.object_id)
    return current is not None and current.availability_state == "available"
