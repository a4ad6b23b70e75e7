"""The ApertoMemory source profile, over results that `open_sealed` gave. MPR §5.

What an object's trust, authorship and custody are is ApertoMemory's to say
(draft-ferro-apertomemory-02); this module writes it down and derives nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pamctl.crypto.keys import KEY_ID_BYTES
from pamctl.projection.record import NativeResult
from pamctl.projection.source import OpenedSource

SOURCE_PROFILE = "draft-ferro-apertomemory-02"
CONTEXT_FRAME_PROFILE = "urn:apertomemory:context-frame:v0"

_FRAME_END = b"\n[/ApertoMemory]\n"


def trust_snapshot(owner_key_id: bytes, accepted_key_ids: Iterable[bytes]) -> bytes:
    """The keyring at read time, as deterministic CBOR. MPR §5.1.

    owner_key_id: the 8 raw bytes of the vault owner's signing key id.
    accepted_key_ids: the accepted authors' key ids, in any order and any number of times;
        the owner's stays in where it is given. Raises ValueError for other lengths.
    """
    import cbor2

    accepted = sorted(set(accepted_key_ids))
    if any(len(key_id) != KEY_ID_BYTES for key_id in (owner_key_id, *accepted)):
        raise ValueError("a key id is 8 bytes")
    return cbor2.dumps({1: owner_key_id, 2: accepted}, canonical=True)


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
    """ApertoMemory objects, whose native results come from whoever holds the vault."""

    source_profile = SOURCE_PROFILE
    context_frame_profile = CONTEXT_FRAME_PROFILE

    def open(self, source: bytes) -> OpenedSource | None:
        """Always None: sealed objects open under the vault's keys only."""
        return None

    def labels_agree(self, fragment: bytes, labels: Mapping[str, object]) -> bool:
        """Whether `fragment` stands between the header that `labels` give and the end."""
        header = _header(labels)
        return (
            fragment.startswith(header)
            and fragment.endswith(_FRAME_END)
            and len(fragment) >= len(header) + len(_FRAME_END)
        )
