"""The producer of Memory Projection Records. MPR §7, under its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from pamctl.crypto.keys import PrivateKey
from pamctl.encoding import base64url
from pamctl.encoding.digests import sha256_digest, sha256_digests
from pamctl.encoding.identifiers import new_identifier
from pamctl.encoding.timestamps import from_nanoseconds, instant
from pamctl.errors import InternalError
from pamctl.projection.candidates import Candidates
from pamctl.projection.choice import Candidate, Choice, Fate, Limits, Unmet, choose
from pamctl.projection.delivered import NotDelivered, delivered_text
from pamctl.projection.reasons import Refusal
from pamctl.projection.record import (
    NONCLAIMS,
    NOT_ESTABLISHED,
    SIGNING_DOMAIN,
    VERSION,
    canonical_text,
    check_shape,
    with_entries,
)
from pamctl.projection.source import OpenedSource

Clock = Callable[[], int]
"""Nanoseconds since 1970, UTC."""

Entropy = Callable[[int], bytes]
"""That many unpredictable bytes."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """Who produces: the adapter's URI, the id its relying parties pin its key under, and
    the key."""

    id: str
    key_id: str
    key: PrivateKey


@dataclass(frozen=True)
class Projection:
    """The projection and its record, one logical result (MPR §7 step 6).

    It proves what was emitted, never that anybody received it.

    record_text: the signed record, canonical JSON and a newline.
    members: the members of the record, `delivered` left empty.
    text: the exact projection bytes. fragments: its parts, by position.
    request, policy, trust_snapshot: what the record commits to.
    sources: the exact source objects, by position.
    fates: why each candidate is in or out, where somebody asked. For the producer's eyes: the
        record counts what was left out and does not name it.
    """

    record_text: bytes
    members: dict[str, Any]
    text: bytes
    request: bytes
    policy: bytes
    trust_snapshot: bytes
    fragments: tuple[bytes, ...]
    sources: tuple[bytes, ...]
    fates: tuple[Fate, ...] = ()

    @cached_property
    def record(self) -> dict[str, Any]:
        """The record, as it is read from its text."""
        found: dict[str, Any] = orjson.loads(self.record_text)
        return found


def no_rule(candidate: Candidate, opened: OpenedSource) -> str | None:
    """The rule that every candidate meets."""
    return None


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
    unmet: Unmet = no_rule,
    unfound: Unmet | None = None,
    projection_id: str | None = None,
    created_at: str | None = None,
) -> Projection:
    """Select, frame and sign. MPR §7.

    Arguments:
        candidates: the result of step 1, for which their source profile answers.
        request, policy: the exact bytes of both; a policy document must fully determine
            what `select`, `limits` and `unmet` answer.
        select: names the candidates that the policy finds, in order. Called once, after the
            request and the policy are committed to. Candidates that it leaves out are
            `policy_filtered`; those that their source profile refused are counted under
            its reason even where it names them.
        limits: candidates beyond them are `context_limit`.
        unmet: further rules of the policy; who does not meet them is `policy_filtered`.
        unfound: why `select` leaves a candidate out, in words; without it, nobody asks for
            `fates`.
        clock: asked once, when everything to be signed is final.
        projection_id, created_at: for whoever makes a record again whose id and time are
            known; by default a new id, and the clock's time.

    The same arguments give the same bytes. Raises InternalError when a source profile or
    `select` breaks its contract, and PolicyDenied where the limits want all or nothing;
    nothing is signed then.
    """
    # 1. The candidates are open, under a trust snapshot taken at a known time.
    items = candidates.items
    if isinstance(items, Sequence) and len({item.name for item in items}) != len(items):
        raise InternalError("two candidates of a projection have one name")
    # 2. Commit to the request and to the policy, then select.
    context = _selection_context(candidates, request, policy)
    found = select()
    # 3. Apply the rules; every candidate is delivered or counted once.
    choice = choose(items, found, limits, facts=candidates.facts, unmet=unmet, unfound=unfound)
    # 4. The fragments are final; each has its entry.
    fragments = tuple(opened.fragment for _, opened in choice.chosen)
    text = b"".join(fragments)
    if not text.isascii():
        _require_utf8(fragments)
    delivered = _delivered(choice, fragments)
    # 5. Concatenate, commit to the whole, claim nothing else, and sign.
    members = _unsigned(candidates, context, choice, text)
    members["projection_id"] = projection_id or new_identifier("urn:pamctl:projection", entropy(16))
    members["created_at"] = created_at or _not_before(
        candidates.trust_evaluated_at, from_nanoseconds(clock())
    )
    record_text = _signed(members, delivered, adapter)
    # 6. One logical result.
    return Projection(
        record_text=record_text,
        members=members,
        text=text,
        request=request,
        policy=policy,
        trust_snapshot=candidates.trust_snapshot,
        fragments=fragments,
        sources=tuple(candidate.source for candidate, _ in choice.chosen),
        fates=tuple(choice.fates),
    )


def _selection_context(candidates: Candidates, request: bytes, policy: bytes) -> dict[str, str]:
    return {
        "recall_request_digest": sha256_digest(request),
        "selection_policy_digest": sha256_digest(policy),
        "trust_snapshot_digest": sha256_digest(candidates.trust_snapshot),
        "trust_evaluated_at": candidates.trust_evaluated_at,
        "context_frame_profile": candidates.context_frame_profile,
    }


def _unsigned(
    candidates: Candidates,
    context: dict[str, str],
    choice: Choice,
    text: bytes,
) -> dict[str, Any]:
    """The record without its entries, and what identifies, dates and signs it."""
    excluded = choice.excluded
    return {
        "@version": VERSION,
        "source_profile": candidates.source_profile,
        "selection_context": context,
        "delivered": [],
        "exclusions": {"total": sum(excluded.values()), "by_reason": excluded},
        "projection": {
            "encoding": "utf-8",
            "byte_length": len(text),
            "digest": sha256_digest(text),
        },
        "nonclaims": dict.fromkeys(NONCLAIMS, NOT_ESTABLISHED),
    }


def _delivered(choice: Choice, fragments: Sequence[bytes]) -> bytes:
    """The text of the entries: the labels are the source profile's own. Raises InternalError
    for what a source profile should not have answered."""
    sources = [
        candidate.digest or sha256_digest(candidate.source) for candidate, _ in choice.chosen
    ]
    natives = [opened.native for _, opened in choice.chosen]
    try:
        return delivered_text(natives, sources, sha256_digests(fragments))
    except NotDelivered as cause:
        raise InternalError(f"the source profile's result fits no record: {cause}") from None


def _require_utf8(fragments: Sequence[bytes]) -> None:
    for fragment in fragments:
        try:
            fragment.decode("utf-8")
        except UnicodeDecodeError as cause:
            raise InternalError("the source profile framed a fragment that is not UTF-8") from cause


def _signed(members: dict[str, Any], delivered: bytes, adapter: Adapter) -> bytes:
    """The text of the signed record. Puts adapter and proof into its members, which lack
    nothing else. Raises InternalError for what a source profile made and no record may hold."""
    members["adapter"] = {"id": adapter.id, "key_id": adapter.key_id}
    signature = adapter.key.sign(SIGNING_DOMAIN + with_entries(canonical_text(members), delivered))
    members["proof"] = {
        "alg": "Ed25519",
        "key_id": adapter.key_id,
        "signature_b64u": base64url.encode(signature),
    }
    try:
        check_shape(members)
    except Refusal as refusal:
        problem = refusal.details["problem"]
        raise InternalError(f"the source profile's result fits no record: {problem}") from None
    return with_entries(canonical_text(members), delivered) + b"\n"


def _not_before(evaluated_at: str, now: str) -> str:
    """`now`, or the evaluation's time where the clock was set back in between."""
    return now if instant(now) >= instant(evaluated_at) else evaluated_at
