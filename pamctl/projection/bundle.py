"""A projection as a directory: what a producer hands on and a verifier loads.

    projection.txt       the exact bytes for the downstream system
    record.json          the signed record, canonical JSON and a newline
    request, policy      the exact bytes that were committed to
    trust-snapshot.cbor  the trust state
    fragments/0000 …     the context fragments, by position
    sources/0000 …       the source objects, by position

Native source results have no place here: a verifier who took them from the bundle would
believe the producer.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from pamctl.limits import PROJECTION_BYTES_MAX, PROJECTION_ENTRIES_MAX, PROJECTION_RECORD_BYTES_MAX
from pamctl.projection.materials import Materials
from pamctl.store import files

if TYPE_CHECKING:
    from pamctl.projection.produce import Projection

RECORD = "record.json"
RECORD_SUFFIX = ".record.json"
"""How a record's file is called, and how the name of one that lies by itself ends."""

PROJECTION = "projection.txt"
_REQUEST = "request"
_POLICY = "policy"
_TRUST_SNAPSHOT = "trust-snapshot.cbor"
_FRAGMENTS = "fragments"
_SOURCES = "sources"
_POSITION = re.compile(r"(?:[0-9]{4}|[1-9][0-9]{4,})\Z", re.ASCII)


def publish(path: Path, projection: Projection) -> None:
    """Write a projection into a new directory, whole or not at all.

    When this returns it is durable. Raises FileExistsError when `path` exists and is not
    an empty directory.
    """
    contents = {
        RECORD: projection.record_text,
        PROJECTION: projection.text,
        _REQUEST: projection.request,
        _POLICY: projection.policy,
        _TRUST_SNAPSHOT: projection.trust_snapshot,
    }
    for folder, pieces in ((_FRAGMENTS, projection.fragments), (_SOURCES, projection.sources)):
        contents.update((f"{folder}/{_name(i)}", piece) for i, piece in enumerate(pieces))
    files.publish_directory(path, contents, folders=(_FRAGMENTS, _SOURCES))


def load(folder: Path) -> Materials:
    """The materials in a bundle's directory; what is not there, or is no plain file, is
    None. A file that is too long comes cut off, so that it fails its digest."""
    return Materials(
        request=_read(folder / _REQUEST),
        policy=_read(folder / _POLICY),
        trust_snapshot=_read(folder / _TRUST_SNAPSHOT),
        projection=_read(folder / PROJECTION),
        sources=_pieces(folder / _SOURCES),
        fragments=_pieces(folder / _FRAGMENTS),
    )


def read_record(path: Path) -> bytes:
    """The bytes of a record's file; one byte too many where it is too long, so that the
    verifier refuses it. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(PROJECTION_RECORD_BYTES_MAX + 1)


def record_of(path: Path) -> Path | None:
    """The record of the bundle that a file lies in: a record itself, or one of the other
    files of a bundle with a record beside it. None for a file that lies in none."""
    if path.name == RECORD or path.name.endswith(RECORD_SUFFIX):
        return path
    folder = path.parent
    if folder.name in (_FRAGMENTS, _SOURCES) and _POSITION.match(path.name):
        folder = folder.parent
    elif path.name not in (PROJECTION, _REQUEST, _POLICY, _TRUST_SNAPSHOT):
        return None
    record = folder / RECORD
    return record if record.is_file() else None


def _name(position: int) -> str:
    return f"{position:04}"


def _pieces(folder: Path) -> list[bytes | None]:
    """One piece a position, as many as there are files named like positions, so that a
    surplus shows. A gap is None."""
    try:
        names = [path.name for path in folder.iterdir() if _POSITION.match(path.name)]
    except OSError:
        return []
    count = min(len(names), PROJECTION_ENTRIES_MAX + 1)
    left = PROJECTION_BYTES_MAX
    pieces = []
    for position in range(count):
        piece = _read(folder / _name(position), left)
        left = max(0, left - len(piece or b""))
        pieces.append(piece)
    return pieces


def _read(path: Path, limit: int = PROJECTION_BYTES_MAX) -> bytes | None:
    """The bytes of a plain file, at most one more than `limit`. Never waits on a pipe, and
    never follows a link out of the bundle."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
