"""The public records of keys in `.pam/keys/`. `store-format/other-files.md`.

    <name>.json            of a key of this store's
    trusted/<key id>.json  of a key that belongs to somebody else

A record is canonical JSON and a newline. Reading one costs no cryptography until its key is
wanted: every command asks whether its actor is bound to a key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast, get_args

from pamctl.encoding.canonical import canonical
from pamctl.encoding.strict_json import parse
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest, PamError, StoreDamaged
from pamctl.limits import KEY_RECORD_BYTES_MAX, KEY_RECORDS_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.store.plain_files import open_plain

Role = Literal["adapter", "author"]
KeyStatus = Literal["active", "revoked", "compromised"]

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"
KEY_ID = r"[0-9a-f]{16}\Z"
TRUSTED = "trusted"
_STATUSES: tuple[str, ...] = get_args(KeyStatus)
_ROLES: tuple[str, ...] = get_args(Role)
_TIMES = ("valid_from", "valid_to", "revoked_at")


class KeyRecord(TypedDict):
    """The public record of a key.

    key_id: 16 hexadecimal digits (MPR §5.1).
    public_key_spki_b64u: the key, as DER SubjectPublicKeyInfo in unpadded base64url.
    actor_id, adapter_id: whom it belongs to, where that is known.
    owner: of a key of this store's: whether it is the owner's.
    roles: of a key of somebody else: what it is trusted as.
    status, valid_from, valid_to, revoked_at, reason: RFC 3339; None leaves a side open.
    created_at: when this record was made.
    """

    key_id: str
    public_key_spki_b64u: str
    status: KeyStatus
    valid_from: str | None
    valid_to: str | None
    created_at: str
    actor_id: NotRequired[str]
    adapter_id: NotRequired[str]
    owner: NotRequired[bool]
    roles: NotRequired[list[Role]]
    revoked_at: NotRequired[str]
    reason: NotRequired[str]


class Binding(NamedTuple):
    """A key that an actor is bound to. `name` is None for a key of somebody else's, whose
    private half is not here."""

    name: str | None
    record: KeyRecord


def counts_at(record: KeyRecord, moment: str) -> bool:
    """Whether what a key signed at `moment`, RFC 3339, counts.

    A compromised key counts for nothing, whenever dated. A revoked one counts for what was
    signed before it was revoked, and any only until its validity ends. The beginning of the
    validity is asked of keys of somebody else alone: one of the store's own cannot have signed
    before it was made, so an earlier date is that of a clock which was wrong, or declared.
    """
    if record["status"] == "compromised":
        return False
    at = instant(moment)
    first, last, revoked_at = record["valid_from"], record["valid_to"], record.get("revoked_at")
    if first is not None and "roles" in record and at < instant(first):
        return False
    if last is not None and at > instant(last):
        return False
    return revoked_at is None or at < instant(revoked_at)


def bindings(directory: Path, actor_id: str) -> list[Binding]:
    """Every key that an actor is bound to, in whatever state it is: this store's, then those
    of others that are trusted as authors. Nothing is checked of the keys themselves.

    What is no file is passed over, since it may be anybody's; `fsck` reports it. Raises
    StoreDamaged for a record that speaks of the actor and is broken, and PermissionError where
    the records may not be read.
    """
    mentioned, found = canonical(actor_id), []
    for folder in (directory, directory / TRUSTED):
        own, names = folder is directory, _names(folder)
        for name, data in _texts(folder, names, passing_over=True):
            if mentioned not in data:
                continue
            record = _shaped(folder / f"{name}.json", data)
            if record.get("actor_id") == actor_id and (own or _is_author(record)):
                found.append(Binding(name if own else None, record))
        if TRUSTED not in names:  # nearly no store has any; every write looks
            break
    return found


def _is_author(record: KeyRecord) -> bool:
    return "author" in record.get("roles", ())


def text(record: KeyRecord) -> bytes:
    """The bytes of a record's file. Raises InvalidRequest for one that would not be read."""
    data = canonical(dict(record)) + b"\n"
    if len(data) > KEY_RECORD_BYTES_MAX:
        raise InvalidRequest(
            f"the record of the key {record['key_id']} would be longer than "
            f"{KEY_RECORD_BYTES_MAX} bytes (limits.KEY_RECORD_BYTES_MAX)",
            hint="say it in fewer words",
        )
    return data


