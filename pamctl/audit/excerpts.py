"""The beginning of a text, with a note of what was cut: nothing that is read by a person
grows with what a stranger wrote."""

from __future__ import annotations

from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidObject

TEXT_CHARS_MAX = 160
CONTENT_CHARS_MAX = 400


def short(value: Any, limit: int = TEXT_CHARS_MAX) -> str:
    """A member that should be a short text: as text, whatever it is."""
    if value is None:
        return "?"
    return _cut(value if isinstance(value, str) else _spelled(value), limit)


def excerpt(content: Any, limit: int = CONTENT_CHARS_MAX) -> str:
    """The beginning of canonical content: a string as it is, anything else as JSON."""
    return _cut(content if isinstance(content, str) else _spelled(content), limit)


def _spelled(value: Any) -> str:
    try:
        return canonical(value).decode()
    except InvalidObject:
        return "(a value that cannot be shown)"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\u2026 ({len(text):,} characters in all)"
