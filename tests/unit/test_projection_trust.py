"""The relying party's policy document, and the policy that a store has by itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from pamctl.crypto.keys import PublicKey
from pamctl.errors import InvalidRequest
from pamctl.model.documents import is_valid
from pamctl.projection.trust import parse_trust_policy, store_policy
from pamctl.store.keyring import Keyring
from tests.projections import KEY, OTHER_KEY

KEY_ID = "adapter-key-1"
AGES = {"max_projection_age_sec": 300, "max_trust_age_sec": 600}


def document(pin: Any = None, **members: Any) -> bytes:
    pin = {"public_key_hex": KEY.public.raw.hex(), "status": "active"} if pin is None else pin
    return json.dumps({"adapter_keys": {KEY_ID: pin}, **AGES, **members}).encode()


def test_a_policy_is_read_as_it_stands() -> None:
    policy = parse_trust_policy(
        document(
            {
                "adapter_id": "urn:example:adapter:1",
                "public_key_spki_b64u": KEY.public.spki_b64u,
                "status": "revoked",
                "valid_from": "2026-01-01T00:00:00Z",
                "valid_to": None,
                "revoked_at": "2026-07-01T00:00:00+02:00",
            },
            max_clock_skew_sec=7,
            expected_source_profile="urn:x:y",
            single_use=True,
        )
    )
    pin = policy.adapter_keys[KEY_ID]
    assert pin.public_key == KEY.public
    assert (pin.adapter_id, pin.status) == ("urn:example:adapter:1", "revoked")
    assert (pin.valid_from, pin.valid_to) == ("2026-01-01T00:00:00Z", None)
    assert (policy.max_projection_age_sec, policy.max_trust_age_sec) == (300, 600)
    assert (policy.max_clock_skew_sec, policy.single_use) == (7, True)
    assert policy.expected_source_profile == "urn:x:y"


@pytest.mark.parametrize(
    "form",
    [
        {"public_key_spki_b64u": KEY.public.spki_b64u},
        {"public_key_hex": KEY.public.raw.hex()},
        {"public_key_pem": KEY.public.pem},
    ],
)
def test_a_key_comes_in_three_forms(form: dict[str, str]) -> None:
    policy = parse_trust_policy(document({**form, "status": "active"}))
    assert policy.adapter_keys[KEY_ID].public_key == KEY.public


HEX = {"public_key_hex": KEY.public.raw.hex(), "status": "active"}
ORDER_4 = "00" * 32


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"", "not JSON"),
        (b"[]", "not an object"),
        (b"{}", "adapter_keys is missing"),
        (document().replace(b"{", b'{"max_trust_age_sec": 1, ', 1), "twice"),
        (document(surprise=1), "surprise"),
        (document(max_projection_age_sec=-1), "max_projection_age_sec"),
        (document(max_projection_age_sec=1.0), "max_projection_age_sec"),
        (document(max_trust_age_sec="300"), "max_trust_age_sec"),
        (document(max_trust_age_sec=True), "max_trust_age_sec"),
        (document(max_clock_skew_sec=None), "max_clock_skew_sec"),
        (document(single_use=1), "single_use"),
        (document(expected_source_profile=1), "expected_source_profile"),
        (document({}), "status"),
        (document({"status": "active"}), "exactly one"),
        (document({**HEX, "public_key_pem": KEY.public.pem}), "exactly one"),
        (document({**HEX, "status": "trusted"}), "status"),
        (document({**HEX, "surprise": 1}), "surprise"),
        (document({**HEX, "adapter_id": "not a uri"}), "adapter_id"),
        (document({**HEX, "valid_from": "yesterday"}), "valid_from"),
        (document({**HEX, "valid_to": "2026-01-01T00:00:00"}), "valid_to"),
        (document({**HEX, "revoked_at": 5}), "revoked_at"),
        (document({**HEX, "key_id": "another"}), "key_id"),
        (document({**HEX, "alg": "ES256"}), "alg"),
        (document({"public_key_hex": ORDER_4, "status": "active"}), "small order"),
        (document([]), "not an object"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(data: bytes, named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        parse_trust_policy(data)


def test_a_pin_may_repeat_its_name_and_algorithm() -> None:
    pin = {**HEX, "key_id": KEY_ID, "alg": "Ed25519"}
    assert KEY_ID in parse_trust_policy(document(pin)).adapter_keys


@pytest.mark.parametrize(
    "data",
    [
        document(),
        document({**HEX, "valid_from": None, "revoked_at": "2026-01-01T00:00:00Z"}),
        document(max_clock_skew_sec=0, single_use=False),
        document({**HEX, "key_id": KEY_ID, "alg": "Ed25519"}),
        document({**HEX, "alg": "RSA"}),
        document({**HEX, "adapter_id": None}),
        document(expected_source_profile=""),
        document(expected_source_profile=None),
        document(expected_context_frame_profile="x" * 1025),
        document({}),
        document(surprise=1),
        document(max_trust_age_sec=-1),
        document({**HEX, "status": "trusted"}),
    ],
)
def test_the_published_schema_agrees(data: bytes) -> None:
    if is_valid("trust-policy", json.loads(data)):
        parse_trust_policy(data)
    else:
        with pytest.raises(InvalidRequest):
            parse_trust_policy(data)


NOW = "2026-08-03T09:00:00Z"


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "keys")


def test_a_store_pins_its_own_keys_and_trusted_adapters(keyring: Keyring) -> None:
    own = keyring.generate("own", seed=bytes(range(32)), now=NOW)
    keyring.trust(KEY.public, "adapter", now=NOW, adapter_id="urn:x:adapter")
    keyring.trust(OTHER_KEY.public, "author", now=NOW)
    policy = store_policy(keyring, {"max_projection_age_sec": 60})
    assert set(policy.adapter_keys) == {own["key_id"], KEY.public.key_id}
    assert policy.adapter_keys[KEY.public.key_id].adapter_id == "urn:x:adapter"
    assert policy.adapter_keys[own["key_id"]].valid_from == NOW
    assert (policy.max_projection_age_sec, policy.max_trust_age_sec) == (60, 300)


@pytest.mark.parametrize("revoke_own", [True, False])
def test_a_key_known_twice_is_revoked_once(keyring: Keyring, revoke_own: bool) -> None:
    own = keyring.generate("own", seed=bytes(range(32)), now=NOW)
    keyring.trust(PublicKey.from_spki_b64u(own["public_key_spki_b64u"]), "adapter", now=NOW)
    keyring.revoke("own" if revoke_own else own["key_id"], now=NOW)
    assert store_policy(keyring, {}).adapter_keys[own["key_id"]].status == "revoked"
