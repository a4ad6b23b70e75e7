"""A full verification that asks whether everything holds, and not what does not.

The entries of a record are not read. They are written anew from what a record commits to: the
source objects, their native results, the fragments. Where the record holds exactly that, byte
for byte, each of its entries is good (MPR §8 steps 5 and 6). Whatever is different in the least
is for `materials`, which reads every entry and says what is wrong, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pamctl.encoding.digests import sha256_digests
from pamctl.limits import PROJECTION_ENTRIES_MAX
from pamctl.projection.delivered import NotDelivered, delivered_text
from pamctl.projection.materials import (
    OPENED_TOGETHER,
    Materials,
    context_faults,
    projection_faults,
)
from pamctl.projection.record import RecordAround
from pamctl.projection.source import OpenedSource, SourceProfile, open_all

_GIVEN_TOGETHER = 1024
"""Entries that are written at a time, where no source object has to be opened for it."""


def proven_entries(
    around: RecordAround, materials: Materials, profile: SourceProfile | None
) -> int | None:
    """How many entries a record has, where all that it commits to is at hand and holds; None
    where a closer look must tell.

    around: all of the record but its entries.
    profile: the record's source profile where it is known here.
    """
    count, members, missing = len(materials.sources), around.record.members, list[str]()
    given = materials.native_results
    counts = {count, len(materials.fragments), count if given is None else len(given)}
    if len(counts) > 1 or count > PROJECTION_ENTRIES_MAX:
        return None
    context = members["selection_context"]
    if profile is not None and profile.context_frame_profile != context["context_frame_profile"]:
        return None
    if (
        any(context_faults(context, materials, missing))
        or not _are_delivered(around, materials, profile)
        or any(projection_faults(members["projection"], count, materials, missing))
        or missing
    ):
        return None
    return count


def _are_delivered(
    around: RecordAround, materials: Materials, profile: SourceProfile | None
) -> bool:
    """Whether the entries are those that the materials call for, in fragments that the profile
    frames so."""
    place, together = around.start, _GIVEN_TOGETHER
    if materials.native_results is None:
        together = OPENED_TOGETHER
    for start in range(0, len(materials.sources), together):
        expected = _expected(materials, slice(start, start + together), profile)
        if expected is None or not around.text.startswith(expected, place):
            return False
        place += len(expected)
    return place == around.end


def _expected(materials: Materials, some: slice, profile: SourceProfile | None) -> bytes | None:
    """What has to stand in the record of some objects; None where there is no saying."""
    sources = [piece for piece in materials.sources[some] if piece is not None]
    fragments = [piece for piece in materials.fragments[some] if piece is not None]
    digests, given = sha256_digests(sources), materials.native_results
    if given is not None:
        natives: Sequence[Any] = given[some]
    elif profile is not None:
        found = open_all(profile, sources, digests, materials.trust_snapshot)
        opened = [one for one in found if isinstance(one, OpenedSource)]
        if [one.fragment for one in opened] != fragments:
            return None
        natives = [one.native for one in opened]
    else:
        return None
    if not len(materials.sources[some]) == len(sources) == len(fragments) == len(natives):
        return None
    try:
        written = delivered_text(natives, digests, sha256_digests(fragments), first=some.start)
    except NotDelivered:
        return None
    # What the profile has opened, it has framed as well.
    if given is not None and profile and not all(map(profile.labels_agree, fragments, natives)):
        return None
    return written if some.start == 0 else b"," + written
