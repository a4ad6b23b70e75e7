"""Checkpoints of a scope's ledger, signed by its owner, and proofs that lead to them.

Whoever has the files of a store may make both: like `fsck` this is work on the store as a
whole, and no operation on the memory in it. A proof discloses the one line that it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import orjson

from pamctl.crypto.checkpoints import Checkpoint, origin_of, parse_checkpoint
from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.ledger_proofs import ConsistencyProof, InclusionProof
from pamctl.crypto.merkle import consistency_path, inclusion_path
from pamctl.crypto.signed_notes import Note, cosign, sign
from pamctl.errors import InvalidRequest, ObjectNotFound, StoreDamaged
from pamctl.named_tuples import NamedTuple
from pamctl.store.layout import ScopeLayout, StoreLayout
from pamctl.store.ledger_tree import LedgerTree

_Made = TypeVar("_Made")


class Given(NamedTuple):
    """A checkpoint that was given: its name in messages, and what it says."""

    name: str
    checkpoint: Checkpoint
    note: Note


def read_checkpoint(data: bytes, name: str) -> Given:
    """The checkpoint in a file. Raises InvalidRequest."""
    return Given(name, *parse_checkpoint(data, what=name))


class LedgerCheckpoints:
    """Makes checkpoints and proofs of one scope's ledger."""

    def __init__(self, layout: StoreLayout, scope: ScopeLayout) -> None:
        self._layout = layout
        self._scope = scope

    def create(self, key: PrivateKey) -> tuple[Checkpoint, Note]:
        """Sign the ledger's head. The whole ledger is read first and its chain checked: a
        signature must stand for what was read, not for what was kept of it.

        The same ledger and key give the same bytes. Raises StoreDamaged where the chain does
        not hold.
        """
        with LedgerTree(self._layout, self._scope) as tree:
            grown, root = tree.read_all()
            checkpoint = Checkpoint(_origin(tree), grown.entries, root, grown.head)
        text = checkpoint.text()
        return checkpoint, Note(text, (sign(text, checkpoint.origin, key),))

    def prove_event(self, sequence: int, given: Given | None) -> InclusionProof:
        """Proof of the entry that holds the event of that ledger sequence. Raises as
        `prove_entry`."""
        with LedgerTree(self._layout, self._scope) as tree:
            events = tree.refresh().events
            n = tree.entry_of_event(sequence)
            if n is None:
                raise ObjectNotFound(f"there is no event {sequence}; the ledger has {events}")
            return self._included(tree, n, given)

    def prove_entry(self, n: int, given: Given | None) -> InclusionProof:
        """Proof that entry `n` is in the ledger that a checkpoint is of; without one, in the
        ledger as it is now.

        Raises ObjectNotFound where there is no such entry, and InvalidRequest for a
        checkpoint that is not of this ledger, or from before the entry.
        """
        with LedgerTree(self._layout, self._scope) as tree:
            tree.refresh()
            return self._included(tree, n, given)

    def prove_growth(self, old: Given, given: Given | None) -> ConsistencyProof:
        """Proof that the ledger that `given` is of, or the one of now, begins with the one
        that `old` is of. Raises InvalidRequest for a checkpoint that is not of this ledger."""
        with LedgerTree(self._layout, self._scope) as tree:
            tree.refresh()
            _require_ours(tree, old)
            new, note = self._head(tree, given)
            if old.checkpoint.size > new.size:
                raise InvalidRequest(
                    f"{old.name} is of {old.checkpoint.size} entries, more than the {new.size} "
                    "that it is to be the beginning of"
                )

            def prove() -> ConsistencyProof:
                path = consistency_path(old.checkpoint.size, new.size, tree.node)
                size, root = old.checkpoint.size, old.checkpoint.root
                return ConsistencyProof(size, root, tuple(path), new, note)

            return _sound(tree, prove, ConsistencyProof.holds)

    def _included(self, tree: LedgerTree, n: int, given: Given | None) -> InclusionProof:
        checkpoint, note = self._head(tree, given)
        if not 1 <= n <= tree.grown.entries:
            raise ObjectNotFound(f"there is no entry {n}; the ledger has {tree.grown.entries}")
        if n > checkpoint.size:
            raise InvalidRequest(
                f"entry {n} is younger than the checkpoint, which is of {checkpoint.size} entries",
                hint="make a new one with `pamctl checkpoint create`",
            )

        def prove() -> InclusionProof:
            path = inclusion_path(n - 1, checkpoint.size, tree.node)
            return InclusionProof(n, tree.line(n), tuple(path), checkpoint, note)

        return _sound(tree, prove, InclusionProof.holds)

    def _head(self, tree: LedgerTree, given: Given | None) -> tuple[Checkpoint, Note]:
        """The head that a proof leads to."""
        if given is not None:
            _require_ours(tree, given)
            return given.checkpoint, given.note
        grown = tree.grown
        root = _sound(tree, lambda: tree.root(grown.entries), lambda _: True)
        now = Checkpoint(_origin(tree), grown.entries, root, grown.head)
        return now, Note(now.text(), ())


def witness(given: Given, name: str, key: PrivateKey, time_sec: int) -> Note:
    """The checkpoint with one more cosignature. What the witness checked before it signs is
    for the caller to say; a second one of the same key takes the place of the first."""
    made = cosign(given.note.text, name, key, time_sec)
    others = [
        signature
        for signature in given.note.signatures
        if (signature.name, signature.key_hash) != (made.name, made.key_hash)
    ]
    return given.note._replace(signatures=(*others, made))


def _sound(tree: LedgerTree, make: Callable[[], _Made], holds: Callable[[_Made], bool]) -> _Made:
    """What `make` makes from the tree; where the tree that was kept is no good, from one that
    was made anew."""
    try:
        made = make()
        if holds(made):
            return made
    except StoreDamaged:
        pass
    tree.forget()
    made = make()
    if not holds(made):
        raise StoreDamaged("the ledger does not hold what the checkpoint is of")
    return made


def _require_ours(tree: LedgerTree, given: Given) -> None:
    """Raises InvalidRequest for a checkpoint that is not of this ledger."""
    stated, entries = given.checkpoint, tree.grown.entries
    origin = _origin(tree)
    if stated.origin != origin:
        raise InvalidRequest(
            f"{given.name} is of another ledger: {stated.origin}", hint=f"this one is {origin}"
        )
    if stated.size > entries:
        raise InvalidRequest(
            f"{given.name} is of {stated.size} entries and the ledger has {entries}: its tail was "
            "cut off",
            hint="`pamctl fsck --checkpoint FILE --trust KEY` says what is damaged",
        )
    if _root_or_none(tree, stated.size) != stated.root:
        tree.forget()
        if tree.root(stated.size) != stated.root:
            raise InvalidRequest(
                f"{given.name} is not of this ledger as it is: something in its first "
                f"{stated.size} entries is not what was signed",
                hint="`pamctl checkpoint verify FILE --store DIR --trust KEY` says what",
            )


def _root_or_none(tree: LedgerTree, size: int) -> bytes | None:
    try:
        return tree.root(size)
    except StoreDamaged:
        return None


def _origin(tree: LedgerTree) -> str:
    """The origin of the ledger's checkpoints, by its first entry."""
    if tree.grown.entries == 0:
        raise StoreDamaged("the ledger has no entry; run `pamctl fsck`")
    body = orjson.loads(tree.line(1))["body"]
    return origin_of(str(body["store_id"]), str(body["scope_id"]))
