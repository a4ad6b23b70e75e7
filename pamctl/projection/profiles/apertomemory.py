"""The ApertoMemory source profile, over results that `open_sealed` gave. MPR §5.

What an object's trust, authorship and custody are is ApertoMemory's to say
(draft-ferro-apertomemory-02); this module writes it down and derives nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbor2 import CBORError, dumps

from pamctl.crypto.keys import KEY_ID_BYTES
from pamctl.crypto.unsealing import unsealing_errors
from pamctl.encoding import base64url
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InvalidRequest
from pamctl.projection.profiles.apertomemory_vault import Holding, Sealed, holdings, scope_of
from pamctl.projection.record import NativeResult
from pamctl.projection.source import (
    Collection,
    OpenedSource,
    SourceObject,
    SourceRefused,
    Unlock,
)

if TYPE_CHECKING:
    from amem.keys import Identity

SOURCE_PROFILE = "draft-ferro-apertomemory-02"
CONTEXT_FRAME_PROFILE = "urn:apertomemory:context-frame:v0"

_FRAME_END = b"\n[/ApertoMemory]\n"


def trust_snapshot(owner_key_id: bytes, accepted_key_ids: Iterable[bytes]) -> bytes:
    """The keyring at read time, as deterministic CBOR. MPR §5.1.

    owner_key_id: the 8 raw bytes of the vault owner's signing key id.
    accepted_key_ids: the accepted authors' key ids, in any order and any number of times;
        the owner's stays in where it is given. Raises ValueError for other lengths.
    """
    accepted = sorted(set(accepted_key_ids))
    if any(len(key_id) != KEY_ID_BYTES for key_id in (owner_key_id, *accepted)):
        raise ValueError("a key id is 8 bytes")
    return dumps({1: owner_key_id, 2: accepted}, canonical=True)


def context_fragment(native: NativeResult, body: str) -> bytes:
    """One opened object as context: its native labels, then its exact body. MPR §5.2."""
    return _header(native) + body.encode("utf-8") + _FRAME_END


def _header(labels: Mapping[str, object]) -> bytes:
    author = labels["author_key_id_b64u"]
    return (
        f"[ApertoMemory trust={labels['derived_trust']} authorship={labels['authorship']}"
        f" author_key={'none' if author is None else author}"
        f" custody={'true' if labels['custody_present'] else 'false'}]\n"
    ).encode()


class ApertoMemoryProfile:
    """ApertoMemory objects. Sealed ones open under the keys of their vault only, which a
    verifier rarely has; a producer collects them from there."""

    source_profile = SOURCE_PROFILE
    context_frame_profile = CONTEXT_FRAME_PROFILE

    def open(self, source: bytes, trust_snapshot: bytes | None) -> OpenedSource | None:
        """Always None: without the vault's keys there is nothing to be found out."""
        return None

    def collect(self, place: Path, unlock: Unlock) -> Collection:
        """Every object of a vault, of an .amem export, or of a folder of exports, opened with
        the passphrase of its owner. Needs the extra `apertomemory`.

        Raises InvalidRequest where the place is none of these, the passphrase is missing or
        wrong, or exports of different vaults or keyrings lie together: there is one trust
        state to a projection.
        """
        found = holdings(place)
        keyrings = {(one.owner["sign_pub"], tuple(sorted(one.known_keys))) for one in found}
        if len(keyrings) > 1:
            raise InvalidRequest(
                f"{place} holds exports of different owners or keyrings",
                hint="project them one by one",
            )
        identity = _identity(found[0], unlock, place)
        objects = [
            SourceObject(sealed.name, sealed.source, _open(sealed, one, identity))
            for one in found
            for sealed in one.objects
        ]
        from amem.objects import key_id

        snapshot = trust_snapshot(key_id(identity.sign_pub), found[0].known_keys)
        return Collection(snapshot, objects)

    def labels_agree(self, fragment: bytes, labels: Mapping[str, object]) -> bool:
        """Whether `fragment` stands between the header that `labels` give and the end."""
        header = _header(labels)
        return (
            fragment.startswith(header)
            and fragment.endswith(_FRAME_END)
            and len(fragment) >= len(header) + len(_FRAME_END)
        )


