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
    if isinstance(content, dict):
        try:
            return "\n".join(content.values()), "\n".join(content)
        except TypeError:
            pass  # not all members are strings
    values: list[str] = []
    names: list[str] = []
    _collect(content, values, names)
    return "\n".join(values), "\n".join(names)


def _collect(content: Any, values: list[str], names: list[str]) -> None:
    if isinstance(content, str):
        values.append(content)
    elif isinstance(content, dict):
        for name, member in content.items():
            names.append(name)
            if isinstance(member, str):
                values.append(member)
            else:
                _collect(member, values, names)
    elif isinstance(content, list):
        for member in content:
            _collect(member, values, names)
