"""One digest, whoever hashes: the interpreter first, OpenSSL as soon as there is much."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from pamctl.encoding import digests

SCRIPT = """
import sys
from pamctl.encoding.digests import sha256, sha256_hex
assert sha256_hex(b"abc").startswith("ba7816bf")
early = "_hashlib" in sys.modules
sha256(bytes(1 << 20))
print(early, "_hashlib" in sys.modules, sha256_hex(b"abc")[:8])
"""


@pytest.mark.parametrize("length", [0, 1, 55, 56, 63, 64, 65, 4096, 1 << 17, (1 << 17) + 1])
def test_the_first_and_the_others_hash_alike(length: int) -> None:
    data = bytes(range(256)) * (length // 256 + 1)
    expected = hashlib.sha256(data[:length])
    own = digests._own_sha256()
    if own is not None:
        assert own(data[:length]).digest() == expected.digest()
    assert digests.sha256(data[:length]).digest() == expected.digest()
    assert digests.sha256_hex(data[:length]) == expected.hexdigest()
    assert digests.sha256_digest(data[:length]) == f"sha256:{expected.hexdigest()}"


def test_openssl_is_loaded_when_there_is_much_to_hash() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={}
    )
    has_own = digests._own_sha256() is not None
    assert done.stdout.split() == [str(not has_own), "True", "ba7816bf"]


def test_an_interpreter_without_its_own_takes_openssls(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(digests, "import_module", nothing)
    monkeypatch.setattr(digests, "_sha256", digests._Early())
    assert digests._own_sha256() is None
    assert digests.sha256_hex(b"abc").startswith("ba7816bf")
