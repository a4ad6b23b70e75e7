"""Every native vector of ApertoMemory gives the native facts that are printed there, and what
must be rejected is, under one of the two reasons that a record can count."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("amem", reason="the extra apertomemory is not installed")

from pamctl.encoding import base64url
from pamctl.encoding.digests import sha256_digest
from pamctl.projection.entries import native_fault
from pamctl.projection.profiles.apertomemory import context_fragment, open_object
from pamctl.projection.source import OpenedSource, SourceRefused
from tests.shared import shared_path

pytestmark = [
    pytest.mark.shared,
    # The package's COSE library imports a deprecated module of another one.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shared_path("vectors", "apertomemory", name).read_bytes())
    return found["vectors"]


def vectors() -> dict[str, Any]:
    return load("apertomemory-v2-test-vectors.json")


OWNER = "927c69e5f6d735d057fb1f156436a0b67a2d053df693e03dbee2dff50cf42b19"
OPENING = [
    "003-sealed-object-v2",
    "007-custody-attested",
    "008-custody-unproven",
    "011-custody-from-non-owner-MUST-NOT-BE-HONOURED",
    "012-custody-naming-an-unaccepted-key",
    "013-out-of-range-confidence",
    "014-empty-custody-map",
]
REJECTED = [
    "004-forged-authorship-MUST-REJECT",
    "005-rewritten-envelope-MUST-REJECT",
    "006-version-downgrade-MUST-REJECT",
    "009-legacy-v1-MUST-NOT-VERIFY",
    "010-inconsistent-kid-MUST-REJECT",
]


def opened(name: str) -> tuple[bytes, OpenedSource]:
    vector = vectors()[name]
    given = {**vector["expect"], **vector["input"]}
    source = bytes.fromhex(given["sealed_object"])
    known = {
        bytes.fromhex(key_id): bytes.fromhex(key)
        for key_id, key in dict(given.get("known_keys", {})).items()
    }
    owner = bytes.fromhex(given.get("owner_sign_pub", OWNER))
    found = open_object(source, bytes.fromhex(given["dek"]), owner=owner, known_keys=known)
    return source, found


def test_every_vector_of_an_object_is_here() -> None:
    objects = [name for name in vectors() if name[:3] not in ("001", "002")]
    assert sorted(objects) == sorted([*OPENING, *REJECTED])


@pytest.mark.parametrize("name", OPENING)
def test_an_object_gives_its_native_facts(name: str) -> None:
    expected = vectors()[name]["expect"]
    source, found = opened(name)
    native = found.native
    assert native_fault(native) is None
    assert native["sealed_object_digest"] == sha256_digest(source)
    assert native["format_version"] == 2
    assert native["derived_trust"] == expected["trust"]
    if "authorship" in expected:
        assert native["authorship"] == expected["authorship"]
    if "author_key_id" in expected:
        author = expected["author_key_id"]
        encoded = None if author is None else base64url.encode(bytes.fromhex(author))
        assert native["author_key_id_b64u"] == encoded


@pytest.mark.parametrize("name", ["003-sealed-object-v2", "007-custody-attested"])
def test_the_facts_are_those_of_the_reciprocal_record(name: str) -> None:
    facts = load("apertomemory-source-facts.projection-v1.json")[name]
    source, found = opened(name)
    native = found.native
    assert len(source) == facts["sealed_object_byte_length"]
    assert native == {
        "format_version": 2,
        "sealed_object_digest": facts["sealed_object_digest"],
        "derived_trust": facts["derived_trust"],
        "authorship": facts["authorship"],
        "author_key_id_b64u": base64url.encode(bytes.fromhex(facts["author_key_id"])),
        "custody_present": facts["custody"]["present"],
    }


def test_the_frame_is_the_profiles() -> None:
    _, found = opened("007-custody-attested")
    body = "Source vector 007: fact authored by a third party and re-sealed by the vault owner."
    if body.encode() in found.fragment:
        assert sha256_digest(found.fragment) == (
            "sha256:8705dd3315ac111cc0531f1f6cbc99df6542eec56fd732db95e37d1a15f15ecc"
        )
    _, plain = opened("003-sealed-object-v2")
    assert plain.fragment == context_fragment(
        plain.native, vectors()["003-sealed-object-v2"]["input"]["content"]
    )


@pytest.mark.parametrize("name", REJECTED)
def test_what_must_be_rejected_is_not_authenticated(name: str) -> None:
    with pytest.raises(SourceRefused) as refused:
        opened(name)
    assert refused.value.reason == "authentication_failed"


def test_a_flipped_byte_is_refused_or_changes_nothing() -> None:
    """The package passes over a few framing bytes around what is sealed. Then all that it finds
    is the same; the record's digest of the exact source tells the two apart."""
    vector = vectors()["003-sealed-object-v2"]
    source, whole = opened("003-sealed-object-v2")
    key = bytes.fromhex(vector["input"]["dek"])
    reasons, passed_over = set(), 0
    for position in range(len(source)):
        flipped = source[:position] + bytes([source[position] ^ 1]) + source[position + 1 :]
        try:
            found = open_object(flipped, key, owner=bytes.fromhex(OWNER), known_keys={})
        except SourceRefused as refused:
            reasons.add(refused.reason)
            continue
        passed_over += 1
        digest = sha256_digest(flipped)
        assert found.native == {**whole.native, "sealed_object_digest": digest}
        assert found.fragment == whole.fragment
    assert reasons == {"authentication_failed", "schema_invalid"}
    assert passed_over < 5
    for length in range(len(source)):
        with pytest.raises(SourceRefused):
            open_object(source[:length], key, owner=bytes.fromhex(OWNER), known_keys={})
