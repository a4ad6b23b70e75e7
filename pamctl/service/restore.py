"""Restoring: the content of an object that becomes available again. PAMSPEC §9.5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.errors import RetentionRestriction
from pamctl.rules.redaction import unmask
from pamctl.service.desk import Desk, identifying
from pamctl.service.past import newest_first


def restored(desk: Desk, current: Mapping[str, Any]) -> dict[str, Any]:
    """The content, and the quality signals, of an object that goes back to available.

    It is the content that the object last showed, with what was redacted of it meanwhile
    back in its place; what was updated meanwhile stays. Raises RetentionRestriction when
    any of what would be needed was erased, or never was there.
    """
    identifier = current[identifying(current)]
    members: dict[str, Any] = {}
    for version in newest_first(desk, identifier):
        if version is None:
            raise RetentionRestriction(
                f"content of {identifier} was erased, so it cannot be made available again",
                hint="what is left can be read and updated as it is",
                **{identifying(current): identifier},
            )
        if not members:
            names = ("canonical_content", "quality_signals")
            members = {name: version.envelope[name] for name in names if name in version.envelope}
        content = unmask(members["canonical_content"], version.content)
        members["canonical_content"] = content
        if version.envelope["availability_state"] == "available":
            return members
    raise RetentionRestriction(
        f"{identifier} was never available whole, so there is nothing to restore",
        **{identifying(current): identifier},
    )
