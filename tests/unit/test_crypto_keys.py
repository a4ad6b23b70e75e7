"""Ed25519 keys: what is read, what is refused, and that openssl reads ours."""

import hashlib
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest

from pamctl.crypto import points
from pamctl.crypto.keys import PrivateKey, PublicKey
from pamctl.encoding import base64url
from pamctl.errors import InvalidRequest

# RFC 8032 §7.1, TEST 2.
SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)
P = 2**255 - 19


def pem_of(der: bytes) -> bytes:
    return b"-----BEGIN PUBLIC KEY-----\n" + b64encode(der) + b"\n-----END PUBLIC KEY-----\n"


def test_signs_as_rfc_8032_does() -> None:
    key = PrivateKey.from_seed(SEED)
    assert key.public.raw == PUBLIC
    assert key.sign(b"\x72") == SIGNATURE
    assert key.public.verify(SIGNATURE, b"\x72")
    assert not key.public.verify(SIGNATURE, b"\x73")
    assert not key.public.verify(SIGNATURE[:-1], b"\x72")


def test_key_id_is_the_start_of_a_digest() -> None:
    key = PublicKey(PUBLIC)
    expected = hashlib.sha256(PUBLIC).digest()[:8]
    assert key.key_id == expected.hex()
    assert base64url.decode(key.key_id_b64u) == expected
    assert len(key.key_id_b64u) == 11


def test_every_form_of_a_public_key_reads_back() -> None:
    key = PublicKey(PUBLIC)
    assert PublicKey.from_hex(PUBLIC.hex()) == key
    assert PublicKey.from_hex(PUBLIC.hex().upper()) == key
    assert PublicKey.from_pem(key.pem.encode()) == key
    assert PublicKey.from_pem(key.pem.replace("\n", "\r\n").encode()) == key
    assert PublicKey.from_spki_b64u(key.spki_b64u) == key
    assert PublicKey.from_spki(base64url.decode(key.spki_b64u)) == key
    assert len({key, PublicKey.from_hex(PUBLIC.hex())}) == 1


def test_private_key_reads_back_and_stays_hidden() -> None:
    key = PrivateKey.from_seed(SEED)
    assert PrivateKey.from_pem(key.pem()).public == key.public
    assert SEED.hex() not in repr(key)
    assert repr(key) == f"PrivateKey({key.public.key_id})"


@pytest.mark.parametrize(
    ("oid", "named"),
    [
        ("06092a864886f70d0101010500", "RSA"),
        ("06072a8648ce3d020106082a8648ce3d030107", "ECDSA"),
        ("06032b656e", "X25519"),
        ("06032b6571", "Ed448"),
    ],
)
def test_another_kind_of_key_is_refused_by_name(oid: str, named: str) -> None:
    der = bytes.fromhex("302a3005" + oid + "032100") + PUBLIC
    with pytest.raises(InvalidRequest, match=named):
        PublicKey.from_spki(der)
    with pytest.raises(InvalidRequest, match=named):
        PublicKey.from_pem(pem_of(der))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"-----BEGIN PUBLIC KEY-----\nA===\n-----END PUBLIC KEY-----\n",
        pem_of(bytes.fromhex("302a300506032b6570032100") + PUBLIC) * 2,
        pem_of(bytes.fromhex("302a300506032b6570032100") + PUBLIC[:-1]),
        pem_of(bytes.fromhex("302a300506032b6570032100") + PUBLIC + b"\x00"),
        pem_of(bytes.fromhex("302c300706032b65700500032100") + PUBLIC),
    ],
)
def test_what_is_no_pem_public_key_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidRequest):
        PublicKey.from_pem(text)


@pytest.mark.parametrize("text", ["", "00", PUBLIC.hex()[:-1], PUBLIC.hex() + "\n", "g" * 64])
def test_what_is_no_raw_hex_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        PublicKey.from_hex(text)


def test_private_keys_of_other_kinds_are_refused() -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, x25519

    def pkcs8(key: object, encryption: serialization.KeySerializationEncryption) -> bytes:
        return key.private_bytes(  # type: ignore[attr-defined, no-any-return]
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )

    plain = serialization.NoEncryption()
    for other in (x25519.X25519PrivateKey.generate(), ec.generate_private_key(ec.SECP256R1())):
        with pytest.raises(InvalidRequest, match="not an Ed25519 key"):
            PrivateKey.from_pem(pkcs8(other, plain))
    encrypted = pkcs8(
        ed25519.Ed25519PrivateKey.from_private_bytes(SEED),
        serialization.BestAvailableEncryption(b"secret"),
    )
    with pytest.raises(InvalidRequest, match="encrypted"):
        PrivateKey.from_pem(encrypted)
    with pytest.raises(InvalidRequest, match="no PEM private key"):
        PrivateKey.from_pem(b"nonsense")


def encoded(y: int, sign: int = 0) -> bytes:
    return (y | sign << 255).to_bytes(32, "little")


def test_points_of_small_order_are_refused() -> None:
    # The order-8 ordinates as published with libsodium's list of small-order points.
    order_8 = (
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
    ys = [0, 1, P - 1, *(int.from_bytes(bytes.fromhex(y), "little") for y in order_8)]
    for y in ys:
        for sign in (0, 1):
            assert "small order" in str(points.fault(encoded(y, sign)))


def test_a_second_spelling_of_a_point_is_refused() -> None:
    for y in range(P, 2**255):
        for sign in (0, 1):
            assert "canonical" in str(points.fault(encoded(y, sign)))


def test_what_is_not_on_the_curve_is_refused() -> None:
    faults = [points.fault(encoded(y)) for y in range(2, 60)]
    assert faults.count(None) in range(15, 45)
    assert set(faults) == {None, "it is not a point of the curve"}
    with pytest.raises(InvalidRequest, match="not a point of the curve"):
        PublicKey(encoded(2 + faults.index("it is not a point of the curve")))


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(InvalidRequest, match="32 bytes"):
        PublicKey(b"\x05" * length)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_keys_are_interchangeable_with_openssl(tmp_path: Path) -> None:
    def openssl(*words: str) -> bytes:
        return subprocess.run(
            ["openssl", *words], cwd=tmp_path, check=True, capture_output=True
        ).stdout

    (tmp_path / "ours.pem").write_bytes(PrivateKey.from_seed(SEED).pem())
    public = openssl("pkey", "-in", "ours.pem", "-pubout")
    assert public.decode() == PublicKey(PUBLIC).pem

    (tmp_path / "theirs.pem").write_bytes(openssl("genpkey", "-algorithm", "ed25519"))
    theirs = PrivateKey.from_pem((tmp_path / "theirs.pem").read_bytes())
    assert PublicKey.from_pem(openssl("pkey", "-in", "theirs.pem", "-pubout")) == theirs.public
