"""The verifier of Memory Projection Records. MPR §8.

The steps are those of the draft, under its numbers, in an order of their own. What the
record alone shows is judged before any key is asked for, and a projection id is registered
when nothing else is left that could refuse it:

    1   exact member sets, types, enumerations, timestamps, digests
    6a  sequential positions
    7   counts that add up, nonclaims that claim nothing
    2   a pinned adapter key, current for created_at, and its signature
    3a  the expected profiles, and freshness
    4   the request, the policy and the trust snapshot        (full verification only)
    5   each source object, and its native result             (full verification only)
    6b  each fragment, its frame, the projection              (full verification only)
    3b  single use

A verdict names the first fault in this order, or with `all_reasons` every one. Nothing can
be said of a record whose shape does not hold, so step 1 is always alone.

Whether there is any fault is asked first, without reading the entries: `delivered`, `proving`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Protocol

from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest, PamError
from pamctl.projection import profiles
from pamctl.projection.delivered import plain_count
from pamctl.projection.entries import Entries
from pamctl.projection.materials import Materials, material_faults
from pamctl.projection.proving import proven_entries
from pamctl.projection.reasons import ENVELOPE_ONLY, FULL, Reason, Refusal, Scope, Verdict
from pamctl.projection.record import (
    NONCLAIMS,
    NOT_ESTABLISHED,
    ReadRecord,
    parse,
    parse_around,
)
from pamctl.projection.shape import utc_instant
from pamctl.projection.source import SourceProfile
from pamctl.projection.trust import AdapterPin, TrustPolicy

FindProfile = Callable[[str], SourceProfile | None]
"""The source profile of a name, or None where it is not known here."""


class AcceptedIds(Protocol):
    """Where accepted projection ids are kept, for single use."""

    def register(self, record: dict[str, Any]) -> bool:
        """Keep the record's projection id, durably; False when it was kept before. Its
        `delivered` may have been left empty."""
        ...


class Verifier:
    """Verifies any number of records under one policy and at one time. Touches no network.

    Arguments:
        policy: the relying party's.
        at: the verification time, RFC 3339.
        register: where accepted ids are kept; needed when the policy demands single use.
        find_profile: who opens the source objects of a profile.

    Raises InvalidRequest for a time that is no timestamp, and for single use without a
    register.
    """

    def __init__(
        self,
        policy: TrustPolicy,
        *,
        at: str,
        register: AcceptedIds | None = None,
        find_profile: FindProfile = profiles.find,
    ) -> None:
        if policy.single_use and register is None:
            raise InvalidRequest("single use needs a register of accepted projection ids")
        self._policy = policy
        self._register = register if policy.single_use else None
        self._find_profile = find_profile
        try:
            self._now = instant(at)
        except ValueError as cause:
            raise InvalidRequest(f"the verification time: {cause}") from cause
        self._oldest_trust = _shifted(self._now, -policy.max_trust_age_sec)
        self._oldest_projection = _shifted(self._now, -policy.max_projection_age_sec)
        self._latest = _shifted(self._now, policy.max_clock_skew_sec)

    def verify(
        self,
        data: bytes,
        materials: Materials | None = None,
        *,
        name: str | None = None,
        all_reasons: bool = False,
    ) -> Verdict:
        """The verdict on the record that `data` spells.

        materials: what it commits to, for full verification; None verifies the signed
            envelope alone, and the verdict says so.
        name: what the verdict calls the record; by default its projection id.
        all_reasons: whether `details` lists every fault under `failures`, each with its
            reason; the first is the verdict's own.

        Raises ServiceUnavailable where the register cannot be written.
        """
        scope: Scope = ENVELOPE_ONLY if materials is None else FULL
        found: list[Refusal] = []
        proven = self._proven(data, materials)
        if proven is not None:
            members, count = proven
        else:
            try:
                record = parse(data)  # 1
            except Refusal as refusal:
                return _refused(name or "", scope, [refusal], all_reasons)
            members, count = record.members, record.entries.count
            faults = self._faults(record, materials)
            found = list(faults if all_reasons else islice(faults, 1))
        name = name if name is not None else str(members["projection_id"])
        if not found:
            found = list(self._use(members))  # 3b
        if found:
            return _refused(name, scope, found, all_reasons)
        return _verdict(name, scope, None, _facts(members, count))

    def _proven(
        self, data: bytes, materials: Materials | None
    ) -> tuple[dict[str, Any], int] | None:
        """The record without its entries, and how many it has, where nothing is wrong; None
        where `_faults` must tell."""
        around = parse_around(data)
        if around is None or any(self._signed_faults(around.record)):
            return None
        members = around.record.members
        if materials is None:
            count = plain_count(around.text, around.start, around.end)
        else:
            try:
                profile = self._find_profile(members["source_profile"])
                count = proven_entries(around, materials, profile)
            except PamError:  # of a plug-in: it may come to that, or something else comes first
                return None
        return None if count is None else (members, count)

    def _faults(self, record: ReadRecord, materials: Materials | None) -> Iterator[Refusal]:
        yield from _position_faults(record.entries)  # 6a
        yield from self._signed_faults(record)
        if materials is not None:
            profile = self._find_profile(record.members["source_profile"])
            yield from material_faults(record, materials, profile)  # 4, 5, 6b

    def _signed_faults(self, record: ReadRecord) -> Iterator[Refusal]:
        """What the signed record shows, but for its entries."""
        members = record.members
        yield from _exclusion_faults(members["exclusions"])  # 7
        yield from _nonclaim_faults(members["nonclaims"])
        yield from self._key_faults(record)  # 2
        yield from self._profile_faults(members)  # 3a
        yield from self._freshness_faults(members)

    def _key_faults(self, record: ReadRecord) -> Iterator[Refusal]:
        """Step 2. Only the policy says which key it is and whether it counts."""
        adapter, created_at = record.members["adapter"], record.members["created_at"]
        key_id = adapter["key_id"]
        pin = self._policy.adapter_keys.get(key_id)
        if pin is None:
            yield Refusal("adapter_key_not_pinned", "no pinned key has this key id", key_id=key_id)
            return
        if pin.adapter_id is not None and pin.adapter_id != adapter["id"]:
            yield Refusal(
                "adapter_mismatch",
                "the key is pinned to another adapter",
                adapter_id=adapter["id"],
                pinned_adapter_id=pin.adapter_id,
            )
        yield from self._validity_faults(pin, key_id, created_at)
        if not pin.public_key.verify(record.signature, record.signed):
            yield Refusal(
                "signature_invalid",
                "the signature is not the pinned key's over this record",
                key_id=key_id,
            )

    def _validity_faults(self, pin: AdapterPin, key_id: str, created_at: str) -> Iterator[Refusal]:
        if pin.is_revoked(self._now):
            yield Refusal(
                "adapter_key_revoked",
                "the key is compromised" if pin.status == "compromised" else "the key is revoked",
                key_id=key_id,
                status=pin.status,
                revoked_at=pin.revoked_at,
            )
        created = utc_instant(created_at)
        if pin.is_early(created):
            yield Refusal(
                "adapter_key_not_yet_valid",
                "created_at lies before the key's validity",
                created_at=created_at,
                valid_from=pin.valid_from,
            )
        if pin.is_late(created):
            yield Refusal(
                "adapter_key_expired",
                "created_at lies after the key's validity",
                created_at=created_at,
                valid_to=pin.valid_to,
            )

    def _profile_faults(self, record: dict[str, Any]) -> Iterator[Refusal]:
        named: tuple[tuple[Reason, str, str | None], ...] = (
            (
                "source_profile_mismatch",
                record["source_profile"],
                self._policy.expected_source_profile,
            ),
            (
                "context_frame_profile_mismatch",
                record["selection_context"]["context_frame_profile"],
                self._policy.expected_context_frame_profile,
            ),
        )
        for reason, found, expected in named:
            if expected is not None and found != expected:
                yield Refusal(
                    reason, f"the policy accepts {expected} only", found=found, expected=expected
                )

    def _freshness_faults(self, record: dict[str, Any]) -> Iterator[Refusal]:
        """Step 3: trust_evaluated_at, created_at, now, in this order and close enough.

        The adapter's own two times come from one clock, so no skew is granted between
        them; it is granted between the adapter's clock and the verifier's.
        """
        created_at = record["created_at"]
        evaluated_at = record["selection_context"]["trust_evaluated_at"]
        created, evaluated = utc_instant(created_at), utc_instant(evaluated_at)
        times = {"trust_evaluated_at": evaluated_at, "created_at": created_at}
        if evaluated > created:
            yield Refusal(
                "timestamp_order_invalid", "created_at lies before trust_evaluated_at", **times
            )
        if created > self._latest:
            yield Refusal(
                "timestamp_order_invalid", "created_at lies after the verification", **times
            )
        if evaluated < self._oldest_trust:
            yield Refusal(
                "trust_snapshot_stale",
                f"trust was evaluated over {self._policy.max_trust_age_sec} s ago",
                **times,
            )
        if created < self._oldest_projection:
            yield Refusal(
                "projection_stale",
                f"it was created over {self._policy.max_projection_age_sec} s ago",
                **times,
            )

    def _use(self, record: dict[str, Any]) -> Iterator[Refusal]:
        """Step 3, single use: last, so that a record that was refused was not used."""
        if self._register is not None and not self._register.register(record):
            yield replayed()


def replayed() -> Refusal:
    """The refusal of a projection id that was accepted before."""
    return Refusal("projection_replay", "this projection id was accepted before")


def verify(
    data: bytes,
    *,
    policy: TrustPolicy,
    at: str,
    materials: Materials | None = None,
    register: AcceptedIds | None = None,
    name: str | None = None,
    all_reasons: bool = False,
) -> Verdict:
    """The verdict on one record; see Verifier, which is quicker for many."""
    verifier = Verifier(policy, at=at, register=register)
    return verifier.verify(data, materials, name=name, all_reasons=all_reasons)


def oldest_accepted(policy: TrustPolicy, at: str) -> str:
    """The instant, RFC 3339, before which no `created_at` passes at the time `at`, whatever
    that time's clock may still be put back by the skew that the policy grants."""
    age = policy.max_projection_age_sec + policy.max_clock_skew_sec
    return (_shifted(instant(at), -age) or "0001-01-01T00:00:00") + "Z"


