"""Merkle trees over a list that only grows: roots and proofs as RFC 6962 §2.1 has them.

Proofs are made from the hashes of complete subtrees, which never change once they are there:
`(level, index)` names the one over the leaves from `index << level` to
`(index + 1 << level) - 1`. Whoever keeps them makes a proof with a number of look-ups that
grows with the logarithm of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pamctl.encoding.digests import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()
PATH_HASHES_MAX = 64
"""Hashes in a proof: more would be of a list that no file system holds."""

Nodes = Callable[[int, int], bytes]
"""The hash of the complete subtree at (level, index)."""


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf. Its prefix keeps a leaf from passing for a node."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node over the hashes of its two children."""
    return sha256(b"\x01" + left + right).digest()


class CompactRange:
    """A tree of which only the hashes of its largest complete subtrees are kept.

    Attributes:
        size: leaves so far.
        peaks: the hashes, the largest subtree first.
    """

    __slots__ = ("peaks", "size")

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        self.size = size
        self.peaks = list(peaks)

    def append(self, leaf: bytes) -> list[bytes]:
        """Take in the hash of the next leaf. Returns it and the hashes of the subtrees that it
        completes, level by level."""
        made = [leaf]
        size = self.size
        while size & 1:
            made.append(node_hash(self.peaks.pop(), made[-1]))
            size >>= 1
        self.peaks.append(made[-1])
        self.size += 1
        return made

    def root(self) -> bytes:
        """The root of the tree so far."""
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


def peaks_of(size: int) -> list[tuple[int, int]]:
    """The largest complete subtrees of a tree of `size` leaves, the largest first."""
    found, start = [], 0
    for level in reversed(range(size.bit_length())):
        if size >> level & 1:
            found.append((level, start >> level))
            start += 1 << level
    return found


def root_of(size: int, nodes: Nodes) -> bytes:
    """The root of the first `size` leaves of the tree that `nodes` knows."""
    return CompactRange(size, [nodes(*peak) for peak in peaks_of(size)]).root()


def inclusion_path(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """The proof that the leaf at `index`, counted from 0, is in the tree of `size` leaves:
    PATH of RFC 6962 §2.1.1. At most PATH_HASHES_MAX hashes."""
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {index}")
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(_range_root(middle, end, nodes))
            end = middle
        else:
            path.append(_range_root(start, middle, nodes))
            start = middle
    return path[::-1]


def consistency_path(old: int, size: int, nodes: Nodes) -> list[bytes]:
    """The proof that the tree of `old` leaves is the beginning of the one of `size`: PROOF of
    RFC 6962 §2.1.2. Empty where the two are one tree."""
    if not 0 < old <= size:
        raise ValueError(f"{old} leaves are no beginning of {size}")
    path, start, end, whole = [], 0, size, True
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            path.append(_range_root(middle, end, nodes))
            end = middle
        else:
            path.append(_range_root(start, middle, nodes))
            start, whole = middle, False
    if not whole:
        path.append(_range_root(start, end, nodes))
    return path[::-1]


def includes(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether `path` proves that the leaf with this hash is at `index` in the tree with this
    root. RFC 9162 §2.1.3.2."""
    if not 0 <= index < size:
        return False
    at, last, found = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = node_hash(sibling, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def is_consistent(old: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Whether `path` proves that the tree of `old` leaves is the beginning of the one of
    `size`. RFC 9162 §2.1.4.2."""
    if not 0 < old <= size:
        return False
    if old == size:
        return not path and old_root == root
    hashes = list(path)
    if old & (old - 1) == 0:
        hashes.insert(0, old_root)
    if not hashes:
        return False
    at, last = old - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            before = node_hash(sibling, before)
            after = node_hash(sibling, after)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            after = node_hash(after, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and before == old_root and after == root


def _split(size: int) -> int:
    """The largest power of two below `size`, which is at least 2."""
    return 1 << (size - 1).bit_length() - 1


def _range_root(start: int, end: int, nodes: Nodes) -> bytes:
    """The root over the leaves from `start` to `end`, which begin at a subtree as large as
    the range is at most."""
    found, at = [], start
    for level in reversed(range((end - start).bit_length())):
        if end - start >> level & 1:
            found.append(nodes(level, at >> level))
            at += 1 << level
    return CompactRange(end - start, found).root()
