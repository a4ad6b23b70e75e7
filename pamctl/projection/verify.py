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
    6b  each fragment, their concatenation, the projection    (full verification only)
    3b  single use
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Protocol

from pamctl.encoding import base64url
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest
from pamctl.projection import profiles
from pamctl.projection.materials import Materials, check_materials
from pamctl.projection.reasons import ENVELOPE_ONLY, FULL, Reason, Refusal, Scope, Verdict
from pamctl.projection.record import (
    NONCLAIMS,
    NOT_ESTABLISHED,
    parse,
    signing_bytes,
    utc_instant,
)
from pamctl.projection.trust import TrustPolicy


class AcceptedIds(Protocol):
    """Where accepted projection ids are kept, for single use."""

    def register(self, record: dict[str, Any]) -> bool:
        """Keep the record's projection id, durably; False when it was kept before."""
        ...


class Verifier:
    """Verifies any number of records under one policy and at one time. Touches no network.

    Arguments:
        policy: the relying party's.
        at: the verification time, RFC 3339.
        register: where accepted ids are kept; needed when the policy demands single use.

    Raises InvalidRequest for a time that is no timestamp, and for single use without a
    register.
    """

    def __init__(
        self, policy: TrustPolicy, *, at: str, register: AcceptedIds | None = None
    ) -> None:
        if policy.single_use and register is None:
            raise InvalidRequest("single use needs a register of accepted projection ids")
        self._policy = policy
        self._register = register if policy.single_use else None
        try:
            self._now = instant(at)
        except ValueError as cause:
            raise InvalidRequest(f"the verification time: {cause}") from cause
        self._oldest_trust = _shifted(self._now, -policy.max_trust_age_sec)
        self._oldest_projection = _shifted(self._now, -policy.max_projection_age_sec)
        self._latest = _shifted(self._now, policy.max_clock_skew_sec)

    def verify(
        self, data: bytes, materials: Materials | None = None, *, name: str | None = None
    ) -> Verdict:
        """The verdict on the record that `data` spells.

        materials: what it commits to, for full verification; None verifies the signed
            envelope alone, and the verdict says so.
        name: what the verdict calls the record; by default its projection id.

        The reason of a refusal is the first in the order above. Raises ServiceUnavailable
        where the register cannot be written.
        """
        scope: Scope = ENVELOPE_ONLY if materials is None else FULL
        record: dict[str, Any] | None = None
        try:
            record = parse(data)  # 1
            _check_positions(record["delivered"])  # 6a
            _check_exclusions(record["exclusions"])  # 7
            _check_nonclaims(record["nonclaims"])
            self._check_signature(record)  # 2
            self._check_profiles(record)  # 3a
            self._check_freshness(record)
            if materials is not None:
                check_materials(record, materials, profiles.find(record["source_profile"]))
            self._register_use(record)  # 3b
        except Refusal as refusal:
            return _verdict(name, record, scope, refusal.reason, refusal.details)
        return _verdict(name, record, scope, None, _facts(record))

    def _check_signature(self, record: dict[str, Any]) -> None:
        """Step 2. Only the policy says which key it is and whether it counts."""
        adapter, created_at = record["adapter"], record["created_at"]
        key_id = adapter["key_id"]
        pin = self._policy.adapter_keys.get(key_id)
        if pin is None:
            raise Refusal("adapter_key_not_pinned", "no pinned key has this key id", key_id=key_id)
        if pin.adapter_id is not None and pin.adapter_id != adapter["id"]:
            raise Refusal(
                "adapter_mismatch",
                "the key is pinned to another adapter",
                adapter_id=adapter["id"],
                pinned_adapter_id=pin.adapter_id,
            )
        if pin.is_revoked(self._now):
            raise Refusal(
                "adapter_key_revoked",
                "the key is compromised" if pin.status == "compromised" else "the key is revoked",
                key_id=key_id,
                status=pin.status,
                revoked_at=pin.revoked_at,
            )
        created = utc_instant(created_at)
        if pin.is_early(created):
            raise Refusal(
                "adapter_key_not_yet_valid",
                "created_at lies before the key's validity",
                created_at=created_at,
                valid_from=pin.valid_from,
            )
        if pin.is_late(created):
            raise Refusal(
                "adapter_key_expired",
                "created_at lies after the key's validity",
                created_at=created_at,
                valid_to=pin.valid_to,
            )
        signature = base64url.decode(record["proof"]["signature_b64u"])
        if not pin.public_key.verify(signature, signing_bytes(record)):
            raise Refusal(
                "signature_invalid",
                "the signature is not the pinned key's over this record",
                key_id=key_id,
            )

    def _check_profiles(self, record: dict[str, Any]) -> None:
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
                raise Refusal(
                    reason, f"the policy accepts {expected} only", found=found, expected=expected
                )

    def _check_freshness(self, record: dict[str, Any]) -> None:
        """Step 3: trust_evaluated_at, created_at, now, in this order and close enough.

        The adapter's own two times come from one clock, so no skew is granted between
        them; it is granted between the adapter's clock and the verifier's.
        """
        created_at = record["created_at"]
        evaluated_at = record["selection_context"]["trust_evaluated_at"]
        created, evaluated = utc_instant(created_at), utc_instant(evaluated_at)
        times = {"trust_evaluated_at": evaluated_at, "created_at": created_at}
        if evaluated > created:
            raise Refusal(
                "timestamp_order_invalid", "created_at lies before trust_evaluated_at", **times
            )
        if created > self._latest:
            raise Refusal(
                "timestamp_order_invalid", "created_at lies after the verification", **times
            )
        if evaluated < self._oldest_trust:
            raise Refusal(
                "trust_snapshot_stale",
                f"trust was evaluated over {self._policy.max_trust_age_sec} s ago",
                **times,
            )
        if created < self._oldest_projection:
            raise Refusal(
                "projection_stale",
                f"it was created over {self._policy.max_projection_age_sec} s ago",
                **times,
            )

    def _register_use(self, record: dict[str, Any]) -> None:
        """Step 3, single use: last, so that a record that was refused was not used."""
        if self._register is not None and not self._register.register(record):
            raise Refusal("projection_replay", "this projection id was accepted before")


