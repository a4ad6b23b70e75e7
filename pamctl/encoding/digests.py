"""SHA-256, in the spellings that the drafts and the store use."""

from __future__ import annotations

import re
from hashlib import sha256

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


def sha256_hex(data: bytes) -> str:
    """SHA-256 of `data` as 64 lowercase hexadecimal digits."""
    return sha256(data).hexdigest()


def sha256_digest(data: bytes) -> str:
    """SHA-256 of `data` as `sha256:` and 64 lowercase hexadecimal digits. MPR §4.2."""
    return "sha256:" + sha256(data).hexdigest()


def is_sha256_digest(text: object) -> bool:
    """Whether `text` is a digest as `sha256_digest` spells it."""
    return isinstance(text, str) and _DIGEST.match(text) is not None
