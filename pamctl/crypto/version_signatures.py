"""Signatures of versions, in the `integrity` of their envelopes. `store-format/signatures.md`.

Two kinds. A *signature* is the author's over the envelope. A *custody signature* is that of
somebody who brought a version here from elsewhere, changed nothing but what the move changes,
and says whose signature the original carried and that it held.

Either names the whole public key, so that anybody can check it without looking anything up.
That a signature holds says which key made it, and nothing about whether that key counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pamctl.crypto.keys import SIGNATURE_BYTES, PrivateKey, PublicKey
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical, canonical_plain
from pamctl.encoding.digests import is_sha256_digest, sha256_digest
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest, PamError
from pamctl.named_tuples import NamedTuple

ALGORITHM = "Ed25519"
SIGNATURE_PROFILE = "urn:pamctl:version-signature:v1"
CUSTODY_PROFILE = "urn:pamctl:version-custody:v1"

_SIGNATURE_DOMAIN = b"pamctl-version-signature-v1\0"
_CUSTODY_DOMAIN = b"pamctl-version-custody-v1\0"
_KEY = "urn:pamctl:key:ed25519:"
_CUSTODY = "urn:pamctl:custody:ed25519:"
_SIGNED_BY = re.escape(_KEY) + r"([A-Za-z0-9_-]{43})\Z"
_KEPT_BY = re.escape(_CUSTODY) + r"([A-Za-z0-9_-]{43}):([A-Za-z0-9_-]{43})\Z"
_SIGNATURE_MEMBERS = {"algorithm", "canonicalization_profile", "ledger_ref", "signature"}
_CUSTODY_MEMBERS = {*_SIGNATURE_MEMBERS, "digest"}


class SignatureFault(ValueError):
    """A version says that it is signed as this page says, and it is not."""


class Signature(NamedTuple):
    """A signature that holds.

    author: the key that signed the version, or the original of one in custody.
    custodian: whose word it is that the original was signed; None for the author's own.
    original: the address of the original of a version in custody.
    """

    author: PublicKey
    custodian: PublicKey | None = None
    original: str | None = None


def sign(envelope: Mapping[str, Any], key: PrivateKey, *, plain: bool = False) -> dict[str, str]:
    """The `integrity` that says that the holder of `key` wrote this version.

    plain: whether the envelope is known to be plain, as `encoding.canonical` has it.
    """
    write = canonical_plain if plain else canonical
    signature = key.sign(_SIGNATURE_DOMAIN + write(_bare(envelope)))
    return {
        "algorithm": ALGORITHM,
        "canonicalization_profile": SIGNATURE_PROFILE,
        "ledger_ref": _KEY + base64url.encode(key.public.raw),
        "signature": base64url.encode(signature),
    }


def is_signed(envelope: Mapping[str, Any]) -> bool:
    """Whether an envelope says that it is signed as this page says. Proves nothing."""
    integrity = envelope.get("integrity")
    return isinstance(integrity, Mapping) and integrity.get("canonicalization_profile") in (
        SIGNATURE_PROFILE,
        CUSTODY_PROFILE,
    )


def verified(envelope: Mapping[str, Any]) -> Signature | None:
    """The signature of a version, checked; None for one that is not signed as this page says.

    Raises SignatureFault where it says so and the signature does not hold.
    """
    if not is_signed(envelope):
        return None
    integrity: Mapping[str, Any] = envelope["integrity"]
    try:
        if integrity["canonicalization_profile"] == SIGNATURE_PROFILE:
            return _verified_signature(envelope, integrity)
        return _verified_custody(envelope, integrity)
    except PamError as cause:
        raise SignatureFault(cause.message) from cause


def verify_and_countersign(
    original: bytes, envelope: Mapping[str, Any], custodian: PrivateKey
) -> dict[str, str] | None:
    """The `integrity` of a version that is recorded anew from one that came from elsewhere.

    Arguments:
        original: the exact bytes of the version as it came.
        envelope: as it will stand here, of which `integrity` does not count.
        custodian: the key of whoever vouches for it here.

    None where the original is not signed as this page says, and where it is in the custody of
    somebody else: whose signature it once carried is then that custodian's word, which nobody
    here has verified. Raises SignatureFault where its signature does not hold.
    """
    try:
        document = parse(original, what="the version")
    except InvalidRequest as cause:
        raise SignatureFault(cause.message) from cause
    found = document.get("envelope") if isinstance(document, dict) else None
    signature = verified(found) if isinstance(found, dict) else None
    if signature is None or signature.custodian not in (None, custodian.public):
        return None
    address = sha256_digest(original)
    signed = custodian.sign(_custody_message(envelope, signature.author, address))
    names = base64url.encode(custodian.public.raw), base64url.encode(signature.author.raw)
    return {
        "algorithm": ALGORITHM,
        "canonicalization_profile": CUSTODY_PROFILE,
        "digest": address,
        "ledger_ref": f"{_CUSTODY}{names[0]}:{names[1]}",
        "signature": base64url.encode(signed),
    }


def _verified_signature(envelope: Mapping[str, Any], integrity: Mapping[str, Any]) -> Signature:
    (author,) = _keys(integrity, _SIGNED_BY, _SIGNATURE_MEMBERS)
    message = _SIGNATURE_DOMAIN + canonical(_bare(envelope))
    _check(author, integrity, message)
    return Signature(author)


def _verified_custody(envelope: Mapping[str, Any], integrity: Mapping[str, Any]) -> Signature:
    custodian, author = _keys(integrity, _KEPT_BY, _CUSTODY_MEMBERS)
    address = integrity["digest"]
    if not is_sha256_digest(address):
        raise SignatureFault("the address of the original is no sha256 digest")
    _check(custodian, integrity, _custody_message(envelope, author, address))
    return Signature(author, custodian, address)


def _custody_message(envelope: Mapping[str, Any], author: PublicKey, address: str) -> bytes:
    statement = {
        "author": base64url.encode(author.raw),
        "envelope": _bare(envelope),
        "original": address,
    }
    return _CUSTODY_DOMAIN + canonical(statement)


def _keys(integrity: Mapping[str, Any], pattern: str, members: set[str]) -> list[PublicKey]:
    """The keys that the reference names, in its order."""
    if integrity.keys() != members or integrity["algorithm"] != ALGORITHM:
        raise SignatureFault("its members are not those of its profile")
    reference = integrity["ledger_ref"]
    match = re.match(pattern, reference) if isinstance(reference, str) else None
    if match is None:
        raise SignatureFault("its reference names no key")
    return [_public_key(text) for text in match.groups()]


@lru_cache(maxsize=256)
def _public_key(text: str) -> PublicKey:
    """A named key. Checking that it is a good point takes longer than a signature, and few
    keys sign many versions."""
    return PublicKey(_decoded(text))


def _check(key: PublicKey, integrity: Mapping[str, Any], message: bytes) -> None:
    signature = _decoded(integrity["signature"])
    if len(signature) != SIGNATURE_BYTES or not key.verify(signature, message):
        raise SignatureFault("the signature is not the named key's over this version")


def _decoded(text: Any) -> bytes:
    try:
        return base64url.decode(text)
    except (ValueError, AttributeError) as cause:
        raise SignatureFault("it is not base64url") from cause


def _bare(envelope: Mapping[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in envelope.items() if name != "integrity"}
