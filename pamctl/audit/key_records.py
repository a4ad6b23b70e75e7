"""What is wrong with the public record of a key. `store-format/other-files.md`."""

from __future__ import annotations

from typing import Any

from pamctl.audit.reading import parsed
from pamctl.encoding.base64url import decode
from pamctl.encoding.canonical import is_canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.encoding.timestamps import is_timestamp
from pamctl.limits import KEY_RECORD_BYTES_MAX

_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")
_STATUSES = ("active", "revoked", "compromised")
_ROLES = ("adapter", "author")
_OPEN_TIMES = ("valid_from", "valid_to")
_TEXTS = ("actor_id", "adapter_id", "reason")


def record_fault(data: bytes, key_id: str | None) -> str | None:
    """What is wrong with the bytes of a record; None where nothing is.

    key_id: the id that its file is named by, where it is named by one.
    """
    if len(data) > KEY_RECORD_BYTES_MAX:
        return f"it is longer than {KEY_RECORD_BYTES_MAX} bytes"
    value = parsed(data)
    if not isinstance(value, dict) or not is_canonical(value, data.removesuffix(b"\n")):
        return "it is no canonical JSON object"
    if value.get("key_id") != _key_id(value.get("public_key_spki_b64u")):
        return "its key_id is not its key's"
    if key_id not in (None, value["key_id"]):
        return "it is not named by its key_id"
    if value.get("status") not in _STATUSES:
        return "it has no status that is known"
    return _misfit(value, owned=key_id is None)


def _misfit(value: dict[str, Any], *, owned: bool) -> str | None:
    """A member that is not of its kind."""
    if not is_timestamp(value.get("created_at")):
        return "its created_at is no timestamp"
    for name in _OPEN_TIMES:
        if value.get(name, ...) is not None and not is_timestamp(value.get(name)):
            return f"its {name} is neither a timestamp nor null"
    if "revoked_at" in value and not is_timestamp(value["revoked_at"]):
        return "its revoked_at is no timestamp"
    for name in _TEXTS:
        if not isinstance(value.get(name, ""), str):
            return f"its {name} is no text"
    if not isinstance(value.get("owner", False), bool):
        return "its owner is neither true nor false"
    roles = value.get("roles", [])
    if not isinstance(roles, list) or any(role not in _ROLES for role in roles):
        return "its roles are not among those that are known"
    return "it has roles, and is a key of the store's own" if owned and "roles" in value else None


def _key_id(spki_b64u: Any) -> str | None:
    """The id of an Ed25519 key in base64url of DER SubjectPublicKeyInfo. MPR §5.1."""
    if not isinstance(spki_b64u, str):
        return None
    try:
        der = decode(spki_b64u)
    except ValueError:
        return None
    if not der.startswith(_SPKI_PREFIX) or len(der) != len(_SPKI_PREFIX) + 32:
        return None
    return sha256_hex(der[len(_SPKI_PREFIX) :])[:16]
