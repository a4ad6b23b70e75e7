"""pamctl's own source profile: its versions as sources. `store-format/source-profile.md`.

A source object is the exact bytes of a version; `pam_sources` says which are good,
`pam_trust` whose they are, and `pam_frames` how they become context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from pamctl.crypto.version_signatures import is_signed
from pamctl.encoding.digests import sha256_digest
from pamctl.projection.profiles.pam_frames import begins_with, frames
from pamctl.projection.profiles.pam_sources import envelope_of, envelopes_of
from pamctl.projection.profiles.pam_trust import (
    UNVERIFIED,
    KnownKeys,
    Labels,
    checked_signature,
    labels,
    read_snapshot,
)
from pamctl.projection.record import NativeResult
from pamctl.projection.source import OpenedSource, Opening, SourceRefused

SOURCE_PROFILE = "urn:pamctl:source-profile:v1"
CONTEXT_FRAME_PROFILE = "urn:pamctl:context-frame:v1"
FORMAT_VERSION = 1

_TOGETHER = 64
"""Sources that are judged together: if one of them is not plainly good, each is looked at."""


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
        found = self._opened([envelope_of(source)], [sha256_digest(source)], trust_snapshot)
        if isinstance(found[0], SourceRefused):
            raise found[0]
        return found[0]

    def open_all(
        self, sources: Sequence[bytes], digests: Sequence[str], trust_snapshot: bytes | None
    ) -> list[Opening]:
        """What `open` makes of each, in order."""
        found: list[Opening] = []
        for start in range(0, len(sources), _TOGETHER):
            some = sources[start : start + _TOGETHER]
            addresses = digests[start : start + _TOGETHER]
            envelopes = envelopes_of(some)
            if envelopes is not None:
                found += self._opened(envelopes, addresses, trust_snapshot)
            else:
                found += map(self._opened_alone, some, addresses, repeat(trust_snapshot))
        return found

    labels_agree = staticmethod(begins_with)

    def _opened_alone(self, source: bytes, address: str, trust_snapshot: bytes | None) -> Opening:
        try:
            return self._opened([envelope_of(source)], [address], trust_snapshot)[0]
        except SourceRefused as refused:
            return refused

    def _opened(
        self,
        envelopes: Sequence[Mapping[str, Any]],
        addresses: Sequence[str],
        trust_snapshot: bytes | None,
    ) -> list[Opening]:
        """What becomes of good source objects."""
        told = [
            self._labels(envelope, trust_snapshot) if "integrity" in envelope else UNVERIFIED
            for envelope in envelopes
        ]
        places = [place for place, one in enumerate(told) if isinstance(one, Labels)]
        natives = [_native(told[place], addresses[place]) for place in places]
        framed = frames(
            [envelopes[place] for place in places], natives, [addresses[place] for place in places]
        )
        found: list[Opening] = [None if isinstance(one, Labels) else one for one in told]
        for place, native, fragment in zip(places, natives, framed, strict=True):
            found[place] = (
                OpenedSource(native, fragment) if isinstance(fragment, bytes) else fragment
            )
        return found

    def _labels(
        self, envelope: Mapping[str, Any], trust_snapshot: bytes | None
    ) -> Labels | SourceRefused | None:
        if not is_signed(envelope):
            return UNVERIFIED
        try:
            signature = checked_signature(envelope)
            if trust_snapshot is None:
                return None
            trust = read_snapshot(trust_snapshot)
            if self._known is not None and signature is not None:
                self._known.admit(signature, envelope["committed_at"], trust)
        except SourceRefused as refused:
            return refused
        return labels(signature, trust)


def _native(labels: Any, address: str) -> NativeResult:
    trust, authorship, author, custody = labels
    return {
        "format_version": FORMAT_VERSION,
        "sealed_object_digest": address,
        "derived_trust": trust,
        "authorship": authorship,
        "author_key_id_b64u": author,
        "custody_present": custody,
    }
