"""Rules on one envelope that no schema can state."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import PolicyDenied
from pamctl.model.envelopes import check_attestation, semantic_checks
from tests.schemas.instances import ACTOR, AGENT, DELEGATION, ENVELOPE, RELATIONSHIP
from tests.schemas.tables import MISSING, edited, merged

INVERTED = edited(AGENT, "/attestation/not_after", "2026-03-01T11:59:59.999Z")


@pytest.mark.parametrize("envelope", [ENVELOPE, RELATIONSHIP, DELEGATION])
def test_windows_that_run_forwards_pass(envelope: dict[str, Any]) -> None:
    semantic_checks(envelope)
    semantic_checks(merged(envelope, {"actor": AGENT}))


@pytest.mark.parametrize(
    ("envelope", "at"),
    [
        (ENVELOPE, "/actor"),
        (ENVELOPE, "/provenance/actor"),
        (RELATIONSHIP, "/actor"),
        (DELEGATION, "/granting_actor"),
        (DELEGATION, "/delegated_actor"),
    ],
)
def test_no_actor_is_attested_backwards(envelope: dict[str, Any], at: str) -> None:
    with pytest.raises(PolicyDenied) as refused:
        semantic_checks(edited(envelope, at, INVERTED))
    assert refused.value.policy_rule_id == "attestation_window_inverted"
    assert refused.value.details["pointer"] == f"{at}/attestation/not_after"


def test_no_grant_ends_before_it_begins() -> None:
    grant = edited(DELEGATION, "/not_before", "2026-03-01T12:00:00.500000001Z")
    with pytest.raises(PolicyDenied) as refused:
        semantic_checks(grant)
    assert refused.value.policy_rule_id == "delegation_window_inverted"
    assert refused.value.details["pointer"] == "/not_after"


def test_a_window_may_be_one_instant_however_it_is_spelled() -> None:
    # `not_after` is 13:00:00.5+01:00.
    semantic_checks(edited(DELEGATION, "/not_before", "2026-03-01T12:00:00.50Z"))


@pytest.mark.parametrize("end", ["not_before", "not_after"])
def test_an_open_attestation_cannot_run_backwards(end: str) -> None:
    check_attestation(edited(INVERTED, f"/attestation/{end}", MISSING))
    check_attestation(ACTOR)
