"""The delivered entries of a record that is being made. MPR §4.3, §7 step 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InternalError
from pamctl.projection.choice import Candidate
from pamctl.projection.entries import are_labels, native_fault
from pamctl.projection.source import OpenedSource


def entries_of(
    chosen: Sequence[tuple[Candidate, OpenedSource]], *, are_ascii: bool
) -> list[dict[str, Any]]:
    """An entry for each object that is delivered: its labels as the source profile gave them,
    provided that they keep MPR §4.3 and are about these bytes.

    are_ascii: whether all fragments are known to be ASCII, so that none has to be looked at.

    Raises InternalError for what a source profile should not have answered.
    """
    entries = []
    for position, (candidate, (native, fragment)) in enumerate(chosen):
        trust, authorship = native["derived_trust"], native["authorship"]
        author, custody = native["author_key_id_b64u"], native["custody_present"]
        if not _are_good((trust, authorship, author, custody)):
            fault = " ".join(native_fault(native) or ())
            raise InternalError(f"the source profile's result is inconsistent: {fault}")
        digest = candidate.digest or sha256_digest(candidate.source)
        if native["sealed_object_digest"] != digest:
            raise InternalError("the source profile opened other bytes than the source object's")
        if not are_ascii:
            _require_utf8(fragment)
        entries.append(
            {
                "position": position,
                "object": {
                    "format_version": native["format_version"],
                    "sealed_object_digest": digest,
                },
                "context_fragment_digest": sha256_digest(fragment),
                "derived_trust": trust,
                "authorship": authorship,
                "author_key_id_b64u": author,
                "custody_present": custody,
            }
        )
    return entries


def _are_good(labels: tuple[Any, ...]) -> bool:
    try:
        return are_labels(*labels)
    except TypeError:  # a list or an object for a label
        return False


def _require_utf8(fragment: bytes) -> None:
    try:
        fragment.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise InternalError("the source profile framed a fragment that is not UTF-8") from cause
