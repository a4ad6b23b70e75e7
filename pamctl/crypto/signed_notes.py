"""Signed notes (C2SP signed-note): a text, and below an empty line one signature a line.

    text that ends in a newline

    \u2014 NAME base64(key hash, signature)

Two kinds of signature are made and checked, both Ed25519: 0x01, over the text itself, and
0x04, a timestamped cosignature (C2SP tlog-cosignature) as witnesses give it. A key hash says
which key of which name may have signed; it proves nothing before the signature is checked.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence

from pamctl.crypto.key_forms import read_public_key
from pamctl.crypto.keys import SIGNATURE_BYTES, PrivateKey, PublicKey
from pamctl.encoding.digests import sha256
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest
from pamctl.named_tuples import NamedTuple

ED25519 = 0x01
COSIGNATURE = 0x04
HASH_BYTES = 4
SIGNATURES_MAX = 64
"""Signatures of one note: a log and more witnesses than anybody runs."""

_TIME_BYTES = 8
_SEPARATOR = b"\n\n\xe2\x80\x94 "
_LINE = re.compile("\u2014 ([^ +\n]+) ([A-Za-z0-9+/]+={0,2})\\Z")
_VERIFIER = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})\Z")
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f]")


class Signature(NamedTuple):
    """One signature line: whose it says it is, and its bytes behind the key hash."""

    name: str
    key_hash: bytes
    data: bytes

    def line(self) -> str:
        """As it stands in a note, without its newline."""
        return f"\u2014 {self.name} {b64encode(self.key_hash + self.data).decode()}"


class Note(NamedTuple):
    """A note as it was read. `text` ends in a newline and is what signatures are over."""

    text: str
    signatures: tuple[Signature, ...]

    def encoded(self) -> bytes:
        """The bytes of the note."""
        lines = "".join(signature.line() + "\n" for signature in self.signatures)
        return f"{self.text}\n{lines}".encode()


class TrustedKey(NamedTuple):
    """A key that somebody decided to believe.

    name, algorithm: what it must sign as; None where it was pinned without saying.
    """

    public: PublicKey
    name: str | None = None
    algorithm: int | None = None


class Checked(NamedTuple):
    """What a signature turned out to be.

    status: `verified`; `invalid` when it names a trusted key and is not its; `unknown` when
        no trusted key can have made it.
    key: the trusted key. time_sec: of a cosignature, Unix seconds.
    """

    name: str
    status: str
    algorithm: int | None = None
    key: PublicKey | None = None
    time_sec: int | None = None


def key_hash(name: str, algorithm: int, public: PublicKey) -> bytes:
    """The four bytes by which a signature line points to a key."""
    return sha256(name.encode() + b"\n" + bytes([algorithm]) + public.raw).digest()[:HASH_BYTES]


def verifier_key(name: str, algorithm: int, public: PublicKey) -> str:
    """A key as others pin it (C2SP signed-note): name, key hash and key in one word."""
    key = b64encode(bytes([algorithm]) + public.raw).decode()
    return f"{name}+{key_hash(name, algorithm, public).hex()}+{key}"


def read_key(data: bytes) -> TrustedKey:
    """The key in a file: a verifier key, what `key show --json` prints, or any form that
    read_public_key takes. Raises InvalidRequest."""
    text = data.strip()
    if text.startswith(b"{"):
        record = parse(text, what="the key")
        spki = record.get("public_key_spki_b64u") if isinstance(record, dict) else None
        if not isinstance(spki, str):
            raise InvalidRequest("the JSON of the key has no public_key_spki_b64u")
        if record.get("status", "active") != "active":
            raise InvalidRequest(
                f"the key is {str(record['status'])[:20]}, by its own record",
                hint="ask its owner for the key that took its place",
            )
        return TrustedKey(PublicKey.from_spki_b64u(spki))
    match = _VERIFIER.match(text.decode("utf-8", "replace"))
    if match is None:
        return TrustedKey(read_public_key(data).key)
    name, stated, encoded = match.groups()
    key = _base64(encoded)
    if key is None or not key or key[0] not in (ED25519, COSIGNATURE):
        raise InvalidRequest(
            "this verifier key is of a kind that pamctl does not know",
            hint="pamctl takes Ed25519 (1) and timestamped Ed25519 cosignatures (4)",
        )
    trusted = TrustedKey(PublicKey(key[1:]), name, key[0])
    if key_hash(name, key[0], trusted.public).hex() != stated:
        raise InvalidRequest("the hash in this verifier key is not the key's; it was mistyped")
    return trusted


def parse_note(data: bytes, *, what: str) -> Note:
    """The note in `data`, nothing of it believed. Raises InvalidRequest, which names `what`."""
    cut = data.rfind(b"\n\n")
    if cut < 0 or not data.endswith(b"\n") or not data[cut:].startswith(_SEPARATOR):
        raise InvalidRequest(
            f"{what} is no signed note",
            hint="a text, an empty line, and lines that begin with a dash (U+2014) and a name",
        )
    try:
        text, below = data[: cut + 1].decode(), data[cut + 2 :].decode()
    except UnicodeDecodeError as cause:
        raise InvalidRequest(f"{what} is not UTF-8") from cause
    if _CONTROLS.search(text) is not None:
        raise InvalidRequest(f"{what} has control characters in its text")
    lines = below[:-1].split("\n")
    if len(lines) > SIGNATURES_MAX:
        raise InvalidRequest(f"{what} has more than {SIGNATURES_MAX} signatures")
    return Note(text, tuple(_signature(line, what) for line in lines))


def sign(text: str, name: str, key: PrivateKey) -> Signature:
    """The signature of `key`, under that name, over a text that ends in a newline."""
    _check_name(name)
    return Signature(name, key_hash(name, ED25519, key.public), key.sign(text.encode()))


def cosign(text: str, name: str, key: PrivateKey, time_sec: int) -> Signature:
    """A witness's cosignature (C2SP tlog-cosignature): at that time, it had seen nothing
    that contradicts the checkpoint in `text`."""
    _check_name(name)
    data = time_sec.to_bytes(_TIME_BYTES) + key.sign(_cosigned(text, time_sec))
    return Signature(name, key_hash(name, COSIGNATURE, key.public), data)


def check_signatures(note: Note, trusted: Sequence[TrustedKey]) -> list[Checked]:
    """What each signature of the note is worth to somebody who trusts these keys."""
    return [_checked(note.text, signature, trusted) for signature in note.signatures]


def _checked(text: str, signature: Signature, trusted: Sequence[TrustedKey]) -> Checked:
    for key in trusted:
        if key.name not in (None, signature.name):
            continue
        for algorithm in (ED25519, COSIGNATURE) if key.algorithm is None else (key.algorithm,):
            if key_hash(signature.name, algorithm, key.public) == signature.key_hash:
                return _verified(text, signature, algorithm, key.public)
    return Checked(signature.name, "unknown")


def _verified(text: str, signature: Signature, algorithm: int, key: PublicKey) -> Checked:
    time_sec, data, message = None, signature.data, text.encode()
    if algorithm == COSIGNATURE:
        time_sec, data = int.from_bytes(data[:_TIME_BYTES]), data[_TIME_BYTES:]
        message = _cosigned(text, time_sec)
    good = len(data) == SIGNATURE_BYTES and key.verify(data, message)
    status = "verified" if good else "invalid"
    return Checked(signature.name, status, algorithm, key, time_sec if good else None)


def _cosigned(text: str, time_sec: int) -> bytes:
    return f"cosignature/v1\ntime {time_sec}\n{text}".encode()


def _signature(line: str, what: str) -> Signature:
    match = _LINE.match(line)
    data = None if match is None else _base64(match[2])
    if match is None or data is None or len(data) <= HASH_BYTES or match[1].split() != [match[1]]:
        raise InvalidRequest(f"{what} has a signature line that is none: {line[:80]!r}")
    return Signature(match[1], data[:HASH_BYTES], data[HASH_BYTES:])


def _base64(text: str) -> bytes | None:
    """The bytes that padded base64 stands for; None where it is not their only spelling."""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return None
    return data if b64encode(data).decode() == text else None


def _check_name(name: str) -> None:
    if not name or name.split() != [name] or "+" in name or _CONTROLS.search(name) is not None:
        raise InvalidRequest(f"{name[:80]!r} cannot sign: a name has no spaces and no plus sign")
