"""No change of a signed version survives its signature."""

from __future__ import annotations

import copy
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.version_signatures import Signature, SignatureFault, sign, verified
from pamctl.encoding.canonical import canonical
from pamctl.errors import PamError
from pamctl.model.documents import is_valid
from tests.unit.test_projection_pam_profile import SALT, envelope

KEYS = [PrivateKey.from_seed(bytes([n]) * 32) for n in range(3)]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts
contents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def signed(content: Any, key: PrivateKey) -> dict[str, Any]:
    bare = envelope(canonical_content=content)
    return {**bare, "integrity": sign(bare, key)}


@settings(derandomize=True, deadline=None, max_examples=150)
@given(contents, st.sampled_from(KEYS))
def test_any_content_signs_and_verifies(content: Any, key: PrivateKey) -> None:
    whole = signed(content, key)
    read_back = orjson.loads(canonical({"envelope": whole, "salt": SALT}))["envelope"]
    assert verified(read_back) == Signature(key.public)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(contents, contents, st.sampled_from(KEYS), st.sampled_from(KEYS))
def test_a_signature_is_of_one_content_by_one_key(
    one: Any, other: Any, key: PrivateKey, other_key: PrivateKey
) -> None:
    here, there = signed(one, key), signed(other, other_key)
    same = canonical(one) == canonical(other) and key is other_key
    for mixed in (
        {**here, "integrity": there["integrity"]},
        {**there, "integrity": here["integrity"]},
    ):
        try:
            assert verified(mixed) is not None
            assert canonical(one) == canonical(other)
        except SignatureFault:
            assert not same


def test_every_byte_of_a_signed_version_is_covered() -> None:
    whole = canonical({"envelope": signed({"text": "Tea is at four."}, KEYS[0]), "salt": SALT})
    genuine = orjson.loads(whole)["envelope"]
    salt = whole.index(SALT.encode())
    survivors = []
    for position in range(len(whole)):
        for bit in (1, 0x20):
            flipped = whole[:position] + bytes([whole[position] ^ bit]) + whole[position + 1 :]
            try:
                value = orjson.loads(flipped)
                if canonical(value) != flipped or not is_valid("version-file", value):
                    continue
                if verified(value["envelope"]) is not None:
                    survivors.append(position)
                    # The salt stands beside what is signed; the address covers it.
                    assert value["envelope"] == genuine
            except (orjson.JSONDecodeError, SignatureFault, PamError):
                continue
    assert survivors
    assert all(salt <= position < salt + len(SALT) for position in survivors)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.data())
def test_a_mangled_integrity_never_passes(data: st.DataObject) -> None:
    whole = copy.deepcopy(signed("Tea is at four.", KEYS[0]))
    integrity = whole["integrity"]
    name = data.draw(st.sampled_from(sorted(integrity)))
    before = integrity[name]
    integrity[name] = data.draw(texts | st.none() | st.integers() | st.just(before[:-1]))
    if integrity[name] == before:
        assert verified(whole) == Signature(KEYS[0].public)
        return
    try:
        assert verified(whole) is None
        assert name == "canonicalization_profile"
    except SignatureFault:
        pass
