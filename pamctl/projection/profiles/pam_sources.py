"""What is a source object of pamctl's own profile. `store-format/source-profile.md`.

One at a time, with a reason for each that is refused; or many, which takes half as long and
gives no reason: whoever is told that one of them is not plainly good asks for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from pamctl.encoding.canonical import canonical, is_plain
from pamctl.errors import InvalidObject
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.model.documents import are_valid, is_valid
from pamctl.projection.source import SourceRefused

_READABLE = ("available", "partially_redacted")
_LEVELS_AROUND_CONTENT = 2


def envelope_of(source: bytes) -> dict[str, Any]:
    """The envelope in a source object. Raises SourceRefused with `schema_invalid`."""
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


def envelopes_of(sources: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The envelopes in source objects, in order; None where `envelope_of` might refuse one."""
    if max(map(len, sources), default=0) > DOCUMENT_BYTES_MAX:
        return None
    try:
        versions = [*map(orjson.loads, sources)]
        if any(
            orjson.dumps(version, option=orjson.OPT_SORT_KEYS) != source
            for version, source in zip(versions, sources, strict=True)
        ):
            return None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    if not are_valid("version-file", versions):
        return None
    envelopes = [version["envelope"] for version in versions]
    if all(map(_is_plainly_good, envelopes)):
        return envelopes
    return None


def _is_plainly_good(envelope: Mapping[str, Any]) -> bool:
    """Whether an envelope that its schema accepts, and that orjson writes as it was read, is
    canonical as well, and of an object that can be read.

    The schema leaves few places for what the two spell differently: the content, and the
    numbers of the quality signals and of the source's confidence. It has integers spelled as
    such.
    """
    if "object_type" not in envelope or envelope["availability_state"] not in _READABLE:
        return False
    if "quality_signals" in envelope or "source_confidence" in envelope["provenance"]:
        return False
    content = envelope["canonical_content"]
    if type(content) is str:
        return True
    try:
        return is_plain(content, levels_around=_LEVELS_AROUND_CONTENT)
    except InvalidObject:
        return False
