"""The forms that people hand public keys around in, told apart by what they are.

Only Ed25519 passes, in whatever form it comes: the OID inside decides, not the label on it.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error

from pamctl.crypto.keys import PublicKey
from pamctl.encoding import base64url
from pamctl.errors import InvalidRequest
from pamctl.named_tuples import NamedTuple

_RAW_BYTES = 32
_HEX = re.compile(r"[0-9A-Fa-f]{64}\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
_SSH = re.compile(r"ssh-([a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: [^\r\n]*)?\Z")
_SSH_PREFIX = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"
_KINDS = "PEM, DER, an OpenSSH line, 64 hexadecimal digits, base64 or base64url"


class GivenKey(NamedTuple):
    """A public key, and the form that it came in, in words."""

    key: PublicKey
    form: str


def read_public_key(data: bytes) -> GivenKey:
    """The key in `data`; white space around text does not count.

    PEM and DER hold a SubjectPublicKeyInfo; base64 and base64url hold one or the raw 32
    bytes; hexadecimal holds the raw bytes. Raises InvalidRequest, and says which forms there
    are.
    """
    if data[:1] == b"\x30" and data[1:2] in (b"\x2a", b"\x82", b"\x81", b"\x59"):
        return GivenKey(PublicKey.from_spki(data), "SPKI in DER")
    text = data.strip()
    if text.startswith(b"-----"):
        return GivenKey(PublicKey.from_pem(data), "SPKI in PEM")
    if not text or not text.isascii():
        raise InvalidRequest("this is no Ed25519 public key", hint=f"a key is {_KINDS}")
    plain = text.decode("ascii")
    if plain.startswith("ssh-"):
        return GivenKey(_from_ssh(plain), "an OpenSSH line")
    if _HEX.match(plain):
        return GivenKey(PublicKey.from_hex(plain), "raw key in hexadecimal")
    return _from_base64(plain)


def _from_base64(text: str) -> GivenKey:
    """Base64 where it is padded or has one of its own characters, else base64url."""
    if _BASE64.match(text) and ("=" in text or "+" in text or "/" in text):
        form = "base64"
        data = _strict_base64(text)
    else:
        form = "base64url"
        try:
            data = base64url.decode(text)
        except ValueError as cause:
            raise InvalidRequest(
                f"this is no Ed25519 public key: {cause}", hint=f"a key is {_KINDS}"
            ) from cause
    if len(data) == _RAW_BYTES:
        return GivenKey(PublicKey(data), f"raw key in {form}")
    return GivenKey(PublicKey.from_spki(data), f"SPKI in {form}")


def _from_ssh(text: str) -> PublicKey:
    match = _SSH.match(text)
    if match is None or match[1] != "ed25519":
        kind = "an OpenSSH line" if match is None else f"an OpenSSH key of kind ssh-{match[1]}"
        raise InvalidRequest(
            f"this is {kind} that cannot be taken", hint="pamctl takes ssh-ed25519 keys only"
        )
    blob = _strict_base64(match[2])
    if not blob.startswith(_SSH_PREFIX):
        raise InvalidRequest("the OpenSSH key holds something else than its line says")
    return PublicKey(blob[len(_SSH_PREFIX) :])


def _strict_base64(text: str) -> bytes:
    """What base64 stands for; its padding may be left out, its last bits may not be any."""
    bare = text.rstrip("=")
    padded = bare + "=" * (-len(bare) % 4)
    try:
        data = b64decode(padded, validate=True)
    except Base64Error:
        data = b""
    if text not in (bare, padded) or b64encode(data).decode("ascii") != padded:
        raise InvalidRequest("this is no Ed25519 public key: it is not base64")
    return data
