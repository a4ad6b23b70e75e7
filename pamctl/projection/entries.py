"""The delivered entries of a record, and the same by column. MPR §4.3.

A record may have 65,535 entries, and a call of a function for each member of each entry
would cost several times what hashing costs. So the entries are turned into columns, and a
column is judged as a whole. Only when that finds something wrong are the entries walked one
by one, to say which member it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from operator import itemgetter
from typing import Any

from pamctl.limits import INTEGER_MAX, PROJECTION_ENTRIES_MAX
from pamctl.projection import shape
from pamctl.projection.shape import Fault

TRUST_LEVELS = ("self", "trusted", "unverified")
AUTHORSHIPS = ("signed", "attested", "unknown")

_ENTRY = (
    "author_key_id_b64u",
    "authorship",
    "context_fragment_digest",
    "custody_present",
    "derived_trust",
    "object",
    "position",
)
_OBJECT = ("format_version", "sealed_object_digest")
_ENTRY_MEMBERS, _OBJECT_MEMBERS = frozenset(_ENTRY), frozenset(_OBJECT)
_in_entry, _in_object = itemgetter(*_ENTRY), itemgetter(*_OBJECT)

_PREFIX = "sha256:"
_DIGEST_CHARS = len(_PREFIX) + 64
_ANY_DIGIT = bytes.maketrans(b"0123456789abcdef", b"0" * 16)
_ANY_DIGEST = (_PREFIX.encode() + b"0" * 64).translate(_ANY_DIGIT)
# The characters of the prefix that are digits themselves.
_PREFIX_DIGITS = tuple((place, _PREFIX[place]) for place in (2, 3, 4, 5))


@dataclass(eq=False, repr=False)
class Entries:
    """Columns, each as long as the record's `delivered`."""

    author_key_id_b64u: tuple[str | None, ...]
    authorship: tuple[str, ...]
    context_fragment_digest: tuple[str, ...]
    custody_present: tuple[bool, ...]
    derived_trust: tuple[str, ...]
    position: tuple[int, ...]
    format_version: tuple[int, ...]
    sealed_object_digest: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.position)

    def labels_at(self, position: int) -> dict[str, Any]:
        """The four labels of one entry, by the record's names."""
        return {
            "derived_trust": self.derived_trust[position],
            "authorship": self.authorship[position],
            "author_key_id_b64u": self.author_key_id_b64u[position],
            "custody_present": self.custody_present[position],
        }


_NO_ENTRIES = Entries((), (), (), (), (), (), (), ())


def columns(delivered: Any) -> Entries:
    """The columns of `delivered`, every entry of which is good in shape.

    Whether positions run is judged later, under a reason of its own. Raises Fault with the
    pointer below `/delivered` of the first fault.
    """
    if type(delivered) is not list:
        raise Fault("", "is not an array")
    if len(delivered) > PROJECTION_ENTRIES_MAX:
        raise Fault("", f"has more than {PROJECTION_ENTRIES_MAX} entries")
    if not delivered:
        return _NO_ENTRIES
    try:
        found = _split(delivered)
        if _are_good(found):
            return found
    except (KeyError, TypeError):
        pass  # an entry that is no object, lacks a member, or has a list for a digest
    for index, entry in enumerate(delivered):
        try:
            _check_entry(entry)
        except Fault as fault:
            raise Fault(f"/{index}{fault.pointer}", fault.problem) from None
    return _split(delivered)


def _split(delivered: list[dict[str, Any]]) -> Entries:
    by_column = zip(*map(_in_entry, delivered), strict=True)
    authors, authorships, fragments, custody, trust, sources, positions = by_column
    versions, digests = zip(*map(_in_object, sources), strict=True)
    if set(map(len, delivered)) != {len(_ENTRY)} or set(map(len, sources)) != {len(_OBJECT)}:
        raise KeyError
    return Entries(authors, authorships, fragments, custody, trust, positions, versions, digests)


def _are_good(found: Entries) -> bool:
    """Whether all columns are good."""
    versions = set(found.format_version)
    labels = (
        found.derived_trust,
        found.authorship,
        found.author_key_id_b64u,
        found.custody_present,
    )
    return (
        # True is equal to 1, and neither number nor custody where the other is asked for.
        set(map(type, found.position + found.format_version)) == {int}
        and set(map(type, found.custody_present)) == {bool}
        and min(found.position) >= 0
        and max(found.position) <= INTEGER_MAX
        and min(versions) >= 1
        and max(versions) <= INTEGER_MAX
        and all(starmap(are_labels, set(zip(*labels, strict=False))))
        and _are_digests(found.context_fragment_digest + found.sealed_object_digest)
    )


# With types told apart: 1 and True are equal, and only one of them is custody.
@lru_cache(maxsize=256, typed=True)
def are_labels(trust: Any, authorship: Any, author: Any, custody: Any) -> bool:
    """Whether four native labels keep MPR §4.3, as `native_fault` judges them. Remembered:
    records have few combinations of labels, many times."""
    labels = {
        "derived_trust": trust,
        "authorship": authorship,
        "author_key_id_b64u": author,
        "custody_present": custody,
    }
    return native_fault(labels) is None


def _are_digests(texts: Sequence[Any]) -> bool:
    """Whether each is `sha256:` and 64 lowercase hexadecimal digits: each is as long as that,
    there are digits where there should be and nowhere else, and those of the prefix are the
    right ones. A pattern takes twice as long over as many."""
    if set(map(len, texts)) != {_DIGEST_CHARS}:
        return False
    joined, count = "".join(texts), len(texts)
    if not joined.isascii() or joined.encode().translate(_ANY_DIGIT) != _ANY_DIGEST * count:
        return False
    return all(joined[at::_DIGEST_CHARS] == digit * count for at, digit in _PREFIX_DIGITS)


def _check_entry(entry: Any) -> None:
    shape.members(entry, _ENTRY_MEMBERS, "")
    shape.count(entry["position"], 0, "/position")
    source = entry["object"]
    shape.members(source, _OBJECT_MEMBERS, "/object")
    shape.count(source["format_version"], 1, "/object/format_version")
    shape.digest(source["sealed_object_digest"], "/object/sealed_object_digest")
    shape.digest(entry["context_fragment_digest"], "/context_fragment_digest")
    fault = native_fault(entry)
    if fault is not None:
        raise Fault(*fault)


def native_fault(entry: Any) -> tuple[str, str] | None:
    """What is wrong with the four native labels of `entry`: a pointer and a problem, or
    None. MPR §4.3: unverified content has no author, attested content has a custodian."""
    trust, authorship = entry["derived_trust"], entry["authorship"]
    author, custody = entry["author_key_id_b64u"], entry["custody_present"]
    if type(trust) is not str or trust not in TRUST_LEVELS:
        return "/derived_trust", f"is none of {', '.join(TRUST_LEVELS)}"
    if type(authorship) is not str or authorship not in AUTHORSHIPS:
        return "/authorship", f"is none of {', '.join(AUTHORSHIPS)}"
    if type(custody) is not bool:
        return "/custody_present", "is neither true nor false"
    if author is not None and not shape.is_base64url(author):
        return "/author_key_id_b64u", "is neither null nor canonical unpadded base64url"
    if trust == "unverified" and (authorship != "unknown" or author is not None):
        return "/derived_trust", "is unverified, so authorship must be unknown and the author null"
    if authorship == "attested" and not custody:
        return "/custody_present", "is false, but attested authorship needs a custodian"
    return None
