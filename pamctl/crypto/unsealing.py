"""How the cryptography library says that something does not decrypt, for whoever has others
decrypt with it."""

from __future__ import annotations


def unsealing_errors() -> tuple[type[Exception], ...]:
    """A wrong authentication tag, and a wrapped key that does not unwrap."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.keywrap import InvalidUnwrap

    return (InvalidTag, InvalidUnwrap)
