"""The context frame of pamctl's own profile. `store-format/source-profile.md`.

It begins and ends with a tag taken from the version's address. The address depends on a salt
that is drawn after the content is written, so whoever writes content cannot know the tag and
cannot end a frame or begin another that a reader of tags would believe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.projection.record import NativeResult
from pamctl.projection.source import SourceRefused

TAG_DIGITS = 16
"""64 bits of the address. It cannot be known in time, so it need not withstand a search;
content that holds its own tag all the same is refused."""

_OPENING = b"[pam-memory "
_BEHIND_TAG = len(_OPENING) + TAG_DIGITS
_TAG = slice(len("sha256:"), len("sha256:") + TAG_DIGITS)
_LABEL_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+._:/-"
_in_labels = itemgetter("derived_trust", "authorship", "author_key_id_b64u", "custody_present")
_SAFE_CHARACTERS, _SAFE_BYTES = frozenset(_LABEL_SAFE), _LABEL_SAFE.encode()


def frames(
    envelopes: Sequence[Mapping[str, Any]],
    natives: Sequence[NativeResult],
    addresses: Sequence[str],
) -> list[bytes | SourceRefused]:
    """The context fragments of versions, in order: of each its envelope, its labels and its
    address. In the place of one whose content holds the tag of its own frame stands the
    refusal."""
    made: list[bytes | SourceRefused] = []
    for address, labels, state, kind, name, observed, committed, envelope in zip(
        addresses,
        map(trust_labels, natives),
        _labels([envelope["validation_state"] for envelope in envelopes]),
        _labels([envelope["object_type"] for envelope in envelopes]),
        _labels([envelope["object_id"] for envelope in envelopes]),
        _labels([envelope.get("observed_at", "none") for envelope in envelopes]),
        _labels([envelope["committed_at"] for envelope in envelopes]),
        envelopes,
        strict=True,
    ):
        tag, content = address[_TAG], envelope["canonical_content"]
        body = content if type(content) is str else canonical(content).decode()
        if tag in body:
            problem = "its content holds the tag of its own frame"
            made.append(SourceRefused("schema_invalid", problem))
            continue
        made.append(
            f"[pam-memory {tag} {labels} validation={state} type={kind} object={name}"
            f" observed={observed} committed={committed}]\n{body}\n[/pam-memory {tag}]\n".encode()
        )
    return made


def begins_with(fragment: bytes, labels: Mapping[str, Any]) -> bool:
    """Whether `fragment` begins with these labels, under whatever tag."""
    return fragment.startswith(_OPENING) and fragment.startswith(
        _spelled_in_bytes(*_in_labels(labels)), _BEHIND_TAG
    )


def trust_labels(labels: Mapping[str, Any]) -> str:
    """What a frame's header says of trust."""
    return _spelled(*_in_labels(labels))


@lru_cache(maxsize=256)
def _spelled(trust: str, authorship: str, author: str | None, custody: bool) -> str:
    """Remembered: a projection has few combinations, many times."""
    return (
        f"trust={trust} authorship={authorship}"
        f" author_key={'none' if author is None else author}"
        f" custody={'true' if custody else 'false'}"
    )


@lru_cache(maxsize=256)
def _spelled_in_bytes(*labels: Any) -> bytes:
    """What follows the tag."""
    return f" {_spelled(*labels)} ".encode()


def _labels(texts: list[str]) -> list[str]:
    """Values of labels in characters that cannot end the label, the header or the line."""
    if not "".join(texts).encode().translate(None, _SAFE_BYTES):
        return texts
    return [*map(_label, texts)]


def _label(text: str) -> str:
    """One of them: any other character becomes `%` and two hexadecimal digits for each of its
    UTF-8 bytes."""
    return "".join(
        character
        if character in _SAFE_CHARACTERS
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )
