"""The flags of commands that change a memory, each declared once, and what they add to a
request.

`verbs.verb` is given `CHANGE`, or `ASSERTION` for what also states times; the values reach a
command inside its Invocation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pamctl.cli import input as given
from pamctl.cli import options
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    ObjectDeleted,
    ObjectNotFound,
    PamError,
    PolicyDenied,
    RetentionRestriction,
    ServiceUnavailable,
    VersionConflict,
)

if TYPE_CHECKING:
    from pamctl.cli.invocation import Invocation

RETRYING = (
    options.flag(
        "idempotency_key",
        str | None,
        None,
        "--idempotency-key",
        metavar="KEY",
        help="A second request with this key changes nothing and answers the same.",
    ),
    options.flag(
        "retry_key_from_content",
        bool,
        False,
        "--retry-key-from-content",
        help="Make that key from the request itself: the same request is done once.",
    ),
)
"""Of every command that changes something and would change it again if it were called twice."""

PROVENANCE = (
    options.flag(
        "source",
        str | None,
        None,
        "--source",
        metavar="REF",
        help="Provenance: where it comes from.",
    ),
    options.flag(
        "activity",
        str | None,
        None,
        "--activity",
        metavar="TEXT",
        help="Provenance: what produced it.",
    ),
    options.flag(
        "evidence",
        list[str] | None,
        None,
        "--evidence",
        metavar="REF",
        help="Provenance: evidence; may be repeated.",
    ),
    options.flag(
        "source_confidence",
        float | None,
        None,
        "--source-confidence",
        metavar="N",
        help="Provenance: how sure the source was, 0 to 1.",
    ),
    options.flag(
        "provenance_file",
        str | None,
        None,
        "--provenance-file",
        metavar="FILE",
        help="Provenance as a JSON object; the other flags add to it.",
    ),
)

TIMES = tuple(
    options.flag(name, str | None, None, f"--{name.replace('_', '-')}", metavar="TIME", help=text)
    for name, text in (
        ("observed_at", "When it was observed, RFC 3339."),
        ("asserted_at", "When it was asserted."),
        ("valid_from", "When it begins to hold."),
        ("valid_until", "When it ceases to hold."),
    )
)

KEYED = (*RETRYING, *options.SCOPED)
"""Of commands that change what is no memory."""

CHANGE = (*RETRYING, *PROVENANCE, *options.SCOPED)
"""Of commands that give a memory a version."""

ASSERTION = (*RETRYING, *TIMES, *PROVENANCE, *options.SCOPED)
"""Of commands that say something of the world, and when it holds."""

ERRORS: tuple[type[PamError], ...] = (
    ObjectNotFound,
    VersionConflict,
    DuplicateOperation,
    AccessDenied,
    PolicyDenied,
    RetentionRestriction,
    ObjectDeleted,
    ServiceUnavailable,
)
"""What every change of a memory that is there may end with."""


def times(call: Invocation) -> dict[str, Any]:
    """The times that the flags state, by the draft's member names. PAMSPEC §8.1."""
    return {flag.name: call.flags[flag.name] for flag in TIMES}


def provenance(call: Invocation, default_activity: str) -> dict[str, Any]:
    """The provenance object of a request: the file's members, and over them the flags'.
    PAMSPEC §8.6.

    default_activity: the activity where neither names one.
    """
    flags = call.flags
    base = given.optional_object(flags["provenance_file"], "--provenance-file") or {}
    stated = {
        "activity": flags["activity"] or (None if "activity" in base else default_activity),
        "source_ref": flags["source"],
        "evidence_refs": flags["evidence"] or None,
        "source_confidence": flags["source_confidence"],
        "observed_at": flags.get("observed_at"),
    }
    return {**base, **{name: value for name, value in stated.items() if value is not None}}


def states_provenance(call: Invocation) -> bool:
    """Whether any flag says where the change comes from."""
    return any(call.flags[flag.name] not in (None, []) for flag in PROVENANCE)
