"""Text of a stranger's for a person's eyes: what could not be seen, or would mislead, shows."""

from __future__ import annotations

import re
import unicodedata

# C0 and C1 controls but newline and tab, lone surrogates, what turns the direction of text or
# has no width, line separators, tags and non-characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_COMBINING_MAX = 4


def visible(text: str) -> str:
    """Text in which what cannot be seen is spelled as `\u27e8U+202E\u27e9`, and which cannot
    grow out of its line by piling marks upon a letter."""
    if text.isascii() and text.isprintable():
        return text
    return _calmed(_UNSEEN.sub(lambda found: f"\u27e8U+{ord(found[0]):04X}\u27e9", text))


def _calmed(text: str) -> str:
    shown, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _COMBINING_MAX:
            shown.append(character)
    return "".join(shown)
