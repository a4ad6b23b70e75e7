"""Public keys in the forms that people hand them around in, and private ones in files."""

import shutil
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest

from pamctl.crypto.key_forms import read_public_key
from pamctl.crypto.keys import PrivateKey, PublicKey
from pamctl.crypto.private_pem import IV_BYTES, SALT_BYTES, is_encrypted
from pamctl.encoding import base64url
from pamctl.errors import InvalidRequest

SEED = bytes(range(32))
KEY = PrivateKey.from_seed(SEED)
RAW = KEY.public.raw
DER = base64url.decode(KEY.public.spki_b64u)
SSH = b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + RAW).decode()
# A point whose raw bytes use the characters in which base64 and base64url differ.
ODD = next(
    one
    for one in (PrivateKey.from_seed(bytes([n]) * 32).public for n in range(40))
    if "+" in b64encode(one.raw).decode() or "/" in b64encode(one.raw).decode()
)


@pytest.mark.parametrize(
    ("given", "form"),
    [
        (KEY.public.pem.encode(), "SPKI in PEM"),
        (KEY.public.pem.replace("\n", "\r\n").encode(), "SPKI in PEM"),
        (DER, "SPKI in DER"),
        (RAW.hex().encode(), "raw key in hexadecimal"),
        (RAW.hex().upper().encode() + b"\n", "raw key in hexadecimal"),
        (b64encode(RAW), "raw key in base64"),
        (base64url.encode(RAW).encode(), "raw key in base64url"),
        (base64url.encode(DER).encode(), "SPKI in base64url"),
        (f"ssh-ed25519 {SSH}".encode(), "an OpenSSH line"),
        (f"ssh-ed25519 {SSH} me@laptop\n".encode(), "an OpenSSH line"),
    ],
)
def test_a_key_is_read_in_the_form_it_comes_in(given: bytes, form: str) -> None:
    key, told = read_public_key(given)
    assert key == KEY.public
    assert told == form


def test_base64_and_base64url_are_told_apart() -> None:
    plain = b64encode(ODD.raw)
    assert read_public_key(plain) == (ODD, "raw key in base64")
    assert read_public_key(plain.rstrip(b"=")) == (ODD, "raw key in base64")
    assert read_public_key(base64url.encode(ODD.raw).encode()) == (ODD, "raw key in base64url")
    padded_der = b64encode(base64url.decode(ODD.spki_b64u))
    assert read_public_key(padded_der)[0] == ODD


X25519 = bytes.fromhex("302a300506032b656e032100") + RAW
SECP = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + b"\4" + b"\1" * 64
RSA = bytes.fromhex("30820122300d06092a864886f70d01010105000382010f00") + b"\1" * 270


