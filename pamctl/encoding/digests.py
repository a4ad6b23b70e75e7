"""SHA-256, in the spellings that the drafts and the store use.

`hashlib` has OpenSSL's, which is eight times as fast and takes longer to load than most
commands take to hash. So the interpreter's own does the first bytes of a process, and
OpenSSL's all that come after.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from hashlib import _Hash

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_EARLY_BYTES = 1 << 17
"""What the interpreter's own SHA-256 hashes while OpenSSL's is loaded."""


class _Early:
    """SHA-256 until it is worth loading OpenSSL's."""

    def __init__(self) -> None:
        self._left = _EARLY_BYTES
        self._own = _own_sha256()

    def __call__(self, data: bytes) -> _Hash:
        self._left -= len(data)
        if self._own is None or self._left < 0 or "_hashlib" in sys.modules:
            global _sha256
            from hashlib import sha256

            _sha256 = sha256
            return sha256(data)
        digest: _Hash = self._own(data)
        return digest


def _own_sha256() -> Any:
    """The SHA-256 that is part of the interpreter; None in one that has none."""
    for name in ("_sha2", "_sha256"):  # as of Python 3.12, and before
        try:
            return import_module(name).sha256
        except ImportError:
            continue
    return None


_sha256: Any = _Early()


def sha256(data: bytes) -> _Hash:
    """SHA-256 of `data`, as `hashlib.sha256`. For what is hashed in one piece: whoever adds
    to a digest bit by bit takes that one."""
    digest: _Hash = _sha256(data)
    return digest


class RunningDigest:
    """SHA-256 of what comes bit by bit. The first bytes are kept, so that little of it needs
    no OpenSSL."""

    __slots__ = ("_kept", "_left", "_state")

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._left = _EARLY_BYTES
        self._state: _Hash | None = None

    def update(self, data: bytes) -> None:
        """Add `data` at the end."""
        if self._state is not None:
            self._state.update(data)
            return
        self._kept.append(data)
        self._left -= len(data)
        if self._left < 0:
            from hashlib import sha256

            self._state = sha256()
            for kept in self._kept:
                self._state.update(kept)
            self._kept.clear()

    def hexdigest(self) -> str:
        """The digest of what came so far, as 64 lowercase hexadecimal digits."""
        return sha256_hex(b"".join(self._kept)) if self._state is None else self._state.hexdigest()


def sha256_hex(data: bytes) -> str:
    """SHA-256 of `data` as 64 lowercase hexadecimal digits."""
    digits: str = _sha256(data).hexdigest()
    return digits


def sha256_digest(data: bytes) -> str:
    """SHA-256 of `data` as `sha256:` and 64 lowercase hexadecimal digits. MPR §4.2."""
    return "sha256:" + str(_sha256(data).hexdigest())


def sha256_digests(pieces: Iterable[bytes]) -> list[str]:
    """As `sha256_digest` of each, in order, and in less time."""
    return [f"sha256:{_sha256(piece).hexdigest()}" for piece in pieces]


def is_sha256_digest(text: object) -> bool:
    """Whether `text` is a digest as `sha256_digest` spells it."""
    return isinstance(text, str) and _DIGEST.match(text) is not None
