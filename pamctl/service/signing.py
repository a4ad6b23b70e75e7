"""Who may act in the name of an actor that is bound to a key, and what is signed for it.

An actor is bound once a key record of the store names it: a key of the store's own, or one of
somebody else's that is trusted as an author. From then on nobody acts in its name without a
private key of the store's that is bound to it and counts now; whoever can read and open that
key's file can. What it writes is signed with it.

The keyring is looked at anew for every group of operations, so that a key that is made or
revoked counts from the next one on.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pamctl.errors import AccessDenied, InvalidRequest, ObjectNotFound, PamError
from pamctl.named_tuples import NamedTuple
from pamctl.service.sources import Sources
from pamctl.store.key_files import read_private
from pamctl.store.key_records import Binding, KeyRecord, bindings, counts_at

if TYPE_CHECKING:
    from pamctl.crypto.keys import PrivateKey
    from pamctl.store.keyring import Seal, Unlock

KEY_RULE = "actor_is_bound_to_a_key"
"""Stands where a refusal names the rule of a policy."""
OWNER_KEY = "owner"
"""The name of the key that `init` makes."""

_UNSEEN = "you may not read the records of the store's keys, which say whether it needs one"
_SHOW = "their owner can run `chmod 755 .pam/keys`; each private key has a mode of its own"
_OTHERWISE = "act under another name (--actor, PAM_ACTOR), or bring the key: `pamctl key import`"


class _Opened(NamedTuple):
    """A private key that was opened, and the bytes of the file that it was read from."""

    data: bytes
    key: PrivateKey


class Signers:
    """The bound actors of a store.

    unlock: asked for the passphrase of an encrypted key, by its name.
    preferred: the name of the key to sign with, where it has to be a certain one.
    """

    def __init__(self, directory: Path, sources: Sources) -> None:
        self._directory = directory
        self._sources = sources
        self._opened: dict[str, _Opened] = {}
        self.unlock: Unlock | None = None
        self.preferred: str | None = None

    def require(self, actor_id: str, operation: str) -> None:
        """Raises AccessDenied where an operation in the actor's name needs a key that is not
        at hand. Signs nothing, so the key's file is enough, and its passphrase is not asked
        for: who only looks could look into the store's files as well."""
        try:
            name = self._name_to_act(actor_id, operation)
        except PermissionError:
            # Another user of the machine, who sees no record of any key.
            return
        if name is not None:
            self._file(name, actor_id, operation)

    def signer(self, actor_id: str, operation: str) -> PrivateKey | None:
        """The key to sign what the actor writes; None for an actor that is not bound. Raises
        as `require` does, and where nobody can tell whether the actor is bound."""
        try:
            name = self._name_to_act(actor_id, operation)
        except PermissionError as cause:
            raise _refused(actor_id, operation, _UNSEEN, _SHOW) from cause
        return None if name is None else self._open(name, actor_id, operation)

    def make_owner(self, actor_id: str, seal: Seal | None = None) -> None:
        """Make the key of a new store's owner, and bind the actor to it."""
        from pamctl.store.keyring import Keyring

        Keyring(self._directory).generate(
            OWNER_KEY,
            seed=self._sources.entropy(32),
            now=self._sources.now(),
            actor_id=actor_id,
            owner=True,
            seal=seal,
        )

    def owner(self) -> PrivateKey | None:
        """The owner's key, which counts now; None where the store has none, or its private
        key is not at hand."""
        from pamctl.store.keyring import Keyring

        now = self._sources.now()
        for name, record in _newest(Keyring(self._directory).own()):
            if record.get("owner") and _counts_now(record, now):
                try:
                    return self._open(name, record.get("actor_id", name), "import")
                except AccessDenied:
                    return None
        return None

    def _name_to_act(self, actor_id: str, operation: str) -> str | None:
        """The name of the key to act with, None for an actor that is not bound and signs with
        none."""
        found = bindings(self._directory, actor_id)
        if self.preferred is not None:
            return self._preferred(self.preferred, actor_id, operation, found)
        if not found:
            return None
        now = self._sources.now()
        own = {one.name: one.record for one in found if one.name is not None}
        able = [name for name, record in _newest(own) if _counts_now(record, now)]
        if not able:
            hint = f"`pamctl key generate NAME --actor {actor_id}` makes it a new one"
            raise _refused(actor_id, operation, _shortfall(found), hint if own else None)
        # Of several, one may be on this machine and another elsewhere.
        here = [name for name in able if os.path.lexists(self._file_of(name))]
        return (here or able)[0]

    def _preferred(
        self, name: str, actor_id: str, operation: str, found: list[Binding]
    ) -> str | None:
        """The key that was asked for, where the actor may sign with it. Raises ObjectNotFound
        where there is none of that name."""
        from pamctl.store.keyring import Keyring

        record = Keyring(self._directory).show(name)
        owner = record.get("actor_id")
        if "roles" in record or owner not in (None, actor_id) or (owner is None and found):
            raise _refused(actor_id, operation, f"the key {name} is not one that it is bound to")
        if not _counts_now(record, self._sources.now()):
            raise _refused(actor_id, operation, f"the key {name} does not count now")
        return name

    def _file_of(self, name: str) -> Path:
        return self._directory / f"{name}.pem"

    def _open(self, name: str, actor_id: str, operation: str) -> PrivateKey:
        data = self._file(name, actor_id, operation)
        opened = self._opened.get(name)
        if opened is None or opened.data != data:
            from pamctl.store.keyring import Keyring

            try:
                key = Keyring(self._directory).private(name, self.unlock)
            except (InvalidRequest, ObjectNotFound) as cause:
                raise _refused(actor_id, operation, cause.message, _hint(cause)) from cause
            opened = self._opened[name] = _Opened(data, key)
        return opened.key

    def _file(self, name: str, actor_id: str, operation: str) -> bytes:
        try:
            return read_private(self._file_of(name))
        except FileNotFoundError as cause:
            problem = f"its private key {name}.pem is not in this copy of the store"
            raise _refused(actor_id, operation, problem) from cause
        except InvalidRequest as cause:
            raise _refused(actor_id, operation, cause.message, _hint(cause)) from cause


def _counts_now(record: KeyRecord, now: str) -> bool:
    return record["status"] == "active" and counts_at(record, now)


def _newest(own: dict[str, KeyRecord]) -> list[tuple[str, KeyRecord]]:
    return sorted(own.items(), key=lambda one: (one[1]["created_at"], one[0]), reverse=True)


def _shortfall(found: list[Binding]) -> str:
    states = {one.record["status"] for one in found if one.name is not None}
    if not states:
        return "its private key is somebody else's"
    if "active" in states:
        return "its key is not valid now"
    return f"its key is {' and '.join(sorted(states))}"


def _hint(cause: PamError) -> str | None:
    hint = cause.details.get("hint")
    return hint if isinstance(hint, str) else None


def _refused(actor_id: str, operation: str, problem: str, hint: str | None = None) -> AccessDenied:
    return AccessDenied(
        f"{actor_id} cannot {operation} without its key: {problem}",
        hint=hint or _OTHERWISE,
        policy_rule_id=KEY_RULE,
        operation=operation,
    )