@pytest.mark.parametrize(
    ("der", "kind"), [(X25519, "X25519"), (SECP, "ECDSA"), (RSA, "RSA")], ids=["x", "ec", "rsa"]
)
def test_another_kind_under_this_label_is_refused(der: bytes, kind: str) -> None:
    pem = b"-----BEGIN PUBLIC KEY-----\n" + b64encode(der) + b"\n-----END PUBLIC KEY-----\n"
    for given in (der, pem, base64url.encode(der).encode()):
        with pytest.raises(InvalidRequest, match=kind):
            read_public_key(given)


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b" \n",
        b"\xff\xfe",
        b"nonsense",
        RAW,
        DER[:-1],
        DER + b"\0",
        b64encode(RAW)[:-2] + b"+=",
        "\u0410".encode() + b64encode(RAW)[1:],
        f"ssh-ed25519 \u0410{SSH[1:]} me".encode(),
        base64url.encode(RAW).encode()[:-1] + b"5",
        b"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC3",
        b"ssh-ed25519 AAAA",
        b"ssh-ed25519 " + SSH.encode() + b"\nssh-ed25519 " + SSH.encode(),
        b64encode(b"\1" + b"\0" * 31),  # of order 1
        b"ed" + b"ff" * 30 + b"ff",  # y = p, which is 0 in another spelling
    ],
)
def test_what_is_no_key_is_refused(given: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read_public_key(given)


def encrypted(passphrase: bytes = b"open sesame") -> bytes:
    return KEY.encrypted_pem(passphrase, salt=b"\1" * SALT_BYTES, iv=b"\2" * IV_BYTES)


def test_an_encrypted_key_opens_with_its_passphrase_alone() -> None:
    assert is_encrypted(encrypted())
    assert not is_encrypted(KEY.pem())
    assert PrivateKey.from_pem(encrypted(), b"open sesame").public == KEY.public
    for wrong in (b"open sesam", b"", "öffne dich".encode()):
        with pytest.raises(InvalidRequest, match="passphrase"):
            PrivateKey.from_pem(encrypted(), wrong)
    with pytest.raises(InvalidRequest, match="no passphrase for it") as refused:
        PrivateKey.from_pem(encrypted())
    assert "PAM_KEY_PASSPHRASE" in refused.value.details["hint"]


def test_nothing_of_a_key_is_in_a_message() -> None:
    broken = KEY.pem()[:60] + b"!" + KEY.pem()[60:]
    for data in (broken, encrypted()[:-40], b"-----BEGIN PRIVATE KEY-----\nx\n"):
        with pytest.raises(InvalidRequest) as refused:
            PrivateKey.from_pem(data, b"x")
        assert KEY.pem().splitlines()[1][:20].decode() not in str(refused.value)
    assert "nothing" not in repr(KEY)
    assert SEED.hex() not in repr(KEY)


openssl_only = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")


def run(folder: Path, *words: str) -> bytes:
    return subprocess.run(words, cwd=folder, check=True, capture_output=True).stdout


@openssl_only
def test_openssl_reads_our_encrypted_keys(tmp_path: Path) -> None:
    (tmp_path / "ours.pem").write_bytes(encrypted())
    public = run(
        tmp_path, "openssl", "pkey", "-in", "ours.pem", "-passin", "pass:open sesame", "-pubout"
    )
    assert public.decode() == KEY.public.pem
    plain = run(tmp_path, "openssl", "pkey", "-in", "ours.pem", "-passin", "pass:open sesame")
    assert plain == KEY.pem()


@openssl_only
@pytest.mark.parametrize(
    "how",
    [["-scrypt"], ["-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", "-iter", "10000"]],
    ids=["scrypt", "pbkdf2"],
)
def test_openssls_encrypted_keys_are_read(tmp_path: Path, how: list[str]) -> None:
    (tmp_path / "plain.pem").write_bytes(
        run(tmp_path, "openssl", "genpkey", "-algorithm", "ed25519")
    )
    run(
        tmp_path,
        *("openssl", "pkcs8", "-topk8", "-in", "plain.pem", "-out", "theirs.pem"),
        *(*how, "-passout", "pass:pw"),
    )
    theirs = PrivateKey.from_pem((tmp_path / "theirs.pem").read_bytes(), b"pw")
    public = run(tmp_path, "openssl", "pkey", "-in", "plain.pem", "-pubout")
    assert PublicKey.from_pem(public) == theirs.public
    # A signature that openssl makes verifies here, and ours there.
    (tmp_path / "data").write_bytes(b"exactly these bytes")
    signature = run(
        tmp_path, "openssl", "pkeyutl", "-sign", "-rawin", "-in", "data", "-inkey", "plain.pem"
    )
    assert theirs.public.verify(signature, b"exactly these bytes")
    assert theirs.sign(b"exactly these bytes") == signature


@openssl_only
@pytest.mark.parametrize("algorithm", ["x25519", "rsa", "ed448"])
def test_private_keys_of_other_kinds_are_refused(tmp_path: Path, algorithm: str) -> None:
    pem = run(tmp_path, "openssl", "genpkey", "-algorithm", algorithm)
    with pytest.raises(InvalidRequest, match="not an Ed25519 key"):
        PrivateKey.from_pem(pem)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_openssh_keys_are_read(tmp_path: Path) -> None:
    run(tmp_path, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me", "-f", "id")
    private = PrivateKey.from_pem((tmp_path / "id").read_bytes())
    public, form = read_public_key((tmp_path / "id.pub").read_bytes())
    assert public == private.public
    assert form == "an OpenSSH line"
    run(tmp_path, "ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", "locked")
    with pytest.raises(InvalidRequest, match=r"OpenSSH|encrypted"):
        PrivateKey.from_pem((tmp_path / "locked").read_bytes())
