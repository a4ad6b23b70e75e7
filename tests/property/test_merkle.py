"""Proofs of trees of any size hold, and none holds after a change of anything in it."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pamctl.crypto import merkle
from tests.merkle_trees import leaf, nodes_of, tree_hash

SIZES = st.integers(1, 300)
LEAVES = [leaf(number.to_bytes(2)) for number in range(300)]
NODES = nodes_of(LEAVES)
CHANGES = st.sampled_from(("flip", "drop", "repeat", "swap", "append"))


def _changed(path: list[bytes], how: str, at: int) -> list[bytes]:
    """The path with one change."""
    if how == "append" or not path:
        return [*path, LEAVES[at % 300]]
    place = at % len(path)
    if how == "flip":
        one = bytearray(path[place])
        one[at % 32] ^= 1 << at % 8
        return [*path[:place], bytes(one), *path[place + 1 :]]
    if how == "drop":
        return path[:place] + path[place + 1 :]
    if how == "repeat":
        return [*path[:place], path[place], *path[place:]]
    return [*path[:place][::-1], *path[place:][::-1]]


@given(SIZES, st.data())
@settings(max_examples=120)
def test_inclusion(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    root = tree_hash(LEAVES[:size])
    path = merkle.inclusion_path(index, size, NODES)
    assert merkle.includes(LEAVES[index], index, size, path, root)
    other = data.draw(st.integers(0, 299).filter(lambda number: number != index))
    assert not merkle.includes(LEAVES[other], index, size, path, root)
    if other < size:
        assert not merkle.includes(LEAVES[index], other, size, path, root)
    changed = _changed(path, data.draw(CHANGES), data.draw(st.integers(0, 1000)))
    if changed != path:
        assert not merkle.includes(LEAVES[index], index, size, changed, root)


@given(SIZES, st.data())
@settings(max_examples=120)
@example(1, None)
def test_consistency(size: int, data: st.DataObject | None) -> None:
    if data is None:
        assert merkle.is_consistent(1, LEAVES[0], 1, LEAVES[0], ())
        return
    old = data.draw(st.integers(1, size))
    roots = tree_hash(LEAVES[:old]), tree_hash(LEAVES[:size])
    path = merkle.consistency_path(old, size, NODES)
    assert merkle.is_consistent(old, roots[0], size, roots[1], path)
    assert not merkle.is_consistent(old, LEAVES[7], size, roots[1], path)
    assert not merkle.is_consistent(old, roots[0], size, LEAVES[7], path)
    changed = _changed(path, data.draw(CHANGES), data.draw(st.integers(0, 1000)))
    if changed != path:
        assert not merkle.is_consistent(old, roots[0], size, roots[1], changed)


@given(st.integers(1, 200), st.integers(0, 199), st.integers(0, 31))
@settings(max_examples=60)
def test_a_ledger_that_was_changed_is_not_consistent(size: int, at: int, byte: int) -> None:
    """Somebody who changes an entry and makes everything after it anew can prove nothing."""
    if at >= size:
        return
    other = bytearray(LEAVES[at])
    other[byte] ^= 1
    forged = [*LEAVES[:at], bytes(other), *LEAVES[at + 1 : 300]]
    path = merkle.consistency_path(size, 300, nodes_of(forged))
    assert not merkle.is_consistent(size, tree_hash(LEAVES[:size]), 300, tree_hash(forged), path)
