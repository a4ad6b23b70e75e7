"""Passphrases: PAM_KEY_PASSPHRASE of private keys, PAM_SOURCE_PASSPHRASE of other memories, or
asked for at a terminal. They are never arguments: whoever can list processes could read those."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pamctl.cli.terminal import output
from pamctl.errors import InvalidRequest

if TYPE_CHECKING:
    from pamctl.store.keyring import Seal

KEY = "PAM_KEY_PASSPHRASE"
SOURCE = "PAM_SOURCE_PASSPHRASE"


def unlocking(environment: Mapping[str, str], variable: str = KEY) -> Callable[[str], bytes | None]:
    """What answers with the passphrase of a key, or of what else is named; with None where
    there is no variable and nobody to ask."""
    what = "the key " if variable == KEY else ""

    def unlock(name: str) -> bytes | None:
        found = _from(environment, variable)
        if found is None and _somebody_is_there():
            found = _asked(f"Passphrase of {what}{name}: ")
        return found

    return unlock


def seal(
    environment: Mapping[str, str], entropy: Callable[[int], bytes], *, wanted: bool
) -> Seal | None:
    """What a new private key is encrypted with. None where there is no variable and
    encryption is not `wanted`. Raises InvalidRequest where nobody can be asked."""
    passphrase = _from(environment, KEY)
    if passphrase is None and wanted:
        passphrase = _chosen()
    if passphrase is None:
        return None
    from pamctl.crypto.private_pem import IV_BYTES, SALT_BYTES
    from pamctl.store.keyring import Seal

    return Seal(passphrase, entropy(SALT_BYTES), entropy(IV_BYTES))


def _chosen() -> bytes:
    if not _somebody_is_there():
        raise InvalidRequest(
            f"there is no passphrase to encrypt the key with: {KEY} is not set",
            hint="set it, or run pamctl at a terminal to be asked",
        )
    first = _asked("Passphrase of the new key: ")
    if first != _asked("Once more: "):
        raise InvalidRequest("the two passphrases differ; no key was made")
    if not first:
        raise InvalidRequest("a passphrase cannot be empty; no key was made")
    return first


def _from(environment: Mapping[str, str], variable: str) -> bytes | None:
    value = environment.get(variable)
    return os.fsencode(value) if value else None


def _somebody_is_there() -> bool:
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and output.is_terminal(stream) for stream in streams)


def _asked(prompt: str) -> bytes:
    from getpass import getpass

    return os.fsencode(getpass(prompt, stream=sys.stderr))
