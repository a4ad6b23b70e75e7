"""What a source profile gives the projection: native results, frames, and a trust snapshot.

A source profile is authoritative for its own objects (MPR §1, §5); the projection keeps
what it says and decides nothing again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

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


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """One source object that its profile opened.

    native: the labels, as the profile derived them.
    fragment: the exact bytes of its context fragment, labels and content.
    """

    native: NativeResult
    fragment: bytes


class SourceProfile(Protocol):
    """A memory format whose objects can be projected.

    source_profile, context_frame_profile: the names that records carry.
    """

    source_profile: str
    context_frame_profile: str

    def open(self, source: bytes) -> OpenedSource | None:
        """Open and frame one source object, given as its exact bytes.

        Raises SourceRefused. None where this installation cannot open such objects, so
        that a verifier needs native results from elsewhere.
        """
        ...

    def labels_agree(self, fragment: bytes, labels: Mapping[str, object]) -> bool:
        """Whether `fragment` is framed with these labels, whatever its content.

        labels: `derived_trust`, `authorship`, `author_key_id_b64u` and `custody_present`,
            as in a NativeResult or a delivered entry.
        """
        ...
