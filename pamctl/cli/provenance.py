"""Provenance from flags. PAMSPEC §8.6."""

from __future__ import annotations

from typing import Any

from pamctl.cli import input as given


def provenance(
    default_activity: str,
    *,
    file: str | None,
    activity: str | None,
    source: str | None,
    evidence: list[str] | None,
    source_confidence: float | None,
    observed_at: str | None = None,
) -> dict[str, Any]:
    """The provenance object of a request: the file's members, and over them the flags'.

    default_activity: the activity where neither names one.
    """
    base: dict[str, Any] = {}
    if file is not None:
        base = given.json_object(given.Source(file=file), "--provenance-file")
    flags = {
        "activity": activity or (None if "activity" in base else default_activity),
        "source_ref": source,
        "evidence_refs": evidence or None,
        "source_confidence": source_confidence,
        "observed_at": observed_at,
    }
    return {**base, **{name: value for name, value in flags.items() if value is not None}}