def open_object(
    source: bytes, key: bytes, *, owner: bytes, known_keys: Mapping[bytes, bytes]
) -> OpenedSource:
    """Open a sealed object with the package's own `open_sealed`, and frame its result.

    Arguments:
        key: the object's data encryption key, 32 bytes.
        owner: raw public key of the vault's owner. known_keys: those of accepted authors, by
            key id.

    What cannot be authenticated is never opened for reading all the same. Raises SourceRefused:
    `authentication_failed` for an object that is not what its author sealed, `schema_invalid`
    for one that is no sealed object, or has no text.
    """
    from amem.objects import SignatureError, open_sealed

    try:
        found = open_sealed(source, key, owner_sign_pub=owner, known_keys=dict(known_keys))
    except SignatureError as cause:
        raise SourceRefused("authentication_failed", str(cause)) from None
    except _decryption_errors() as cause:
        raise SourceRefused("authentication_failed", "it does not decrypt") from cause
    except _MALFORMED as cause:
        # The package takes an object apart before it has authenticated it, and one that is not
        # in shape fails in whatever way its shape brings about.
        raise SourceRefused("schema_invalid", "it is no sealed object") from cause
    body = found["content"]
    if not isinstance(body, str) or not _is_text(body):
        raise SourceRefused("schema_invalid", "its content is no text")
    native = _native(found, source)
    return OpenedSource(native, context_fragment(native, body))


_MALFORMED = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError),
    *(EOFError, OverflowError, RecursionError, CBORError),
)


def _decryption_errors() -> tuple[type[Exception], ...]:
    from pycose.exceptions import CoseException

    return (CoseException, *unsealing_errors())


def _native(found: Mapping[str, Any], source: bytes) -> NativeResult:
    """What `open_sealed` found, written down; nothing is derived again. MPR §5."""
    provenance = found["provenance"]
    author = provenance["author_key_id"]
    return {
        "format_version": found["format_version"],
        "sealed_object_digest": sha256_digest(source),
        "derived_trust": found["trust"],
        "authorship": provenance["authorship"],
        "author_key_id_b64u": None if author is None else base64url.encode(bytes.fromhex(author)),
        "custody_present": found["custody"] is not None,
    }


def _is_text(body: str) -> bool:
    try:
        body.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _identity(holding: Holding, unlock: Unlock, place: Path) -> Identity:
    try:
        from amem.keys import Identity, master_from_passphrase
        from argon2.exceptions import Argon2Error
    except ImportError as cause:
        raise InvalidRequest(
            "ApertoMemory objects need the package apertomemory",
            hint="pip install 'pamctl[apertomemory]'",
        ) from cause
    passphrase = unlock(str(place))
    if passphrase is None:
        raise InvalidRequest(
            f"{place} opens with the passphrase of its owner, and there is none",
            hint="set PAM_SOURCE_PASSPHRASE, or run pamctl at a terminal to be asked",
        )
    try:
        master = master_from_passphrase(passphrase.decode("utf-8"), holding.owner["salt"])
        identity: Identity = Identity.from_master(master)
    except (Argon2Error, TypeError, ValueError) as cause:
        raise InvalidRequest(f"{place} cannot be opened with what was given") from cause
    if identity.sign_pub != holding.owner["sign_pub"]:
        raise InvalidRequest(f"{place} does not open with this passphrase")
    return identity


def _open(sealed: Sealed, holding: Holding, identity: Identity) -> OpenedSource | SourceRefused:
    """One object of a holding; a hostile one takes no other along."""
    try:
        key = _key(sealed, holding, identity)
        return open_object(
            sealed.source, key, owner=identity.sign_pub, known_keys=holding.known_keys
        )
    except SourceRefused as refused:
        return refused


def _key(sealed: Sealed, holding: Holding, identity: Identity) -> bytes:
    """The object's key: its scope's key unwraps it, and the owner's unwraps that."""
    from amem.keys import unwrap_dek, unwrap_kek

    scope_id = scope_of(sealed.source)
    if scope_id is None:
        raise SourceRefused("schema_invalid", "it is no sealed object")
    scopes = [dict(one) for one in dict(holding.owner["scopes"]).values()]
    scope = next((one for one in scopes if one.get("scope_id") == scope_id), None)
    if scope is None or sealed.wrapped_key is None:
        raise SourceRefused("authentication_failed", "the vault has no key for it")
    failures: tuple[type[Exception], ...] = (*unsealing_errors(), *_MALFORMED)
    try:
        scope_key = unwrap_kek(scope["kek_wrapped"], scope["eph_pub"], scope_id, identity)
        key: bytes = unwrap_dek(sealed.wrapped_key, scope_key)
    except failures as cause:
        raise SourceRefused("authentication_failed", "its key does not unwrap") from cause
    return key
