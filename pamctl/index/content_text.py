"""The text of canonical content: what lexical search can find a version by."""

from __future__ import annotations

from typing import Any


def content_text(content: Any) -> tuple[str, str]:
    """All strings in `content`, and all names of its members, each joined by line breaks.

    In document order, so that a phrase within one string is found; nothing keeps a phrase
    from beginning in one string and ending in the next. Numbers and literals are no text:
    structured filters are for them.
    """
    if isinstance(content, str):
        return content, ""
    values: list[str] = []
    names: list[str] = []
    _collect(content, values, names)
    return "\n".join(values), "\n".join(names)


def _collect(content: Any, values: list[str], names: list[str]) -> None:
    """Add the strings and names in an object or an array; nothing of any other value."""
    if isinstance(content, dict):
        for name, member in content.items():
            names.append(name)
            if isinstance(member, str):
                values.append(member)
            elif isinstance(member, (dict, list)):
                _collect(member, values, names)
    elif isinstance(content, list):
        for member in content:
            if isinstance(member, str):
                values.append(member)
            elif isinstance(member, (dict, list)):
                _collect(member, values, names)
