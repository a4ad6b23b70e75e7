"""Envelopes of new versions, and what of old ones may still be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pamctl.encoding.timestamps import to_utc
from pamctl.errors import InvalidRequest
from pamctl.service.sources import Sources
from pamctl.store.versions import remainder

if TYPE_CHECKING:
    from pamctl.crypto.keys import PrivateKey

TOMBSTONE: Mapping[str, Any] = {"tombstone": True}
TEMPORAL_ASSERTIONS = ("observed_at", "asserted_at", "valid_from", "valid_until")

_BORN_WITH = ("available", "partially_redacted")
_WITHHOLDING = {"available": 0, "partially_redacted": 1, "redacted": 2, "deleted": 3}


def complete_provenance(
    given: Mapping[str, Any], actor: Mapping[str, Any], now: str, sources: Sources
) -> dict[str, Any]:
    """Provenance with what the service knows filled in. PAMSPEC §8.6.

    It names the delegation that the actor acts under, in its actor where that is the same,
    and otherwise among its evidence (§15.4).
    """
    provenance = dict(given)
    provenance.setdefault("provenance_id", sources.identifier("prov"))
    provenance.setdefault("actor", dict(actor))
    if "delegation_id" in actor:
        if provenance["actor"]["actor_id"] == actor["actor_id"]:
            delegated = {"delegation_id": actor["delegation_id"]}
            provenance["actor"] = {**provenance["actor"], **delegated}
        else:
            provenance = _with_evidence(provenance, actor["delegation_id"])
    for member in ("observed_at", "recorded_at"):
        if member in provenance:
            provenance[member] = utc(provenance[member], f"/provenance/{member}")
    provenance.setdefault("recorded_at", now)
    return provenance


def first_states(request: Mapping[str, Any], *, lifecycle: str = "active") -> dict[str, str]:
    """The four states of a first version: the request's, or what is usual. PAMSPEC §10.1.

    Raises InvalidRequest for what would have no content from the start.
    """
    states = {
        "lifecycle_state": request.get("lifecycle_state", lifecycle),
        "availability_state": request.get("availability_state", "available"),
        "retention_state": request.get("retention_state", "retained"),
        "validation_state": request.get("validation_state", "unverified"),
    }
    if states["availability_state"] not in _BORN_WITH:
        raise InvalidRequest(
            f"nothing can be created {states['availability_state']}",
            hint="create it with its content, then redact or delete it",
            pointer="/availability_state",
        )
    return states


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
    elif "delegation_id" in request["actor"]:
        # The provenance stays what it was: it was not made under this delegation.
        named = request["actor"]["delegation_id"]
        envelope["provenance"] = _with_evidence(current["provenance"], named)
    return envelope


def evaluated(envelope: Mapping[str, Any], run_id: str) -> dict[str, Any]:
    """An envelope whose provenance names the evaluation run that wrote it, among its
    evidence: provenance has no member of its own for it (PAMSPEC §8.6, §18.11)."""
    return {**envelope, "provenance": _with_evidence(envelope["provenance"], run_id)}


def signed(envelope: Mapping[str, Any], key: PrivateKey, *, plain: bool) -> dict[str, Any]:
    """An envelope with its actor's signature. `store-format/signatures.md`.

    Raises InvalidRequest where it brings integrity metadata of its own: one member cannot be
    both.
    """
    from pamctl.crypto.version_signatures import sign

    if "integrity" in envelope:
        raise InvalidRequest(
            "what a bound actor writes is signed, and has no room for other integrity metadata",
            hint="leave out integrity, or put the digest into the content or its provenance",
            pointer="/integrity",
        )
    return {**envelope, "integrity": sign(envelope, key, plain=plain)}


def _with_evidence(provenance: Mapping[str, Any], reference: str) -> dict[str, Any]:
    evidence = provenance.get("evidence_refs", [])
    if reference in evidence:
        return dict(provenance)
    return {**provenance, "evidence_refs": [*evidence, reference]}


def is_withheld(version_availability: str | None, current_availability: str | None) -> bool:
    """Whether a version shows more than its object may show now.

    What was redacted or deleted later is withheld from every earlier version too. A state
    that is not known, because its version is gone, counts as hiding everything.
    """
    shows = _WITHHOLDING.get(version_availability or "available", 0)
    return shows < _WITHHOLDING.get(current_availability or "deleted", len(_WITHHOLDING))


def bears_withdrawn_content(envelope: Mapping[str, Any]) -> bool:
    """Whether a version that says it was redacted or deleted has content all the same, which
    only a tombstone may (PAMSPEC §7.7). Nothing here makes one."""
    withdrawn = envelope["availability_state"] in ("redacted", "deleted")
    return withdrawn and envelope.get("canonical_content", TOMBSTONE) != TOMBSTONE


def withhold(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """An envelope with a tombstone in the place of what it may no longer show, or of what was
    erased. What could confirm a guess at the content goes too."""
    return {**remainder(envelope), "canonical_content": dict(TOMBSTONE)}
