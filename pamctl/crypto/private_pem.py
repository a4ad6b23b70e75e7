"""The files of private Ed25519 keys: PKCS#8 in PEM, plain or encrypted, as openssl reads and
writes them (RFC 5958, RFC 8410, RFC 8018), and OpenSSH's own format, which is read only.

Nothing here puts a byte of a key into a message.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING

from pamctl.errors import InvalidRequest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SALT_BYTES = 16
IV_BYTES = 16

# SEQUENCE { INTEGER 0, SEQUENCE { OID 1.3.101.112 }, OCTET STRING { OCTET STRING } }: what
# openssl writes for a key without attributes.
_PKCS8_PREFIX = bytes.fromhex("302e020100300506032b657004220420")
_SEED_BYTES = 32
_PLAIN = re.compile(
    rb"\s*-----BEGIN PRIVATE KEY-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END PRIVATE KEY-----\s*\Z"
)
_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"
_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_LINE = 64

# scrypt at the least that is advised for a passphrase (RFC 7914), in the 16 MiB that every
# openssl grants it.
_SCRYPT = {"n": 2**14, "r": 8, "p": 5}
_SCRYPT_BYTES_MAX = 32 * 1024 * 1024
_OID_PBES2 = bytes.fromhex("06092a864886f70d01050d")
_OID_SCRYPT = bytes.fromhex("06092b06010401da47040b")
_OID_AES_256_CBC = bytes.fromhex("060960864801650304012a")
_INTEGER, _OCTETS, _SEQUENCE = 0x02, 0x04, 0x30


def is_encrypted(text: bytes) -> bool:
    """Whether a file of a private key asks for a passphrase before it can be read.

    An OpenSSH file does not say so in the open, and counts as one that does not ask.
    """
    return text.lstrip().startswith(_ENCRYPTED)


def read_signer(text: bytes, passphrase: bytes | None) -> Ed25519PrivateKey:
    """The key in a PEM file. Raises InvalidRequest, which quotes nothing of it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    seed = _plain_seed(text)
    if seed is not None:
        # What openssl and pamctl write is read here: the reader of all formats takes longer
        # to import than everything else that signing needs.
        return Ed25519PrivateKey.from_private_bytes(seed)
    signer = _read_any(text, passphrase)
    if not isinstance(signer, Ed25519PrivateKey):
        raise InvalidRequest(
            "this private key is not an Ed25519 key", hint="pamctl takes Ed25519 keys only"
        )
    return signer


def write_plain(seed: bytes) -> bytes:
    """Unencrypted PKCS#8. Whoever holds these bytes can sign as this key."""
    return _pem(b"PRIVATE KEY", _PKCS8_PREFIX + seed)


def write_encrypted(seed: bytes, passphrase: bytes, *, salt: bytes, iv: bytes) -> bytes:
    """PKCS#8 under PBES2: scrypt and AES-256 in CBC mode (RFC 8018, RFC 7914 §7).

    salt: SALT_BYTES, iv: IV_BYTES; fresh random bytes for each file.
    """
    # Imported here: with OpenSSL, it takes longer than what most who verify do.
    from hashlib import scrypt

    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    key = scrypt(passphrase, salt=salt, dklen=32, maxmem=_SCRYPT_BYTES_MAX, **_SCRYPT)
    plain = _PKCS8_PREFIX + seed
    padding = 16 - len(plain) % 16
    encryptor = Cipher(AES256(key), CBC(iv)).encryptor()
    sealed = encryptor.update(plain + bytes([padding]) * padding) + encryptor.finalize()
    derivation = _der(_SEQUENCE, _der(_OCTETS, salt), *map(_integer, _SCRYPT.values()))
    scheme = _der(
        _SEQUENCE,
        _der(_SEQUENCE, _OID_SCRYPT, derivation),
        _der(_SEQUENCE, _OID_AES_256_CBC, _der(_OCTETS, iv)),
    )
    return _pem(
        b"ENCRYPTED PRIVATE KEY",
        _der(_SEQUENCE, _der(_SEQUENCE, _OID_PBES2, scheme), _der(_OCTETS, sealed)),
    )


def _plain_seed(text: bytes) -> bytes | None:
    match = _PLAIN.match(text)
    if match is None:
        return None
    try:
        der = b64decode(match[1].translate(None, b"\r\n"), validate=True)
    except Base64Error:
        return None
    if len(der) != len(_PKCS8_PREFIX) + _SEED_BYTES or not der.startswith(_PKCS8_PREFIX):
        return None
    return der[len(_PKCS8_PREFIX) :]


def _read_any(text: bytes, passphrase: bytes | None) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        load_pem_private_key,
        load_ssh_private_key,
    )

    load = load_ssh_private_key if text.lstrip().startswith(_OPENSSH) else load_pem_private_key
    try:
        # A passphrase that is not needed is refused by the library, and not asked for here.
        return load(text, password=passphrase if is_encrypted(text) else None)
    except TypeError:
        raise InvalidRequest(
            "the private key is encrypted, and there is no passphrase for it",
            hint="set PAM_KEY_PASSPHRASE, or run pamctl at a terminal to be asked",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        if is_encrypted(text):
            raise InvalidRequest(
                "the private key does not open with this passphrase",
                hint="PAM_KEY_PASSPHRASE, or what was typed, is not the passphrase of this key",
            ) from None
        if load is load_ssh_private_key:
            raise InvalidRequest(
                "this OpenSSH private key cannot be read",
                hint="`ssh-keygen -p -N '' -f COPY` takes the passphrase off a copy of it",
            ) from None
        raise InvalidRequest(
            "this is no PEM private key", hint="`openssl genpkey -algorithm ed25519` makes one"
        ) from None


def _pem(label: bytes, der: bytes) -> bytes:
    body = b64encode(der)
    lines = [body[start : start + _LINE] for start in range(0, len(body), _LINE)]
    return b"-----BEGIN %b-----\n%b\n-----END %b-----\n" % (label, b"\n".join(lines), label)


def _der(tag: int, *parts: bytes) -> bytes:
    """One DER value; none here is as long as 64 KiB."""
    content = b"".join(parts)
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def _integer(value: int) -> bytes:
    return _der(_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))
