"""docs/verification.md has every reason, in the order of judgement, in the program's words."""

from __future__ import annotations

import re
from pathlib import Path

from pamctl.projection.explanations import EXPLANATIONS
from pamctl.projection.reasons import REASONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verification.md"


def test_every_reason_is_explained_in_the_same_words() -> None:
    rows = re.findall(r"^\| `([a-z_0-9]+)` \| (.*) \| (.*) \|$", PAGE.read_text(), flags=re.M)
    assert rows == [(reason, *told) for reason, told in EXPLANATIONS.items()]


def test_there_is_an_explanation_for_each_reason() -> None:
    assert set(EXPLANATIONS) == set(REASONS)
    for meaning, remedy in EXPLANATIONS.values():
        assert meaning.endswith(".")
        assert remedy.endswith(".")
