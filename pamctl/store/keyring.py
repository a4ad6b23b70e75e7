"""The keys of a store, in `.pam/keys/`.

    <name>.pem             a private key of this store's, mode 0600, PKCS#8
    <name>.json            its public record
    trusted/<key id>.json  the public record of a key that belongs to somebody else

A private key is written once, encrypted where there is a passphrase, and leaves this module
only as an object that can sign.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from pamctl.crypto.keys import PrivateKey, PublicKey
from pamctl.encoding.identifiers import is_identifier
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest, ObjectNotFound, PamError, StoreDamaged
from pamctl.named_tuples import NamedTuple
from pamctl.store import files, key_records
from pamctl.store.key_files import read_private
from pamctl.store.key_records import (
    KEY_ID,
    NAME,
    TRUSTED,
    KeyRecord,
    KeyStatus,
    Role,
    load,
    load_all,
)

Unlock = Callable[[str], bytes | None]
"""The passphrase of a key, by its name; None where there is none."""


class Seal(NamedTuple):
    """What a private key is encrypted with: a passphrase, and fresh random bytes as
    `crypto.private_pem` wants them."""

    passphrase: bytes
    salt: bytes
    iv: bytes


class Keyring:
    """The keys under one `keys` directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._trusted = directory / TRUSTED

    def generate(
        self,
        name: str,
        *,
        seed: bytes,
        now: str,
        actor_id: str | None = None,
        owner: bool = False,
        valid_to: str | None = None,
        seal: Seal | None = None,
    ) -> KeyRecord:
        """Make a key of this store's. When this returns, both files are durable.

        seed: 32 bytes of the system's entropy. now: when it becomes valid. The rest as in
        `add`, which this raises as.
        """
        key = PrivateKey.from_seed(seed)
        return self.add(
            name, key, now=now, actor_id=actor_id, owner=owner, valid_to=valid_to, seal=seal
        )

    def add(
        self,
        name: str,
        key: PrivateKey,
        *,
        now: str,
        actor_id: str | None = None,
        owner: bool = False,
        valid_to: str | None = None,
        seal: Seal | None = None,
    ) -> KeyRecord:
        """Make a private key one of this store's. When this returns, both files are durable.

        Arguments:
            now: when it becomes valid.
            actor_id: the actor that is bound to it from now on.
            owner: whether it is the key of the store's owner.
            seal: what the private key is encrypted with; None leaves it plain.

        Raises InvalidRequest when the name is taken, whatever has taken it, for what no actor
        can be called, and for a key that would end before it begins.
        """
        path = self._private_path(name)
        record: KeyRecord = {
            "key_id": key.public.key_id,
            "public_key_spki_b64u": key.public.spki_b64u,
            "status": "active",
            "valid_from": now,
            "valid_to": valid_to,
            "created_at": now,
        }
        _require_span(record)
        if actor_id is not None:
            record["actor_id"] = _actor(actor_id)
        if owner:
            record["owner"] = True
        files.ensure_directory(self.directory, mode=0o700)
        if self._record_path(name).exists():
            raise _taken(name)
        pem = (
            key.pem()
            if seal is None
            else key.encrypted_pem(seal.passphrase, salt=seal.salt, iv=seal.iv)
        )
        made = {path: pem, self._record_path(name): key_records.text(record)}
        try:
            # The private key takes the name: of two processes, one gets it.
            files.create_new(path, pem, mode=0o600)
            files.create_new(self._record_path(name), made[self._record_path(name)])
        except FileExistsError:
            raise self._taken_by_file(name) from None
        except PamError:
            # A name may be there that the device would not promise to keep.
            with contextlib.suppress(PamError, OSError):
                files.remove_durably(
                    [one for one, data in made.items() if one.exists() and one.read_bytes() == data]
                )
            raise
        return record

    def forget_unfinished(self, name: str) -> None:
        """Remove a private key that has no record: nobody was told of it, and nothing can be
        signed with it. For whoever knows that its making was his own, and that it died."""
        path = self._private_path(name)
        if os.path.lexists(path) and not os.path.lexists(self._record_path(name)):
            files.remove_durably([path])

    def private(self, name: str, unlock: Unlock | None = None) -> PrivateKey:
        """The private key of that name, to sign with.

        unlock: asked for the passphrase where it is encrypted.

        Raises ObjectNotFound where there is none, InvalidRequest when others can read it or
        it does not open, and StoreDamaged when it is not the key of its public record.
        """
        path = self._private_path(name)
        try:
            data = read_private(path)
        except FileNotFoundError:
            raise self._no_such_key(name) from None
        passphrase = None
        if unlock is not None:
            from pamctl.crypto.private_pem import is_encrypted  # who verifies does without

            passphrase = unlock(name) if is_encrypted(data) else None
        key = PrivateKey.from_pem(data, passphrase)
        if key.public.key_id != self.show(name)["key_id"]:
            raise StoreDamaged(f"{path} is not the private key of {self._record_path(name)}")
        return key

    def show(self, name: str) -> KeyRecord:
        """The record of a key of this store's by its name, or of another's by its key id.
        Raises ObjectNotFound."""
        _check_name(name)
        record = load(self._record_path(name))
        if record is None and re.match(KEY_ID, name):
            record = load(self._trusted / f"{name}.json")
        if record is None:
            raise self._no_such_key(name)
        return record

    def own(self) -> dict[str, KeyRecord]:
        """The records of this store's keys, by name, in order of their names."""
        return load_all(self.directory)

    def trusted(self, role: Role) -> dict[str, KeyRecord]:
        """The records of others' keys that are trusted in that role, by key id."""
        records = load_all(self._trusted)
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
        """Trust a key of somebody else's in a role. It keeps the roles that it has, and what is
        not said anew: whom it belongs to, so that nobody is unbound by the way, and its validity.

        Raises InvalidRequest for a key that is revoked here, because trust does not come back,
        for what no actor can be called, and for a key that would end before it begins.
        """
        path = self._trusted / f"{key.key_id}.json"
        before = load(path)
        if before is not None and before["status"] != "active":
            raise InvalidRequest(
                f"the key {key.key_id} is {before['status']} and cannot be trusted again",
                hint="ask its owner for a new key",
            )
        record: KeyRecord = before or {
            "key_id": key.key_id,
            "public_key_spki_b64u": key.spki_b64u,
            "status": "active",
            "valid_from": None,
            "valid_to": None,
            "created_at": now,
        }
        roles: set[Role] = {role, *record.get("roles", ())}
        record["roles"] = sorted(roles)
        record["created_at"] = now
        if valid_from is not None:
            record["valid_from"] = valid_from
        if valid_to is not None:
            record["valid_to"] = valid_to
        _require_span(record)
        if actor_id is not None:
            record["actor_id"] = _actor(actor_id)
        if adapter_id is not None:
            record["adapter_id"] = adapter_id
        files.ensure_directory(self.directory, mode=0o700)
        files.ensure_directory(self._trusted)
        files.replace_whole(path, key_records.text(record))
        return record

    def revoke(
        self,
        name: str,
        *,
        now: str,
        at: str | None = None,
        compromised: bool = False,
        reason: str | None = None,
    ) -> KeyRecord:
        """Revoke a key by its name or key id. The first revocation's time stays; a revoked
        key can still become a compromised one.

        at: when it ceased to count, `now` or before it; without it that is `now`.

        Raises ObjectNotFound, and InvalidRequest for a time that is still to come, and for a
        reason that has no room in the record.
        """
        record = self.show(name)
        if at is not None and instant(at) > instant(now):
            raise InvalidRequest(
                f"the key cannot be revoked as of {at}, which is still to come",
                hint="`key trust --valid-to` gives a key of somebody else's an end",
            )
        if record["status"] == "active":
            record["revoked_at"] = at or now
        record["status"] = "compromised" if compromised else _worse(record["status"])
        if reason is not None:
            record["reason"] = reason
        folder = self._trusted if "roles" in record else self.directory
        files.replace_whole(folder / f"{name}.json", key_records.text(record))
        return record

    def _private_path(self, name: str) -> Path:
        _check_name(name)
        return self.directory / f"{name}.pem"

    def _record_path(self, name: str) -> Path:
        return self.directory / f"{name}.json"

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
        known = f"the keys are {names}; " if names else ""
        return ObjectNotFound(
            f"there is no key {name}", hint=f"{known}`pamctl key generate {name}` makes it"
        )


def _worse(status: KeyStatus) -> KeyStatus:
    return "compromised" if status == "compromised" else "revoked"


def _actor(actor_id: str) -> str:
    """The actor to bind. Raises InvalidRequest for what no actor can be called."""
    if not is_identifier(actor_id):
        raise InvalidRequest(
            f"{actor_id[:80]!r} is no identifier of an actor",
            hint="it is a scheme, a colon and a name, such as actor:local:agent",
        )
    return actor_id


def _require_span(record: KeyRecord) -> None:
    begins, ends = record["valid_from"], record["valid_to"]
    if begins is not None and ends is not None and instant(ends) < instant(begins):
        raise InvalidRequest(
            f"a key that is valid from {begins} cannot end at {ends}",
            hint="give a later --valid-to",
        )


def _check_name(name: str) -> None:
    if re.match(NAME, name) is None:
        raise InvalidRequest(
            f"{name[:80]!r} is no name for a key",
            hint="use up to 64 letters, digits, dots, dashes and underscores",
        )


def _taken(name: str) -> InvalidRequest:
    return InvalidRequest(f"the key name {name} is taken", hint="choose another name")
