"""vectors/projection: the file is current, and says what it says without its maker."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pamctl.crypto.keys import PrivateKey
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.strict_json import parse
from pamctl.errors import PamError
from pamctl.projection.materials import Materials
from pamctl.projection.reasons import REASONS, Verdict
from pamctl.projection.register import Register
from pamctl.projection.shape import utc_instant
from pamctl.projection.trust import parse_trust_policy
from pamctl.projection.verify import verify
from tests.projections import changed, sign
from tests.vectors.own_projection_vectors import FILE, document, many_entries

VECTORS: dict[str, Any] = json.loads(FILE.read_bytes())
RECORDS = {record["name"]: record for record in VECTORS["records"]}


def named(entries: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("entry", entries, ids=[one.get("name", "") for one in entries])


def test_the_file_is_current() -> None:
    assert FILE.read_bytes() == document(), "python -m tests.vectors.own_projection_vectors"


def decoded(value: Any) -> Any:
    if isinstance(value, str):
        return base64url.decode(value)
    if isinstance(value, list):
        return [decoded(piece) for piece in value]
    return value


def judged(
    folder: Path, record: bytes, materials: dict[str, Any], given: dict[str, Any] | None = None
) -> Verdict:
    given = given or {}
    policy = parse_trust_policy(canonical(given.get("trust_policy", VECTORS["trust_policy"])))
    register = Register(folder / "accepted")

    def once() -> Verdict:
        return verify(
            record,
            policy=policy,
            at=given.get("verification_time", VECTORS["verification_time"]),
            materials=Materials(**{name: decoded(piece) for name, piece in materials.items()}),
            register=register,
        )

    if given.get("accepted_before"):
        assert once()["valid"]
    return once()


@named(VECTORS["records"])
def test_every_record_is_valid(entry: dict[str, Any], tmp_path: Path) -> None:
    verdict = judged(tmp_path, entry["record_text"].encode(), entry["materials"])
    assert verdict["valid"], verdict
    assert canonical(json.loads(entry["record_text"])).decode() == entry["record_text"]
    record = json.loads(entry["record_text"])
    if record["source_profile"] == "urn:pamctl:source-profile:v1":
        # What the profile finds for itself is what the file says that it found.
        materials = {**entry["materials"], "native_results": None}
        (tmp_path / "x").mkdir()
        alone = judged(tmp_path / "x", entry["record_text"].encode(), materials)
        assert alone["valid"], alone


def test_signed_versions_are_of_every_standing() -> None:
    delivered = json.loads(RECORDS["pam, signed"]["record_text"])["delivered"]
    found = [(e["derived_trust"], e["authorship"], e["custody_present"]) for e in delivered]
    assert found == [
        ("self", "signed", False),
        ("trusted", "signed", False),
        ("unverified", "unknown", False),
        ("trusted", "attested", True),
    ]


def test_an_owner_whose_key_was_replaced_still_vouches() -> None:
    delivered = json.loads(RECORDS["pam, owner's key replaced"]["record_text"])["delivered"]
    found = [(e["derived_trust"], e["authorship"], e["custody_present"]) for e in delivered]
    assert found == [
        ("trusted", "signed", False),
        ("trusted", "signed", False),
        ("self", "signed", False),
        ("trusted", "attested", True),
    ]


@named(VECTORS["mutations"])
def test_every_mutation_is_refused_for_its_reason(entry: dict[str, Any], tmp_path: Path) -> None:
    base = RECORDS[entry["base"]]
    record = base["record_text"].encode()
    if "record_b64u" in entry:
        record = base64url.decode(entry["record_b64u"])
    assert {"record_b64u", "materials", "trust_policy", "verification_time", "accepted_before"} & (
        entry.keys()
    )
    materials = {**base["materials"], **entry.get("materials", {})}
    assert judged(tmp_path, record, materials, entry)["reason"] == entry["reason"]


def test_the_mutations_are_many_and_of_every_reason() -> None:
    assert len(VECTORS["mutations"]) >= 100
    found = {entry["reason"] for entry in VECTORS["mutations"]}
    # Every fragment of a good concatenation is UTF-8 where its frame was recomputed.
    assert set(REASONS) - found == {"projection_not_utf8"}


def test_the_key_is_where_the_file_says() -> None:
    seed = sha256(VECTORS["adapter"]["seed"].partition(": ")[2].encode()).digest()
    key = PrivateKey.from_seed(seed)
    assert key.public.spki_b64u == VECTORS["adapter"]["public_key_spki_b64u"]
    for entry in RECORDS.values():
        record = json.loads(entry["record_text"])
        assert sign(record, key) == record


@named(VECTORS["canonical_json"])
def test_canonical_json(entry: dict[str, Any]) -> None:
    if entry["canonical_b64u"] is None:
        with pytest.raises(PamError):
            canonical(parse(entry["text"]))
    else:
        found = canonical(parse(entry["text"]))
        assert base64url.encode(found) == entry["canonical_b64u"]
        # Canonical text is its own canonical form, unless no reader may take it back.
        assert canonical(parse(found)) == found


def test_timestamps_and_base64url() -> None:
    for entry in VECTORS["utc_timestamps"]:
        if entry["instant"] is None:
            with pytest.raises(ValueError, match=r"\w"):
                utc_instant(entry["text"])
        else:
            assert utc_instant(entry["text"]) + "Z" == entry["instant"]
    for entry in VECTORS["base64url"]:
        if entry["hex"] is None:
            with pytest.raises(ValueError, match=r"\w"):
                base64url.decode(entry["text"])
        else:
            assert base64url.decode(entry["text"]).hex() == entry["hex"]


def test_traps_are_what_the_specifications_say() -> None:
    """By hand, from RFC 8785 and RFC 7493, so that the file cannot be wrong with our code."""
    expected = {
        "1e-7": b"1e-7",
        "1e-6": b"0.000001",
        "1E21": b"1e+21",
        "minus zero": b"0",
        "2^53-1": b"9007199254740991",
        "2^53": None,
        "astral names sort by UTF-16": '{"\U00010000":1,"\ue000":2}'.encode(),
        "U+2028 and U+2029 stand as they are": '"\u2028\u2029"'.encode(),
        "escapes that need not be": '"a/\u00e9"'.encode(),
        "escapes that must be": b'"\\u0000\\b\\t\\n\\f\\r\\"\\\\\\u001f\x7f"',
        "a lone surrogate": None,
        "a name twice, escaped": None,
    }
    found = {entry["name"]: entry["canonical_b64u"] for entry in VECTORS["canonical_json"]}
    for name, text in expected.items():
        assert found[name] == (None if text is None else base64url.encode(text)), name


def test_bodies_stay_as_they_are() -> None:
    texts = {
        name.removeprefix("body: "): base64url.decode(record["materials"]["projection"])
        for name, record in RECORDS.items()
        if name.startswith("body: ")
    }
    assert b"caf\xc3\xa9\n" in texts["composed (NFC)"]
    assert b"cafe\xcc\x81\n" in texts["decomposed (NFD)"]
    assert b"a\r\nb" in texts["CRLF"]
    assert b"a\rb" in texts["lone CR"]
    assert b"a\x00b" in texts["NUL"]
    assert len(set(texts.values())) == len(texts)


def test_as_many_entries_as_there_may_be(tmp_path: Path) -> None:
    (entry,) = VECTORS["generated"]
    record = many_entries()
    assert len(record) == entry["record_bytes"]
    assert f"sha256:{sha256(record).hexdigest()}" == entry["record_digest"]
    policy = parse_trust_policy(canonical({**VECTORS["trust_policy"], "single_use": False}))
    given: dict[str, Any] = {"policy": policy, "at": VECTORS["verification_time"]}
    assert verify(record, **given)["valid"] is entry["valid"]
    members = json.loads(record)
    one_more = [*members["delivered"], {**members["delivered"][0], "position": 65_535}]
    members["delivered"] = one_more
    assert verify(canonical(members), **given)["reason"] == entry["one_entry_more"]
    last = changed(members, "/delivered", one_more[:-1])
    last["delivered"][65_534] = {**last["delivered"][65_534], "position": 65_535}
    assert verify(canonical(last), **given)["reason"] == "delivered_order_invalid"
