"""Evaluation against a snapshot: its time, its randomness, and what stays outside.
PAMSPEC §18.11."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import shake_256
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.timestamps import instant
from pamctl.errors import PolicyDenied

CONFINED_RULE = "evaluation_scope_only"
_EPOCH = datetime(1970, 1, 1)
_NANOSECONDS = 1_000_000_000


def moment(clock: Mapping[str, Any], sequence: int) -> int:
    """What a declared clock shows behind the event of a ledger sequence, in nanoseconds since
    1970: one tick later for every event. Without a tick it stands still."""
    key = instant(clock["start_at"])
    whole, _, digits = key.partition(".")
    leap = whole.endswith(":60")
    start = datetime.fromisoformat(whole[:-2] + "59" if leap else whole)
    seconds = (start - _EPOCH) // timedelta(seconds=1) + leap
    fraction = int((digits + "0" * 9)[:9])
    elapsed = int(clock.get("tick_ms", 0)) * 1_000_000 * sequence
    return seconds * _NANOSECONDS + fraction + elapsed


def seeded(seed: int, purpose: str, entries: int, draw: int, count: int) -> bytes:
    """The bytes that stand for randomness: a function of the seed and of the place.

    purpose: keeps apart what is drawn at one place by different parts of the program.
    entries: how many entries the ledger of the evaluation has.
    draw: which draw it is since then.
    """
    place = canonical(["pamctl-evaluation-1", seed, purpose, entries, draw])
    return shake_256(place).digest(count)


def outside(what: str, scope_id: str) -> PolicyDenied:
    """The refusal of something that an evaluation may not do."""
    return PolicyDenied(
        f"{what}: an evaluation sees its snapshot and {scope_id}, and writes to nothing but "
        f"{scope_id}",
        policy_rule_id=CONFINED_RULE,
        evaluation_scope_id=scope_id,
    )
