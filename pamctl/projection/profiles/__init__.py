"""The source profiles that pamctl knows, by the name that records carry."""

from __future__ import annotations

from pamctl.projection.source import SourceProfile


def find(source_profile: str) -> SourceProfile | None:
    """The profile named `source_profile`, or None. Only the one asked for is imported."""
    if source_profile == "draft-ferro-apertomemory-02":
        from pamctl.projection.profiles.apertomemory import ApertoMemoryProfile

        return ApertoMemoryProfile()
    if source_profile == "urn:pamctl:source-profile:v1":
        from pamctl.projection.profiles.pam import PamProfile

        return PamProfile()
    return None
