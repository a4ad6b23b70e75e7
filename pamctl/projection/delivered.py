"""The delivered entries of a record as text, written and recognized. MPR §4.3.

Most of an entry is the same in all that have its labels, so that writing one takes a tenth of
what making an object of it and writing that takes; and to match a pattern takes a third of what
parsing the text, writing it again and looking at its members takes. A producer signs what is
written here. Where a record holds exactly that, byte for byte, a verifier knows of every entry
that it is good in shape, stands in its place and commits to what is at hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import starmap
from operator import itemgetter
from typing import Any

import orjson

from pamctl.limits import INTEGER_MAX, PROJECTION_ENTRIES_MAX
from pamctl.projection.entries import are_labels, native_fault

_LABELS = ("derived_trust", "authorship", "author_key_id_b64u", "custody_present")
_digest, _in_labels = itemgetter("sealed_object_digest"), itemgetter("format_version", *_LABELS)


class NotDelivered(Exception):
    """Why a native result can be in no entry."""


def delivered_text(
    natives: Sequence[Any], sources: list[str], fragments: Sequence[str], *, first: int = 0
) -> bytes:
    """The canonical JSON of the entries of as many objects, in their order, without the
    brackets around them.

    natives: what the source profile found of each. sources, fragments: the digests of the
    objects and of their fragments, computed from the bytes at hand.
    first: the position of the first of them.

    Raises NotDelivered for a result that does not keep MPR §4.3, or is of other bytes than the
    object's.
    """
    try:
        if [*map(_digest, natives)] != sources:
            raise NotDelivered("/sealed_object_digest is not that of the source object")
        around = starmap(_around_digests, map(_in_labels, natives))
        entries = [
            f"{{{before}{fragment}{between}{source}{behind}{position}}}"
            for position, ((before, between, behind), source, fragment) in enumerate(
                zip(around, sources, fragments, strict=True), first
            )
        ]
    except (KeyError, TypeError):  # no object, one that lacks a member, a list for a label
        raise NotDelivered("it has not the members of a native result") from None
    return ",".join(entries).encode()


# With types told apart: 1 and True are equal in Python, and different results.
@lru_cache(maxsize=256, typed=True)
def _around_digests(
    version: int, trust: str, authorship: str, author: str | None, custody: bool
) -> tuple[str, str, str]:
    """What stands before, between and behind the two digests of an entry with these labels.
    Remembered: records have few combinations of labels, many times."""
    labels = dict(zip(_LABELS, (trust, authorship, author, custody), strict=True))
    fault = native_fault(labels)
    if fault is not None:
        raise NotDelivered(" ".join(fault))
    if type(version) is not int or not 1 <= version <= INTEGER_MAX:
        raise NotDelivered("/format_version is not an integer from 1 to 2^53-1")
    entry = {
        **labels,
        "position": 0,
        "context_fragment_digest": "",
        "object": {"format_version": version, "sealed_object_digest": ""},
    }
    text = orjson.dumps(entry, option=orjson.OPT_SORT_KEYS).decode()
    before, between, behind = text.removeprefix("{").removesuffix("0}").split('""')
    return f'{before}"', f'"{between}"', f'"{behind}'


@lru_cache(maxsize=1)
def _entry_or_rest() -> re.Pattern[bytes]:
    """Matches one entry, or whatever follows the last. Not before it is wanted: compiling it
    takes longer than verifying a record."""
    digest = rb'"sha256:[0-9a-f]{64}"'
    return re.compile(
        rb'\{"author_key_id_b64u":(?:null|"([\w-]+)"),"authorship":"(\w+)",'
        rb'"context_fragment_digest":' + digest + rb","
        rb'"custody_present":(true|false),"derived_trust":"(\w+)","object":'
        rb'\{"format_version":[1-9][0-9]{0,14},"sealed_object_digest":' + digest + rb"\},"
        rb'"position":([0-9]+)\}(?:,(?=\{)|\Z)|(.+)',
        re.DOTALL,
    )


def plain_count(text: bytes, start: int, end: int) -> int | None:
    """How many entries stand between two places of a text, where that is the canonical spelling
    of entries that are good in shape and numbered from 0; None where a closer look must tell."""
    if start == end:
        return 0
    found = _entry_or_rest().findall(text, start, end)
    authors, authorships, custody, trust, positions, rest = zip(*found, strict=True)
    if rest[-1] or positions != _running(len(found)) or len(found) > PROJECTION_ENTRIES_MAX:
        return None
    kinds = set(zip(trust, authorships, authors, custody, strict=True))
    return len(found) if all(starmap(_are_plain_labels, kinds)) else None


@lru_cache(maxsize=8)
def _running(count: int) -> tuple[bytes, ...]:
    """Remembered: an agent's records are of few lengths."""
    return tuple(b"%d" % position for position in range(count))


@lru_cache(maxsize=256)
def _are_plain_labels(trust: bytes, authorship: bytes, author: bytes, custody: bytes) -> bool:
    labels = (trust.decode(), authorship.decode(), author.decode() or None, custody == b"true")
    return are_labels(*labels)
