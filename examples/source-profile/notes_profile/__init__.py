"""A source profile for pamctl: a folder of plain text notes.

A note is a file whose name ends in `.note` and whose bytes are UTF-8 text. Nobody signs notes,
so each is delivered as unverified, of unknown authorship. `docs/source-profiles.md` of pamctl
says what a profile has to keep to.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from pamctl.projection.source import (
    Collection,
    OpenedSource,
    SourceObject,
    SourceRefused,
    Unlock,
)

SOURCE_PROFILE = "urn:example:notes:v1"
CONTEXT_FRAME_PROFILE = "urn:example:notes-frame:v1"
TRUST_SNAPSHOT = b"urn:example:notes:v1 trusts nobody\n"
NOTE_BYTES_MAX = 65536


class NotesProfile:
    """Notes as sources. pamctl makes one of these, and calls it for every note."""

    source_profile = SOURCE_PROFILE
    context_frame_profile = CONTEXT_FRAME_PROFILE

    def open(self, source: bytes, trust_snapshot: bytes | None) -> OpenedSource:
        """Verify one note, label it, and frame it. A producer and a verifier get the same
        answer, because it depends on these bytes alone."""
        if trust_snapshot not in (None, TRUST_SNAPSHOT):
            raise SourceRefused("schema_invalid", "this is no trust snapshot of notes")
        if len(source) > NOTE_BYTES_MAX:
            raise SourceRefused("schema_invalid", "the note is too long")
        try:
            source.decode("utf-8")
        except UnicodeDecodeError:
            raise SourceRefused("schema_invalid", "the note is not UTF-8") from None
        digest = sha256(source).hexdigest()
        labels = {"derived_trust": "unverified", "authorship": "unknown"}
        return OpenedSource(
            native={
                "format_version": 1,
                "sealed_object_digest": f"sha256:{digest}",
                "derived_trust": "unverified",
                "authorship": "unknown",
                "author_key_id_b64u": None,
                "custody_present": False,
            },
            # Nobody can write the digest of a text into that text, so nobody can end the frame
            # of his own note, or begin another inside it.
            fragment=_header(digest[:16], labels) + source + f"\n[/note {digest[:16]}]\n".encode(),
        )

    def labels_agree(self, fragment: bytes, labels: Mapping[str, object]) -> bool:
        """Whether a fragment begins with these labels, under whatever tag."""
        tag = fragment[len("[note ") : len("[note ") + 16].decode("ascii", "replace")
        return fragment.startswith(_header(tag, labels))

    def collect(self, place: Path, unlock: Unlock) -> Collection:
        """Every note in a folder, in the order of their names."""
        files = sorted(place.glob("*.note"))
        return Collection(TRUST_SNAPSHOT, [self._collected(file) for file in files])

    def _collected(self, file: Path) -> SourceObject:
        source = file.read_bytes()
        try:
            return SourceObject(file.name, source, self.open(source, TRUST_SNAPSHOT))
        except SourceRefused as refused:
            return SourceObject(file.name, source, refused)


def _header(tag: str, labels: Mapping[str, object]) -> bytes:
    return (
        f"[note {tag} trust={labels['derived_trust']} authorship={labels['authorship']}]\n"
    ).encode()
