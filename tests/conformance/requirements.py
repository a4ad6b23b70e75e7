"""The rows of docs/conformance.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"

DRAFTS = {
    "PAMSPEC": "draft-infantado-agent-memory-architecture-00.txt",
    "MPR": "draft-ferro-schrock-memory-projection-record-01.txt",
}
"""The file of each draft, by the name that ids begin with."""

PART = "part"
"""In the place of a capitalised word: a part of what a profile demands."""


class Requirement(NamedTuple):
    """A row of the page."""

    identifier: str
    word: str
    paraphrase: str
    tests: tuple[str, ...]
    status: str

    @property
    def draft(self) -> str:
        return self.identifier.partition("-")[0]

    @property
    def section(self) -> str:
        return self.identifier.split("-")[1]


def _rows() -> list[Requirement]:
    rows = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].partition("-")[0] in DRAFTS:
            identifier, word, paraphrase, tests, status = cells
            named = tuple(re.findall(r"`([^`]+)`", tests))
            rows.append(Requirement(identifier, word, paraphrase, named, status))
    return rows


REQUIREMENTS = _rows()
