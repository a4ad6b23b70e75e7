"""Ed25519 keys (RFC 8032) in the encodings that others use: PKCS#8 and SPKI (RFC 8410).

Only Ed25519 passes. A public key is checked as a point before it can be pinned, and what
it is called depends on its bytes alone: its key id (MPR §5.1).
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from typing import TYPE_CHECKING

from pamctl.crypto import points
from pamctl.encoding import base64url
from pamctl.encoding.digests import sha256
from pamctl.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SEED_BYTES = 32
SIGNATURE_BYTES = 64
KEY_ID_BYTES = 8

# SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING }: the only DER of an Ed25519 SPKI.
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")
_PEM = rb"\s*-----BEGIN PUBLIC KEY-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END PUBLIC KEY-----\s*\Z"
_HEX = r"[0-9A-Fa-f]{64}\Z"
_OTHER_KINDS = {
    bytes.fromhex("06092a864886f70d010101"): "an RSA key",
    bytes.fromhex("06072a8648ce3d0201"): "an elliptic curve (ECDSA) key",
    bytes.fromhex("06032b656e"): "an X25519 key, which cannot sign",
    bytes.fromhex("06032b6571"): "an Ed448 key",
}


class PublicKey:
    """An Ed25519 public key that passed `points.fault`.

    Attributes:
        raw: the 32 bytes of the point.
        key_id: first 8 bytes of SHA-256 over `raw`, as 16 lowercase hexadecimal digits.
    """

    __slots__ = ("_checking", "key_id", "raw")

    def __init__(self, raw: bytes) -> None:
        """Raises InvalidRequest when `raw` is no point that a key may be."""
        fault = points.fault(raw)
        if fault is not None:
            raise InvalidRequest(f"this is no usable Ed25519 public key: {fault}")
        self.raw = raw
        self.key_id = sha256(raw).digest()[:KEY_ID_BYTES].hex()
        # What checks, and what it raises: imported once, and not for each signature.
        self._checking: tuple[Callable[[bytes, bytes], None], type[Exception]] | None = None

    @classmethod
    def from_spki(cls, der: bytes) -> PublicKey:
        """The key in a DER SubjectPublicKeyInfo (RFC 8410 §4). Raises InvalidRequest."""
        if not der.startswith(_SPKI_PREFIX):
            kind = next((name for oid, name in _OTHER_KINDS.items() if oid in der[:32]), None)
            raise InvalidRequest(
                f"this is {kind or 'no Ed25519 public key in DER'}",
                hint="pamctl takes Ed25519 keys only",
            )
        return cls(der[len(_SPKI_PREFIX) :])

    @classmethod
    def from_spki_b64u(cls, text: str) -> PublicKey:
        """The key in unpadded base64url of its SPKI. Raises InvalidRequest."""
        try:
            return cls.from_spki(base64url.decode(text))
        except ValueError as cause:
            raise InvalidRequest(f"the public key is {cause}") from cause

    @classmethod
    def from_pem(cls, text: bytes) -> PublicKey:
        """The key in a PEM `PUBLIC KEY`, which must stand alone. Raises InvalidRequest."""
        from base64 import b64decode

        match = re.match(_PEM, text)
        if match is None:
            raise InvalidRequest(
                "this is no PEM public key",
                hint="it starts with -----BEGIN PUBLIC KEY-----, as `openssl pkey -pubout` writes",
            )
        try:
            der = b64decode(match[1].translate(None, b"\r\n"), validate=True)
        except Base64Error as cause:
            raise InvalidRequest(f"the PEM public key is not base64: {cause}") from cause
        return cls.from_spki(der)

    @classmethod
    def from_hex(cls, text: str) -> PublicKey:
        """The key in 64 hexadecimal digits, its raw point. Raises InvalidRequest."""
        if re.match(_HEX, text) is None:
            raise InvalidRequest("a raw Ed25519 public key is 64 hexadecimal digits")
        return cls(bytes.fromhex(text))

    @property
    def key_id_b64u(self) -> str:
        """The key id where MPR says `_b64u`: 11 characters of unpadded base64url."""
        return base64url.encode(bytes.fromhex(self.key_id))

    @property
    def spki_b64u(self) -> str:
        return base64url.encode(_SPKI_PREFIX + self.raw)

    @property
    def pem(self) -> str:
        """PEM as openssl writes it, with its final newline."""
        from base64 import b64encode

        body = b64encode(_SPKI_PREFIX + self.raw).decode("ascii")
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    def verify(self, signature: bytes, data: bytes) -> bool:
        """Whether `signature` is this key's over exactly `data` (RFC 8032 §5.1.7)."""
        if self._checking is None:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

            checked = Ed25519PublicKey.from_public_bytes(self.raw).verify
            self._checking = checked, InvalidSignature
        check, refusal = self._checking
        try:
            check(signature, data)
        except refusal:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and other.raw == self.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"PublicKey({self.key_id})"


class PrivateKey:
    """An Ed25519 private key. It never shows in a repr, a message or a traceback.

    Attributes:
        public: its public key.
    """

    __slots__ = ("_signer", "public")

    def __init__(self, signer: Ed25519PrivateKey) -> None:
        self._signer = signer
        self.public = PublicKey(signer.public_key().public_bytes_raw())

    @classmethod
    def from_seed(cls, seed: bytes) -> PrivateKey:
        """The key of a 32-byte seed. Fresh seeds must come from the system's entropy."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def from_pem(cls, text: bytes, passphrase: bytes | None = None) -> PrivateKey:
        """The key in a PEM: PKCS#8, plain or encrypted, or OpenSSH's. Raises InvalidRequest,
        quoting nothing."""
        from pamctl.crypto import private_pem  # who verifies does without

        return cls(private_pem.read_signer(text, passphrase))

    def pem(self) -> bytes:
        """Unencrypted PKCS#8 PEM. Whoever holds these bytes can sign as this key."""
        from pamctl.crypto import private_pem

        return private_pem.write_plain(self._signer.private_bytes_raw())

    def encrypted_pem(self, passphrase: bytes, *, salt: bytes, iv: bytes) -> bytes:
        """Encrypted PKCS#8 PEM; see `private_pem.write_encrypted`."""
        from pamctl.crypto import private_pem

        return private_pem.write_encrypted(
            self._signer.private_bytes_raw(), passphrase, salt=salt, iv=iv
        )

    def sign(self, data: bytes) -> bytes:
        """The 64 bytes of this key's signature over exactly `data` (RFC 8032 §5.1.6)."""
        return self._signer.sign(data)

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.key_id})"