def load_all(folder: Path) -> dict[str, KeyRecord]:
    """The records in a folder, by the names of their files, in order. Raises StoreDamaged."""
    return {
        name: _read(folder / f"{name}.json", data) for name, data in _texts(folder, _names(folder))
    }


def load(path: Path) -> KeyRecord | None:
    """The record in a file, whose key id must be its key's; None where there is no file.
    Raises StoreDamaged."""
    data = _bytes(path)
    return None if data is None else _read(path, data)


def _names(folder: Path) -> list[str]:
    """What there is in a folder; nothing where there is no such folder."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _texts(
    folder: Path, names: Sequence[str], *, passing_over: bool = False
) -> Iterator[tuple[str, bytes]]:
    """The records among what there is in a folder. Raises StoreDamaged for what is no file,
    unless that is passed over."""
    if len(names) > 2 * KEY_RECORDS_MAX:
        raise StoreDamaged(
            f"{folder} holds more than {KEY_RECORDS_MAX} keys (limits.KEY_RECORDS_MAX); none "
            "was looked at"
        )
    for file_name in names:
        name = file_name.removesuffix(".json")
        if name != file_name and re.match(NAME, name):
            try:
                data = _bytes(folder / file_name)
            except StoreDamaged:
                if not passing_over:
                    raise
                continue
            if data is not None:
                yield name, data


def _bytes(path: Path) -> bytes | None:
    try:
        with os.fdopen(open_plain(path), "rb") as file:
            return file.read(KEY_RECORD_BYTES_MAX + 1)
    except FileNotFoundError:
        return None


def _shaped(path: Path, data: bytes) -> KeyRecord:
    try:
        record = parse(data, what=str(path))
        _check_shape(record)
    except PamError as cause:
        raise StoreDamaged(f"{path} is no record of a key: {cause.message}") from cause
    return cast(KeyRecord, record)


def _read(path: Path, data: bytes) -> KeyRecord:
    from pamctl.crypto.keys import PublicKey

    record = _shaped(path, data)
    try:
        key_id = PublicKey.from_spki_b64u(record["public_key_spki_b64u"]).key_id
    except PamError as cause:
        raise StoreDamaged(f"{path} is no record of a key: {cause.message}") from cause
    if key_id != record["key_id"]:
        raise StoreDamaged(f"{path} is no record of a key: its key_id is not its key's")
    return record


def _check_shape(record: object) -> None:
    if not isinstance(record, Mapping):
        raise InvalidRequest("it is not an object")
    for name in ("key_id", "public_key_spki_b64u", "created_at"):
        if not isinstance(record.get(name), str):
            raise InvalidRequest(f"it needs {name}, a string")
    for name in ("valid_from", "valid_to"):
        if not isinstance(record.get(name, ...), str | None):
            raise InvalidRequest(f"it needs {name}, a string or null")
    for name in ("actor_id", "adapter_id", "revoked_at", "reason"):
        if not isinstance(record.get(name, ""), str):
            raise InvalidRequest(f"its {name} is no string")
    if not isinstance(record.get("owner", False), bool):
        raise InvalidRequest("its owner is neither true nor false")
    if record.get("status") not in _STATUSES:
        raise InvalidRequest(f"its status is none of {', '.join(_STATUSES)}")
    roles = record.get("roles", [])
    if not isinstance(roles, list) or not all(role in _ROLES for role in roles):
        raise InvalidRequest(f"its roles are not among {', '.join(_ROLES)}")
    for name in _TIMES:
        if record.get(name) is not None:
            try:
                instant(record[name])
            except ValueError as cause:
                raise InvalidRequest(f"its {name} is {cause}") from cause
