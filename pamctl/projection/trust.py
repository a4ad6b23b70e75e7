"""The relying party's policy: which adapter keys count, and how old a decision may be.

Nothing here comes from a record or from a file that lies beside one: a key that travels
with a record is no trust anchor (MPR §6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from pamctl.crypto.keys import PublicKey
from pamctl.encoding.strict_json import parse
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest
from pamctl.limits import INTEGER_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.projection.shape import NAME_CHARS_MAX, is_name, is_uri
from pamctl.store.key_records import KeyRecord, KeyStatus
from pamctl.store.keyring import Keyring

KEY_STATUSES: tuple[str, ...] = get_args(KeyStatus)

# What the store's own policy grants where store.json says nothing.
_AGE_SEC_DEFAULT = 300
_CLOCK_SKEW_SEC_DEFAULT = 5


class AdapterPin:
    """One pinned adapter key, as the relying party holds it.

    public_key: the key itself.
    adapter_id: the only adapter that may use it; None pins the key alone.
    status: `compromised` is refused as `revoked` is.
    valid_from, valid_to: RFC 3339; `created_at` must lie between them, both included.
        None leaves that side open.
    revoked_at: when the revocation takes effect.
    """

    def __init__(
        self,
        public_key: PublicKey,
        adapter_id: str | None = None,
        status: KeyStatus = "active",
        valid_from: str | None = None,
        valid_to: str | None = None,
        revoked_at: str | None = None,
    ) -> None:
        """Raises InvalidRequest for a time that is no RFC 3339 timestamp with an offset."""
        self.public_key = public_key
        self.adapter_id = adapter_id
        self.status = status
        self.valid_from, self.valid_to, self.revoked_at = valid_from, valid_to, revoked_at
        given = {"valid_from": valid_from, "valid_to": valid_to, "revoked_at": revoked_at}
        times = {}
        for name, text in given.items():
            try:
                times[name] = None if text is None else instant(text)
            except ValueError as cause:
                raise InvalidRequest(f"{name} of a pinned key: {cause}") from cause
        self._from, self._to = times["valid_from"] or "", times["valid_to"] or "9999~"
        self._revoked_at = times["revoked_at"]

    def is_revoked(self, now: str) -> bool:
        """Whether the key is revoked or compromised at the instant `now`.

        A revoked key counts for nothing, whatever date its records carry: whoever holds it
        can write any date. A `revoked_at` that has come revokes an `active` key as well,
        and one that is still to come does not save a key whose status is `revoked`.
        """
        revoked_at = self._revoked_at
        return self.status != "active" or (revoked_at is not None and revoked_at <= now)

    def is_early(self, created: str) -> bool:
        """Whether the instant `created` lies before `valid_from`."""
        return created < self._from

    def is_late(self, created: str) -> bool:
        """Whether the instant `created` lies after `valid_to`."""
        return created > self._to


class TrustPolicy(NamedTuple):
    """What a relying party demands of every record. MPR §4.1, §8 steps 2 and 3.

    adapter_keys: by the key id that records name.
    max_projection_age_sec, max_trust_age_sec: how long before the verification
        `created_at` and `trust_evaluated_at` may lie.
    max_clock_skew_sec: how far an adapter's clock may run ahead of the verifier's.
    expected_source_profile, expected_context_frame_profile: the only ones accepted.
    single_use: whether a projection id is accepted once only.
    """

    adapter_keys: Mapping[str, AdapterPin]
    max_projection_age_sec: int
    max_trust_age_sec: int
    max_clock_skew_sec: int = 0
    expected_source_profile: str | None = None
    expected_context_frame_profile: str | None = None
    single_use: bool = False


_KEY_FORMS = ("public_key_spki_b64u", "public_key_hex", "public_key_pem")
_PIN_TEXTS = ("adapter_id", "status", "valid_from", "valid_to", "revoked_at")
_PIN_MEMBERS = {*_KEY_FORMS, *_PIN_TEXTS, "key_id", "alg"}
_AGES = ("max_projection_age_sec", "max_trust_age_sec")
_EXPECTATIONS = ("expected_source_profile", "expected_context_frame_profile")
_POLICY_MEMBERS = {"adapter_keys", *_AGES, "max_clock_skew_sec", *_EXPECTATIONS, "single_use"}


def parse_trust_policy(data: bytes, *, what: str = "the trust policy") -> TrustPolicy:
    """The policy that a `--trust` document spells (schemas/trust-policy.schema.json).

    Both ages must be given: the relying party has to set them (MPR §4.1). Raises
    InvalidRequest, naming the member, for whatever it does not understand: a policy that
    is half understood protects half.
    """
    document = _object(parse(data, what=what), _POLICY_MEMBERS, what, "")
    pins = {
        key_id: _pin(key_id, pin, what)
        for key_id, pin in _object(
            document.get("adapter_keys"), None, what, "/adapter_keys"
        ).items()
    }
    seconds = {name: _seconds(document.get(name), what, name) for name in _AGES}
    skew = _seconds(document.get("max_clock_skew_sec", 0), what, "max_clock_skew_sec")
    for name in _EXPECTATIONS:
        if document.get(name) is not None and not is_name(document[name]):
            raise _wrong(what, f"/{name}", f"is not a string of 1 to {NAME_CHARS_MAX} characters")
    single_use = document.get("single_use", False)
    if not isinstance(single_use, bool):
        raise _wrong(what, "/single_use", "is neither true nor false")
    return TrustPolicy(
        adapter_keys=pins,
        max_clock_skew_sec=skew,
        expected_source_profile=document.get("expected_source_profile"),
        expected_context_frame_profile=document.get("expected_context_frame_profile"),
        single_use=single_use,
        **seconds,
    )


def store_policy(keyring: Keyring, config: Mapping[str, Any]) -> TrustPolicy:
    """The policy of a store for records that are verified without a `--trust` document.

    It pins the store's own keys and those trusted as adapters, by their key ids, and takes
    its ages from `store.json`.
    """
    records: dict[str, KeyRecord] = {}
    for record in (*keyring.own().values(), *keyring.trusted("adapter").values()):
        known = records.get(record["key_id"])
        # A key that is known twice is revoked when either record says so.
        if known is None or known["status"] == "active":
            records[record["key_id"]] = record
    return TrustPolicy(
        adapter_keys={key_id: _pin_of(record) for key_id, record in records.items()},
        max_projection_age_sec=config.get("max_projection_age_sec", _AGE_SEC_DEFAULT),
        max_trust_age_sec=config.get("max_trust_age_sec", _AGE_SEC_DEFAULT),
        max_clock_skew_sec=config.get("max_clock_skew_sec", _CLOCK_SKEW_SEC_DEFAULT),
    )


def _pin_of(record: KeyRecord) -> AdapterPin:
    return AdapterPin(
        public_key=PublicKey.from_spki_b64u(record["public_key_spki_b64u"]),
        adapter_id=record.get("adapter_id"),
        status=record["status"],
        valid_from=record["valid_from"],
        valid_to=record["valid_to"],
        revoked_at=record.get("revoked_at"),
    )


def _pin(key_id: str, value: Any, what: str) -> AdapterPin:
    pointer = f"/adapter_keys/{key_id.replace('~', '~0').replace('/', '~1')}"
    pin = _object(value, _PIN_MEMBERS, what, pointer)
    for name in (*_KEY_FORMS, *_PIN_TEXTS):
        if pin.get(name) is not None and not isinstance(pin[name], str):
            raise _wrong(what, f"{pointer}/{name}", "is not a string")
    # A pin copied from elsewhere may repeat its name and algorithm, but not contradict them.
    if pin.get("key_id", key_id) != key_id:
        raise _wrong(what, f"{pointer}/key_id", "differs from the name the key is pinned under")
    if pin.get("alg", "Ed25519") != "Ed25519":
        raise _wrong(what, f"{pointer}/alg", "is not Ed25519")
    status = pin.get("status")
    if status not in KEY_STATUSES:
        raise _wrong(what, f"{pointer}/status", f"is none of {', '.join(KEY_STATUSES)}")
    adapter_id = pin.get("adapter_id")
    if adapter_id is not None and not is_uri(adapter_id):
        raise _wrong(what, f"{pointer}/adapter_id", "is not an absolute URI")
    try:
        return AdapterPin(
            public_key=_public_key(pin),
            adapter_id=adapter_id,
            status=cast(KeyStatus, status),
            valid_from=pin.get("valid_from"),
            valid_to=pin.get("valid_to"),
            revoked_at=pin.get("revoked_at"),
        )
    except InvalidRequest as cause:
        raise _wrong(what, pointer, f"cannot be used: {cause.message}") from cause


def _public_key(pin: Mapping[str, Any]) -> PublicKey:
    given = [name for name in _KEY_FORMS if pin.get(name) is not None]
    if len(given) != 1:
        raise InvalidRequest(f"a pinned key has exactly one of {', '.join(_KEY_FORMS)}")
    text = pin[given[0]]
    if given[0] == "public_key_hex":
        return PublicKey.from_hex(text)
    if given[0] == "public_key_pem":
        return PublicKey.from_pem(text.encode())
    return PublicKey.from_spki_b64u(text)


def _object(value: Any, names: set[str] | None, what: str, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(what, pointer, "is missing" if value is None else "is not an object")
    if names is not None and not value.keys() <= names:
        unknown = min(value.keys() - names)
        raise _wrong(what, pointer, f"has the unknown member {unknown[:64]!r}")
    return value


def _seconds(value: Any, what: str, name: str) -> int:
    if type(value) is not int or not 0 <= value <= INTEGER_MAX:
        raise _wrong(what, f"/{name}", "must be an integer of at least 0, in seconds")
    return value


def _wrong(what: str, pointer: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{what}: {pointer or 'the whole value'} {problem}", pointer=pointer)
