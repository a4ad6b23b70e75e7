"""The tree that is kept of a ledger is always the ledger's, whatever became of the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pamctl.errors import StoreDamaged
from pamctl.store.layout import ScopeLayout, StoreLayout
from pamctl.store.ledger_tree import LedgerTree
from tests.merkle_trees import leaf, tree_hash
from tests.scope_ledgers import commit, creation, new_scope

Scope = tuple[StoreLayout, ScopeLayout]


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    """A scope with 21 entries, ten of them events."""
    layout = new_scope(tmp_path / ".pam")
    for sequence in range(1, 11):
        commit(layout, creation(sequence))
    return StoreLayout(tmp_path / ".pam"), layout


def lines(scope: Scope) -> list[bytes]:
    return scope[1].ledger.read_bytes().split(b"\n")[:-1]


def tree_file(scope: Scope) -> Path:
    return scope[0].index / f"{scope[1].root.name}.tree"


def assert_right(scope: Scope) -> None:
    """Every hash, line and event, from a tree that is opened now."""
    there = lines(scope)
    leaves = [leaf(line) for line in there]
    with LedgerTree(*scope) as tree:
        grown = tree.refresh()
        assert (grown.entries, grown.events) == (len(there), sum(b'"event"' in x for x in there))
        assert [tree.line(n) for n in range(1, len(there) + 1)] == there
        for size in range(1, len(there) + 1):
            assert tree.root(size) == tree_hash(leaves[:size])
        for level in range(5):
            for index in range(len(there) >> level):
                below = leaves[index << level : (index + 1) << level]
                assert tree.node(level, index) == tree_hash(below)
        for sequence in range(1, grown.events + 1):
            n = tree.entry_of_event(sequence)
            assert n is not None
            assert b'"sequence":%d}' % sequence in there[n - 1]
        assert tree.entry_of_event(0) is tree.entry_of_event(grown.events + 1) is None


def test_it_is_made_and_grows_with_the_ledger(scope: Scope) -> None:
    assert_right(scope)
    before = tree_file(scope).read_bytes()
    commit(scope[1], creation(11))
    assert_right(scope)
    assert tree_file(scope).read_bytes().startswith(before), "what was kept never changes"
    assert len(tree_file(scope).read_bytes()) > len(before)


def test_it_reads_only_what_is_new(scope: Scope) -> None:
    """A tree that is up to date does without the lines before the last one."""
    assert_right(scope)
    ledger = scope[1].ledger
    data = ledger.read_bytes()
    start = data.rindex(b"\n", 0, -1) + 1
    ledger.write_bytes(b"x" * start + data[start:])
    with LedgerTree(*scope) as tree:
        assert tree.refresh().entries == 21
        assert tree.root(21) == tree_hash([leaf(line) for line in data.split(b"\n")[:-1]])


def _truncated(at: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:at])

    return damage


def _zeroed(at: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[at : at + 700] = bytes(len(data[at : at + 700]))
        path.write_bytes(data)

    return damage


def _longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(5000))


def _other(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + path.read_bytes()[16:])


@pytest.mark.parametrize(
    "damage",
    [*(_truncated(at) for at in (0, 7, 16, 60, 300, 1000)), _longer, _other],
    ids=["0", "7", "16", "60", "300", "1000", "longer", "other"],
)
def test_a_torn_file_is_gone_on_from_or_made_anew(
    scope: Scope, damage: Callable[[Path], None]
) -> None:
    assert_right(scope)
    damage(tree_file(scope))
    assert_right(scope)


@pytest.mark.parametrize("at", [16, 100, 500])
def test_lost_bytes_are_noticed_where_they_are_used(scope: Scope, at: int) -> None:
    assert_right(scope)
    _zeroed(at)(tree_file(scope))
    with LedgerTree(*scope) as tree:
        tree.refresh()
        with pytest.raises(StoreDamaged):
            for level in range(4):
                for index in range(21 >> level):
                    tree.node(level, index)
        tree.forget()
        assert tree.root(21) == tree_hash([leaf(line) for line in lines(scope)])
    assert_right(scope)


def test_another_ledger_in_its_place_is_noticed(scope: Scope) -> None:
    assert_right(scope)
    there = lines(scope)
    scope[1].ledger.write_bytes(b"".join(line + b"\n" for line in there[:11]))
    assert_right(scope)
    commit(scope[1], creation(6))
    assert_right(scope)


def test_a_root_that_is_signed_is_not_taken_from_the_file(scope: Scope) -> None:
    assert_right(scope)
    _zeroed(100)(tree_file(scope))
    with LedgerTree(*scope) as tree:
        grown, root = tree.read_all()
        assert grown.entries == 21
        assert root == tree_hash([leaf(line) for line in lines(scope)])
    assert_right(scope)


def test_only_whole_transactions_count(scope: Scope) -> None:
    whole = lines(scope)
    commit(scope[1], creation(11))
    torn = lines(scope)
    for tail in (torn[21] + b"\n", torn[21][:50], b"\0" * 60, b"\0" * 60 + b"\n"):
        scope[1].ledger.write_bytes(b"".join(line + b"\n" for line in whole) + tail)
        with LedgerTree(*scope) as tree:
            assert tree.refresh().entries == 21
            assert tree.read_all()[0].entries == 21


@pytest.mark.parametrize("entry", [1, 2, 10, 20])
def test_a_broken_chain_is_never_signed(scope: Scope, entry: int) -> None:
    there = lines(scope)
    there[entry - 1] = there[entry - 1].replace(b'"n"', b'"m"')
    scope[1].ledger.write_bytes(b"".join(line + b"\n" for line in there))
    with LedgerTree(*scope) as tree, pytest.raises(StoreDamaged):
        tree.read_all()


def test_where_nothing_can_be_written_it_lives_in_memory(scope: Scope) -> None:
    """A folder stands where the file belongs: it can be neither written nor read."""
    tree_file(scope).mkdir()
    assert_right(scope)
    assert list(tree_file(scope).iterdir()) == []


def test_part_in_the_file_and_part_in_memory(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_right(scope)
    before = tree_file(scope).read_bytes()
    for sequence in range(11, 16):
        commit(scope[1], creation(sequence))

    def no_room(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", no_room)
    assert_right(scope)
    assert tree_file(scope).read_bytes() == before


def test_no_link_is_followed(scope: Scope, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine")
    for make in (tree_file(scope).symlink_to, tree_file(scope).hardlink_to):
        make(elsewhere)
        assert_right(scope)
        assert elsewhere.read_bytes() == b"mine"
        tree_file(scope).unlink()
