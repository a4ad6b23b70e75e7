"""Whose signatures count in a store, and what that makes of a version.
`store-format/source-profile.md`.

Trust is derived when a version is read and never stored. The keyring decides which keys
count; a trust snapshot commits to their ids. The labels follow from the version and the
snapshot alone, so that a verifier who has neither the store nor its keyring finds the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pamctl.crypto.keys import KEY_ID_BYTES
from pamctl.crypto.version_signatures import Signature, SignatureFault, verified
from pamctl.named_tuples import NamedTuple
from pamctl.projection.source import SourceRefused
from pamctl.store.key_records import KeyRecord, counts_at

if TYPE_CHECKING:
    from pamctl.crypto.keys import PublicKey
    from pamctl.store.keyring import Keyring

_SNAPSHOT_BYTES_MAX = 1 << 20
_HEAD_BYTES = 32


class Trust(NamedTuple):
    """Whose signatures count. Key ids, raw: the owner's, empty where the store has none; those
    of accepted authors; and those of earlier owners, whose word for originals still counts."""

    owner: bytes
    accepted: frozenset[bytes]
    earlier_owners: frozenset[bytes] = frozenset()


class Labels(NamedTuple):
    """What a version is labelled with, in the words of MPR §4.3."""

    derived_trust: str
    authorship: str
    author_key_id_b64u: str | None
    custody_present: bool


UNVERIFIED = Labels("unverified", "unknown", None, False)


class KnownKeys:
    """The keys of a store that count for its versions, in whole.

    A key of the owner's is the newest that is active. Accepted are the keys of others that
    are trusted as authors, and those of the store's own that an actor is bound to. Keys that
    are revoked still count for what they signed before, compromised ones for nothing. Of the
    owner's earlier keys, those that are active still vouch for what was brought here.
    """

    def __init__(self, keyring: Keyring) -> None:
        own = [one for one in keyring.own().values() if one["status"] != "compromised"]
        owners = [one for one in own if one.get("owner") and one["status"] == "active"]
        self._owner = max(owners, key=lambda one: one["created_at"], default=None)
        self._owners = owners
        bound = [one for one in own if one.get("owner") or "actor_id" in one]
        others = [
            one for one in keyring.trusted("author").values() if one["status"] != "compromised"
        ]
        self._by_key = {one["public_key_spki_b64u"]: one for one in (*others, *bound)}

    @property
    def owner_key_id(self) -> bytes | None:
        return None if self._owner is None else bytes.fromhex(self._owner["key_id"])

    @property
    def accepted_key_ids(self) -> list[bytes]:
        """Every id but the owner's."""
        ids = {bytes.fromhex(one["key_id"]) for one in self._by_key.values()}
        return sorted(ids - {self.owner_key_id})

    @property
    def earlier_owner_key_ids(self) -> list[bytes]:
        """The owner's keys that a newer one has taken the place of. A revoked one is none of
        them: a version does not say when its custodian signed, so it could have been after."""
        ids = {bytes.fromhex(one["key_id"]) for one in self._owners}
        return sorted(ids - {self.owner_key_id})

    @property
    def trust(self) -> Trust:
        """Whose signatures count now."""
        return Trust(
            self.owner_key_id or b"",
            frozenset(self.accepted_key_ids),
            frozenset(self.earlier_owner_key_ids),
        )

    def admit(self, signature: Signature, committed_at: str, trust: Trust) -> None:
        """Raises SourceRefused for a version of an author whose key counts, but did not when it
        was committed; and where a key's id is made to look like that of one that counts.

        When a custodian signed, the version does not say; a key that is compromised counts for
        nothing, and is not in the snapshot.
        """
        if signature.custodian is not None and _counts(signature.custodian, trust):
            self._record(signature.custodian)
        if _counts(signature.author, trust):
            record = self._record(signature.author)
            if not counts_at(record, committed_at):
                raise SourceRefused(
                    "authentication_failed",
                    f"its key {record['key_id']} did not count at {committed_at}",
                )

    def _record(self, key: PublicKey) -> KeyRecord:
        record = self._by_key.get(key.spki_b64u)
        if record is None:
            raise SourceRefused("authentication_failed", "its key imitates one that counts")
        return record


