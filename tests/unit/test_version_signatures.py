"""Signatures in the integrity of versions: what they cover, and what they do not survive."""

import copy
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pamctl.crypto.keys import PrivateKey, PublicKey
from pamctl.crypto.version_signatures import (
    CUSTODY_PROFILE,
    Signature,
    SignatureFault,
    is_signed,
    sign,
    verified,
    verify_and_countersign,
)
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.model.documents import check
from tests.projections import KEY, OTHER_KEY
from tests.unit.test_projection_pam_profile import envelope

ROOT = Path(__file__).resolve().parents[2]
SALT = "AAECAwQFBgcICQoLDA0ODw"


def signed(**members: Any) -> dict[str, Any]:
    bare = envelope(**members)
    return {**bare, "integrity": sign(bare, KEY)}


def stored(of: dict[str, Any]) -> bytes:
    return canonical({"envelope": of, "salt": SALT})


def test_a_signature_is_these_members_and_verifies() -> None:
    whole = signed()
    assert whole["integrity"] == {
        "algorithm": "Ed25519",
        "canonicalization_profile": "urn:pamctl:version-signature:v1",
        "ledger_ref": "urn:pamctl:key:ed25519:" + base64url.encode(KEY.public.raw),
        "signature": base64url.encode(
            KEY.sign(b"pamctl-version-signature-v1\0" + canonical(envelope()))
        ),
    }
    assert verified(whole) == Signature(KEY.public)
    check("envelope", whole)


def test_it_is_the_same_each_time_and_plain_makes_no_difference() -> None:
    assert sign(envelope(), KEY) == sign(envelope(), KEY, plain=True)


def test_integrity_of_others_is_not_ours_to_judge() -> None:
    for integrity in ({"digest": "x", "algorithm": "sha-256"}, {"ledger_ref": "urn:x"}):
        assert not is_signed(envelope(integrity=integrity))
        assert verified(envelope(integrity=integrity)) is None
    assert verified(envelope()) is None


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for name in value for leaf in leaves(value[name], (*path, name))]
    return [path]


@pytest.mark.parametrize("path", leaves(signed()), ids=lambda path: ".".join(map(str, path)))
def test_every_member_is_covered(path: tuple[Any, ...]) -> None:
    whole = copy.deepcopy(signed())
    place: Any = whole
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = 2 if place[path[-1]] == 1 else place[path[-1]] + "0"
    if path == ("integrity", "canonicalization_profile"):
        assert verified(whole) is None
    else:
        with pytest.raises(SignatureFault):
            verified(whole)


@pytest.mark.parametrize(
    "change",
    [
        {"signature": "not base64url!"},
        {"signature": "AAAA"},
        {"signature": None},
        {"algorithm": "EdDSA"},
        {"ledger_ref": None},
        {"ledger_ref": "urn:pamctl:key:ed25519:" + "A" * 43},
        {"ledger_ref": "urn:pamctl:key:ed25519:" + base64url.encode(OTHER_KEY.public.raw)},
        {"digest": "sha256:" + "0" * 64},
        {"canonicalization_profile": CUSTODY_PROFILE},
    ],
)
def test_a_claim_that_does_not_hold_is_a_fault(change: dict[str, Any]) -> None:
    whole = signed()
    whole["integrity"] = {**whole["integrity"], **change}
    with pytest.raises(SignatureFault):
        verified(whole)


def test_a_signature_is_for_its_domain_alone() -> None:
    whole = signed()
    for domain in (b"", b"MEMORY-PROJECTION-RECORD-v1\0", b"pamctl-version-custody-v1\0"):
        signature = KEY.sign(domain + canonical(envelope()))
        whole["integrity"] = {**whole["integrity"], "signature": base64url.encode(signature)}
        with pytest.raises(SignatureFault):
            verified(whole)


def test_custody_keeps_the_author_of_the_original() -> None:
    original = stored(signed())
    here = envelope(scope_id="workspace:elsewhere")
    integrity = verify_and_countersign(original, here, OTHER_KEY)
    assert integrity is not None
    kept = {**here, "integrity": integrity}
    assert verified(kept) == Signature(KEY.public, OTHER_KEY.public, sha256_digest(original))
    check("envelope", kept)
    # Moved once more by the same custodian, it is still the work of its author.
    again = {**here, "scope_id": "workspace:third"}
    moved = verify_and_countersign(stored(kept), again, OTHER_KEY)
    assert verified({**again, "integrity": moved}) == Signature(
        KEY.public, OTHER_KEY.public, sha256_digest(stored(kept))
    )
    # The word of another custodian is not passed on: nobody here saw the author's signature.
    assert verify_and_countersign(stored(kept), again, PrivateKey.from_seed(b"\7" * 32)) is None


def test_custody_is_given_only_to_what_was_signed_and_holds() -> None:
    assert verify_and_countersign(stored(envelope()), envelope(), OTHER_KEY) is None
    forged = {**signed(), "canonical_content": "Tea is at five."}
    for original in (stored(forged), b"{", b"[]", b"\xff"):
        if original == b"[]":
            assert verify_and_countersign(original, envelope(), OTHER_KEY) is None
            continue
        with pytest.raises(SignatureFault):
            verify_and_countersign(original, envelope(), OTHER_KEY)


def test_custody_covers_whom_and_what_it_names() -> None:
    original = stored(signed())
    here = envelope(scope_id="workspace:elsewhere")
    integrity = verify_and_countersign(original, here, OTHER_KEY) or {}
    one, other = (base64url.encode(key.public.raw) for key in (KEY, OTHER_KEY))
    for change in (
        {"digest": "sha256:" + "0" * 64},
        {"digest": "sha256:0"},
        {"ledger_ref": f"urn:pamctl:custody:ed25519:{other}:{other}"},
        {"ledger_ref": f"urn:pamctl:custody:ed25519:{one}:{one}"},
    ):
        with pytest.raises(SignatureFault):
            verified({**here, "integrity": {**integrity, **change}})
    with pytest.raises(SignatureFault):
        verified({**here, "scope_id": "workspace:other", "integrity": integrity})


def test_the_example_on_the_page_is_right() -> None:
    page = (ROOT / "store-format/signatures.md").read_text(encoding="utf-8")
    example = page[page.index("## Example") : page.index("## Other bytes")]
    (line,) = (one for one in example.splitlines() if one.startswith("    {"))
    shown = json.loads(line)
    assert canonical(shown).decode() == line.strip()
    integrity = sign(shown, PrivateKey.from_seed(bytes(range(32))))
    for name in ("ledger_ref", "signature"):
        assert f"| `{name}` | `{integrity[name]}` |" in example


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_openssl_verifies_a_version(tmp_path: Path) -> None:
    """With the page, and a program that knows nothing of pamctl."""
    whole = signed(canonical_content={"text": "naïve \u2028", "n": 1e-7})
    integrity = whole.pop("integrity")
    named = base64url.decode(integrity["ledger_ref"].removeprefix("urn:pamctl:key:ed25519:"))
    (tmp_path / "key.pem").write_text(PublicKey(named).pem)
    (tmp_path / "signature").write_bytes(base64url.decode(integrity["signature"]))
    (tmp_path / "message").write_bytes(b"pamctl-version-signature-v1\0" + canonical(whole))
    verify = ("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin")
    files = ("-in", "message", "-sigfile", "signature")
    done = subprocess.run([*verify, *files], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