def _position_faults(entries: Entries) -> Iterator[Refusal]:
    if entries.position == tuple(range(entries.count)):
        return
    for index, position in enumerate(entries.position):
        if position != index:
            yield Refusal(
                "delivered_order_invalid",
                f"the entry at index {index} says position {position}",
                index=index,
                position=position,
            )


def _exclusion_faults(exclusions: dict[str, Any]) -> Iterator[Refusal]:
    counted = sum(exclusions["by_reason"].values())
    if exclusions["total"] != counted:
        yield Refusal(
            "exclusion_count_mismatch",
            f"the total is {exclusions['total']}, the counters add up to {counted}",
            total=exclusions["total"],
        )


def _nonclaim_faults(nonclaims: dict[str, Any]) -> Iterator[Refusal]:
    for name in NONCLAIMS:
        if nonclaims[name] != NOT_ESTABLISHED:
            yield Refusal("nonclaim_invalid", f"{name} is not {NOT_ESTABLISHED}", member=name)


def _shifted(key: str, seconds: int) -> str:
    """The instant `seconds` after the instant `key`; its fraction stays exact."""
    whole, dot, fraction = key.partition(".")
    leap = whole.endswith(":60")
    moment = datetime.fromisoformat(whole[:-2] + "59" if leap else whole)
    try:
        moment += timedelta(seconds=seconds + leap)
    except OverflowError:
        return "" if seconds < 0 else "9999~"
    return f"{moment.isoformat()}{dot}{fraction}"


def _facts(members: dict[str, Any], delivered_count: int) -> dict[str, Any]:
    return {
        "projection_id": members["projection_id"],
        "adapter_id": members["adapter"]["id"],
        "key_id": members["adapter"]["key_id"],
        "source_profile": members["source_profile"],
        "created_at": members["created_at"],
        "trust_evaluated_at": members["selection_context"]["trust_evaluated_at"],
        "delivered_count": delivered_count,
        "excluded_count": members["exclusions"]["total"],
        "projection_digest": members["projection"]["digest"],
    }


def _refused(name: str, scope: Scope, found: list[Refusal], all_reasons: bool) -> Verdict:
    details = dict(found[0].details)
    if all_reasons:
        details["failures"] = [{"reason": fault.reason, **fault.details} for fault in found]
    return _verdict(name, scope, found[0].reason, details)


def _verdict(name: str, scope: Scope, reason: Reason | None, details: dict[str, Any]) -> Verdict:
    return {
        "record": name,
        "valid": reason is None,
        "verification_scope": scope,
        "reason": reason,
        "details": details,
    }