def trust_snapshot(
    owner_key_id: bytes | None,
    accepted_key_ids: Iterable[bytes],
    head: str,
    sequence: int,
    earlier_owner_key_ids: Iterable[bytes] = (),
) -> bytes:
    """The trust state of a selection, as deterministic CBOR (RFC 8949 §4.2).

    owner_key_id: 8 raw bytes, or None where the store has no owner's key.
    accepted_key_ids: of the accepted authors, 8 raw bytes each, in any order.
    head: of the scope's ledger, 64 hexadecimal digits. sequence: of its last event.
    earlier_owner_key_ids: of the owner's earlier keys that still vouch, likewise.
    """
    import cbor2

    state = {
        1: owner_key_id or b"",
        2: sorted(set(accepted_key_ids)),
        3: bytes.fromhex(head),
        4: sequence,
    }
    earlier = sorted({*earlier_owner_key_ids} - {owner_key_id})
    if earlier:
        state[5] = earlier
    return cbor2.dumps(state, canonical=True)


@lru_cache(maxsize=8)
def read_snapshot(data: bytes) -> Trust:
    """Whose signatures count under a trust snapshot. Raises SourceRefused for bytes that
    `trust_snapshot` would not have written."""
    import cbor2

    refused = SourceRefused("schema_invalid", "the trust snapshot is not one of this profile")
    if len(data) > _SNAPSHOT_BYTES_MAX:
        raise refused
    try:
        value = cbor2.loads(data)
    except (cbor2.CBORError, ValueError, EOFError, OverflowError, RecursionError):
        raise refused from None
    if not isinstance(value, Mapping) or list(value) not in ([1, 2, 3, 4], [1, 2, 3, 4, 5]):
        raise refused
    owner, accepted, head, sequence, *others = value.values()
    earlier = others[0] if others else []
    well_formed = (
        _are_key_ids(accepted)
        and _are_key_ids(earlier)
        and isinstance(owner, bytes)
        and len(owner) in (0, KEY_ID_BYTES)
        and isinstance(head, bytes)
        and len(head) == _HEAD_BYTES
        and type(sequence) is int
        and sequence >= 0
    )
    if not well_formed:
        raise refused
    found = Trust(owner, frozenset(accepted), frozenset(earlier))
    again = trust_snapshot(owner, found.accepted, head.hex(), sequence, found.earlier_owners)
    if again != data:
        raise refused
    return found


def _are_key_ids(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, bytes) and len(one) == KEY_ID_BYTES for one in value
    )


def checked_signature(envelope: Mapping[str, Any]) -> Signature | None:
    """A version's signature; None for an unsigned one. Raises SourceRefused where it does
    not hold: the version is not what its author made."""
    try:
        return verified(envelope)
    except SignatureFault as fault:
        raise SourceRefused("authentication_failed", str(fault)) from None


def labels(signature: Signature | None, trust: Trust) -> Labels:
    """What a signature that holds makes of a version. Only the owner vouches for originals
    that were signed elsewhere, under the key of now or an earlier one."""
    if signature is None:
        return UNVERIFIED
    author = bytes.fromhex(signature.author.key_id)
    kept = signature.custodian is not None
    if signature.custodian is not None:
        custodian = bytes.fromhex(signature.custodian.key_id)
        if custodian != trust.owner and custodian not in trust.earlier_owners:
            return UNVERIFIED
    if author == trust.owner:
        derived = "self"
    elif author in trust.accepted:
        derived = "trusted"
    else:
        return UNVERIFIED._replace(custody_present=kept)
    authorship = "attested" if kept else "signed"
    return Labels(derived, authorship, signature.author.key_id_b64u, kept)


def _counts(key: PublicKey, trust: Trust) -> bool:
    key_id = bytes.fromhex(key.key_id)
    return key_id == trust.owner or key_id in trust.accepted or key_id in trust.earlier_owners
