"""Where sealed ApertoMemory objects are: a vault, an export, or a folder of exports.

Everything in them is encrypted or wrapped, and the passphrase of their owner opens it. The
layout is that of the maintained package, whose functions derive and unwrap the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pamctl.errors import InvalidRequest
from pamctl.limits import DOCUMENT_BYTES_MAX, PROJECTION_ENTRIES_MAX
from pamctl.named_tuples import NamedTuple

_EXPORT_VERSION = 1
_META = ("salt", "sign_pub", "ka_pub", "scopes")
_EXPORT_BYTES_MAX = 1 << 30


class Sealed(NamedTuple):
    """A sealed object and the wrapped key that opens it, None where that is missing."""

    name: str
    source: bytes
    wrapped_key: bytes | None


class Holding(NamedTuple):
    """What one vault or export holds.

    owner: salt, public keys and scopes of its owner. known_keys: public keys of the accepted
    authors, by key id.
    """

    owner: Mapping[str, Any]
    known_keys: Mapping[bytes, bytes]
    objects: list[Sealed]


def holdings(place: Path) -> list[Holding]:
    """What is at a place. Raises InvalidRequest where it is none of the three."""
    if (place / "vault.cbor").is_file():
        return [_vault(place)]
    if place.is_dir():
        files = sorted(place.glob("*.amem"))
        if not files:
            raise InvalidRequest(
                f"{place} holds no ApertoMemory objects",
                hint="name a vault, an .amem export, or a folder of exports",
            )
        return [_export(file) for file in files]
    if place.is_file():
        return [_export(place)]
    raise InvalidRequest(f"there is no {place}")


def _vault(folder: Path) -> Holding:
    meta = _decoded(_bytes(folder / "vault.cbor"), folder / "vault.cbor")
    objects = []
    for file in sorted((folder / "objects").glob("*.bin")):
        key = file.with_suffix(".dek")
        wrapped = _bytes(key) if key.is_file() else None
        objects.append(Sealed(file.stem, _bytes(file), wrapped))
    return _holding(meta, objects, folder)


def _export(file: Path) -> Holding:
    value = _decoded(_bytes(file, _EXPORT_BYTES_MAX), file)
    if value.get(1) != _EXPORT_VERSION or not isinstance(value.get(3), list | tuple):
        raise InvalidRequest(f"{file} is no ApertoMemory export of a version that is known")
    keys = value.get(4)
    wrapped = dict(keys) if isinstance(keys, Mapping) else {}
    objects = [
        Sealed(f"{file.name}#{number}", source, _key_of(source, wrapped))
        for number, source in enumerate(value[3])
        if isinstance(source, bytes)
    ]
    return _holding(value.get(2), objects, file)


def _key_of(source: bytes, wrapped: Mapping[Any, Any]) -> bytes | None:
    """The wrapped key of an object, which is kept under the object's id."""
    for identifier in _identifiers(source):
        found = wrapped.get(identifier)
        if isinstance(found, bytes):
            return found
    return None


def scope_of(source: bytes) -> bytes | None:
    """The scope that a sealed object says it is in."""
    sealed = _mapping(source)
    scope = None if sealed is None else sealed.get(2)
    return scope if isinstance(scope, bytes) else None


def _identifiers(source: bytes) -> Iterator[bytes]:
    sealed = _mapping(source)
    if sealed is not None and isinstance(sealed.get(1), bytes):
        yield sealed[1]


def _mapping(data: bytes) -> Mapping[Any, Any] | None:
    import cbor2

    try:
        value = cbor2.loads(data)
    except (cbor2.CBORError, ValueError, EOFError, OverflowError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None


def _decoded(data: bytes, place: Path) -> Mapping[Any, Any]:
    value = _mapping(data)
    if value is None:
        raise InvalidRequest(f"{place} is no CBOR map")
    return value


def _holding(meta: Any, objects: list[Sealed], place: Path) -> Holding:
    if not isinstance(meta, Mapping) or any(name not in meta for name in _META):
        raise InvalidRequest(f"{place} does not say whose vault it is")
    if len(objects) > PROJECTION_ENTRIES_MAX:
        raise InvalidRequest(
            f"{place} holds {len(objects)} objects; a projection has at most "
            f"{PROJECTION_ENTRIES_MAX} (limits.PROJECTION_ENTRIES_MAX)"
        )
    known = meta.get("known_keys", {})
    try:
        known_keys = {bytes.fromhex(key_id): bytes(key) for key_id, key in dict(known).items()}
    except (TypeError, ValueError) as cause:
        raise InvalidRequest(f"{place} has a keyring that cannot be read") from cause
    return Holding(dict(meta), known_keys, objects)


def _bytes(path: Path, limit: int = DOCUMENT_BYTES_MAX) -> bytes:
    """The bytes of a file. One that is too long is refused whole."""
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except OSError as cause:
        raise InvalidRequest(f"{path} cannot be read: {cause.strerror}") from cause
    if len(data) > limit:
        raise InvalidRequest(f"{path} is longer than {limit} bytes")
    return data
