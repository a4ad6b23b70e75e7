"""The producer of Memory Projection Records. MPR §7, under its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pamctl.crypto.keys import PrivateKey
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.encoding.identifiers import new_identifier
from pamctl.encoding.timestamps import from_nanoseconds, instant
from pamctl.errors import InternalError
from pamctl.limits import PROJECTION_BYTES_MAX, PROJECTION_ENTRIES_MAX
from pamctl.projection.reasons import Refusal
from pamctl.projection.record import (
    EXCLUSION_REASONS,
    NONCLAIMS,
    NOT_ESTABLISHED,
    VERSION,
    check_shape,
    native_fault,
    signing_bytes,
)
from pamctl.projection.source import OpenedSource, SourceRefused

Clock = Callable[[], int]
"""Nanoseconds since 1970, UTC."""

Entropy = Callable[[int], bytes]
"""That many unpredictable bytes."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One object that may be delivered.

    name: unique among the candidates; it stays with the producer.
    source: the exact bytes of the source object.
    result: what its source profile made of it.
    """

    name: str
    source: bytes
    result: OpenedSource | SourceRefused


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every object that the selection may choose from, opened by its source profile.

    source_profile, context_frame_profile: the names that the record carries.
    trust_snapshot: the trust state that the objects were opened under.
    trust_evaluated_at: when, RFC 3339 in UTC.
    """

    source_profile: str
    context_frame_profile: str
    trust_snapshot: bytes
    trust_evaluated_at: str
    items: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one projection. An object that does not fit is passed over, and a later
    one that fits is taken, so that nobody can crowd all others out with one long object.

    objects: delivered entries at most. bytes: of the whole projection at most.
    """

    objects: int = PROJECTION_ENTRIES_MAX
    bytes: int = PROJECTION_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Adapter:
    """Who produces: the adapter's URI, the id its relying parties pin its key under, and
    the key."""

    id: str
    key_id: str
    key: PrivateKey


@dataclass(frozen=True, slots=True)
class Projection:
    """The projection and its record, one logical result (MPR §7 step 6).

    It proves what was emitted, never that anybody received it.

    record: the signed record; `record_text` is its canonical JSON with a newline.
    text: the exact projection bytes. fragments: its parts, by position.
    request, policy, trust_snapshot: what the record commits to.
    sources: the exact source objects, by position.
    """

    record: dict[str, Any]
    text: bytes
    request: bytes
    policy: bytes
    trust_snapshot: bytes
    fragments: tuple[bytes, ...]
    sources: tuple[bytes, ...]

    @property
    def record_text(self) -> bytes:
        return canonical(self.record) + b"\n"


def produce(
    candidates: Candidates,
    *,
    request: bytes,
    policy: bytes,
    select: Callable[[], Sequence[str]],
    limits: Limits,
    adapter: Adapter,
    clock: Clock,
    entropy: Entropy,
) -> Projection:
    """Select, frame and sign. MPR §7.

    Arguments:
        candidates: the result of step 1, for which their source profile answers.
        request, policy: the exact bytes of both; a policy document must fully determine
            what `select` answers.
        select: names the eligible candidates, in order. Called once, after the request
            and the policy are committed to. Candidates that it leaves out are
            `policy_filtered`; those that their source profile refused are counted under
            its reason even where it names them.
        limits: eligible candidates beyond them are `context_limit`.
        clock: asked once, when everything to be signed is final.

    The same arguments give the same bytes. Raises InternalError when a source profile or
    `select` breaks its contract; nothing is signed then.
    """
    # 1. The candidates are open, under a trust snapshot taken at a known time.
    by_name = {candidate.name: candidate for candidate in candidates.items}
    if len(by_name) != len(candidates.items):
        raise InternalError("two candidates of a projection have one name")
    # 2. Commit to the request and to the policy, then select.
    selection_context = {
        "recall_request_digest": sha256_digest(request),
        "selection_policy_digest": sha256_digest(policy),
        "trust_snapshot_digest": sha256_digest(candidates.trust_snapshot),
        "trust_evaluated_at": candidates.trust_evaluated_at,
        "context_frame_profile": candidates.context_frame_profile,
    }
    eligible = select()
    # 3. Apply the rules; every candidate is delivered or counted once.
    chosen, excluded = _sort_out(by_name, eligible, limits)
    # 4. The fragments are final; each has its entry.
    delivered = [_entry(position, *choice) for position, choice in enumerate(chosen)]
    fragments = tuple(opened.fragment for _, opened in chosen)
    # 5. Concatenate, commit to the whole, claim nothing else, and sign.
    text = b"".join(fragments)
    record = {
        "@version": VERSION,
        "source_profile": candidates.source_profile,
        "projection_id": new_identifier("urn:pamctl:projection", entropy(16)),
        "created_at": _not_before(candidates.trust_evaluated_at, from_nanoseconds(clock())),
        "adapter": {"id": adapter.id, "key_id": adapter.key_id},
        "selection_context": selection_context,
        "delivered": delivered,
        "exclusions": {"total": sum(excluded.values()), "by_reason": excluded},
        "projection": {
            "encoding": "utf-8",
            "byte_length": len(text),
            "digest": sha256_digest(text),
        },
        "nonclaims": dict.fromkeys(NONCLAIMS, NOT_ESTABLISHED),
    }
    signature = adapter.key.sign(signing_bytes(record))
    record["proof"] = {
        "alg": "Ed25519",
        "key_id": adapter.key_id,
        "signature_b64u": base64url.encode(signature),
    }
    try:
        check_shape(record)
    except Refusal as refusal:
        problem = refusal.details["problem"]
        raise InternalError(f"the source profile's result fits no record: {problem}") from None
    # 6. One logical result.
    return Projection(
        record=record,
        text=text,
        request=request,
        policy=policy,
        trust_snapshot=candidates.trust_snapshot,
        fragments=fragments,
        sources=tuple(candidate.source for candidate, _ in chosen),
    )


def _sort_out(
    by_name: dict[str, Candidate], eligible: Sequence[str], limits: Limits
) -> tuple[list[tuple[Candidate, OpenedSource]], dict[str, int]]:
    """Step 3: who is delivered, in order, and how many were excluded for which reason."""
    excluded = dict.fromkeys(EXCLUSION_REASONS, 0)
    usable: dict[str, tuple[Candidate, OpenedSource]] = {}
    for name, candidate in by_name.items():
        if isinstance(candidate.result, SourceRefused):
            # A reason that is no counter of the record must not become another one.
            if candidate.result.reason not in excluded:
                raise InternalError(f"{candidate.result.reason} is no reason to exclude")
            excluded[candidate.result.reason] += 1
        else:
            usable[name] = (candidate, candidate.result)
    if len(set(eligible)) != len(eligible) or not by_name.keys() >= set(eligible):
        raise InternalError("the selection names an object twice, or one that is no candidate")
    chosen: list[tuple[Candidate, OpenedSource]] = []
    in_order = [usable[name] for name in eligible if name in usable]
    excluded["policy_filtered"] = len(usable) - len(in_order)
    room = min(limits.bytes, PROJECTION_BYTES_MAX)
    most = min(limits.objects, PROJECTION_ENTRIES_MAX)
    for candidate, opened in in_order:
        if len(chosen) < most and len(opened.fragment) <= room:
            chosen.append((candidate, opened))
            room -= len(opened.fragment)
        else:
            excluded["context_limit"] += 1
    return chosen, excluded


def _entry(position: int, candidate: Candidate, opened: OpenedSource) -> dict[str, Any]:
    """Step 4 for one object: its labels as the source profile gave them, provided that they
    keep MPR §4.3 and are about these bytes."""
    native = opened.native
    fault = native_fault(native)
    if fault is not None:
        raise InternalError(f"the source profile's result is inconsistent: {' '.join(fault)}")
    if native["sealed_object_digest"] != sha256_digest(candidate.source):
        raise InternalError("the source profile opened other bytes than the source object's")
    try:
        opened.fragment.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise InternalError("the source profile framed a fragment that is not UTF-8") from cause
    return {
        "position": position,
        "object": {
            "format_version": native["format_version"],
            "sealed_object_digest": native["sealed_object_digest"],
        },
        "context_fragment_digest": sha256_digest(opened.fragment),
        "derived_trust": native["derived_trust"],
        "authorship": native["authorship"],
        "author_key_id_b64u": native["author_key_id_b64u"],
        "custody_present": native["custody_present"],
    }


def _not_before(evaluated_at: str, now: str) -> str:
    """`now`, or the evaluation's time where the clock was set back in between."""
    return now if instant(now) >= instant(evaluated_at) else evaluated_at
