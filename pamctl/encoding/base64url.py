"""Unpadded base64url (RFC 4648 §5), decoded strictly: one text for each byte string."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error


def encode(data: bytes) -> str:
    """Unpadded base64url of `data`."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """The bytes that `text` stands for.

    Raises ValueError for padding, characters outside the alphabet, white space and stray
    final bits: whatever `encode` would not have written.
    """
    try:
        data = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (Error, UnicodeEncodeError) as cause:
        raise ValueError("not base64url") from cause
    if encode(data) != text:
        raise ValueError("not canonical unpadded base64url")
    return data
