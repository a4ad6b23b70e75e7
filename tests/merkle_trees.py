"""Merkle trees as RFC 6962 §2.1 defines them, written down as it does: for small sizes, and
nothing like the implementation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256


def leaf(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


def tree_hash(leaves: Sequence[bytes]) -> bytes:
    """MTH over hashes of leaves."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return sha256(b"\x01" + tree_hash(leaves[:half]) + tree_hash(leaves[half:])).digest()


def nodes_of(leaves: Sequence[bytes]) -> Callable[[int, int], bytes]:
    """The complete subtrees of a tree, each worked out from its leaves."""

    def node(level: int, index: int) -> bytes:
        below = leaves[index << level : (index + 1) << level]
        assert len(below) == 1 << level, "not complete"
        return tree_hash(below)

    return node
