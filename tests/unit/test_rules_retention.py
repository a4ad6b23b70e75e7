"""A legal hold stops what would lose or hide content; no other retention state does."""

from __future__ import annotations

import pytest

from pamctl.errors import LegalHold
from pamctl.rules.retention import require_no_hold


def test_a_hold_stops_it_and_says_how_to_release_it() -> None:
    with pytest.raises(LegalHold, match="delete") as refusal:
        require_no_hold("legal_hold", "delete")
    assert "retention retained" in refusal.value.details["hint"]


@pytest.mark.parametrize("state", ["retained", "expired", "pending_deletion"])
def test_other_states_do_not(state: str) -> None:
    require_no_hold(state, "delete")
