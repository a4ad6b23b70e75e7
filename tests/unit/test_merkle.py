"""Roots and proofs against the constants that the Certificate Transparency project published,
and against the definitions of RFC 6962 for every size up to a few dozen."""

from __future__ import annotations

import json

import pytest

from pamctl.crypto import merkle
from tests.merkle_trees import leaf, nodes_of, tree_hash
from tests.shared import shared_path

LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
# (index, size): the proof; from the reference tests of Certificate Transparency.
INCLUSION = {
    (0, 1): (),
    (0, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (5, 8): (
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 3): ("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",),
    (1, 5): (
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}
CONSISTENCY = {
    (1, 1): (),
    (1, 8): INCLUSION[0, 8],
    (6, 8): (
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 5): (
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}


def test_the_published_roots() -> None:
    tree = merkle.CompactRange()
    assert tree.root() == merkle.EMPTY_ROOT
    assert tree.root().hex().startswith("e3b0c442")
    for size, (data, root) in enumerate(zip(LEAVES, ROOTS, strict=True), 1):
        tree.append(merkle.leaf_hash(data))
        assert (tree.size, tree.root().hex()) == (size, root)


def test_the_vectors_beside_the_checkout_say_the_same() -> None:
    vectors = json.loads(shared_path("vectors/merkle/rfc6962-roots.json").read_text())
    assert [bytes.fromhex(text) for text in vectors["leaves_hex"]] == LEAVES
    assert tuple(vectors["root_hex_by_size"].values()) == ROOTS


@pytest.mark.parametrize(("place", "expected"), INCLUSION.items(), ids=str)
def test_the_published_inclusion_proofs(place: tuple[int, int], expected: tuple[str, ...]) -> None:
    index, size = place
    leaves = [leaf(data) for data in LEAVES]
    path = merkle.inclusion_path(index, size, nodes_of(leaves))
    assert tuple(one.hex() for one in path) == expected
    assert merkle.includes(leaves[index], index, size, path, bytes.fromhex(ROOTS[size - 1]))


@pytest.mark.parametrize(("sizes", "expected"), CONSISTENCY.items(), ids=str)
def test_the_published_consistency_proofs(
    sizes: tuple[int, int], expected: tuple[str, ...]
) -> None:
    old, new = sizes
    nodes = nodes_of([leaf(data) for data in LEAVES])
    path = merkle.consistency_path(old, new, nodes)
    assert tuple(one.hex() for one in path) == expected
    roots = bytes.fromhex(ROOTS[old - 1]), bytes.fromhex(ROOTS[new - 1])
    assert merkle.is_consistent(old, roots[0], new, roots[1], path)


def test_every_leaf_of_every_size_by_the_definition() -> None:
    leaves = [leaf(bytes([number])) for number in range(40)]
    nodes = nodes_of(leaves)
    tree = merkle.CompactRange()
    for size in range(1, len(leaves) + 1):
        tree.append(leaves[size - 1])
        root = tree_hash(leaves[:size])
        assert tree.root() == merkle.root_of(size, nodes) == root
        for index in range(size):
            path = merkle.inclusion_path(index, size, nodes)
            assert len(path) <= (size - 1).bit_length()
            assert merkle.includes(leaves[index], index, size, path, root)
        for old in range(1, size + 1):
            path = merkle.consistency_path(old, size, nodes)
            assert len(path) <= size.bit_length() + 1
            assert merkle.is_consistent(old, tree_hash(leaves[:old]), size, root, path)


def test_an_append_says_which_subtrees_it_completed() -> None:
    tree = merkle.CompactRange()
    leaves = [leaf(bytes([number])) for number in range(8)]
    made = [tree.append(one) for one in leaves]
    assert [len(hashes) for hashes in made] == [1, 2, 1, 3, 1, 2, 1, 4]
    assert made[7] == [tree_hash(leaves[8 - (1 << level) :]) for level in range(4)]


def test_a_leaf_does_not_pass_for_a_node() -> None:
    left, right = leaf(b"one"), leaf(b"two")
    assert merkle.leaf_hash(left + right) != merkle.node_hash(left, right)


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0)])
def test_no_proof_of_a_leaf_that_is_not_there(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="no leaf"):
        merkle.inclusion_path(index, size, nodes_of([leaf(b"")] * 3))
    assert not merkle.includes(leaf(b""), index, size, (), leaf(b""))


@pytest.mark.parametrize(("old", "size"), [(0, 3), (4, 3)])
def test_no_proof_from_what_is_no_beginning(old: int, size: int) -> None:
    with pytest.raises(ValueError, match="no beginning"):
        merkle.consistency_path(old, size, nodes_of([leaf(b"")] * 4))
    assert not merkle.is_consistent(old, leaf(b""), size, leaf(b""), ())
