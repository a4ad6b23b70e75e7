"""Keys for requests whose caller has none: the same request gets the same key.

A key stays in the ledger for good, and content may have to go. A plain digest of a request
would let whoever holds the ledger test guesses of what was erased, so the key is an HMAC
under a secret of this user, which is kept outside the store.
"""

from __future__ import annotations

import contextlib
import hmac
import os
from collections.abc import Mapping
from typing import Any

from pamctl.cli.paths import state_folder
from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest

_SECRET_BYTES = 32
_NOT_ASKED = ("operation_id", "idempotency_key")


def derived_key(secret: bytes, operation: str, request: Mapping[str, Any]) -> str:
    """The key of a request: `retry:` and 64 hexadecimal digits. Its operation id is no part
    of it, its actor and its scope are."""
    asked = {name: value for name, value in request.items() if name not in _NOT_ASKED}
    return "retry:" + hmac.digest(secret, canonical([operation, asked]), "sha256").hex()


def retry_secret(environment: Mapping[str, str]) -> bytes:
    """This user's secret, made when it is first asked for.

    It is `$XDG_STATE_HOME/pamctl/retry-secret`, or in `~/.local/state`. Raises InvalidRequest
    for one that is damaged, and OSError or ServiceUnavailable where it can be neither read
    nor made: a key that nobody could make again would be no key.
    """
    path = state_folder(environment) / "retry-secret"
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        from pamctl.store import files

        files.ensure_directories(path.parent, mode=0o700)
        # Where another process was first, its secret is the one.
        with contextlib.suppress(FileExistsError):
            files.create_new(path, os.urandom(_SECRET_BYTES), mode=0o600)
        secret = path.read_bytes()
    if len(secret) != _SECRET_BYTES:
        raise InvalidRequest(
            f"{path} does not hold the {_SECRET_BYTES} bytes of a secret",
            hint="remove it to start with a new one; keys made before are then no longer made",
        )
    return secret
