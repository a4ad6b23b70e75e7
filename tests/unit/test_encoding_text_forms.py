"""base64url, digests and identifiers: one text for each value, and nothing else accepted."""

from __future__ import annotations

import hashlib

import pytest

from pamctl.encoding import base64url
from pamctl.encoding.digests import is_sha256_digest, sha256_digest, sha256_hex
from pamctl.encoding.identifiers import is_identifier, new_identifier
from pamctl.limits import IDENTIFIER_CHARS_MAX

# RFC 4648 §10, without padding and in the URL-safe alphabet.
BASE64URL = {
    b"": "",
    b"f": "Zg",
    b"fo": "Zm8",
    b"foo": "Zm9v",
    b"foob": "Zm9vYg",
    b"fooba": "Zm9vYmE",
    b"foobar": "Zm9vYmFy",
    b"\xfb\xff\xbf": "-_-_",
}


@pytest.mark.parametrize(("data", "text"), BASE64URL.items())
def test_base64url_both_ways(data: bytes, text: str) -> None:
    assert base64url.encode(data) == text
    assert base64url.decode(text) == data


@pytest.mark.parametrize(
    "text",
    [
        "Zg==", "Zm8=", "=", "Zh", "Zm9", "Z", "Zm9vY", "+/+/", "Zm9v\n", " Zm9v", "Zm 9v",
        "Zm9v.", "Zm9vé", "Zm9v\x00",
    ],
)  # fmt: skip
def test_base64url_that_encode_would_not_have_written_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="base64url"):
        base64url.decode(text)


def test_a_digest_is_spelled_in_one_way() -> None:
    digits = hashlib.sha256(b"abc").hexdigest()
    assert sha256_hex(b"abc") == digits
    assert sha256_digest(b"abc") == f"sha256:{digits}"
    assert is_sha256_digest(f"sha256:{digits}")
    for other in (
        digits,
        f"sha256:{digits.upper()}",
        f"SHA256:{digits}",
        f"sha256:{digits[:-1]}",
        f"sha256:{digits}0",
        f"sha256:{digits}\n",
        f" sha256:{digits}",
        "sha256:" + "٣" * 64,
        None,
        7,
    ):
        assert not is_sha256_digest(other)


@pytest.mark.parametrize(
    "text",
    ["workspace:default", "a:b", "urn:x:y", "mem:1/2", "A.b+c-d:e_f.g+h-i", "x:" + "y" * 510],
)
def test_identifiers(text: str) -> None:
    assert is_identifier(text)


@pytest.mark.parametrize(
    "text",
    [
        "", ":", "a:", ":b", "1:b", "workspace", "a:b c", "a:b\n", " a:b", "a:ü", "ü:b", "a:b\x00",
        "a:../..\\x", "x:" + "y" * (IDENTIFIER_CHARS_MAX - 1), None, 1, ["a:b"],
    ],
)  # fmt: skip
def test_what_is_no_identifier(text: object) -> None:
    assert not is_identifier(text)


def test_a_new_identifier_is_one() -> None:
    made = new_identifier("mem", bytes(range(16)))
    assert made == "mem:000102030405060708090a0b0c0d0e0f"
    assert is_identifier(made)
