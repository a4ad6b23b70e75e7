"""Checkpoints (C2SP tlog-checkpoint): the signed head of a ledger, in a few lines of text.

    pam/store:.../workspace:default      origin: which ledger this is
    1234                                 entries
    base64 of 32 bytes                   root of the Merkle tree over its lines
    head 64 hexadecimal digits           extension: SHA-256 of the last of them

`store-format/checkpoints.md` specifies what each line means.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode

from pamctl.crypto.merkle import HASH_BYTES
from pamctl.crypto.signed_notes import Note, parse_note
from pamctl.errors import InvalidRequest
from pamctl.limits import CHECKPOINT_BYTES_MAX, INTEGER_MAX
from pamctl.named_tuples import NamedTuple

_SIZE = re.compile(r"[1-9][0-9]{0,15}\Z")
_HEAD = re.compile(r"head ([0-9a-f]{64})\Z")


class Checkpoint(NamedTuple):
    """What a checkpoint says.

    origin: names store and scope. size: entries, at least 1. root: 32 bytes.
    head: SHA-256 of the last line, 64 hexadecimal digits; None where another tool made it.
    """

    origin: str
    size: int
    root: bytes
    head: str | None

    def text(self) -> str:
        """What is signed."""
        head = "" if self.head is None else f"head {self.head}\n"
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n{head}"


def origin_of(store_id: str, scope_id: str) -> str:
    """The origin of a ledger's checkpoints, from the first entry of the ledger: it stays the
    same wherever the ledger is copied. A plus sign, which no origin may have, becomes %2B."""
    return f"pam/{store_id}/{scope_id}".replace("+", "%2B")


def scope_of(origin: str) -> str | None:
    """The scope id in an origin of ours; None in another's."""
    mark, _, rest = origin.partition("/")
    store_id, _, scope_id = rest.partition("/")
    return scope_id.replace("%2B", "+") if mark == "pam" and store_id and scope_id else None


def parse_checkpoint(data: bytes, *, what: str = "the checkpoint") -> tuple[Checkpoint, Note]:
    """The checkpoint in `data`, nothing of it believed. Raises InvalidRequest."""
    if len(data) > CHECKPOINT_BYTES_MAX:
        raise InvalidRequest(f"{what} is longer than {CHECKPOINT_BYTES_MAX} bytes")
    note = parse_note(data, what=what)
    return parse_text(note.text, what=what), note


def parse_text(text: str, *, what: str) -> Checkpoint:
    """What a checkpoint's text says, without signatures. Raises InvalidRequest."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 3 or not all(lines):
        raise InvalidRequest(
            f"{what} is no checkpoint",
            hint="its first lines are an origin, a number of entries and a root",
        )
    origin, size, root = lines[:3]
    if origin.split() != [origin] or "+" in origin:
        raise InvalidRequest(f"{what} has an origin with spaces or a plus sign")
    if _SIZE.match(size) is None or int(size) > INTEGER_MAX:
        raise InvalidRequest(f"{what} has no number of entries in its second line")
    heads = [match[1] for match in map(_HEAD.match, lines[3:]) if match is not None]
    if len(heads) > 1:
        raise InvalidRequest(f"{what} names two heads")
    return Checkpoint(origin, int(size), decode_hash(root, what), heads[0] if heads else None)


def decode_hash(text: str, what: str) -> bytes:
    """The 32 bytes of a hash in padded base64. Raises InvalidRequest."""
    try:
        found = b64decode(text, validate=True)
    except ValueError:
        found = b""
    if len(found) != HASH_BYTES or b64encode(found).decode() != text:
        raise InvalidRequest(f"{what} has {text[:60]!r} where 32 bytes in base64 belong")
    return found
