"""The keys of a store, in `.pam/keys/`.

    <name>.pem             a private key of this store's, mode 0600, PKCS#8
    <name>.json            its public record
    trusted/<key id>.json  the public record of a key that belongs to somebody else

A record is canonical JSON and a newline. A private key is written once and leaves this
module only as an object that can sign.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast, get_args

from pamctl.crypto.keys import PrivateKey, PublicKey
from pamctl.encoding.canonical import canonical
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest, ObjectNotFound, PamError, StoreDamaged
from pamctl.store import files
from pamctl.store.plain_files import open_plain

Role = Literal["adapter", "author"]
KeyStatus = Literal["active", "revoked", "compromised"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_KEY_ID = re.compile(r"[0-9a-f]{16}\Z")
_PEM_BYTES_MAX = 16384
_RECORD_BYTES_MAX = 65536


class KeyRecord(TypedDict):
    """The public record of a key.

    key_id: 16 hexadecimal digits (MPR §5.1).
    public_key_spki_b64u: the key, as DER SubjectPublicKeyInfo in unpadded base64url.
    actor_id, adapter_id: whom it belongs to, where that is known.
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
    roles: NotRequired[list[Role]]
    revoked_at: NotRequired[str]
    reason: NotRequired[str]


class Keyring:
    """The keys under one `keys` directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._trusted = directory / "trusted"

    def generate(
        self,
        name: str,
        *,
        seed: bytes,
        now: str,
        actor_id: str | None = None,
        valid_to: str | None = None,
    ) -> KeyRecord:
        """Make a key of this store's. When this returns, both files are durable.

        seed: 32 bytes of the system's entropy. now: when it becomes valid.
        Raises InvalidRequest when the name is taken, whatever has taken it.
        """
        path = self._private_path(name)
        key = PrivateKey.from_seed(seed)
        record: KeyRecord = {
            "key_id": key.public.key_id,
            "public_key_spki_b64u": key.public.spki_b64u,
            "status": "active",
            "valid_from": now,
            "valid_to": valid_to,
            "created_at": now,
        }
        if actor_id is not None:
            record["actor_id"] = actor_id
        files.ensure_directory(self._directory, mode=0o700)
        if self._record_path(name).exists():
            raise _taken(name)
        try:
            # The private key takes the name: of two processes, one gets it.
            files.create_new(path, key.pem(), mode=0o600)
            files.create_new(self._record_path(name), _text(record))
        except FileExistsError:
            raise self._taken_by_file(name) from None
        return record

    def private(self, name: str) -> PrivateKey:
        """The private key of that name, to sign with.

        Raises ObjectNotFound where there is none, InvalidRequest when others can read it,
        and StoreDamaged when it is not the key of its public record.
        """
        path = self._private_path(name)
        try:
            data = _read_private(path)
        except FileNotFoundError:
            raise self._no_such_key(name) from None
        except (OSError, StoreDamaged) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else "it is no regular file"
            raise InvalidRequest(
                f"the private key {path} cannot be read: {reason}",
                hint="it must be a file of yours, not a link",
            ) from cause
        key = PrivateKey.from_pem(data)
        if key.public.key_id != self.show(name)["key_id"]:
            raise StoreDamaged(f"{path} is not the private key of {self._record_path(name)}")
        return key

    def show(self, name: str) -> KeyRecord:
        """The record of a key of this store's by its name, or of another's by its key id.
        Raises ObjectNotFound."""
        _check_name(name)
        record = _load(self._record_path(name))
        if record is None and _KEY_ID.match(name):
            record = _load(self._trusted / f"{name}.json")
        if record is None:
            raise self._no_such_key(name)
        return record

    def own(self) -> dict[str, KeyRecord]:
        """The records of this store's keys, by name, in order of their names."""
        return _load_all(self._directory)

    def trusted(self, role: Role) -> dict[str, KeyRecord]:
        """The records of others' keys that are trusted in that role, by key id."""
        records = _load_all(self._trusted)
        return {
            key_id: record for key_id, record in records.items() if role in record.get("roles", ())
        }

    def trust(
        self,
        key: PublicKey,
        role: Role,
        *,
        now: str,
        actor_id: str | None = None,
        adapter_id: str | None = None,
        valid_from: str | None = None,
        valid_to: str | None = None,
    ) -> KeyRecord:
        """Trust a key of somebody else's in a role; it keeps the roles that it has.

        Raises InvalidRequest for a key that is revoked here: trust does not come back.
        """
        path = self._trusted / f"{key.key_id}.json"
        before = _load(path)
        if before is not None and before["status"] != "active":
            raise InvalidRequest(
                f"the key {key.key_id} is {before['status']} and cannot be trusted again",
                hint="ask its owner for a new key",
            )
        roles: set[Role] = {role, *(before.get("roles", ()) if before else ())}
        record: KeyRecord = {
            "key_id": key.key_id,
            "public_key_spki_b64u": key.spki_b64u,
            "status": "active",
            "valid_from": valid_from,
            "valid_to": valid_to,
            "created_at": now,
            "roles": sorted(roles),
        }
        if actor_id is not None:
            record["actor_id"] = actor_id
        if adapter_id is not None:
            record["adapter_id"] = adapter_id
        files.ensure_directory(self._directory, mode=0o700)
        files.ensure_directory(self._trusted)
        files.replace_whole(path, _text(record))
        return record

    def revoke(
        self, name: str, *, now: str, compromised: bool = False, reason: str | None = None
    ) -> KeyRecord:
        """Revoke a key by its name or key id. The first revocation's time stays; a revoked
        key can still become a compromised one. Raises ObjectNotFound."""
        record = self.show(name)
        if record["status"] == "active":
            record["revoked_at"] = now
        record["status"] = "compromised" if compromised else _worse(record["status"])
        if reason is not None:
            record["reason"] = reason
        folder = self._trusted if "roles" in record else self._directory
        files.replace_whole(folder / f"{name}.json", _text(record))
        return record

    def _private_path(self, name: str) -> Path:
        _check_name(name)
        return self._directory / f"{name}.pem"

    def _record_path(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _taken_by_file(self, name: str) -> InvalidRequest:
        """A private key without its record was left by a process that died, or put there by
        somebody; it is never taken up, since nobody can tell who knows it."""
        if self._record_path(name).exists():
            return _taken(name)
        path = self._private_path(name)
        return InvalidRequest(
            f"the key name {name} is taken by {path}, which has no public record",
            hint="its making was interrupted; remove that file, or choose another name",
        )

    def _no_such_key(self, name: str) -> ObjectNotFound:
        names = ", ".join(self.own())
        return ObjectNotFound(
            f"there is no key {name}",
            hint=f"the keys are {names}" if names else f"make it with `pamctl key generate {name}`",
        )


def _worse(status: KeyStatus) -> KeyStatus:
    return "compromised" if status == "compromised" else "revoked"


def _check_name(name: str) -> None:
    if _NAME.match(name) is None:
        raise InvalidRequest(
            f"{name[:80]!r} is no name for a key",
            hint="use up to 64 letters, digits, dots, dashes and underscores",
        )


def _taken(name: str) -> InvalidRequest:
    return InvalidRequest(f"the key name {name} is taken", hint="choose another name")


def _text(record: KeyRecord) -> bytes:
    return canonical(dict(record)) + b"\n"


def _read_private(path: Path) -> bytes:
    """The bytes of a private key file that nobody else can read, judged on what was opened."""
    descriptor = open_plain(path)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & 0o077:
            raise InvalidRequest(
                f"others can read or write the private key {path} (mode {mode:04o}); "
                "it was not used",
                hint=f"run `chmod 600 {path}`, and make a new key if somebody may have read it",
            )
        return os.read(descriptor, _PEM_BYTES_MAX)
    finally:
        os.close(descriptor)


def _load_all(folder: Path) -> dict[str, KeyRecord]:
    records = {}
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        names = []
    for file_name in names:
        name = file_name.removesuffix(".json")
        if name != file_name and _NAME.match(name):
            record = _load(folder / file_name)
            if record is not None:
                records[name] = record
    return records


def _load(path: Path) -> KeyRecord | None:
    """The record in a file, whose key id must be its key's; None where there is no file."""
    try:
        with os.fdopen(open_plain(path), "rb") as file:
            data = file.read(_RECORD_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    try:
        record = parse(data, what=str(path))
        _check_record(record)
    except PamError as cause:
        raise StoreDamaged(f"{path} is no record of a key: {cause.message}") from cause
    return cast(KeyRecord, record)


def _check_record(record: object) -> None:
    if not isinstance(record, Mapping):
        raise InvalidRequest("it is not an object")
    for name in ("key_id", "public_key_spki_b64u", "created_at"):
        if not isinstance(record.get(name), str):
            raise InvalidRequest(f"it needs {name}, a string")
    for name in ("valid_from", "valid_to"):
        if not isinstance(record.get(name, ...), str | None):
            raise InvalidRequest(f"it needs {name}, a string or null")
    if record.get("status") not in get_args(KeyStatus):
        raise InvalidRequest(f"its status is none of {', '.join(get_args(KeyStatus))}")
    roles = record.get("roles", [])
    if not isinstance(roles, list) or not all(role in get_args(Role) for role in roles):
        raise InvalidRequest(f"its roles are not among {', '.join(get_args(Role))}")
    if PublicKey.from_spki_b64u(record["public_key_spki_b64u"]).key_id != record["key_id"]:
        raise InvalidRequest("its key_id is not its key's")
