"""pamctl's own source profile: its versions as sources. `store-format/source-profile.md`.

A source object is the exact bytes of a version. Its context frame begins and ends with a
tag taken from the version's address. The address depends on a salt that is drawn after the
content is written, so whoever writes content cannot know the tag and cannot end a frame or
begin another that a reader of tags would believe.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from pamctl.crypto.version_signatures import is_signed
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InvalidObject
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.documents import is_valid
from pamctl.projection.profiles.pam_trust import (
    UNVERIFIED,
    KnownKeys,
    checked_signature,
    read_snapshot,
)
from pamctl.projection.profiles.pam_trust import labels as derived_labels
from pamctl.projection.record import NativeResult
from pamctl.projection.source import OpenedSource, SourceRefused

SOURCE_PROFILE = "urn:pamctl:source-profile:v1"
CONTEXT_FRAME_PROFILE = "urn:pamctl:context-frame:v1"
FORMAT_VERSION = 1

TAG_DIGITS = 16
"""64 bits of the address. It cannot be known in time, so it need not withstand a search;
content that holds its own tag all the same is refused."""

_OPENING = b"[pam-memory "
_READABLE = ("available", "partially_redacted")
_LABEL_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+._:/-")


class PamProfile:
    """Versions of Memory Objects, as any pamctl store holds them.

    known: where there is a store whose keyring can be asked, its keys: a version is then also
        refused where its key did not count when it was written. Without, the ids in the trust
        snapshot decide.
    """

    source_profile = SOURCE_PROFILE
    context_frame_profile = CONTEXT_FRAME_PROFILE

    def __init__(self, known: KnownKeys | None = None) -> None:
        self._known = known

    def open(self, source: bytes, trust_snapshot: bytes | None) -> OpenedSource | None:
        """Open one version and frame it. None for a signed one without a trust snapshot.

        Raises SourceRefused with `schema_invalid` for bytes that are no version of a Memory
        Object with content to show, and `authentication_failed` for a signature that does not
        hold or is of a key that did not count.
        """
        envelope = _envelope(source)
        labels = UNVERIFIED
        if is_signed(envelope):
            signature = checked_signature(envelope)
            if trust_snapshot is None:
                return None
            trust = read_snapshot(trust_snapshot)
            if self._known is not None and signature is not None:
                self._known.admit(signature, envelope["committed_at"], trust)
            labels = derived_labels(signature, trust)
        address = sha256_digest(source)
        native: NativeResult = {
            "format_version": FORMAT_VERSION,
            "sealed_object_digest": address,
            "derived_trust": labels.derived_trust,
            "authorship": labels.authorship,
            "author_key_id_b64u": labels.author_key_id_b64u,
            "custody_present": labels.custody_present,
        }
        return OpenedSource(native, _fragment(envelope, native, _tag(address)))

    def labels_agree(self, fragment: bytes, labels: Mapping[str, object]) -> bool:
        """Whether `fragment` begins with these labels, under whatever tag."""
        after_tag = len(_OPENING) + TAG_DIGITS
        return fragment.startswith(_OPENING) and fragment.startswith(
            f" {_trust_labels(labels)} ".encode(), after_tag
        )


def _envelope(source: bytes) -> dict[str, Any]:
    if len(source) > DOCUMENT_BYTES_MAX:
        raise SourceRefused("schema_invalid", "it is longer than a version may be")
    try:
        version = orjson.loads(source)
        # Only canonical bytes are a version; no duplicate member survives this.
        is_canonical = canonical(version) == source
    except (orjson.JSONDecodeError, InvalidObject):
        raise SourceRefused("schema_invalid", "it is not canonical JSON") from None
    if not is_canonical:
        raise SourceRefused("schema_invalid", "it is not canonical JSON")
    if not is_valid("version-file", version):
        raise SourceRefused("schema_invalid", "it is no version file")
    envelope: dict[str, Any] = version["envelope"]
    if "object_type" not in envelope:
        raise SourceRefused("schema_invalid", "it is no version of a Memory Object")
    if envelope["availability_state"] not in _READABLE:
        raise SourceRefused("schema_invalid", "its content is withheld")
    return envelope


def _tag(address: str) -> str:
    return address.removeprefix("sha256:")[:TAG_DIGITS]


def _fragment(envelope: Mapping[str, Any], native: NativeResult, tag: str) -> bytes:
    content = envelope["canonical_content"]
    body = content.encode() if isinstance(content, str) else canonical(content)
    if tag.encode() in body:
        raise SourceRefused("schema_invalid", "its content holds the tag of its own frame")
    header = (
        f"[pam-memory {tag} {_trust_labels(native)}"
        f" validation={_label(envelope['validation_state'])}"
        f" type={_label(envelope['object_type'])}"
        f" object={_label(envelope['object_id'])}"
        f" observed={_label(envelope.get('observed_at', 'none'))}"
        f" committed={_label(envelope['committed_at'])}]\n"
    )
    return header.encode() + body + f"\n[/pam-memory {tag}]\n".encode()


def _trust_labels(labels: Mapping[str, Any]) -> str:
    return _spelled(
        labels["derived_trust"],
        labels["authorship"],
        labels["author_key_id_b64u"],
        labels["custody_present"],
    )


@lru_cache(maxsize=256)
def _spelled(trust: str, authorship: str, author: str | None, custody: bool) -> str:
    """Remembered: a projection has few combinations, many times."""
    return (
        f"trust={trust} authorship={authorship}"
        f" author_key={'none' if author is None else author}"
        f" custody={'true' if custody else 'false'}"
    )


def _label(text: str) -> str:
    """A label's value in characters that cannot end the label, the header or the line;
    any other becomes `%` and two hexadecimal digits for each of its UTF-8 bytes."""
    if _LABEL_SAFE.issuperset(text):
        return text
    return "".join(
        character if character in _LABEL_SAFE else "".join(f"%{b:02X}" for b in character.encode())
        for character in text
    )
