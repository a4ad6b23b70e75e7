"""What a source profile gives the projection: native results, frames, and a trust snapshot.

A source profile is authoritative for its own objects (MPR §1, §5); the projection keeps
what it says and decides nothing again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from pamctl.errors import InternalError
from pamctl.named_tuples import NamedTuple
from pamctl.projection.record import NativeResult

RefusalReason = Literal["authentication_failed", "schema_invalid"]


class SourceRefused(Exception):
    """A source profile refuses an object.

    reason: `authentication_failed` for an object that is not what its author made,
        `schema_invalid` for one that is no object of this profile (MPR §4.4).
    """

    def __init__(self, reason: RefusalReason, problem: str) -> None:
        super().__init__(problem)
        self.reason: RefusalReason = reason


class OpenedSource(NamedTuple):
    """One source object that its profile opened. A named tuple, because a projection makes
    thousands of them.

    native: the labels, as the profile derived them.
    fragment: the exact bytes of its context fragment, labels and content.
    """

    native: NativeResult
    fragment: bytes


Opening = OpenedSource | SourceRefused | None
"""What a profile makes of an object: it is opened, refused, or cannot be opened here."""


class SourceObject(NamedTuple):
    """One object that was collected, and what its profile made of it.

    name: unique in its collection; it stays with the producer.
    source: its exact bytes.
    """

    name: str
    source: bytes
    result: OpenedSource | SourceRefused


class Collection(NamedTuple):
    """All objects of a place, opened under one trust state.

    trust_snapshot: that state, as the profile serializes it.
    objects: in the order in which they are delivered where nothing else orders them.
    """

    trust_snapshot: bytes
    objects: Sequence[SourceObject]


Unlock = Callable[[str], bytes | None]
"""The passphrase of what is named, None where nobody has one."""


@runtime_checkable
class Collecting(Protocol):
    """A profile that can collect what is to be projected from a place of its own."""

    def collect(self, place: Path, unlock: Unlock) -> Collection:
        """Every object at a place, those that are refused included.

        Raises InvalidRequest where the place is none of this format, or does not open.
        """
        ...


class SourceProfile(Protocol):
    """A memory format whose objects can be projected.

    source_profile, context_frame_profile: the names that records carry.
    """

    source_profile: str
    context_frame_profile: str

    def open(self, source: bytes, trust_snapshot: bytes | None) -> OpenedSource | None:
        """Open and frame one source object, given as its exact bytes.

        trust_snapshot: the exact bytes that the record commits to; None where they are not
            there. What a verifier may be told depends on nothing else.

        Raises SourceRefused. None where this installation cannot open such objects, or not
        without the snapshot, so that a verifier needs native results from elsewhere.
        """
        ...

    def labels_agree(self, fragment: bytes, labels: Mapping[str, object]) -> bool:
        """Whether `fragment` is framed with these labels, whatever its content.

        labels: `derived_trust`, `authorship`, `author_key_id_b64u` and `custody_present`,
            as in a NativeResult or a delivered entry.
        """
        ...


@runtime_checkable
class OpeningMany(Protocol):
    """A profile that opens many objects in less time than one after the other."""

    def open_all(
        self, sources: Sequence[bytes], digests: Sequence[str], trust_snapshot: bytes | None
    ) -> list[Opening]:
        """What `open` makes of each, in order; what it would raise stands in its place.

        digests: of each, as `sealed_object_digest` has it, computed from these bytes.
        """
        ...


def open_all(
    profile: SourceProfile,
    sources: Sequence[bytes],
    digests: Sequence[str],
    trust_snapshot: bytes | None,
) -> list[Opening]:
    """What a source profile makes of objects, in order; see `OpeningMany`. Raises
    InternalError where it answers for others than it was given."""
    if not isinstance(profile, OpeningMany):
        return [_opened(profile, source, trust_snapshot) for source in sources]
    found = profile.open_all(sources, digests, trust_snapshot)
    if len(found) != len(sources):
        raise InternalError(
            f"{profile.source_profile} was given {len(sources)} objects and answers for "
            f"{len(found)}"
        )
    return found


def _opened(profile: SourceProfile, source: bytes, trust_snapshot: bytes | None) -> Opening:
    try:
        return profile.open(source, trust_snapshot)
    except SourceRefused as refused:
        return refused
