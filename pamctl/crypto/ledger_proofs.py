"""Proofs about a ledger as files: text, small, and complete with the checkpoint they lead to.

    pam-proof/1 inclusion              pam-proof/1 consistency
    entry 17                           from 1000
    {the ledger line, as it is}        root base64
    hash base64                        hash base64
    ...                                ...

    the checkpoint                     the later checkpoint

`store-format/checkpoints.md` specifies both. The checkpoint may be unsigned: then a proof
says what follows from a head, and somebody else has to vouch for the head.
"""

from __future__ import annotations

import re
from base64 import b64encode

from pamctl.crypto import merkle
from pamctl.crypto.checkpoints import Checkpoint, decode_hash, parse_checkpoint, parse_text
from pamctl.crypto.signed_notes import Note
from pamctl.errors import InvalidRequest
from pamctl.limits import DOCUMENT_BYTES_MAX, INTEGER_MAX, PROOF_BYTES_MAX
from pamctl.named_tuples import NamedTuple

MARK = b"pam-proof/1 "
_NUMBER = re.compile(r"[1-9][0-9]{0,15}\Z")


class InclusionProof(NamedTuple):
    """That a line is entry `n`, counted from 1, of the ledger that the checkpoint is of."""

    n: int
    line: bytes
    path: tuple[bytes, ...]
    checkpoint: Checkpoint
    note: Note

    def holds(self) -> bool:
        """Whether the path leads from the line to the checkpoint's root."""
        leaf = merkle.leaf_hash(self.line)
        return merkle.includes(
            leaf, self.n - 1, self.checkpoint.size, self.path, self.checkpoint.root
        )

    def encoded(self) -> bytes:
        """The bytes of the file."""
        head = b"%sinclusion\nentry %d\n%s\n" % (MARK, self.n, self.line)
        return head + _hashes(self.path) + b"\n" + _tail(self.note)


class ConsistencyProof(NamedTuple):
    """That the ledger that the checkpoint is of begins with the `old_size` entries whose root
    is `old_root`."""

    old_size: int
    old_root: bytes
    path: tuple[bytes, ...]
    checkpoint: Checkpoint
    note: Note

    def holds(self) -> bool:
        """Whether the path leads from the one root to the other."""
        new = self.checkpoint
        return merkle.is_consistent(self.old_size, self.old_root, new.size, new.root, self.path)

    def encoded(self) -> bytes:
        """The bytes of the file."""
        root = b64encode(self.old_root)
        head = b"%sconsistency\nfrom %d\nroot %s\n" % (MARK, self.old_size, root)
        return head + _hashes(self.path) + b"\n" + _tail(self.note)


Proof = InclusionProof | ConsistencyProof


def parse_proof(data: bytes, *, what: str = "the proof") -> Proof:
    """The proof in `data`, nothing of it believed. Raises InvalidRequest."""
    if len(data) > PROOF_BYTES_MAX:
        raise InvalidRequest(f"{what} is longer than {PROOF_BYTES_MAX} bytes")
    if not data.startswith(MARK):
        raise InvalidRequest(f"{what} does not begin as a proof of pamctl does")
    above, separator, below = data.partition(b"\n\n")
    kind, *lines = above[len(MARK) :].split(b"\n")
    if not separator or len(lines) < 2:
        raise InvalidRequest(f"{what} is cut off")
    checkpoint, note = _checkpoint(below, what)
    path = tuple(_member(line, "hash", what) for line in lines[2:])
    if len(path) > merkle.PATH_HASHES_MAX:
        raise InvalidRequest(f"{what} has more than {merkle.PATH_HASHES_MAX} hashes")
    if kind == b"inclusion":
        if len(lines[1]) > DOCUMENT_BYTES_MAX:
            raise InvalidRequest(f"{what} discloses a line longer than any of a ledger")
        return InclusionProof(_count(lines[0], "entry", what), lines[1], path, checkpoint, note)
    if kind == b"consistency":
        root = _member(lines[1], "root", what)
        return ConsistencyProof(_count(lines[0], "from", what), root, path, checkpoint, note)
    raise InvalidRequest(f"{what} is of a kind that pamctl does not know")


def _checkpoint(data: bytes, what: str) -> tuple[Checkpoint, Note]:
    """The checkpoint at the end of a proof, signed or not."""
    if b"\n\n" in data:
        return parse_checkpoint(data, what=f"the checkpoint in {what}")
    try:
        text = data.decode()
    except UnicodeDecodeError as cause:
        raise InvalidRequest(f"the checkpoint in {what} is not UTF-8") from cause
    checkpoint = parse_text(text, what=f"the checkpoint in {what}")
    if text != checkpoint.text():
        raise InvalidRequest(
            f"{what} is cut off, or has more in its unsigned checkpoint than one can say"
        )
    return checkpoint, Note(text, ())


def _tail(note: Note) -> bytes:
    return note.encoded() if note.signatures else note.text.encode()


def _hashes(path: tuple[bytes, ...]) -> bytes:
    return b"".join(b"hash %s\n" % b64encode(one) for one in path)


def _member(line: bytes, name: str, what: str) -> bytes:
    word, _, value = line.decode("utf-8", "replace").partition(" ")
    if word != name:
        raise InvalidRequest(f"{what} has {word[:40]!r} where '{name}' belongs")
    return decode_hash(value, what)


def _count(line: bytes, name: str, what: str) -> int:
    word, _, value = line.decode("utf-8", "replace").partition(" ")
    if word != name or _NUMBER.match(value) is None or int(value) > INTEGER_MAX:
        raise InvalidRequest(f"{what} has no '{name}' with a number in its second line")
    return int(value)
