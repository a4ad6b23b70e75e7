"""Prints the conformance tests as JSON: the marks of each, by `file.py::test`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest


class Collector:
    """Notes what pytest collects."""

    def __init__(self) -> None:
        self.marks: dict[str, list[str]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            name = getattr(item, "originalname", item.name)
            owner = getattr(item, "cls", None)
            place = (
                f"{item.path.name}::{name}"
                if owner is None
                else (f"{item.path.name}::{owner.__name__}::{name}")
            )
            marks = self.marks.setdefault(place, [])
            marks += [mark.name for mark in item.iter_markers() if mark.name not in marks]


def main() -> int:
    collector = Collector()
    folder = str(Path(__file__).parent)
    status = pytest.main(
        ["--collect-only", "-q", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", folder],
        plugins=[collector],
    )
    print(json.dumps(collector.marks))
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
