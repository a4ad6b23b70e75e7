"""Envelopes of new versions, and what of old ones may still be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.encoding.timestamps import to_utc
from pamctl.errors import InvalidRequest
from pamctl.service.sources import Sources

SPEC_VERSION = "0.1.0-draft"
TOMBSTONE: Mapping[str, Any] = {"tombstone": True}
TEMPORAL_ASSERTIONS = ("observed_at", "asserted_at", "valid_from", "valid_until")

_WITHHOLDING = {"available": 0, "partially_redacted": 1, "redacted": 2, "deleted": 3}


def complete_provenance(
    given: Mapping[str, Any], actor: Mapping[str, Any], now: str, sources: Sources
) -> dict[str, Any]:
    """Provenance with what the service knows filled in. PAMSPEC §8.6."""
    provenance = dict(given)
    provenance.setdefault("provenance_id", sources.identifier("prov"))
    provenance.setdefault("actor", dict(actor))
    provenance.setdefault("recorded_at", now)
    for member in ("observed_at", "recorded_at"):
        if member in provenance:
            provenance[member] = utc(provenance[member], f"/provenance/{member}")
    return provenance


def assert_times(request: Mapping[str, Any], envelope: dict[str, Any]) -> None:
    """Copy the client's temporal assertions, converted to UTC. They state, they do not act:
    no authoritative state follows from them (PAMSPEC §8.1)."""
    for member in TEMPORAL_ASSERTIONS:
        if member in request:
            envelope[member] = utc(request[member], f"/{member}")


def utc(text: str, pointer: str) -> str:
    """A timestamp in UTC. Raises InvalidRequest, which names the member."""
    try:
        return to_utc(text)
    except ValueError as cause:
        raise InvalidRequest(f"{pointer}: {text[:60]!r} is {cause}", pointer=pointer) from cause


def next_version(
    current: Mapping[str, Any],
    request: Mapping[str, Any],
    now: str,
    sources: Sources,
) -> dict[str, Any]:
    """The envelope that follows `current`, still with its content and states.

    Integrity metadata covers the version it stands in and is not carried over; provenance
    is, unless the request brings its own.
    """
    envelope = {name: member for name, member in current.items() if name != "integrity"}
    envelope["version_id"] = sources.identifier("ver")
    envelope["sequence"] = current["sequence"] + 1
    envelope["committed_at"] = envelope["recorded_at"] = now
    envelope["actor"] = request["actor"]
    if "provenance" in request:
        envelope["provenance"] = complete_provenance(
            request["provenance"], request["actor"], now, sources
        )
    return envelope


def is_withheld(version_availability: str | None, current_availability: str | None) -> bool:
    """Whether a version shows more than its object may show now.

    What was redacted or deleted later is withheld from every earlier version too. A state
    that is not known, because its version is gone, counts as hiding everything.
    """
    shows = _WITHHOLDING.get(version_availability or "available", 0)
    return shows < _WITHHOLDING.get(current_availability or "deleted", len(_WITHHOLDING))


def withhold(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """An envelope with a tombstone in the place of what it may no longer show."""
    shown = {
        name: member
        for name, member in envelope.items()
        if name not in ("integrity", "quality_signals")
    }
    shown["canonical_content"] = dict(TOMBSTONE)
    return shown


def withhold_leaves(content: Any) -> Any:
    """Content with its structure and without its values, for a partial redaction that names
    no members."""
    if isinstance(content, dict):
        return {name: withhold_leaves(member) for name, member in content.items()}
    if isinstance(content, list):
        return [withhold_leaves(member) for member in content]
    return None if content is None else "[REDACTED]"
