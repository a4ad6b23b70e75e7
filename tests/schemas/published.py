"""The schema files, as they lie in the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "schemas"
SUFFIX = ".schema.json"
RESULTS = "results/"
"""Names of the schemas of what commands print begin with this."""


def published_names() -> list[str]:
    """Names of all schemas: paths below `schemas/` without the suffix."""
    files = FOLDER.rglob(f"*{SUFFIX}")
    return sorted(file.relative_to(FOLDER).as_posix().removesuffix(SUFFIX) for file in files)


def parts(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object inside a schema, with its JSON Pointer."""
    if isinstance(schema, dict):
        yield where, schema
        for name, member in schema.items():
            yield from parts(member, f"{where}/{name}")
    elif isinstance(schema, list):
        for number, member in enumerate(schema):
            yield from parts(member, f"{where}/{number}")
