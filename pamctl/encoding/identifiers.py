"""Identifiers of the form `scheme:opaque` (PAMSPEC's candidate profile)."""

from __future__ import annotations

import re

from pamctl.limits import IDENTIFIER_CHARS_MAX

IDENTIFIER_PATTERN = r"^[A-Za-z][A-Za-z0-9+.\-]*:[A-Za-z0-9+._:\-/]+$"
_IDENTIFIER = re.compile(IDENTIFIER_PATTERN.removesuffix("$") + r"\Z")


def is_identifier(text: object) -> bool:
    """Whether `text` is an identifier that the candidate profile and our bounds accept."""
    return (
        isinstance(text, str)
        and len(text) <= IDENTIFIER_CHARS_MAX
        and _IDENTIFIER.match(text) is not None
    )


def new_identifier(scheme: str, entropy: bytes) -> str:
    """`scheme:` followed by `entropy` in hexadecimal; 16 random bytes make it unique."""
    return f"{scheme}:{entropy.hex()}"
