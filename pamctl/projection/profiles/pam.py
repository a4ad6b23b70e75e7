"""pamctl's own source profile: its versions as sources. `store-format/source-profile.md`.

A source object is the exact bytes of a version. Its context frame begins and ends with a
tag taken from the version's address. The address depends on a salt that is drawn after the
content is written, so whoever writes content cannot know the tag and cannot end a frame or
begin another that a reader of tags would believe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InvalidObject
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.documents import is_valid
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
    """Versions of Memory Objects, as any pamctl store holds them."""

    source_profile = SOURCE_PROFILE
    context_frame_profile = CONTEXT_FRAME_PROFILE

    def open(self, source: bytes) -> OpenedSource:
        """Open one version and frame it. Raises SourceRefused with `schema_invalid` for
        bytes that are no version of a Memory Object with content to show."""
        envelope = _envelope(source)
        address = sha256_digest(source)
        native = native_result(envelope, address)
        return OpenedSource(native, _fragment(envelope, native, _tag(address)))

    def labels_agree(self, fragment: bytes, labels: Mapping[str, object]) -> bool:
        """Whether `fragment` begins with these labels, under whatever tag."""
        after_tag = len(_OPENING) + TAG_DIGITS
        return fragment.startswith(_OPENING) and fragment.startswith(
            f" {_trust_labels(labels)} ".encode(), after_tag
        )


def native_result(envelope: Mapping[str, Any], address: str) -> NativeResult:
    """What this profile can say about a version: until versions are signed, nothing about
    who wrote it, so that every version is unverified content without an author."""
    return {
        "format_version": FORMAT_VERSION,
        "sealed_object_digest": address,
        "derived_trust": "unverified",
        "authorship": "unknown",
        "author_key_id_b64u": None,
        "custody_present": False,
    }


def trust_snapshot(
    owner_key_id: bytes | None, accepted_key_ids: Iterable[bytes], head: str, sequence: int
) -> bytes:
    """The trust state of a selection, as deterministic CBOR (RFC 8949 §4.2).

    owner_key_id: 8 raw bytes, or None where the store has no owner's key.
    accepted_key_ids: of the accepted authors, 8 raw bytes each, in any order.
    head: of the scope's ledger, 64 hexadecimal digits. sequence: of its last event.
    """
    import cbor2

    return cbor2.dumps(
        {
            1: owner_key_id or b"",
            2: sorted(set(accepted_key_ids)),
            3: bytes.fromhex(head),
            4: sequence,
        },
        canonical=True,
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


def _trust_labels(labels: Mapping[str, object]) -> str:
    author = labels["author_key_id_b64u"]
    return (
        f"trust={labels['derived_trust']} authorship={labels['authorship']}"
        f" author_key={'none' if author is None else author}"
        f" custody={'true' if labels['custody_present'] else 'false'}"
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
