"""What the proof that a store is orderly rests on: it ends at the first thing that is not.

Everything in it may be asked for more strictly than a store needs, and nothing less: a store
that is not proven orderly is looked at again, by those who say what is wrong, if anything is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from pamctl.encoding.digests import sha256
from pamctl.limits import DOCUMENT_BYTES_MAX, INTEGER_MAX

if TYPE_CHECKING:
    from hashlib import _Hash

_CHUNK_BYTES = 1 << 20
_SORTED = orjson.OPT_SORT_KEYS


class Disorder(Exception):
    """Something does not fit, or is so rare that it is not looked at here; the text says which,
    for those who work on this."""


def disorder(what: str) -> NoReturn:
    """Give up. Raises Disorder."""
    raise Disorder(what)


def lines_by_chunk(
    descriptor: int, size: int, digest: _Hash | None = None
) -> Iterator[list[bytes]]:
    """The lines in the first `size` bytes of a file, those of a mebibyte at once. `digest` is
    fed with all that was read. Raises Disorder where the last one has no end, or one is longer
    than limits.DOCUMENT_BYTES_MAX."""
    at, carried = 0, b""
    while at < size:
        chunk = os.pread(descriptor, min(_CHUNK_BYTES, size - at), at)
        if not chunk:
            break
        at += len(chunk)
        if digest is not None:
            digest.update(chunk)
        lines = (carried + chunk).split(b"\n")
        carried = lines.pop()
        if len(carried) > DOCUMENT_BYTES_MAX or (lines and len(lines[0]) > DOCUMENT_BYTES_MAX):
            disorder("a line is too long")
        yield lines
    if carried:
        disorder("the last line has no end")


def object_in(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises Disorder."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    if type(value) is not dict:
        disorder("no JSON object")
    return value


def is_simple(value: Any, data: bytes) -> bool:
    """Whether a value that was read from `data` is an object of texts and small integers with
    names in ASCII: most are, and those are spelled in one way."""
    if type(value) is not dict or not data.isascii():
        return False
    for member in value.values():
        kind = type(member)
        if kind is not str and (kind is not int or not -INTEGER_MAX <= member <= INTEGER_MAX):
            return False
    return True


def link(
    address: str, identifier: str, version_id: Any, scope_id: str, recorded_at: str, actor: Any
) -> bytes:
    """What an event says of its version, as one digest. A version says the same of itself, and
    by that the two find each other."""
    said = (address, identifier, version_id, scope_id, recorded_at, actor)
    return sha256(orjson.dumps(said, option=_SORTED)).digest()
