"""Embedding Spaces: what a vector has to say of itself, and which may be compared.
PAMSPEC §7.8."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from pamctl.errors import EmbeddingSpaceMismatch, InvalidRequest

BUILT_IN = "space:pamctl-hashed-text:1"
"""The space of the embedder that pamctl has itself: `index.hashed_text`."""

_NOT_IDENTITY = ("created_at", "created_by")


def comparable(space_a: str, space_b: str) -> bool:
    """Whether vectors of two Embedding Spaces, given by id, may be compared.

    The id alone tells: two spaces of one model, with one number of dimensions and one
    metric, are still two.
    """
    return space_a == space_b


def require_comparable(space_a: str, space_b: str) -> None:
    """Raises EmbeddingSpaceMismatch unless vectors of the two spaces may be compared."""
    if not comparable(space_a, space_b):
        raise EmbeddingSpaceMismatch(
            f"vectors of {space_a} and of {space_b} cannot be compared",
            hint="embed both in one space",
            policy_rule_id="embedding_space_comparison",
        )


def require_space(embedding: Mapping[str, Any], pointer: str) -> str:
    """The id of the space that a vector names. Raises EmbeddingSpaceMismatch without one."""
    space_id = embedding.get("embedding_space_id")
    if space_id is None:
        raise EmbeddingSpaceMismatch(
            f"{pointer} names no Embedding Space, and a vector means nothing without one",
            hint="give it embedding_space_id; `pamctl space list` shows those of the scope",
            policy_rule_id="embedding_space_required",
            pointer=f"{pointer}/embedding_space_id",
        )
    return str(space_id)


def vector_bytes(
    vector: Sequence[int | float], descriptor: Mapping[str, Any], pointer: str
) -> bytes:
    """A vector as little-endian 32-bit floats. pointer: of what the vector is a member of.

    Raises EmbeddingSpaceMismatch for another number of dimensions than the space has, and
    InvalidRequest for a number beyond the range of such floats.
    """
    dimensions = descriptor["dimensions"]
    if len(vector) != dimensions:
        raise EmbeddingSpaceMismatch(
            f"{pointer or 'the vector'} has {len(vector)} dimensions; "
            f"{descriptor['embedding_space_id']} has {dimensions}",
            policy_rule_id="embedding_space_dimensions",
            pointer=f"{pointer}/vector",
        )
    try:
        data = struct.pack(f"<{dimensions}f", *vector)
    except (OverflowError, struct.error):
        data = None
    if data is None or not all(map(math.isfinite, vector)):
        raise InvalidRequest(
            f"{pointer}/vector holds a number that a 32-bit float cannot",
            pointer=f"{pointer}/vector",
        )
    return data


def same_space(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two descriptors say the same of vectors, whoever made them and when."""
    return _identity(one) == _identity(other)


def _identity(descriptor: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in descriptor.items() if name not in _NOT_IDENTITY}


def redescribed(space_id: str) -> EmbeddingSpaceMismatch:
    """The refusal of another descriptor under an id that is taken."""
    return EmbeddingSpaceMismatch(
        f"{space_id} is described otherwise in this scope, and a space never changes",
        hint="another model, revision or preparation is another space: give it an id of its own",
        policy_rule_id="embedding_space_immutable",
        embedding_space_id=space_id,
    )
