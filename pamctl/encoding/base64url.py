"""Unpadded base64url (RFC 4648 §5), decoded strictly: one text for each byte string."""

from __future__ import annotations

from binascii import Error, a2b_base64, b2a_base64

_URL_SAFE, _STANDARD = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")


def encode(data: bytes) -> str:
    """Unpadded base64url of `data`."""
    return b2a_base64(data, newline=False).translate(_URL_SAFE).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """The bytes that `text` stands for.

    Raises ValueError for padding, characters outside the alphabet, white space and stray
    final bits: whatever `encode` would not have written.
    """
    try:
        # Tolerant of much, which the comparison is not.
        data = a2b_base64(text.encode("ascii").translate(_STANDARD) + b"=" * (-len(text) % 4))
    except (Error, UnicodeEncodeError) as cause:
        raise ValueError("not base64url") from cause
    if encode(data) != text:
        raise ValueError("not canonical unpadded base64url")
    return data
