"""The source profiles that this installation knows.

pamctl has two of its own. Others are plug-ins: a package that declares an entry point in the
group `pamctl.source_profiles` adds one, and nothing here changes (docs/source-profiles.md).
Only the profile that is asked for is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from pamctl.errors import InvalidRequest
from pamctl.projection.source import SourceProfile

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "pamctl.source_profiles"

_BUILT_IN = {
    "pam": ("urn:pamctl:source-profile:v1", "pam", "PamProfile"),
    "apertomemory": ("draft-ferro-apertomemory-02", "apertomemory", "ApertoMemoryProfile"),
}


def find(source_profile: str) -> SourceProfile | None:
    """The profile that records name `source_profile`, or None.

    Raises InvalidRequest for a plug-in that cannot be loaded: which profile it is would not be
    known, and a verifier that passed it over would say less than it could.
    """
    for name, _, _ in _BUILT_IN.values():
        if name == source_profile:
            return _built_in(name)
    for plugin in _plugins():
        profile = _loaded(plugin)
        if profile.source_profile == source_profile:
            return profile
    return None


def named(name: str) -> SourceProfile:
    """The profile of that name: a short one, or the one that records carry.

    Raises InvalidRequest, which says which there are.
    """
    if name in _BUILT_IN:
        return _built_in(_BUILT_IN[name][0])
    for plugin in _plugins():
        if plugin.name == name:
            return _loaded(plugin)
    found = find(name)
    if found is None:
        known = [*_BUILT_IN, *(plugin.name for plugin in _plugins())]
        raise InvalidRequest(
            f"there is no source profile {name[:80]!r}", hint=f"there are {', '.join(known)}"
        )
    return found


def _built_in(source_profile: str) -> SourceProfile:
    _, module, kind = next(one for one in _BUILT_IN.values() if one[0] == source_profile)
    made: Callable[[], SourceProfile] = getattr(
        import_module(f"pamctl.projection.profiles.{module}"), kind
    )
    return made()


@lru_cache(maxsize=1)
def _plugins() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=GROUP), key=lambda plugin: plugin.name))


@lru_cache(maxsize=64)
def _loaded(plugin: EntryPoint) -> SourceProfile:
    try:
        profile: SourceProfile = plugin.load()()
    except Exception as cause:
        # Somebody else's code runs here, and may fail in any way.
        raise InvalidRequest(
            f"the source profile {plugin.name} ({plugin.value}) cannot be loaded: {cause}",
            hint="repair or remove the package that brings it",
        ) from cause
    for member in ("source_profile", "context_frame_profile"):
        if not isinstance(getattr(profile, member, None), str):
            raise InvalidRequest(f"the source profile {plugin.name} has no {member}")
    return profile