def verify(
    data: bytes,
    *,
    policy: TrustPolicy,
    at: str,
    materials: Materials | None = None,
    register: AcceptedIds | None = None,
    name: str | None = None,
) -> Verdict:
    """The verdict on one record; see Verifier, which is quicker for many."""
    return Verifier(policy, at=at, register=register).verify(data, materials, name=name)


def _check_positions(delivered: list[dict[str, Any]]) -> None:
    for index, entry in enumerate(delivered):
        if entry["position"] != index:
            raise Refusal(
                "delivered_order_invalid",
                f"the entry at index {index} says position {entry['position']}",
                index=index,
                position=entry["position"],
            )


def _check_exclusions(exclusions: dict[str, Any]) -> None:
    counted = sum(exclusions["by_reason"].values())
    if exclusions["total"] != counted:
        raise Refusal(
            "exclusion_count_mismatch",
            f"the total is {exclusions['total']}, the counters add up to {counted}",
            total=exclusions["total"],
        )


def _check_nonclaims(nonclaims: dict[str, Any]) -> None:
    for name in NONCLAIMS:
        if nonclaims[name] != NOT_ESTABLISHED:
            raise Refusal("nonclaim_invalid", f"{name} is not {NOT_ESTABLISHED}", member=name)


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


def _facts(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "projection_id": record["projection_id"],
        "adapter_id": record["adapter"]["id"],
        "key_id": record["adapter"]["key_id"],
        "source_profile": record["source_profile"],
        "created_at": record["created_at"],
        "trust_evaluated_at": record["selection_context"]["trust_evaluated_at"],
        "delivered_count": len(record["delivered"]),
        "excluded_count": record["exclusions"]["total"],
        "projection_digest": record["projection"]["digest"],
    }


def _verdict(
    name: str | None,
    record: dict[str, Any] | None,
    scope: Scope,
    reason: Reason | None,
    details: dict[str, Any],
) -> Verdict:
    if name is None:
        name = "" if record is None else record["projection_id"]
    return {
        "record": name,
        "valid": reason is None,
        "verification_scope": scope,
        "reason": reason,
        "details": details,
    }
