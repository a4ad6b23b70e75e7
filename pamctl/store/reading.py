"""Many versions read at a time: a pack is opened once, and nothing is looked for.

What is plainly where it should be is answered here; the rest is for `Versions.read`, which
knows where versions go and what to say of those that are damaged.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from pamctl.encoding.digests import sha256
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import ScopeLayout

_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


Place = tuple[bytes, bytes | None, int, int]
"""Where a version is said to be: SHA-256 of its bytes, raw; the name of its pack, raw, or None
for a file of its own; and where its bytes are there, offset and length."""


def read_plainly(layout: ScopeLayout, places: Sequence[Place]) -> list[bytes | None]:
    """The exact bytes of versions, in order, each checked against its digest; None for one
    that is not there as it was said to be, whatever the reason."""
    found: list[bytes | None] = [None] * len(places)
    in_packs = sorted(
        (pack, offset, number)
        for number, (_, pack, offset, _) in enumerate(places)
        if pack is not None
    )
    if len(in_packs) < len(places):
        _read_files(layout, places, found)
    if in_packs:
        _read_packs(layout, places, in_packs, found)
    return found


def _read_files(layout: ScopeLayout, places: Sequence[Place], found: list[bytes | None]) -> None:
    try:
        folder = os.open(layout.versions, _READING | os.O_DIRECTORY)
    except OSError:
        return
    # Bound once: with a thousand files, looking names up is a tenth of the work.
    opened, read, close = os.open, os.read, os.close
    try:
        for number, (digest, pack, _, length) in enumerate(places):
            if pack is not None or length > DOCUMENT_BYTES_MAX:
                continue
            name = digest.hex()
            try:
                descriptor = opened(f"{name[:2]}/{name[2:]}.json", _READING, dir_fd=folder)
            except OSError:
                continue
            try:
                data = read(descriptor, length)
            except OSError:
                continue
            finally:
                close(descriptor)
            if sha256(data).digest() == digest:
                found[number] = data
    finally:
        close(folder)


def _read_packs(
    layout: ScopeLayout,
    places: Sequence[Place],
    in_packs: Sequence[tuple[bytes, int, int]],
    found: list[bytes | None],
) -> None:
    """in_packs: the pack, the offset and the number of each of `places` that is in one, in
    that order."""
    try:
        folder = os.open(layout.packs, _READING | os.O_DIRECTORY)
    except OSError:
        return
    opened, read, close = os.open, os.pread, os.close
    descriptor, last = folder, None
    try:
        for pack, offset, number in in_packs:
            digest, _, _, length = places[number]
            if length > DOCUMENT_BYTES_MAX:
                continue
            try:
                if pack != last:
                    following = opened(f"{pack.hex()}.jsonl", _READING, dir_fd=folder)
                    if last is not None:
                        close(descriptor)
                    descriptor, last = following, pack
                data = read(descriptor, length, offset)
            except OSError:
                continue
            if sha256(data).digest() == digest:
                found[number] = data
    finally:
        if last is not None:
            close(descriptor)
        close(folder)
